/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions that a program imports, with their errors and the names that its programmer wrote.
 */
#include "site/site_program.h"

#include <errno.h>
#include <string.h>

typedef VEC(const char *) name_vec;

const struct import *site_program_import(const struct program *p, uint64_t slot) {
  uint64_t i;
  return map_get(&p->import_of, slot, &i) && i ? &p->imports.at[i - 1] : NULL;
}

/* Numbers the functions of the profile by name; of those that several libraries have, the first. */
static int index_profile(const struct profile *profile, struct map *ret) {
  int r = 0;
  for (size_t i = 0; i < profile->n_libraries; i++)
    for (size_t k = 0; k < profile->libraries[i].n_functions && r >= 0; k++) {
      uint64_t key = hash_string(profile->libraries[i].functions[k].name);
      if (!map_get(ret, key, NULL)) r = map_put(ret, key, (uint64_t)i << 32 | k);
    }
  return r;
}

static const struct profile_function *profile_in(const struct program *p, const char *name, const char **library) {
  uint64_t at;
  bool known = map_get(&p->profile_of, hash_string(name), &at);
  const struct profile_library *l = known ? &p->profile->libraries[at >> 32] : NULL;
  *library = l ? l->name : NULL;
  return l ? &l->functions[(uint32_t)at] : NULL;
}

static const struct profile_function *profile_of(const struct program *p, const char *name, const char **library) {
  *library = "";
  for (size_t i = p->n_overlays; i-- > 0;) {
    const struct profile_function *f = profile_function(&p->overlays[i], name);
    if (f) return f;
  }
  return profile_in(p, name, library);
}

static bool asked_for(const struct site_request *r, const struct import *m) {
  for (size_t i = 0; i < r->n_functions; i++)
    if (strcmp(r->functions[i], m->name) == 0 || strcmp(r->functions[i], m->written) == 0) return true;
  return r->n_functions == 0;
}

/* An error of which data/functions knows no more than the value. */
static const struct profile_error told_by_data = {.errno_unknown = true};

static bool is_among(int64_t value, const int64_t *values, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (values[i] == value) return true;
  return false;
}

/* Most have few errors, so that they are put together here and kept in no more room than they need. */
struct taken {
  int64_t errors[ERRORS_MAX];
  const struct profile_error *details[ERRORS_MAX];
  unsigned n;
};

static void take_one(struct taken *t, int64_t value, const struct profile_error *details) {
  t->errors[t->n] = value;
  t->details[t->n++] = details;
}

static int keep_taken(struct program *p, const struct taken *t, struct import *m) {
  m->n_errors = t->n;
  if (!t->n) return 0;
  m->errors = arena_memdup(&p->arena, t->errors, t->n * sizeof *t->errors);
  m->details = arena_memdup(&p->arena, t->details, t->n * sizeof *t->details);
  return m->errors && m->details ? 0 : -ENOMEM;
}

static int take_errors(struct program *p, struct import *m) {
  bool null = false, wide = false, only = profile_facts_roles(p->facts, m->written).only;
  int64_t more[4];
  struct taken t;
  t.n = 0;
  if (profile_facts_infallible(p->facts, m->written)) return 0;
  size_t n = profile_facts_errors(p->facts, m->written, more, COUNT(more));
  /* Of one that returns a floating-point number, the code that was read is about another register. */
  size_t n_errors = m->profile && !m->floating ? m->profile->n_errors : 0;
  for (size_t i = 0; i < n_errors && t.n < ERRORS_MAX; i++) {
    const struct profile_error *e = &m->profile->errors[i];
    if (only && !is_among(e->retval, more, n)) continue;
    null |= e->retval == 0 && e->wide;
    wide |= e->wide;
    take_one(&t, e->retval, e);
  }
  for (size_t i = 0; i < n && t.n < ERRORS_MAX; i++)
    if (!is_among(more[i], t.errors, t.n)) take_one(&t, more[i], &told_by_data);
  if (null && m->success == SUCCESS_UNKNOWN) m->success = SUCCESS_POINTER;
  m->pointer = m->success == SUCCESS_POINTER && (null || wide);
  return keep_taken(p, &t, m);
}

static bool is_wanted(const struct program *p, const struct import *m) {
  return asked_for(p->request, m) && (m->n_errors || p->request->unknown || p->request->n_functions);
}

static int add_import(struct program *p, const char *name) {
  struct import *m = vec_more(&p->imports);
  if (!m) return -ENOMEM;
  *m = (struct import){.name = name};
  m->written = relevance_written(p->relevance, name);
  m->success = profile_facts_success(p->facts, m->written);
  m->said = m->success != SUCCESS_UNKNOWN;
  m->answers = relevance_answers(p->relevance, m->written);
  m->floating = profile_facts_float(p->facts, m->written);
  m->returned = profile_facts_returned(p->facts, m->written);
  m->profile = profile_of(p, name, &m->library);
  struct profile_roles roles = profile_facts_roles(p->facts, m->written);
  m->size = roles.size < RELEVANCE_ARGS ? (int8_t)roles.size : -1;
  m->returns = roles.returns < RELEVANCE_ARGS ? (int8_t)roles.returns : -1;
  m->whence = roles.whence < RELEVANCE_ARGS ? (int8_t)roles.whence : -1;
  m->fills = roles.fills < FLOW_ARGS ? (int8_t)roles.fills : -1;
  m->starts = roles.starts < FLOW_ARGS - 1 ? (int8_t)roles.starts : -1;
  m->hands = roles.hands < FLOW_ARGS ? (int8_t)roles.hands : -1;
  m->arguments = roles.arguments >= 0 && roles.arguments < FLOW_ARGS && !roles.variadic ? roles.arguments : FLOW_ARGS;
  /* Of what is not known to be an address of its own making or a new number, nobody can tell. */
  m->foreseen = roles.foreseen || roles.returns >= 0 || m->answers || m->success == SUCCESS_UNKNOWN;
  int r = take_errors(p, m);
  m->wanted = is_wanted(p, m);
  return r;
}

/* Nothing is known of how the alias fails, but perhaps of the written function: they fail alike. */
static bool lacks_errors(const struct program *p, const struct import *m) {
  return !m->n_errors && m->library && strcmp(m->name, m->written) != 0 && relevance_knows(p->relevance, m->written) &&
         !profile_facts_infallible(p->facts, m->written);
}

/* Aliases without errors, as __fread_chk, take those of what was written. */
static int take_written(struct program *p) {
  int r = 0;
  for (size_t i = 0; i < p->imports.n && r >= 0; i++) {
    struct import *m = &p->imports.at[i];
    const char *library;
    const struct profile_function *f = lacks_errors(p, m) ? profile_in(p, m->written, &library) : NULL;
    if (!f || !f->n_errors) continue;
    m->profile = f;
    r = take_errors(p, m);
    m->wanted = is_wanted(p, m);
  }
  return r;
}

/* The names that were written for aliases, and may be needed in their place. */
static int find_written(const struct program *p, name_vec *ret) {
  struct image_slot slot = {0};
  int r = 0;
  for (uint64_t at = 0; r >= 0 && image_slot_after(p->image, at, &slot); at = slot.at + 1) {
    const char *written = slot.kind == SLOT_IMPORT && slot.name ? relevance_written(p->relevance, slot.name) : NULL;
    if (!written || written == slot.name || !relevance_knows(p->relevance, written)) continue;
    if (!profile_facts_infallible(p->facts, written)) r = vec_push(ret, written);
  }
  return r;
}

int imports_profile(struct program *p, struct profile *ret, struct err *e) {
  struct profile_request wanted = {
      .data = p->request->data, .workers = p->request->workers, .trusting = true, .brief = true, .facts = p->facts};
  name_vec names = {0};
  int r = find_written(p, &names);
  if (r >= 0) r = profile_imports(&wanted, p->image, names.at, names.n, ret, e);
  vec_done(&names);
  return r;
}

bool imports_has(const struct program *p, const char *name) {
  for (size_t i = 0; i < p->imports.n; i++)
    if (strcmp(name, p->imports.at[i].name) == 0 || strcmp(name, p->imports.at[i].written) == 0) return true;
  return false;
}

/* Does the request name functions, and the program imports none of them? */
static int check_names(const struct program *p, struct err *e) {
  const struct site_request *r = p->request;
  const char *names[1024];
  size_t n = 0;
  for (size_t i = 0; i < r->n_functions; i++)
    if (imports_has(p, r->functions[i])) return 0;
  if (!r->n_functions) return 0;
  for (size_t i = 0; i < p->imports.n && n < COUNT(names); i++)
    names[n++] = p->imports.at[i].written;
  const char *near = name_nearest(r->functions[0], names, n);
  if (near)
    return err_set(e, -ENOENT, "%s: does not import a function '%s' (did you mean '%s'?)", r->program, r->functions[0],
                   near);
  return err_set(e, -ENOENT, "%s: does not import a function '%s' (--verdict=all,some,none shows what it calls)",
                 r->program, r->functions[0]);
}

int imports_find(struct program *p, struct err *e) {
  struct image_slot slot = {0};
  struct map by_name = {0};
  int r = index_profile(p->profile, &p->profile_of);
  for (uint64_t at = 0; r >= 0 && image_slot_after(p->image, at, &slot); at = slot.at + 1) {
    uint64_t i, own;
    if (slot.kind != SLOT_IMPORT || !slot.name || flow_own_slot(p->image, slot.at, &own)) continue;
    uint64_t key = hash_string(slot.name);
    if (!map_get(&by_name, key, &i)) {
      r = add_import(p, slot.name);
      i = p->imports.n;
      if (r >= 0) r = map_put(&by_name, key, i);
    }
    if (r >= 0) r = map_put(&p->import_of, slot.at, i);
  }
  map_done(&by_name);
  if (r >= 0) r = take_written(p);
  return r < 0 ? r : check_names(p, e);
}
