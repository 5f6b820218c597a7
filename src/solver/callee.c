/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a call returns, seen from its caller: the callee's results, with its arguments replaced by what the caller gave,
 * and which of them the conditions behind the call let through.
 */
#include "solver/evaluate.h"

#include <errno.h>
#include <string.h>

static const struct solver_result indirect_result = {.kind = RESULT_OPAQUE, .reasons = OPAQUE_INDIRECT};
static const struct solver_result external_result = {.kind = RESULT_OPAQUE, .reasons = OPAQUE_EXTERNAL};
static const struct solver_results indirect_results = {&indirect_result, 1}, external_results = {&external_result, 1};

/* A system call returns its errors negated, and on success something that is not negative. */
static const struct solver_results *syscall_results(struct evaluation *e, const struct solver_syscall *call) {
  struct solver *solver = e->solver;
  uint64_t bits[3] = {0}, p;
  enum solver_known known = solver->options.syscalls
                                ? solver->options.syscalls(solver->options.syscalls_context, call, bits)
                                : SOLVER_UNKNOWN;
  if (known == SOLVER_UNKNOWN) bits[0] = 1ull << ENOSYS;
  uint64_t key = hash_bytes(bits, sizeof bits) + known;
  if (map_get(e->syscalls, key, &p)) return (const struct solver_results *)(uintptr_t)p;
  unsigned n = 0;
  for (unsigned i = 0; i < COUNT(bits); i++)
    n += (unsigned)__builtin_popcountll(bits[i]);
  struct solver_result *r = arena_zalloc(e->arena, (n + 1) * sizeof *r);
  struct solver_results *rs = arena_zalloc(e->arena, sizeof *rs);
  if (!r || !rs) {
    e->failed = true;
    return NULL;
  }
  uint16_t reasons = known == SOLVER_UNKNOWN ? OPAQUE_SYSCALL : 0, more = known == SOLVER_PARTLY ? OPAQUE_MORE : 0;
  for (unsigned i = 1; i <= ERRNO_MAX; i++)
    if (bits[i / 64] >> (i % 64) & 1)
      r[rs->n++] = (struct solver_result){
          .kind = RESULT_CONST, .value = -(uint64_t)i, .evidence = EVIDENCE_SYSCALL, .reasons = reasons | more};
  r[rs->n++] = (struct solver_result){.kind = RESULT_OPAQUE, .reasons = OPAQUE_POSITIVE | reasons};
  rs->at = r;
  if (map_put(e->syscalls, key, (uintptr_t)rs) < 0) e->failed = true;
  return rs;
}

/* An argument as the caller at hand gave it. */
struct flow_value call_actual(const struct evaluation *e, struct flow_value v) {
  uint64_t x;
  if (v.kind != VALUE_ARG || !e->args || v.arg >= FLOW_ARGS) return v;
  struct flow_value a = e->args[v.arg];
  if (a.kind == VALUE_CONST && flow_transform_apply(v.ops, NULL, a.value, &x, NULL))
    return (struct flow_value){.kind = VALUE_CONST, .value = x, .at = a.at};
  return v;
}

/* A callee that makes the system call it is told to: its results for CALL, which are made once. */
static const struct solver_results *results_for_args(struct evaluation *e, uint32_t callee, unsigned call) {
  struct evaluation inner = {.solver = e->solver, .arena = e->arena, .syscalls = e->syscalls, .circle = e->circle};
  inner.args = e->node->summary.calls[call].args;
  uint64_t known;
  if (map_get(&e->for_args, call, &known)) return (const struct solver_results *)(uintptr_t)known;
  struct solver_results *rs = arena_zalloc(e->arena, sizeof *rs);
  if (!rs || evaluate(&inner, callee, rs) < 0 || map_put(&e->for_args, call, (uintptr_t)rs) < 0) e->failed = true;
  evaluation_done(&inner);
  return rs;
}

static const struct solver_results *system_call(struct evaluation *e, const struct flow_call *c) {
  struct solver_syscall call = {.number = UINT64_MAX};
  struct flow_value number = call_actual(e, c->number);
  if (number.kind == VALUE_CONST) call.number = (uint32_t)number.value;
  for (unsigned i = 0; i < FLOW_ARGS; i++) {
    struct flow_value v = call_actual(e, c->args[i]);
    if (v.kind != VALUE_CONST) continue;
    call.known |= 1u << i;
    call.values[i] = v.value;
  }
  return syscall_results(e, &call);
}

const struct solver_results *call_results(struct evaluation *e, unsigned call, uint32_t *ret_node) {
  const struct flow_call *c = &e->node->summary.calls[call];
  *ret_node = 0;
  if (c->kind == CALL_SYSTEM) return system_call(e, c);
  if (c->kind == CALL_POINTER) return &indirect_results;
  int n = solver_callee(e->solver, e->number, c);
  if (n < 0) return &external_results;
  *ret_node = (uint32_t)n + 1;
  struct node *callee = e->solver->nodes.at[n];
  if (callee->depends_on_args && !e->args && callee != e->node) return results_for_args(e, (uint32_t)n, call);
  return &callee->results;
}

/* How many constants an argument can be, and one of them. */
unsigned choice_count(const struct flow_value *v) { return v->kind == VALUE_CHOICE ? (unsigned)v->value : 1; }

struct flow_value choice_pick(struct flow_value v, unsigned pick) {
  if (v.kind != VALUE_CHOICE) return v;
  return v.choices[pick];
}

unsigned result_choices(const struct flow_call *c, const struct solver_result *r) {
  return r->kind == RESULT_ARG && r->arg < FLOW_ARGS && c->kind != CALL_SYSTEM ? choice_count(&c->args[r->arg]) : 1;
}

/* Would the callee return its argument if it were X? */
bool result_allows_arg(const struct solver_result *r, uint64_t x) {
  uint64_t y;
  for (unsigned i = 0; r->outcome && i < r->outcome->n_guards; i++) {
    const struct flow_guard *g = &r->outcome->guards[i];
    if (g->arg != r->arg + 1 || !flow_transform_apply(g->ops, NULL, x, &y, NULL)) continue;
    if (!flow_condition_holds(g->cc, g->width, y, g->imm)) return false;
  }
  return true;
}

/* A result that is the callee's argument: what the caller gave. */
struct solver_result result_substitute(const struct evaluation *e, const struct flow_call *c, struct solver_result r,
                                       unsigned pick) {
  uint64_t x;
  if (r.kind != RESULT_ARG) return r;
  struct flow_value a = {.kind = VALUE_NONE};
  if (r.arg < FLOW_ARGS && c->kind != CALL_SYSTEM) a = call_actual(e, choice_pick(c->args[r.arg], pick));
  switch (a.kind) {
  case VALUE_CONST:
    if (!result_allows_arg(&r, a.value)) {
      r.kind = RESULT_IMPOSSIBLE;
      return r;
    }
    if (!flow_transform_apply(r.ops, NULL, a.value, &x, NULL)) break;
    r.kind = RESULT_CONST;
    r.value = x;
    r.ops = NULL;
    return r;
  case VALUE_ARG:
    if (a.ops && r.ops && !(r.ops->kind == XF_ZERO && !r.ops->next)) break;
    r.arg = a.arg;
    if (a.ops) r.ops = a.ops;
    return r;
  case VALUE_ADDRESS:
  case VALUE_STACK:
    if (r.ops) break;
    r.kind = RESULT_POINTER;
    return r;
  default:
    break;
  }
  r.kind = RESULT_OPAQUE;
  r.reasons = OPAQUE_COMPUTED;
  r.ops = NULL;
  return r;
}

/* The same where it is enough to know whether it is a constant. */
struct solver_result result_known(const struct evaluation *e, const struct flow_call *c, struct solver_result r) {
  if (result_choices(c, &r) == 1) return result_substitute(e, c, r, 0);
  return (struct solver_result){.kind = RESULT_OPAQUE, .reasons = OPAQUE_COMPUTED};
}

/* Can a result satisfy a guard? */
enum answer result_satisfies(const struct evaluation *e, const struct solver_result *r, const struct flow_guard *g) {
  const struct image *img = e->solver->images.at[e->node->image];
  uint64_t x;
  bool pointer;
  switch (r->kind) {
  case RESULT_IMPOSSIBLE:
    return ANSWER_NO;
  case RESULT_CONST:
    if (!flow_transform_apply(g->ops, img, r->value, &x, &pointer) || pointer) return ANSWER_MAYBE;
    return flow_condition_holds(g->cc, g->width, x, g->imm) ? ANSWER_YES : ANSWER_NO;
  case RESULT_POINTER:
  case RESULT_TLS:
    if (g->imm != 0 || g->width != 8 || g->ops) return ANSWER_MAYBE;
    return g->cc == CC_E ? ANSWER_NO : g->cc == CC_NE ? ANSWER_YES : ANSWER_MAYBE;
  case RESULT_OPAQUE:
    if (!(r->reasons & OPAQUE_POSITIVE)) return ANSWER_MAYBE;
    if (g->ops && g->ops->kind != XF_ZERO) return ANSWER_MAYBE;
    /* Not negative: neither below zero nor among the last 4095. */
    if (g->imm == 0 && (g->cc == CC_S || g->cc == CC_L)) return ANSWER_NO;
    if ((g->cc == CC_A || g->cc == CC_AE) && (int64_t)g->imm < 0) return ANSWER_NO;
    if (g->cc == CC_E && (int64_t)g->imm < 0) return ANSWER_NO;
    return ANSWER_MAYBE;
  case RESULT_UNDEFINED:
    return ANSWER_MAYBE;
  default:
    return ANSWER_MAYBE;
  }
}

/* Do all guards of the outcome on this call allow the result? */
bool solver_outcome_allows(const struct evaluation *e, const struct flow_outcome *o, unsigned call,
                           const struct solver_result *r) {
  if (r->kind == RESULT_IMPOSSIBLE) return false;
  for (unsigned i = 0; i < o->n_guards; i++)
    if (!o->guards[i].arg && o->guards[i].call == call && o->guards[i].cc != GUARD_PASSED &&
        result_satisfies(e, r, &o->guards[i]) == ANSWER_NO)
      return false;
  return true;
}

/* Is the outcome possible? Not if one of its guards asks for what the callee never returns. */
bool solver_outcome_possible(struct evaluation *e, const struct flow_outcome *o) {
  for (unsigned i = 0; i < o->n_guards; i++) {
    uint32_t node;
    const struct flow_guard *g = &o->guards[i];
    if (g->arg) continue;
    const struct solver_results *rs = call_results(e, g->call, &node);
    bool any = false;
    for (uint32_t k = 0; rs && k < rs->n && !any; k++) {
      struct solver_result r = result_known(e, &e->node->summary.calls[g->call], rs->at[k]);
      any = g->cc == GUARD_PASSED || result_satisfies(e, &r, g) != ANSWER_NO;
    }
    if (!any) return false;
  }
  return true;
}
