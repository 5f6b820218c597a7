/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What conditions ask of calls of other functions: after("f"), since("f"), between("f", "g"), locks.
 *
 * Each such condition has a slot of each thread. The functions that it names get rules that never fail and set the slot
 * to a number: 1 for the start, 0 for the end. They come before the function's own rules, so that a call that fails
 * counts, too.
 */
#include "scenario/classes.h"

#include <errno.h>
#include <string.h>

int plan_thread_slot(struct plan *p, const void *owner, uint32_t *ret) {
  uint64_t slot;
  if (!p->n_thread_slots) p->n_thread_slots = WIRE_THREAD_OWN;
  if (!owner) return 0;
  if (!map_get(&p->thread_slots, (uintptr_t)owner, &slot)) {
    slot = p->n_thread_slots++;
    if (map_put(&p->thread_slots, (uintptr_t)owner, slot) < 0) return plan_no_memory(p);
  }
  *ret = (uint32_t)slot;
  return 0;
}

static int add_mark(struct plan *p, const struct expr *owner, const struct expr *function, int64_t value) {
  struct mark m = {.function = function->string, .at = function->at, .value = value};
  int r = plan_thread_slot(p, owner, &m.slot);
  return r < 0 ? r : vec_push(&p->marks, m) < 0 ? plan_no_memory(p) : 0;
}

static int find(struct plan *p, const struct expr *x) {
  int r = 0;
  switch (x->kind) {
  case EXPR_SINCE:
  case EXPR_AFTER:
    return add_mark(p, x, x->args[0], 1);
  case EXPR_NEAR:
    r = add_mark(p, x, x->args[0], 0);
    return r < 0 ? r : plan_mark_sites(p, x);
  case EXPR_BETWEEN:
    r = add_mark(p, x, x->args[0], 1);
    return r < 0 ? r : add_mark(p, x, x->args[1], 0);
  case EXPR_LOCKS:
    p->locks = true;
    return plan_thread_slot(p, NULL, NULL);
  case EXPR_THREAD:
    return plan_thread_slot(p, NULL, NULL);
  case EXPR_FD_WRITTEN:
    p->written = true;
    return plan_thread_slot(p, NULL, NULL);
  case EXPR_TRIGGER:
    p->plugins |= x->trigger->class == &class_custom;
    x = x->trigger->class->expr ? x->trigger->class->expr(x->trigger) : NULL;
    return x ? find(p, x) : 0;
  default:
    for (size_t i = 0; i < x->n_args && r >= 0; i++)
      r = find(p, x->args[i]);
    return r;
  }
}

int plan_find_marks(struct plan *p) {
  int r = 0;
  for (size_t i = 0; i < p->scenario->rules.n && r >= 0; i++)
    if (p->scenario->rules.at[i].when) r = find(p, p->scenario->rules.at[i].when);
  return r;
}

static bool is_about(const struct plan *p, const struct mark *m, const char *name) {
  return strcmp(m->function, name) == 0 || strcmp(m->function, site_names_written(p->names, name)) == 0;
}

static int push_mark(struct plan *p, const struct mark *m) {
  struct emitter e = {.plan = p, .at = m->at};
  struct wire_rule w = {.code = (uint32_t)p->code.n,
                        .flags = WIRE_UNUSED,
                        .first = 1,
                        .last = UINT64_MAX,
                        .fault = (uint32_t)p->faults.n};
  size_t jump = 0;
  int r = 0;
  if (m->site) {
    struct wire_place place = m->site->place;
    place.flags |= WIRE_LAST;
    r = vec_push(&p->places.places, place) < 0 ? plan_no_memory(p) : 0;
    if (r >= 0) r = emit(&e, WIRE_OP_CALLER, (uint32_t)p->places.places.n - 1);
    if (r >= 0) r = emit_jump(&e, WIRE_OP_IF_ZERO, &jump);
  }
  if (r >= 0) r = emit_number(&e, m->value);
  if (r >= 0) r = emit(&e, WIRE_OP_MARK, m->slot);
  if (r >= 0 && m->site) r = emit_land(&e, jump);
  if (r >= 0) r = emit(&e, WIRE_OP_END, 0);
  if (r >= 0) r = plan_slot(p, m, &w.slot);
  if (r < 0) return r;
  return vec_push(&p->rules, w) < 0 ? plan_no_memory(p) : 0;
}

int plan_push_marks(struct plan *p, const char *name) {
  int r = 0;
  for (size_t i = 0; i < p->marks.n && r >= 0; i++) {
    const struct mark *m = &p->marks.at[i];
    /* One trigger that several rules refer to is found several times. */
    bool again = false;
    for (size_t k = 0; k < i; k++)
      again |= p->marks.at[k].slot == m->slot && p->marks.at[k].value == m->value && is_about(p, &p->marks.at[k], name);
    if (!again && is_about(p, m, name)) r = push_mark(p, m);
  }
  return r;
}
