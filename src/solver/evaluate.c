/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One function's results: its outcomes, with each call replaced by what the callee can return under the outcome's
 * guards.
 *
 * Results with the same return value become one; what is set along with it is the union. A guard that no result of its
 * callee can satisfy makes the outcome impossible. Where the outcome does not set errno itself, the nearest guard whose
 * callee fails with errno set gives it.
 */
#include "solver/evaluate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RESULTS_MAX 400

static bool limits_arg(const struct solver_result *r) {
  for (unsigned i = 0; r->outcome && i < r->outcome->n_guards; i++)
    if (r->outcome->guards[i].arg) return true;
  return false;
}

static bool same_key(const struct solver_result *a, const struct solver_result *b) {
  if (a->kind == RESULT_OPAQUE && b->kind == RESULT_OPAQUE)
    return (a->reasons & OPAQUE_POSITIVE) == (b->reasons & OPAQUE_POSITIVE);
  if (a->kind == RESULT_ARG && a->outcome != b->outcome && (limits_arg(a) || limits_arg(b))) return false;
  return a->kind == b->kind && a->value == b->value && a->arg == b->arg && a->image == b->image &&
         flow_transform_equal(a->ops, b->ops);
}

/* Adds R, with what was found to be set on its way. */
static void add_result(struct evaluation *e, struct solver_result r) {
  size_t i = 0;
  r.sides = NULL;
  r.n_sides = 0;
  while (i < e->results.n && !same_key(&e->results.at[i], &r))
    i++;
  if (i == e->results.n) {
    if (i >= RESULTS_MAX) {
      e->overflow = true;
      return;
    }
    if (e->sides.n == i) {
      side_vec *more = vec_more(&e->sides);
      if (!more) {
        e->failed = true;
        return;
      }
      *more = (side_vec){0};
    }
    if (vec_push(&e->results, r) < 0) e->failed = true;
    if (e->failed) return;
  } else {
    struct solver_result *old = &e->results.at[i];
    bool before = sides_set_errno(e->solver, e->sides.at[i].at, e->sides.at[i].n),
         now = sides_set_errno(e->solver, e->found.at, e->found.n);
    old->errno_partial |= r.errno_partial || before != now;
    uint8_t shared = old->evidence & r.evidence & EVIDENCE_SHARED;
    old->evidence = (uint8_t)(((old->evidence | r.evidence) & ~EVIDENCE_SHARED) | shared);
    old->reasons |= r.reasons;
    if (r.narrow && (!old->narrow || r.narrow < old->narrow)) old->narrow = r.narrow;
    if (!old->arg_guard) old->arg_guard = r.arg_guard;
    /* The way that says most is the one to show. */
    if (!sides_set_errno(e->solver, e->sides.at[i].at, e->sides.at[i].n) && e->found.n) {
      old->outcome = r.outcome;
      old->via_node = r.via_node;
      old->via_value = r.via_value;
      old->because_node = r.because_node;
      old->because_value = r.because_value;
      old->because_guard = r.because_guard;
    }
  }
  for (size_t k = 0; k < e->found.n; k++)
    side_add(e, &e->sides.at[i], e->found.at[k]);
}

static uint8_t evidence_of(const struct evaluation *e) {
  uint8_t v = 0;
  for (size_t i = 0; i < e->found.n; i++)
    v |= side_is_errno(e->solver, &e->found.at[i]) ? EVIDENCE_ERRNO : e->found.at[i].value != 0 ? EVIDENCE_SIDE : 0;
  return v;
}

static bool negative(uint64_t v) { return (int64_t)v < 0 || (v >> 32 == 0 && (int32_t)v < 0); }

/* Would a caller of the callee call this result a failure? */
static bool fails(const struct solver_results *rs, const struct solver_result *r) {
  bool proof = r->evidence & (EVIDENCE_ERRNO | EVIDENCE_CALLEE | EVIDENCE_SYSCALL);
  if (r->kind != RESULT_CONST) return false;
  if (negative(r->value)) return true;
  if (r->value != 0) return proof;
  /* 0 is a failure only of a function that returns something else when it succeeds. */
  for (uint32_t i = 0; i < rs->n; i++) {
    const struct solver_result *o = &rs->at[i];
    if (o->kind == RESULT_POINTER || o->kind == RESULT_ARG) return true;
    if (proof && !r->errno_partial && (o->kind == RESULT_OPAQUE || (o->kind == RESULT_CONST && o->value == 1)))
      return true;
    if (proof && o->kind == RESULT_OPAQUE && o->reasons & OPAQUE_WIDE) return true;
  }
  return false;
}

/* Garbage in rax on some way: the callee returns nothing, and what else it leaves there means nothing. */
static bool returns_nothing(const struct solver_results *rs) {
  for (uint32_t i = 0; i < rs->n; i++)
    if (rs->at[i].kind == RESULT_UNDEFINED) return true;
  return false;
}

/* Called for its effect, with a constant: as error queues are fed. */
static bool is_raised(const struct flow_call *c, const struct solver_results *rs) {
  for (uint32_t i = 0; i < rs->n && !returns_nothing(rs); i++)
    if (rs->at[i].kind == RESULT_CONST) return false; /* its constants would be looked at */
  for (unsigned i = 0; i < 4; i++) {
    const struct flow_value *a = &c->args[i];
    if (a->kind == VALUE_CONST && a->value && a->value < 65536) return true;
    if (a->kind == VALUE_CHOICE && a->choices[0].kind == VALUE_CONST && a->choices[0].value) return true;
  }
  return false;
}

/* Sides of a call that returns nothing and is only made: what it stores through pointers it was given. */
static void passed_stores(struct evaluation *e, const struct flow_guard *g, const struct solver_results *rs) {
  const struct flow_call *c = &e->node->summary.calls[g->call];
  bool effect = returns_nothing(rs) || rs->n == 1; /* its value is not looked at */
  for (uint32_t i = 0; i < rs->n && effect; i++)
    for (uint32_t k = 0; k < rs->at[i].n_sides; k++) {
      const struct solver_side *side = &rs->at[i].sides[k];
      unsigned n = side->from_arg && side->from_arg <= FLOW_ARGS ? choice_count(&c->args[side->from_arg - 1]) : 1;
      for (unsigned pick = 0; pick < n && !side_is_errno(e->solver, side); pick++) {
        struct solver_side s = *side;
        if (side_of_callee(e, c, &s, pick) && !s.unknown && s.value != 0) found_add(e, s);
      }
    }
}

/* A call that was only made: does it always set errno? */
static bool passed_sets_errno(struct evaluation *e, const struct flow_guard *g, struct solver_result *r) {
  uint32_t node;
  const struct solver_results *rs = call_results(e, g->call, &node);
  if (!rs || !node || !rs->n) return false;
  passed_stores(e, g, rs);
  if (is_raised(&e->node->summary.calls[g->call], rs)) r->evidence |= EVIDENCE_RAISED;
  for (uint32_t i = 0; i < rs->n; i++)
    if (!sides_set_errno(e->solver, rs->at[i].sides, rs->at[i].n_sides) || rs->at[i].errno_partial) return false;
  for (uint32_t i = 0; i < rs->n; i++)
    found_add_callee(e, &e->node->summary.calls[g->call], &rs->at[i]);
  r->because_node = node;
  r->because_value = rs->at[0].value;
  return true;
}

static bool is_exported(const struct solver *solver, const struct solver_side *s) {
  enum image_symbol_kind kind = s->place == PLACED_TLS ? SYMBOL_TLS : SYMBOL_OBJECT;
  return image_export_data_at(solver->images.at[s->image], kind, (uint64_t)s->offset) != NULL;
}

/* A callee's own variables are its state, not a message to the caller's caller, unless they can be named. */
static void drop_private(struct evaluation *e) {
  size_t n = 0;
  for (size_t i = 0; i < e->found.n; i++) {
    const struct solver_side *s = &e->found.at[i];
    if (s->place == PLACED_ARG || side_is_errno(e->solver, s) || is_exported(e->solver, s)) e->found.at[n++] = *s;
  }
  e->found.n = n;
}

/* Is it success that the condition asks for, as far as a value that is not known can tell? */
static bool succeeds(const struct solver_results *rs, const struct solver_result *r, const struct flow_guard *g) {
  switch (g->cc) {
  case CC_NS:
  case CC_GE:
  case CC_G:
    return true;
  case CC_A:
  case CC_AE:
    return (int64_t)g->imm >= 0;
  case CC_NE:
    if (r->reasons & OPAQUE_POSITIVE) return false; /* most system calls return 0 */
    break;
  default:
    return false;
  }
  for (uint32_t i = 0; i < rs->n && g->imm == 0; i++) /* 0 is success, then the rest is not */
    if (rs->at[i].kind == RESULT_CONST && rs->at[i].value == 0 && !fails(rs, &rs->at[i])) return false;
  return true;
}

/* A call that is not known may fail, and set errno, where the condition asks for a failure. */
static bool may_fail(struct evaluation *e, const struct flow_guard *g) {
  uint32_t node;
  const struct solver_results *rs = call_results(e, g->call, &node);
  for (uint32_t i = 0; rs && i < rs->n; i++)
    if (rs->at[i].kind == RESULT_OPAQUE && rs->at[i].reasons & (OPAQUE_INDIRECT | OPAQUE_EXTERNAL) &&
        !succeeds(rs, &rs->at[i], g))
      return true;
  return false;
}

/* A guard whose callee can satisfy it only by failing. */
static bool guarded_by_failure(struct evaluation *e, const struct flow_outcome *o, unsigned guard,
                               struct solver_result *r) {
  const struct flow_guard *g = &o->guards[guard];
  const struct flow_call *c = &e->node->summary.calls[g->call];
  uint32_t node, failing = 0;
  const struct solver_results *rs = call_results(e, g->call, &node);
  for (uint32_t i = 0; rs && i < rs->n; i++) {
    struct solver_result s = result_known(e, c, rs->at[i]);
    enum answer a = result_satisfies(e, &s, g);
    if (a == ANSWER_NO || !solver_outcome_allows(e, o, g->call, &s)) continue;
    if (a == ANSWER_YES && !fails(rs, &rs->at[i])) return false;
    if (a == ANSWER_MAYBE && succeeds(rs, &rs->at[i], g)) return false;
    if (a == ANSWER_YES) failing = i + 1;
  }
  if (!failing) return false;
  size_t own = e->found.n;
  for (uint32_t i = 0; i < rs->n; i++) {
    struct solver_result s = result_known(e, c, rs->at[i]);
    if (result_satisfies(e, &s, g) == ANSWER_YES && solver_outcome_allows(e, o, g->call, &s))
      found_add_callee(e, c, &rs->at[i]);
  }
  if (!own) drop_private(e);
  r->evidence |= EVIDENCE_CALLEE;
  r->because_node = node;
  r->because_value = rs->at[failing - 1].value;
  r->because_guard = (uint8_t)(guard + 1);
  return true;
}

static void constant_outcome(struct evaluation *e, const struct flow_outcome *o, struct solver_result r) {
  bool unknown = false;
  r.kind = RESULT_CONST;
  r.value = o->ret.value;
  for (unsigned i = 0; i < o->n_guards && !r.arg_guard; i++)
    if (o->guards[i].arg) r.arg_guard = &o->guards[i];
  if (o->shared) r.evidence |= EVIDENCE_SHARED;
  for (unsigned i = 0; i < o->n_guards && !sides_set_errno(e->solver, e->found.at, e->found.n); i++) {
    if (o->guards[i].arg) continue;
    if (o->guards[i].cc != GUARD_PASSED && may_fail(e, &o->guards[i])) unknown = true;
    bool settled =
        o->guards[i].cc == GUARD_PASSED ? passed_sets_errno(e, &o->guards[i], &r) : guarded_by_failure(e, o, i, &r);
    if (settled) break;
  }
  r.evidence |= evidence_of(e);
  if (unknown && !(r.evidence & EVIDENCE_ERRNO)) r.reasons |= OPAQUE_ERRNO;
  add_result(e, r);
}

/* A callee's result after the operations on it. */
static struct solver_result transformed(const struct evaluation *e, struct solver_result r,
                                        const struct transform *ops) {
  uint64_t x;
  bool pointer;
  if (!ops) return r;
  switch (r.kind) {
  case RESULT_CONST:
    if (!flow_transform_apply(ops, e->solver->images.at[e->node->image], r.value, &x, &pointer)) break;
    r.value = pointer ? 0 : x;
    if (pointer) r.kind = RESULT_POINTER;
    return r;
  case RESULT_UNDEFINED:
    return r;
  case RESULT_OPAQUE:
    if (ops->kind == XF_ZERO && !ops->next) return r;
    break;
  case RESULT_ARG:
    if (r.ops || ops->next || ops->kind != XF_ZERO) break;
    r.ops = ops;
    return r;
  default:
    break;
  }
  r.reasons = r.kind == RESULT_OPAQUE ? (uint16_t)((r.reasons & ~OPAQUE_POSITIVE) | OPAQUE_COMPUTED) : OPAQUE_COMPUTED;
  r.kind = RESULT_OPAQUE;
  r.value = 0;
  r.ops = NULL;
  return r;
}

/* A function of its own value, as in depth(left) + 1, has no end of values. */
static bool grows(const struct evaluation *e, uint32_t node, const struct transform *ops) {
  if (!node || e->solver->nodes.at[node - 1]->circle != e->circle) return false;
  for (; ops; ops = ops->next)
    if (ops->kind == XF_ADD || ops->kind == XF_MUL || ops->kind == XF_SHL || ops->kind == XF_NEG) return true;
  return false;
}

/* Of a value that is not known, operations can leave a few: x >> 31 is 0 or -1. */
static bool few_results(struct evaluation *e, const struct flow_outcome *o, const struct solver_result *r,
                        struct solver_result base) {
  const struct transform *rest = NULL;
  uint64_t values[TRANSFORM_VALUES];
  bool unknown = r->kind == RESULT_OPAQUE || r->kind == RESULT_ARG;
  unsigned n = unknown && !(r->reasons & OPAQUE_POSITIVE) ? flow_transform_values(o->ret.ops, values, &rest) : 0;
  e->found.n = 0;
  for (unsigned i = 0; i < n; i++) {
    base.kind = RESULT_CONST;
    if (flow_transform_apply(rest, e->solver->images.at[e->node->image], values[i], &base.value, NULL))
      add_result(e, base);
  }
  return n > 0;
}

static void add_passed_on(struct evaluation *e, const struct flow_outcome *o, const struct solver_result *from,
                          struct solver_result r) {
  const struct flow_call *c = &e->node->summary.calls[o->ret.call];
  r = transformed(e, r, o->ret.ops);
  r.evidence &= (uint8_t)~EVIDENCE_SHARED;
  r.because_node = r.because_guard = 0;
  r.arg_guard = NULL; /* it spoke of the callee's arguments */
  e->found.n = 0;
  for (unsigned k = 0; k < o->n_stores; k++)
    found_add_store(e, o, &o->stores[k]);
  if (!sides_set_errno(e->solver, e->found.at, e->found.n)) found_add_callee(e, c, from);
  for (unsigned i = 0; i < o->n_guards && r.kind == RESULT_CONST; i++) {
    bool other = !o->guards[i].arg && o->guards[i].cc != GUARD_PASSED && o->guards[i].call != o->ret.call;
    if (sides_set_errno(e->solver, e->found.at, e->found.n) || (other && guarded_by_failure(e, o, i, &r))) break;
  }
  r.evidence |= evidence_of(e);
  add_result(e, r);
}

/* The callee returns its argument, which is another call's result. */
static bool forwarded_results(struct evaluation *e, const struct flow_outcome *o, const struct solver_result *from,
                              unsigned pick, struct solver_result base) {
  const struct flow_call *c = &e->node->summary.calls[o->ret.call];
  uint32_t node;
  if (from->kind != RESULT_ARG || from->arg >= FLOW_ARGS || c->kind == CALL_SYSTEM) return false;
  struct flow_value a = choice_pick(c->args[from->arg], pick);
  if (a.kind != VALUE_CALL || a.call == o->ret.call) return false;
  const struct solver_results *rs = call_results(e, a.call, &node);
  for (uint32_t i = 0; rs && i < rs->n; i++) {
    struct solver_result r = result_known(e, &e->node->summary.calls[a.call], rs->at[i]);
    if (!solver_outcome_allows(e, o, a.call, &r)) continue;
    r = transformed(e, r, a.ops);
    if (r.kind == RESULT_CONST && !result_allows_arg(from, r.value)) continue;
    r = transformed(e, r, from->ops);
    if (r.kind != RESULT_CONST) r = (struct solver_result){.kind = RESULT_OPAQUE, .reasons = OPAQUE_COMPUTED};
    r.outcome = base.outcome;
    r.via_node = node;
    r.via_value = rs->at[i].value;
    add_passed_on(e, o, from, r);
  }
  return rs != NULL;
}

static void call_outcome(struct evaluation *e, const struct flow_outcome *o, struct solver_result base) {
  const struct flow_call *c = &e->node->summary.calls[o->ret.call];
  uint32_t node;
  const struct solver_results *rs = call_results(e, o->ret.call, &node);
  bool nothing = rs && returns_nothing(rs);
  for (uint32_t i = 0, pick = 0; rs && i < rs->n;) {
    struct solver_result r = result_substitute(e, c, rs->at[i], pick);
    uint32_t from = i, picked = pick;
    if (++pick >= result_choices(c, &rs->at[i])) {
      i++;
      pick = 0;
    }
    if (!solver_outcome_allows(e, o, o->ret.call, &r) || (nothing && r.kind != RESULT_UNDEFINED)) continue;
    if (few_results(e, o, &r, base)) continue;
    if (grows(e, node, o->ret.ops)) r = (struct solver_result){.kind = RESULT_OPAQUE, .reasons = OPAQUE_COMPUTED};
    if (forwarded_results(e, o, &rs->at[from], picked, base)) continue;
    r.outcome = base.outcome;
    r.via_node = node;
    r.via_value = rs->at[from].value;
    add_passed_on(e, o, &rs->at[from], r);
  }
}

struct side_result {
  const struct flow_outcome *outcome;
  struct solver_result base;
  bool any;
};

static void add_side_result(struct evaluation *e, void *context, const struct solver_side *s) {
  struct side_result *to = context;
  struct solver_result r = to->base;
  to->any = true;
  e->found.n = 0;
  if (s->from_arg || (s->more && r.reasons & OPAQUE_MORE)) return;
  r.kind = RESULT_CONST;
  r.evidence = EVIDENCE_ERRNO | EVIDENCE_CALLEE;
  if (s->unknown) {
    r.kind = RESULT_OPAQUE;
    r.evidence = 0;
    r.reasons = OPAQUE_MEMORY;
  } else if (!flow_transform_apply(to->outcome->ret.ops, NULL, (uint64_t)s->value, &r.value, NULL))
    return;
  for (unsigned k = 0; k < to->outcome->n_stores; k++)
    found_add_store(e, to->outcome, &to->outcome->stores[k]);
  if (!s->unknown) found_add(e, *s);
  add_result(e, r);
}

struct known_sides {
  bool any, more;
};

static void look_at_side(struct evaluation *e, void *context, const struct solver_side *s) {
  struct known_sides *k = context;
  (void)e;
  k->any |= !s->unknown && !s->from_arg;
  k->more |= s->more;
}

/* errno is returned, perhaps negated, after a call that failed. */
static void side_outcome(struct evaluation *e, const struct flow_outcome *o, struct solver_result base) {
  struct side_result to = {.outcome = o, .base = base};
  for (unsigned i = 0; i < o->n_guards; i++)
    if (!o->guards[i].arg && o->guards[i].call == o->ret.call && o->guards[i].cc != GUARD_PASSED)
      to.base.because_guard = (uint8_t)(i + 1);
  struct known_sides known = {0};
  side_each_value(e, o, &o->ret, look_at_side, &known);
  if (known.any && known.more) to.base.reasons |= OPAQUE_MORE; /* then those that are known tell of the others */
  side_each_value(e, o, &o->ret, add_side_result, &to);
  e->found.n = 0;
  if (to.any) return;
  base.kind = RESULT_OPAQUE;
  base.reasons = OPAQUE_MEMORY;
  add_result(e, base);
}

static void outcome_results(struct evaluation *e, const struct flow_outcome *o) {
  struct solver_result r = {.outcome = o, .narrow = o->narrow};
  struct solver_side tls = {0};
  struct flow_value ret = call_actual(e, o->ret);
  e->found.n = 0;
  if (!solver_outcome_possible(e, o)) return;
  switch (ret.kind) {
  case VALUE_CONST: {
    struct flow_outcome copy = *o;
    copy.ret = ret;
    for (unsigned k = 0; k < o->n_stores; k++)
      found_add_store(e, o, &o->stores[k]);
    constant_outcome(e, o->ret.kind == VALUE_CONST ? o : &copy, r);
    return;
  }
  case VALUE_CALL:
    call_outcome(e, o, r);
    return;
  case VALUE_SIDE:
    side_outcome(e, o, r);
    return;
  case VALUE_ARG:
    r.kind = RESULT_ARG;
    r.arg = ret.arg;
    r.ops = ret.ops;
    for (unsigned k = 0; k < o->n_stores; k++)
      found_add_store(e, o, &o->stores[k]);
    break;
  case VALUE_ADDRESS:
  case VALUE_STACK:
  case VALUE_THREAD:
    r.kind = RESULT_POINTER;
    break;
  case VALUE_TLS:
    r.kind = RESULT_POINTER;
    if (!side_in_thread(e, &(struct flow_place){.where = ret.value, .raw = ret.raw}, &tls)) break;
    r.kind = RESULT_TLS;
    r.image = tls.image;
    r.value = (uint64_t)tls.offset;
    break;
  case VALUE_UNDEFINED:
    r.kind = RESULT_UNDEFINED;
    for (unsigned k = 0; k < o->n_stores; k++)
      found_add_store(e, o, &o->stores[k]);
    break;
  default:
    r.kind = RESULT_OPAQUE;
    r.reasons = ret.kind == VALUE_MEMORY ? OPAQUE_MEMORY : OPAQUE_COMPUTED;
    if (ret.raw == RAW_WIDE || ret.raw == RAW_POINTER) r.reasons |= OPAQUE_WIDE;
    if (ret.raw == RAW_POINTER) r.reasons |= OPAQUE_POINTER;
    if (ret.raw == RAW_ORDER) r.reasons |= OPAQUE_ORDER;
  }
  add_result(e, r);
}

static void ifunc_results(struct evaluation *e) {
  for (uint32_t i = 0; i < e->node->summary.n_outcomes; i++) {
    const struct flow_value *v = &e->node->summary.outcomes[i].ret;
    struct flow_call c = {.kind = CALL_ADDRESS, .target = v->value, .args = flow_args_unasked};
    int n = v->kind == VALUE_ADDRESS ? solver_callee(e->solver, e->number, &c) : -ENOENT;
    if (n < 0) {
      e->found.n = 0;
      add_result(e, (struct solver_result){.kind = RESULT_OPAQUE, .reasons = OPAQUE_INDIRECT});
      continue;
    }
    const struct solver_results *rs = &e->solver->nodes.at[n]->results;
    for (uint32_t k = 0; k < rs->n; k++) {
      e->found.n = 0;
      for (uint32_t s = 0; s < rs->at[k].n_sides; s++)
        side_add(e, &e->found, rs->at[k].sides[s]);
      struct solver_result r = rs->at[k];
      r.outcome = NULL;
      r.via_node = (uint32_t)n + 1;
      r.via_value = rs->at[k].value;
      add_result(e, r);
    }
  }
}

static int keep_results(struct evaluation *e, struct solver_results *ret) {
  struct arena *a = e->arena;
  struct solver_result *at = arena_memdup(a, e->results.at, e->results.n * sizeof *at);
  if (!at && e->results.n) return -ENOMEM;
  for (size_t i = 0; i < e->results.n; i++) {
    if (!e->sides.at[i].n) continue;
    at[i].sides = arena_memdup(a, e->sides.at[i].at, e->sides.at[i].n * sizeof *at[i].sides);
    at[i].n_sides = (uint32_t)e->sides.at[i].n;
    if (!at[i].sides) return -ENOMEM;
  }
  *ret = (struct solver_results){at, (uint32_t)e->results.n};
  return 0;
}

int evaluate(struct evaluation *e, uint32_t number, struct solver_results *ret) {
  const struct node *n = e->solver->nodes.at[number];
  e->node = n;
  e->number = number;
  e->results.n = 0;
  e->overflow = e->failed = false;
  map_clear(&e->for_args);
  for (size_t i = 0; i < e->sides.n; i++)
    e->sides.at[i].n = 0;
  if (n->ifunc)
    ifunc_results(e);
  else
    for (uint32_t i = 0; i < n->summary.n_outcomes && !e->failed; i++)
      outcome_results(e, &n->summary.outcomes[i]);
  e->found.n = 0;
  unsigned reasons = (n->summary.problems & FLOW_COMPLEX || e->overflow ? OPAQUE_COMPLEX : 0) |
                     (n->summary.problems & FLOW_BAD_CODE ? OPAQUE_CODE : 0);
  if (reasons) add_result(e, (struct solver_result){.kind = RESULT_OPAQUE, .reasons = (uint16_t)reasons});
  return e->failed ? -ENOMEM : keep_results(e, ret);
}

void results_keep_origin(const struct solver_results *old, const struct solver_results *now) {
  for (uint32_t i = 0; i < now->n; i++) {
    struct solver_result *r = (struct solver_result *)&now->at[i];
    for (uint32_t k = 0; k < old->n && r->kind == RESULT_CONST; k++) {
      const struct solver_result *o = &old->at[k];
      if (!same_key(o, r) || (o->n_sides == 0) != (r->n_sides == 0)) continue;
      r->outcome = o->outcome;
      r->via_node = o->via_node;
      r->via_value = o->via_value;
      r->because_node = o->because_node;
      r->because_value = o->because_value;
      r->because_guard = o->because_guard;
    }
  }
}

bool results_equal(const struct solver_results *a, const struct solver_results *b) {
  if (a->n != b->n) return false;
  for (uint32_t i = 0; i < a->n; i++) {
    const struct solver_result *x = &a->at[i], *y = &b->at[i];
    if (!same_key(x, y) || x->n_sides != y->n_sides || x->evidence != y->evidence || x->reasons != y->reasons)
      return false;
  }
  return true;
}

void evaluation_done(struct evaluation *e) {
  for (size_t i = 0; i < e->sides.n; i++)
    vec_done(&e->sides.at[i]);
  vec_done(&e->sides);
  vec_done(&e->results);
  vec_done(&e->found);
  map_done(&e->for_args);
}
