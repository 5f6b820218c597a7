/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is set on the way to a return: errno, other variables, memory behind arguments.
 *
 * A store's place is resolved to a variable of an image or an argument; its value may be a constant, an argument or
 * what a call returned or set. Sides are kept sorted, each once.
 */
#include "solver/evaluate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SIDES_MAX 200

static int side_order(const struct solver_side *a, const struct solver_side *b) {
  if (a->place != b->place) return a->place < b->place ? -1 : 1;
  if (a->image != b->image) return a->image < b->image ? -1 : 1;
  if (a->arg != b->arg) return a->arg < b->arg ? -1 : 1;
  if (a->offset != b->offset) return a->offset < b->offset ? -1 : 1;
  if (a->from_arg != b->from_arg) return a->from_arg < b->from_arg ? -1 : 1;
  if (a->unknown != b->unknown) return a->unknown < b->unknown ? -1 : 1;
  if (a->more != b->more) return a->more < b->more ? -1 : 1;
  if (a->value != b->value) return a->value < b->value ? -1 : 1;
  if (a->width != b->width) return a->width < b->width ? -1 : 1;
  return 0;
}

/* Inserts in order, once. */
void side_add(struct evaluation *e, side_vec *v, struct solver_side s) {
  size_t i = 0, end = v->n;
  if (v->n >= SIDES_MAX) {
    e->overflow = true;
    return;
  }
  if (end && side_order(&v->at[end - 1], &s) < 0) i = end; /* most come in order */
  while (i < end) {
    size_t middle = i + (end - i) / 2;
    int order = side_order(&v->at[middle], &s);
    if (order == 0) return;
    if (order < 0)
      i = middle + 1;
    else
      end = middle;
  }
  if (vec_push(v, s) < 0) {
    e->failed = true;
    return;
  }
  memmove(&v->at[i + 1], &v->at[i], (v->n - 1 - i) * sizeof *v->at);
  v->at[i] = s;
}

bool side_is_errno(const struct solver *solver, const struct solver_side *s) {
  return s->place == PLACED_TLS && solver->has_errno && s->image == solver->errno_image &&
         (uint64_t)s->offset == solver->errno_offset;
}

bool sides_set_errno(const struct solver *solver, const struct solver_side *s, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (side_is_errno(solver, &s[i])) return true;
  return false;
}

/* Offsets are as wrong as the code they are from: they wrap. */
static int64_t sum(uint64_t a, int64_t b) { return (int64_t)(a + (uint64_t)b); }

bool side_in_thread(const struct evaluation *e, const struct flow_place *p, struct solver_side *s) {
  const struct image *img = e->solver->images.at[e->node->image];
  struct image_slot slot;
  unsigned image = e->node->image;
  s->place = PLACED_TLS;
  if (p->raw) {
    s->image = e->node->image;
    s->offset = sum(p->where, p->offset);
    return true;
  }
  if (!image_slot(img, p->where, &slot)) return false;
  s->offset = sum(slot.value, p->offset);
  if (slot.name) {
    const struct image_symbol *sym = solver_symbol(e->solver, image, slot.name, slot.version, &image);
    if (!sym || sym->kind != SYMBOL_TLS) return false;
    s->offset = sum(sym->address, s->offset);
  }
  s->image = (uint16_t)image;
  return true;
}

static bool global_place(const struct evaluation *e, const struct flow_place *p, struct solver_side *s) {
  struct image_slot slot;
  unsigned image = e->node->image;
  s->place = PLACED_GLOBAL;
  s->offset = (int64_t)p->where;
  if (p->raw) {
    if (!image_slot(e->solver->images.at[image], p->where, &slot)) return false;
    const struct image_symbol *sym = solver_symbol(e->solver, image, slot.name, slot.version, &image);
    if (!sym) return false;
    s->offset = (int64_t)(sym->address + (uint64_t)p->offset);
  }
  s->image = (uint16_t)image;
  return true;
}

/* A place behind a pointer that a call returned: __errno_location and its like. */
static bool call_place(struct evaluation *e, const struct flow_place *p, struct solver_side *s) {
  uint32_t node;
  const struct solver_results *rs = call_results(e, p->call, &node);
  for (uint32_t i = 0; rs && i < rs->n; i++) {
    struct solver_result r = result_known(e, &e->node->summary.calls[p->call], rs->at[i]);
    if (r.kind == RESULT_TLS) {
      s->place = PLACED_TLS;
      s->image = r.image;
      s->offset = sum(r.value, p->offset);
      return true;
    }
    if (r.kind == RESULT_ARG && !r.ops) {
      s->place = PLACED_ARG;
      s->arg = r.arg;
      s->offset = p->offset;
      return true;
    }
  }
  return false;
}

static bool resolve_place(struct evaluation *e, const struct flow_place *p, struct solver_side *s) {
  switch (p->kind) {
  case PLACE_TLS:
    return side_in_thread(e, p, s);
  case PLACE_GLOBAL:
    return global_place(e, p, s);
  case PLACE_CALL:
    return call_place(e, p, s);
  default:
    s->place = PLACED_ARG;
    s->arg = p->arg;
    s->offset = p->offset;
    return true;
  }
}

static int64_t stored(uint64_t v, unsigned size) {
  unsigned shift = size < 8 ? 64 - size * 8 : 0;
  return (int64_t)(v << shift) >> shift;
}

/* errno gets only what can be one; 0 clears it and tells nothing. */
void found_add(struct evaluation *e, struct solver_side s) {
  if (side_is_errno(e->solver, &s) && !s.from_arg && !s.unknown && (s.value <= 0 || s.value > ERRNO_MAX)) return;
  side_add(e, &e->found, s);
}

/* What a system call failed with, if that is all that it can fail with. */
static void add_constant(struct evaluation *e, struct solver_side s, unsigned reasons) {
  s.unknown = (reasons & OPAQUE_SYSCALL) != 0;
  found_add(e, s);
  if (!(reasons & OPAQUE_MORE) || !side_is_errno(e->solver, &s)) return;
  s.unknown = s.more = true;
  s.value = 0;
  found_add(e, s);
}

static void add_call_values(struct evaluation *e, const struct flow_outcome *o, const struct flow_store *st,
                            struct solver_side s) {
  const struct image *img = e->solver->images.at[e->node->image];
  const struct flow_call *c = &e->node->summary.calls[st->value.call];
  uint32_t node;
  const struct solver_results *rs = call_results(e, st->value.call, &node);
  for (uint32_t i = 0; rs && i < rs->n; i++) {
    struct solver_result r = result_known(e, c, rs->at[i]);
    uint64_t x;
    if (!solver_outcome_allows(e, o, st->value.call, &r)) continue;
    if (r.kind == RESULT_CONST && flow_transform_apply(st->value.ops, img, r.value, &x, NULL)) {
      s.value = stored(x, st->place.size);
      add_constant(e, s, r.reasons);
    } else if (r.kind == RESULT_ARG && !st->value.ops) {
      struct solver_side t = s;
      t.from_arg = r.arg + 1;
      t.ops = r.ops;
      found_add(e, t);
    } else if (side_is_errno(e->solver, &s)) {
      struct solver_side t = s;
      t.unknown = true;
      t.value = 0;
      found_add(e, t);
    }
  }
}

/* A callee's side, seen from the caller. False if the caller cannot see it. */
bool side_of_callee(const struct evaluation *e, const struct flow_call *c, struct solver_side *s, unsigned pick) {
  uint64_t x;
  if (s->place == PLACED_ARG) {
    if (s->arg >= FLOW_ARGS) return false;
    struct flow_value a = call_actual(e, c->args[s->arg]);
    if (a.kind != VALUE_ARG || (a.ops && (a.ops->kind != XF_ADD || a.ops->next))) return false;
    s->arg = a.arg;
    if (a.ops) s->offset = sum((uint64_t)a.ops->imm, s->offset);
  }
  if (!s->from_arg) return true;
  struct flow_value v = {.kind = VALUE_NONE};
  if (s->from_arg <= FLOW_ARGS) v = call_actual(e, choice_pick(c->args[s->from_arg - 1], pick));
  const struct transform *ops = s->ops;
  s->from_arg = 0;
  s->ops = NULL;
  if (v.kind == VALUE_CONST && flow_transform_apply(ops, NULL, v.value, &x, NULL)) {
    s->value = stored(x, s->width);
    return true;
  }
  if (v.kind == VALUE_ARG && (!ops || !v.ops || (ops->kind == XF_ZERO && !ops->next))) {
    s->from_arg = v.arg + 1;
    s->ops = v.ops ? v.ops : ops;
    return true;
  }
  s->unknown = true;
  return side_is_errno(e->solver, s);
}

/* Calls USE for each value that the call, failing as the outcome's guards say, sets in the place of V. */
void side_each_value(struct evaluation *e, const struct flow_outcome *o, const struct flow_value *v,
                     void (*use)(struct evaluation *, void *, const struct solver_side *), void *context) {
  const struct flow_call *c = &e->node->summary.calls[v->call];
  struct flow_place p = {.kind = v->arg, .raw = v->raw, .where = v->value, .size = 4, .call = (uint16_t)v->value};
  struct solver_side place = {0};
  uint32_t node;
  const struct solver_results *rs = call_results(e, v->call, &node);
  if (!resolve_place(e, &p, &place)) return;
  for (uint32_t i = 0; rs && i < rs->n; i++) {
    struct solver_result r = result_known(e, c, rs->at[i]);
    if (!solver_outcome_allows(e, o, v->call, &r)) continue;
    for (uint32_t k = 0; k < rs->at[i].n_sides; k++) {
      struct solver_side s = rs->at[i].sides[k];
      if (s.place == place.place && s.image == place.image && s.offset == place.offset && side_of_callee(e, c, &s, 0))
        use(e, context, &s);
    }
  }
}

struct side_store {
  const struct flow_store *store;
  struct solver_side place;
};

static void add_side_value(struct evaluation *e, void *context, const struct solver_side *s) {
  const struct side_store *to = context;
  struct solver_side copy = to->place;
  uint64_t x;
  if (s->unknown || s->from_arg || !flow_transform_apply(to->store->value.ops, NULL, (uint64_t)s->value, &x, NULL)) {
    copy.unknown = true;
    copy.more = s->more;
    if (side_is_errno(e->solver, &copy)) found_add(e, copy);
    return;
  }
  copy.value = stored(x, to->store->place.size);
  found_add(e, copy);
}

void found_add_store(struct evaluation *e, const struct flow_outcome *o, const struct flow_store *st) {
  struct solver_side s = {.width = (uint8_t)st->place.size};
  struct flow_value v = call_actual(e, st->value);
  if (!resolve_place(e, &st->place, &s)) return;
  switch (v.kind) {
  case VALUE_CONST:
    s.value = stored(v.value, st->place.size);
    found_add(e, s);
    break;
  case VALUE_ARG:
    s.from_arg = v.arg + 1;
    s.ops = v.ops;
    found_add(e, s);
    break;
  case VALUE_CALL:
    add_call_values(e, o, st, s);
    break;
  case VALUE_SIDE: {
    size_t before = e->found.n;
    side_each_value(e, o, &v, add_side_value, &(struct side_store){st, s});
    s.unknown = e->found.n == before; /* put back, but what it was is not known */
    if (s.unknown && side_is_errno(e->solver, &s)) found_add(e, s);
    break;
  }
  case VALUE_UNDEFINED:
    break; /* put back as it was */
  default:
    s.unknown = true;
    if (side_is_errno(e->solver, &s)) found_add(e, s);
  }
}

/* A callee stores its argument, which is another call's result: its errors, where they can be errno. */
static bool add_forwarded(struct evaluation *e, const struct flow_call *c, struct solver_side s, unsigned pick) {
  uint64_t x;
  uint32_t node;
  if (!s.from_arg || s.from_arg > FLOW_ARGS || !side_is_errno(e->solver, &s)) return false;
  struct flow_value a = choice_pick(c->args[s.from_arg - 1], pick);
  if (a.kind != VALUE_CALL) return false;
  const struct solver_results *rs = call_results(e, a.call, &node);
  const struct transform *ops = s.ops;
  s.from_arg = 0;
  s.ops = NULL;
  for (uint32_t i = 0; rs && i < rs->n; i++) {
    struct solver_result r = result_known(e, &e->node->summary.calls[a.call], rs->at[i]);
    if (r.kind != RESULT_CONST || !flow_transform_apply(a.ops, NULL, r.value, &x, NULL)) continue;
    if (!flow_transform_apply(ops, NULL, x, &x, NULL)) continue;
    s.value = stored(x, s.width);
    add_constant(e, s, r.reasons);
  }
  return true;
}

static void add_sides(struct evaluation *e, const struct flow_call *c, const struct solver_result *r) {
  for (uint32_t i = 0; i < r->n_sides; i++) {
    uint8_t from = r->sides[i].from_arg;
    unsigned n = from && from <= FLOW_ARGS ? choice_count(&c->args[from - 1]) : 1;
    for (unsigned pick = 0; pick < n; pick++) {
      struct solver_side s = r->sides[i];
      if (add_forwarded(e, c, s, pick)) continue;
      if (side_of_callee(e, c, &s, pick)) found_add(e, s);
    }
  }
}

/* The callee fails because it was handed the result of a call that had failed: what that one set. */
static void add_handed_on(struct evaluation *e, const struct flow_call *c, const struct flow_guard *g) {
  uint32_t node;
  if (g->arg > FLOW_ARGS || c->args[g->arg - 1].kind != VALUE_CALL || c->kind == CALL_SYSTEM) return;
  unsigned first = c->args[g->arg - 1].call;
  const struct solver_results *rs = call_results(e, first, &node);
  for (uint32_t i = 0; rs && i < rs->n; i++) {
    struct solver_result r = result_known(e, &e->node->summary.calls[first], rs->at[i]);
    if (result_satisfies(e, &r, g) == ANSWER_YES) add_sides(e, &e->node->summary.calls[first], &rs->at[i]);
  }
}

void found_add_callee(struct evaluation *e, const struct flow_call *c, const struct solver_result *r) {
  add_sides(e, c, r);
  if (r->arg_guard) add_handed_on(e, c, r->arg_guard);
}
