/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From libraries to their profile: load, ask the flow room for all exports, classify, and write down.
 */
#include "profile/analyse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ERRORS_MAX 400

/* Where the errors of what a program imports come from: nearly all are found so, and most of the code is not read. */
static const struct solver_reach near_reach = {.value = 4, .condition = 2, .made = 1};

/* --- start -------------------------------------------------------------------------------------------------------- */

int analysis_make_solver(const struct profile_request *request, struct analysis *a) {
  const struct knowledge *functions = request->facts ? &request->facts->knowledge : &a->knowledge;
  struct solver_options o = {
      .syscalls = knowledge_syscall,
      .syscall_args = knowledge_syscall_args,
      .syscalls_context = &a->knowledge,
      .noreturn = knowledge_noreturn,
      .noreturn_context = (void *)functions,
      .infallible = request->trusting ? knowledge_infallible : NULL,
      .reach = request->brief ? near_reach : (struct solver_reach){0},
      .workers = request->workers,
      .progress = request->progress,
      .progress_context = request->context,
  };
  int r = solver_new(&o, &a->solver);
  for (size_t i = 0; i < a->set.images.n && r >= 0; i++)
    r = solver_add(a->solver, a->set.images.at[i]);
  return r < 0 ? r : 0;
}

int analysis_start(const struct profile_request *request, struct analysis *ret, struct err *e) {
  memset(ret, 0, sizeof *ret);
  int r = profile_images_load(request, &ret->set, e);
  if (r >= 0) r = knowledge_load(request->data, request->no_cache, &ret->knowledge, e);
  if (r >= 0) r = analysis_make_solver(request, ret);
  if (r < 0) analysis_done(ret);
  return r;
}

void analysis_done(struct analysis *a) {
  solver_free(a->solver);
  profile_images_done(&a->set);
  knowledge_done(&a->knowledge);
  memset(a, 0, sizeof *a);
}

/* --- one library -------------------------------------------------------------------------------------------------- */

static bool is_function(const struct image_symbol *s) { return s->kind == SYMBOL_FUNCTION || s->kind == SYMBOL_IFUNC; }

/* Exports are sorted by name, the default version first: the first of a name is the one that programs link to. */
static bool is_first(const struct image_symbol *all, size_t i) {
  return i == 0 || strcmp(all[i - 1].name, all[i].name) != 0 || !is_function(&all[i - 1]);
}

static int want(struct solver *w, unsigned image) {
  const struct image_symbol *s;
  size_t n = image_exports(solver_image(w, image), &s);
  for (size_t i = 0; i < n; i++) {
    if (!is_function(&s[i]) || !is_first(s, i)) continue;
    int r = solver_want(w, image, s[i].address, s[i].kind == SYMBOL_IFUNC);
    if (r < 0) return r;
  }
  return 0;
}

static int add_sentence(void *context, const char *sentence) {
  struct profile_builder *b = context;
  const char *s = profile_builder_string(b, sentence);
  return s ? vec_push(&b->evidence, s) : -ENOMEM;
}

/* The name of a variable, if its library exports it. */
static const char *variable_name(const struct image *img, bool tls, uint64_t at) {
  const struct image_symbol *s = image_export_data_at(img, tls ? SYMBOL_TLS : SYMBOL_OBJECT, at);
  return s ? s->name : NULL;
}

static int add_side(struct profile_builder *b, const struct solver *w, const struct solver_side *s) {
  struct profile_side p = {.offset = (uint64_t)s->offset, .width = s->width};
  unsigned image = 0;
  uint64_t offset = 0;
  if (s->from_arg) return 0;
  if (solver_errno(w, &image, &offset) && s->place == PLACED_TLS && s->image == image &&
      (uint64_t)s->offset == offset) {
    if (s->unknown)
      b->error.errno_unknown = true;
    else if (s->value > 0 && s->value <= ERRNO_MAX)
      errno_set_add(&b->error.errnos, (int)s->value);
    return 0;
  }
  /* 0 is no error code, and nothing that does not fit an int is one. */
  if (s->unknown || s->value == 0 || s->value != (int32_t)s->value) return 0;
  if (s->place == PLACED_ARG) {
    p.kind = SIDE_ARG;
    p.argument = s->arg + 1u;
  } else {
    const struct image *img = solver_image(w, s->image);
    p.kind = s->place == PLACED_TLS ? SIDE_TLS : SIDE_GLOBAL;
    p.module = profile_builder_string(b, image_name(img));
    const char *name = variable_name(img, p.kind == SIDE_TLS, p.offset);
    p.name = name ? profile_builder_string(b, name) : NULL;
    if (!p.module || (name && !p.name)) return -ENOMEM;
  }
  return profile_builder_side(b, &p, s->value);
}

/* One result of an error; an int's -1 and a long's are two results and one error. */
static int add_part(struct profile_builder *b, const struct solver *w, uint32_t node, const struct classified *c) {
  const struct solver_result *r = &solver_results_of(w, node).at[c->result];
  b->error.retval = c->retval;
  b->error.wide |= c->wide;
  if (c->confidence == PROFILE_CERTAIN) b->error.confidence = PROFILE_CERTAIN;
  if (r->reasons & (OPAQUE_SYSCALL | OPAQUE_ERRNO)) b->error.errno_unknown = true;
  bool reduced = solver_summary(w, node)->problems & FLOW_REDUCED;
  if (reduced && !(r->evidence & EVIDENCE_ERRNO)) b->error.errno_unknown = true;
  for (uint32_t i = 0; i < r->n_sides; i++) {
    int ret = add_side(b, w, &r->sides[i]);
    if (ret < 0) return ret;
  }
  return b->brief ? 0 : evidence_sentences(w, node, r, add_sentence, b);
}

int analysis_add_function(struct profile_builder *b, const struct solver *w, uint32_t node,
                          const struct image_symbol *s) {
  struct classified errors[ERRORS_MAX];
  struct solver_results rs = solver_results_of(w, node);
  unsigned unknown = 0;
  size_t n = classify(&rs, solver_summary(w, node), errors, ERRORS_MAX, &unknown);
  b->function.name = profile_builder_string(b, s->name);
  b->function.version = s->version ? profile_builder_string(b, s->version) : NULL;
  b->function.unknown = unknown;
  b->function.alone = s->kind == SYMBOL_FUNCTION && !solver_summary(w, node)->makes_calls;
  if (!b->function.name || (s->version && !b->function.version)) return -ENOMEM;
  for (size_t i = 0; i < n; i++) {
    int r = add_part(b, w, node, &errors[i]);
    bool last = i + 1 == n || errors[i + 1].retval != errors[i].retval;
    if (r >= 0 && last) r = profile_builder_end_error(b);
    if (r < 0) return r;
  }
  return profile_builder_end_function(b);
}

int analysis_add_heads(struct profile_builder *b, const struct solver *w, unsigned image) {
  const struct image *img = solver_image(w, image);
  unsigned home = 0;
  uint64_t offset = 0;
  b->library.name = profile_builder_string(b, image_name(img));
  b->library.path = profile_builder_string(b, image_path(img));
  b->library.build_id = profile_builder_string(b, image_build_id(img));
  if (!b->library.name || !b->library.path || !b->library.build_id) return -ENOMEM;
  if (!solver_errno(w, &home, &offset)) return 0;
  const char *module = profile_builder_string(b, image_name(solver_image(w, home)));
  int r = module ? profile_builder_errno_at(b, module, offset) : -ENOMEM;
  return r == -EEXIST ? 0 : r;
}

static int add_library(struct profile_builder *b, struct solver *w, unsigned image) {
  const struct image_symbol *s;
  size_t n = image_exports(solver_image(w, image), &s);
  for (size_t i = 0; i < n; i++) {
    if (!is_function(&s[i]) || !is_first(s, i)) continue;
    int node = solver_want(w, image, s[i].address, s[i].kind == SYMBOL_IFUNC);
    int r = node < 0 ? node : analysis_add_function(b, w, (uint32_t)node, &s[i]);
    if (r < 0) return r;
  }
  return profile_builder_end_library(b);
}

/* The profile of one image of a solver that was run. */
static int write_profile(struct solver *w, unsigned image, struct profile *ret) {
  struct profile_builder b = {0};
  int r = analysis_add_heads(&b, w, image);
  if (r >= 0) r = add_library(&b, w, image);
  if (r >= 0) r = profile_builder_finish(&b, ret);
  profile_builder_done(&b);
  return r;
}

/* --- all of them -------------------------------------------------------------------------------------------------- */

/* Each root's profile: from the cache, or analysed with the others that are not there. */
static int profile_roots(const struct profile_request *request, struct analysis *a, struct profile *parts) {
  size_t n = a->set.n_roots;
  bool *cached = calloc(n + 1, sizeof *cached);
  if (!cached) return -ENOMEM;
  int r = 0;
  bool any = false;
  for (size_t i = 0; i < n && r >= 0; i++) {
    uint64_t key = request->no_cache ? 0 : cache_key(&a->set, i, &a->knowledge);
    cached[i] = key && cache_load(a->set.images.at[i], key, &parts[i]) >= 0;
    if (cached[i]) continue;
    any = true;
    r = want(a->solver, (unsigned)i);
  }
  if (r >= 0 && any) r = solver_run(a->solver);
  for (size_t i = 0; i < n && r >= 0; i++) {
    if (cached[i]) continue;
    r = write_profile(a->solver, (unsigned)i, &parts[i]);
    uint64_t key = request->no_cache ? 0 : cache_key(&a->set, i, &a->knowledge);
    if (r >= 0 && key) cache_save(a->set.images.at[i], key, &parts[i]);
  }
  free(cached);
  return r;
}

/* Puts the parts together; their arenas become one chain by copying the libraries' heads only. */
static int join(struct profile *parts, size_t n, struct profile *ret) {
  struct profile_library *libraries = arena_zalloc(&ret->arena, (n + 1) * sizeof *libraries);
  if (!libraries) return -ENOMEM;
  for (size_t i = 0; i < n; i++) {
    if (!parts[i].n_libraries) continue;
    libraries[ret->n_libraries++] = parts[i].libraries[0];
    if (!ret->errno_module && parts[i].errno_module) {
      ret->errno_module = parts[i].errno_module;
      ret->errno_offset = parts[i].errno_offset;
    }
    arena_adopt(&ret->arena, &parts[i].arena);
  }
  ret->libraries = libraries;
  return 0;
}

/* Not a part of what is cached: it says where the errors of system calls are from today. */
static int name_kernel(const struct knowledge *k, struct profile *p) {
  if (k->kernel) p->kernel = arena_strdup(&p->arena, k->kernel);
  if (k->kernel_note) p->kernel_note = arena_strdup(&p->arena, k->kernel_note);
  return (k->kernel && !p->kernel) || (k->kernel_note && !p->kernel_note) ? -ENOMEM : 0;
}

/* Says what the rooms below return without words. */
static int no_memory(int r, struct err *e) {
  if (r == -ENOMEM && e && !e->text[0]) (void)err_set(e, r, "out of memory");
  return r;
}

int profile_analyse(const struct profile_request *request, struct profile *ret, struct err *e) {
  struct analysis a;
  struct profile joined = {0};
  int r = analysis_start(request, &a, e);
  if (r < 0) return no_memory(r, e);
  struct profile *parts = calloc(a.set.n_roots + 1, sizeof *parts);
  r = parts ? profile_roots(request, &a, parts) : -ENOMEM;
  if (r >= 0) r = join(parts, a.set.n_roots, &joined);
  if (r >= 0) r = name_kernel(&a.knowledge, &joined);
  for (size_t i = 0; parts && i < a.set.n_roots; i++)
    profile_done(&parts[i]);
  free(parts);
  analysis_done(&a);
  if (r < 0)
    profile_done(&joined);
  else
    *ret = joined;
  return no_memory(r, e);
}
