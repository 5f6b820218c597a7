/* SPDX-License-Identifier: Apache-2.0 */
/*
 * near("f", 3): the call stands at most so many lines behind a call of f in the same function, of which parts may have
 * been inlined, and that one was made last. Each call of f that the program has is a number, which f's rules put into a
 * slot of the thread; and for each number there is the set of calls that are near.
 */
#include "scenario/plan.h"

#include <errno.h>
#include <string.h>

#define SITES_MAX 2000 /* of calls, and again of what may be some */

static int find_sites(struct plan *p, const struct expr *x, const char *name, struct scenario_sites *ret) {
  struct err why = {0};
  int r = p->world->call_sites(p->world->context, name, ret, &why);
  return r < 0 ? FAIL_AT(x->at, p->e, r, "%s", why.text) : 0;
}

static size_t count_perhaps(const struct scenario_sites *s) {
  size_t n = 0;
  for (size_t i = 0; i < s->sites.n; i++)
    n += s->sites.at[i].perhaps;
  return n;
}

static void drop_perhaps(struct scenario_sites *s) {
  size_t n = 0;
  for (size_t i = 0; i < s->sites.n; i++)
    if (!s->sites.at[i].perhaps) s->sites.at[n++] = s->sites.at[i];
  s->sites.n = n;
}

/*
 * The calls of a function under all names that it is imported by, in an order that is always the same. 1: without those
 * through a register, of which there are too many.
 */
static int sites_of(struct plan *p, const struct expr *x, struct scenario_sites *ret) {
  const char *function = x->args[0]->string;
  int r = 0;
  if (!p->world->call_sites) return FAIL_AT(x->at, p->e, -ENOSYS, "lines of the program are not known here");
  for (size_t i = 0; i < p->world->n_functions && r >= 0; i++) {
    const char *name = p->world->functions[i];
    bool same = strcmp(name, function) == 0 || strcmp(site_names_written(p->names, name), function) == 0;
    if (same && (i == 0 || strcmp(name, p->world->functions[i - 1]) != 0)) r = find_sites(p, x, name, ret);
  }
  if (r < 0) return r;
  size_t perhaps = count_perhaps(ret), sure = ret->sites.n - perhaps;
  if (sure > SITES_MAX || (sure == 0 && perhaps > SITES_MAX))
    return FAIL_AT(x->args[0]->at, p->e, -E2BIG, "%.60s is called from too many places", function);
  if (perhaps <= SITES_MAX) return 0;
  drop_perhaps(ret);
  return 1;
}

/* Not a mistake, but something is not seen. */
static void note_dropped(struct plan *p, const struct expr *x) {
  struct err note;
  if (!p->world->note) return;
  (void)FAIL_AT(x->args[0]->at, &note, -E2BIG,
                "%.60s may be called through a register in too many places; near does not see those calls",
                x->args[0]->string);
  p->world->note(p->world->context, note.text);
}

int plan_mark_sites(struct plan *p, const struct expr *x) {
  struct scenario_sites sites = {0};
  uint32_t slot = 0;
  int r = sites_of(p, x, &sites);
  if (r > 0) note_dropped(p, x);
  if (r >= 0) r = plan_thread_slot(p, x, &slot);
  for (size_t i = 0; i < sites.sites.n && r >= 0; i++) {
    struct mark m = {.function = x->args[0]->string, .at = x->args[0]->at, .slot = slot, .value = (int64_t)i + 1};
    m.site = arena_memdup(&p->arena, &sites.sites.at[i], sizeof *m.site);
    if (!m.site || vec_push(&p->marks, m) < 0) r = plan_no_memory(p);
  }
  vec_done(&sites.sites);
  return r;
}

static bool same_function(const struct scenario_line *a, const struct scenario_line *b) {
  return strcmp(a->file, b->file) == 0 && strcmp(a->in, b->in) == 0;
}

/*
 * Lines are counted in the innermost function that both calls are in. What was inlined there on either side, as an
 * unlock in a function of a header, stands where it was called.
 */
static bool is_near(const struct scenario_site *from, const struct scenario_site *to, int64_t lines) {
  size_t k = 0;
  if (from->place.module != to->place.module || !same_function(&from->lines[0], &to->lines[0])) return false;
  while (from->lines[k].line == to->lines[k].line && k + 1 < from->n_lines && k + 1 < to->n_lines &&
         same_function(&from->lines[k + 1], &to->lines[k + 1]))
    k++;
  return to->lines[k].line >= from->lines[k].line && to->lines[k].line - from->lines[k].line <= lines;
}

/* Is a call near to another one, and neither of them only one perhaps? */
static bool any_sure(const struct scenario_sites *from, const struct scenario_sites *to, int64_t lines) {
  for (size_t i = 0; i < from->sites.n; i++)
    for (size_t k = 0; k < to->sites.n && !from->sites.at[i].perhaps; k++)
      if (!to->sites.at[k].perhaps && is_near(&from->sites.at[i], &to->sites.at[k], lines)) return true;
  return false;
}

static void note_perhaps(const struct emitter *m, const struct expr *x) {
  struct err note;
  if (!m->plan->world->note) return;
  (void)FAIL_AT(x->at, &note, -ENODATA,
                "no call of %.60s stands within %lld lines behind one of %.60s, but for calls through a register, "
                "which may be of other functions",
                m->subject->written, (long long)x->args[1]->number, x->args[0]->string);
  m->plan->world->note(m->plan->world->context, note.text);
}

/* The calls among SITES that are near to FROM, as a set; 0 if there are none. */
static int add_set(struct plan *p, const struct scenario_site *from, const struct scenario_sites *sites, int64_t lines,
                   uint32_t *ret) {
  size_t first = p->places.places.n;
  for (size_t i = 0; i < sites->sites.n; i++)
    if (is_near(from, &sites->sites.at[i], lines) && vec_push(&p->places.places, sites->sites.at[i].place) < 0)
      return plan_no_memory(p);
  if (p->places.places.n == first) return 0;
  p->places.places.at[p->places.places.n - 1].flags |= WIRE_LAST;
  *ret = (uint32_t)first;
  return 1;
}

/* Was it that call, and is the caller in the set? */
static int emit_one(struct emitter *m, uint32_t slot, int64_t number, uint32_t set) {
  size_t jump;
  int r = emit(m, WIRE_OP_CALLER, set);
  if (r >= 0) r = emit_jump(m, WIRE_OP_IF_ZERO, &jump);
  if (r >= 0) r = emit(m, WIRE_OP_MARKED, slot);
  if (r >= 0) r = emit_number(m, number);
  if (r >= 0) r = emit(m, WIRE_OP_EQ, 0);
  return r < 0 ? r : emit_land(m, jump);
}

static int emit_all(struct emitter *m, const struct expr *x, const struct scenario_sites *from,
                    const struct scenario_sites *to) {
  uint32_t slot = 0, set = 0;
  bool any = false;
  size_t jump = 0;
  int r = plan_thread_slot(m->plan, x, &slot);
  for (size_t i = 0; i < from->sites.n && r >= 0; i++) {
    r = add_set(m->plan, &from->sites.at[i], to, x->args[1]->number, &set);
    if (r <= 0) continue;
    r = any ? emit_jump(m, WIRE_OP_IF_SET, &jump) : 0;
    if (r >= 0) r = emit_one(m, slot, (int64_t)i + 1, set);
    if (r >= 0 && any) r = emit_land(m, jump);
    any = true;
  }
  if (r < 0) return r;
  if (!any)
    return FAIL_AT(x->at, m->plan->e, -ENOENT, "no call of %.60s stands within %lld lines behind one of %.60s",
                   m->subject->written, (long long)x->args[1]->number, x->args[0]->string);
  if (!any_sure(from, to, x->args[1]->number)) note_perhaps(m, x);
  return emit(m, WIRE_OP_KNOWN, 0);
}

int emit_near(struct emitter *m, const struct expr *x) {
  struct scenario_sites from = {0}, to = {0};
  const struct expr *of = x->args[0]; /* it is imported, or would not have been chosen */
  int r = sites_of(m->plan, x, &from);
  if (r >= 0 && !from.sites.n)
    r = FAIL_AT(of->at, m->plan->e, -ENOENT, "no call of %.60s has a source line (compile with -g)", of->string);
  if (r >= 0) r = find_sites(m->plan, x, m->subject->name, &to);
  if (r >= 0) r = emit_all(m, x, &from, &to);
  vec_done(&from.sites);
  vec_done(&to.sites);
  return r;
}
