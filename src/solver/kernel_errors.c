/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The errors that each function of a kernel can return, as sets of numbers.
 *
 * A kernel's functions call each other in one large circle, through tables of operations, so that the results of
 * evaluate.c, which carry conditions and stores, would not come to an end in time. Here a function has a set of errors:
 * constants from -1 to -575 that its outcomes return, and those that the calls it returns have and its conditions on
 * them allow. Sets only grow. They are brought to a fixed point in rounds, each of which sees only what the round
 * before has found, so that the first explanation of an error is one of the shortest.
 */
#include "solver/node.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct rounds {
  struct solver *solver;
  uint32_t *callers; /* of all nodes, together */
  uint8_t *due;
  VEC(struct solver_error) news;       /* of the node at hand */
  struct error_set had[1 + FLOW_ARGS]; /* before and in this round */
  uint64_t passes;
  struct solver_gap gap;
  const char *name; /* of the node at hand, if it matters */
  bool failed;
};

static bool has(const struct error_set *s, unsigned error) { return s->bits[error / 64] >> (error % 64) & 1; }

/* The number that a returned value is as an error, or 0. An int may be in the low half only. */
static unsigned error_of(uint64_t value) {
  if (value >> 32 == 0) value = (uint64_t)(int64_t)(int32_t)value;
  return -value <= ERRORS_MAX ? (unsigned)-value : 0;
}

static void add_error(struct rounds *s, struct solver_error e) {
  if (e.number == 0 || has(&s->had[e.place], e.number)) return;
  if (s->name && s->solver->ways.never(s->solver->ways.context, s->name, e.number)) return;
  s->had[e.place].bits[e.number / 64] |= 1ull << (e.number % 64);
  if (vec_push(&s->news, e) < 0) s->failed = true;
}

/* The first counts, which is one of the nearest. */
static void add_gap(struct rounds *s, uint32_t via, uint64_t at) {
  if (!s->gap.there) s->gap = (struct solver_gap){.there = true, .via = via, .at = at};
}

/* --- where calls go ----------------------------------------------------------------------------------------------- */

typedef void (*use_target)(void *context, uint32_t node, uint64_t table);

static void each_target(const struct solver *solver, uint32_t node, uint32_t call, use_target use, void *context) {
  const struct node *n = solver->nodes.at[node];
  int to = n->errors->callees ? n->errors->callees[call] : -1;
  if (to >= 0) use(context, (uint32_t)to, 0);
  for (uint32_t i = 0; i < n->errors->n_pointers; i++) {
    const struct pointer_call *p = &n->errors->pointers[i];
    for (uint32_t k = 0; p->call == call && k < p->n; k++) {
      struct flow_call c = {.kind = CALL_ADDRESS, .target = p->targets[k].function, .args = flow_args_unasked};
      to = solver_callee(solver, node, &c);
      if (to >= 0) use(context, (uint32_t)to, p->targets[k].table);
    }
  }
}

/* --- one function ------------------------------------------------------------------------------------------------- */

struct asked {
  struct rounds *s;
  uint32_t node, call;
  const struct flow_outcome *outcome; /* whose conditions hold; NULL if none */
  const struct transform *ops;        /* what is done to it on its way out */
  bool negated;                       /* and then this */
  const struct asked *outer;          /* and then what this says; NULL if nothing */
  unsigned depth;
  uint8_t place; /* where what is found goes */
  uint8_t from;  /* where it is looked for in the function that is called */
};

/* What becomes of the value X on its way out. */
static bool comes_out(const struct asked *a, uint64_t x, uint64_t *ret) {
  bool pointer;
  for (; a; a = a->outer) {
    if (!flow_transform_apply(a->ops, a->s->solver->images.at[0], x, &x, &pointer)) return false;
    if (a->negated) x = -x;
  }
  *ret = x;
  return true;
}

/* Does the chain only change a value's width and sign? */
static bool only_passes(const struct transform *ops, bool *negated) {
  for (; ops; ops = ops->next) {
    bool widens = (ops->kind == XF_SIGN || ops->kind == XF_ZERO) && ops->width >= 4;
    if (ops->kind != XF_NEG && !widens) return false;
    *negated ^= ops->kind == XF_NEG;
  }
  return true;
}

/* Does an argument come out as it is, or negated? -1 given as a mask is no error if something else is done to it. */
static bool is_passed(const struct asked *a, const struct transform *ops, bool *ret_negated) {
  *ret_negated = false;
  bool passed = only_passes(ops, ret_negated);
  for (; a && passed; a = a->outer) {
    passed = only_passes(a->ops, ret_negated);
    *ret_negated ^= a->negated;
  }
  return passed;
}

static bool allowed(const struct asked *a, unsigned error) {
  const struct flow_outcome *o = a->outcome;
  uint64_t x;
  bool pointer;
  for (unsigned i = 0; o && i < o->n_guards; i++) {
    const struct flow_guard *g = &o->guards[i];
    if (g->call != a->call || g->arg || g->cc == GUARD_PASSED) continue;
    if (!flow_transform_apply(g->ops, a->s->solver->images.at[0], -(uint64_t)error, &x, &pointer)) continue;
    if (!flow_condition_holds(g->cc, g->width, x, g->imm)) return false;
  }
  return true;
}

static void ask_value(const struct asked *a, const struct flow_value *v);

/* What a function that may be called returns: its errors, and those that its caller gave it. */
static void use_callee(void *context, uint32_t node, uint64_t table) {
  const struct asked *a = context;
  const struct node *callee = a->s->solver->nodes.at[node];
  const struct flow_call *call = &a->s->solver->nodes.at[a->node]->summary.calls[a->call];
  if (a->place == 0 && a->from == 0 && callee->errors->gap.there) add_gap(a->s, node + 1, call->at);
  for (size_t i = 0; i < callee->errors->found.n; i++) {
    unsigned from = callee->errors->found.at[i].number;
    uint64_t x;
    if (callee->errors->found.at[i].place != a->from) continue;
    if (!allowed(a, from) || !comes_out(a, -(uint64_t)from, &x)) continue;
    add_error(a->s, (struct solver_error){.number = (uint16_t)error_of(x),
                                          .place = a->place,
                                          .from_place = a->from,
                                          .via = node + 1,
                                          .from = (uint16_t)from,
                                          .at = call->at,
                                          .table = table});
  }
  for (unsigned k = 0; k < 2 * FLOW_ARGS && a->depth < 3 && a->from == 0; k++) {
    struct asked deeper = {.s = a->s, .node = a->node, .outer = a, .place = a->place, .depth = a->depth + 1};
    deeper.negated = k >= FLOW_ARGS;
    if (callee->errors->passes >> k & 1) ask_value(&deeper, &call->args[k % FLOW_ARGS]);
  }
}

/* Is it known where the call leads? */
static bool leads(const struct solver *solver, const struct node *n, uint32_t call) {
  if (n->errors->callees && n->errors->callees[call] >= 0) return true;
  for (uint32_t i = 0; i < n->errors->n_pointers && !solver->ways.incomplete; i++)
    if (n->errors->pointers[i].call == call && n->errors->pointers[i].known) return true;
  return false;
}

static void ask_targets(struct asked *a) {
  const struct solver *solver = a->s->solver;
  const struct node *n = solver->nodes.at[a->node];
  if (a->place == 0 && a->from == 0 && !leads(solver, n, a->call)) add_gap(a->s, 0, n->summary.calls[a->call].at);
  each_target(solver, a->node, a->call, use_callee, a);
}

static void ask_call(struct asked *a, const struct flow_value *v) {
  a->call = v->call;
  if (v->call < a->s->solver->nodes.at[a->node]->summary.n_calls) ask_targets(a);
}

static void ask_value(const struct asked *a, const struct flow_value *v) {
  struct asked b = *a;
  uint64_t x;
  bool negated;
  b.ops = v->ops;
  b.negated = false;
  b.outer = a;
  switch (v->kind) {
  case VALUE_CONST:
    if (comes_out(a, v->value, &x))
      add_error(a->s, (struct solver_error){.number = (uint16_t)error_of(x), .place = a->place, .at = v->at});
    break;
  case VALUE_SIDE:
    if (v->arg != PLACE_ARG || v->value >= FLOW_ARGS) break;
    b.outcome = NULL; /* its conditions are on what the call returns */
    b.from = (uint8_t)(v->value + 1);
    ask_call(&b, v);
    break;
  case VALUE_CALL:
    ask_call(&b, v);
    break;
  case VALUE_ARG:
    if (v->arg < FLOW_ARGS && a->place == 0 && is_passed(a, v->ops, &negated))
      a->s->passes |= 1ull << (v->arg + (negated ? FLOW_ARGS : 0));
    break;
  case VALUE_CHOICE:
    for (uint64_t i = 0; i < v->value; i++)
      ask_value(a, &v->choices[i]);
    break;
  default:
    break;
  }
}

/* int *error, behind an argument */
static void ask_store(struct rounds *s, uint32_t node, const struct flow_outcome *o, const struct flow_store *st) {
  if (st->place.kind != PLACE_ARG || st->place.offset || st->place.size != 4 || st->place.arg >= FLOW_ARGS) return;
  struct asked a = {.s = s, .node = node, .outcome = o, .place = (uint8_t)(st->place.arg + 1)};
  ask_value(&a, &st->value);
}

/* A pointer that a function is given and gives to another. */
static void ask_handed_on(struct rounds *s, uint32_t node) {
  const struct flow_summary *sum = &s->solver->nodes.at[node]->summary;
  for (uint32_t i = 0; i < sum->n_calls; i++)
    for (unsigned k = 0; k < FLOW_ARGS; k++) {
      const struct flow_value *v = &sum->calls[i].args[k];
      if (sum->calls[i].kind != CALL_ADDRESS || v->kind != VALUE_ARG || v->ops || v->arg >= FLOW_ARGS) continue;
      struct asked a = {.s = s, .node = node, .call = i, .place = (uint8_t)(v->arg + 1), .from = (uint8_t)(k + 1)};
      ask_targets(&a);
    }
}

static bool evaluate_node(struct rounds *s, uint32_t node) {
  struct node *n = s->solver->nodes.at[node];
  const struct image_function *f = image_function_at(s->solver->images.at[n->image], n->address);
  const struct solver_ways *ways = &s->solver->ways;
  s->name = f && ways->never ? f->name : NULL;
  s->news.n = 0;
  memcpy(s->had, n->errors->sets, sizeof s->had);
  s->passes = n->errors->passes;
  s->gap = n->errors->gap;
  if (n->summary.problems & (FLOW_COMPLEX | FLOW_BAD_CODE)) add_gap(s, 0, 0);
  for (uint32_t i = 0; i < n->summary.n_outcomes; i++) {
    const struct flow_outcome *o = &n->summary.outcomes[i];
    ask_value(&(struct asked){.s = s, .node = node, .outcome = o}, &o->ret);
    for (unsigned k = 0; k < o->n_stores; k++)
      ask_store(s, node, o, &o->stores[k]);
  }
  ask_handed_on(s, node);
  const uint64_t *gives = f && f->name && ways->gives ? ways->gives(ways->context, f->name) : NULL;
  for (unsigned e = 1; gives && e < 192; e++)
    if (gives[e / 64] >> (e % 64) & 1) add_error(s, (struct solver_error){.number = (uint16_t)e, .at = n->address});
  return s->news.n || s->passes != n->errors->passes || s->gap.there != n->errors->gap.there;
}

/* --- rounds ------------------------------------------------------------------------------------------------------- */

struct counting {
  uint32_t *count;
  uint32_t *list;
  uint32_t caller;
};

static void count_caller(void *context, uint32_t node, uint64_t table) {
  (void)table;
  ((struct counting *)context)->count[node]++;
}

static void note_caller(void *context, uint32_t node, uint64_t table) {
  struct counting *c = context;
  (void)table;
  c->list[--c->count[node]] = c->caller;
}

static void each_call(struct rounds *s, use_target use, struct counting *c) {
  for (size_t i = 0; i < s->solver->nodes.n; i++) {
    c->caller = (uint32_t)i;
    for (uint32_t k = 0; k < s->solver->nodes.at[i]->summary.n_calls; k++)
      each_target(s->solver, (uint32_t)i, k, use, c);
  }
}

/* COUNT gets, for each node, where its callers begin in the list, which ends with those of the last. */
static int find_callers(struct rounds *s, uint32_t *count) {
  size_t n = s->solver->nodes.n, total = 0;
  struct counting c = {.count = count};
  each_call(s, count_caller, &c);
  for (size_t i = 0; i < n; i++) {
    total += count[i];
    count[i] = (uint32_t)total;
  }
  count[n] = (uint32_t)total;
  c.list = s->callers = calloc(total + 1, sizeof *s->callers);
  if (!c.list) return -ENOMEM;
  each_call(s, note_caller, &c);
  return 0;
}

struct change {
  uint32_t node;
  struct solver_gap gap;
  uint64_t passes;
  struct solver_error *errors;
  size_t n;
};

typedef VEC(struct change) change_vec;

/* One round: what the nodes that are due find, to be added when all have looked. */
static int look(struct rounds *s, change_vec *changes, struct arena *arena) {
  for (size_t i = 0; i < s->solver->nodes.n; i++) {
    if (!s->due[i] || !evaluate_node(s, (uint32_t)i)) continue;
    struct change c = {.node = (uint32_t)i, .passes = s->passes, .gap = s->gap, .n = s->news.n};
    c.errors = arena_memdup(arena, s->news.at, s->news.n * sizeof *s->news.at);
    if ((!c.errors && c.n) || s->failed || vec_push(changes, c) < 0) return -ENOMEM;
  }
  return 0;
}

static int apply(struct rounds *s, const change_vec *changes, const uint32_t *first) {
  memset(s->due, 0, s->solver->nodes.n);
  for (size_t i = 0; i < changes->n; i++) {
    const struct change *c = &changes->at[i];
    struct node_errors *e = s->solver->nodes.at[c->node]->errors;
    e->passes = c->passes;
    e->gap = c->gap;
    for (size_t k = 0; k < c->n; k++) {
      e->sets[c->errors[k].place].bits[c->errors[k].number / 64] |= 1ull << (c->errors[k].number % 64);
      if (vec_push(&e->found, c->errors[k]) < 0) return -ENOMEM;
    }
    for (uint32_t k = first[c->node]; k < first[c->node + 1]; k++)
      s->due[s->callers[k]] = 1;
  }
  return 0;
}

static int rounds(struct rounds *s, const uint32_t *first) {
  change_vec changes = {0};
  struct arena arena = {0};
  int r;
  memset(s->due, 1, s->solver->nodes.n);
  do {
    changes.n = 0;
    arena_reset(&arena);
    r = look(s, &changes, &arena);
    if (r >= 0) r = apply(s, &changes, first);
  } while (r >= 0 && changes.n);
  vec_done(&changes);
  arena_done(&arena);
  return r;
}

int solver_solve_errors(struct solver *solver) {
  struct rounds s = {.solver = solver};
  uint32_t *first = calloc(solver->nodes.n + 2, sizeof *first);
  s.due = calloc(solver->nodes.n + 1, 1);
  int r = first && s.due ? 0 : -ENOMEM;
  for (size_t i = 0; i < solver->nodes.n && r >= 0; i++)
    if (!solver->nodes.at[i]->errors) {
      solver->nodes.at[i]->errors = arena_zalloc(&solver->arena, sizeof *solver->nodes.at[i]->errors);
      if (!solver->nodes.at[i]->errors) r = -ENOMEM;
    }
  if (r >= 0) r = find_callers(&s, first);
  if (r >= 0) r = rounds(&s, first);
  free(first);
  free(s.due);
  free(s.callers);
  vec_done(&s.news);
  return r;
}

size_t solver_errors(const struct solver *solver, uint32_t node, const struct solver_error **ret) {
  const struct node_errors *e = solver->nodes.at[node]->errors;
  *ret = e ? e->found.at : NULL;
  return e ? e->found.n : 0;
}

static bool returns(const struct solver *solver, uint32_t node, unsigned number, unsigned place) {
  const struct node_errors *e = solver->nodes.at[node]->errors;
  for (size_t i = 0; i < e->found.n; i++)
    if (e->found.at[i].number == number && e->found.at[i].place == place) return true;
  return false;
}

struct other_tables {
  const struct solver *solver;
  const struct solver_error *e;
  struct solver_error *ret;
  size_t n, max;
};

static void note_table(void *context, uint32_t node, uint64_t table) {
  struct other_tables *o = context;
  if (!table || table == o->e->table || !returns(o->solver, node, o->e->from, o->e->from_place)) return;
  if (o->n < o->max) {
    o->ret[o->n] = *o->e;
    o->ret[o->n].via = node + 1;
    o->ret[o->n].table = table;
  }
  o->n++;
}

size_t solver_error_tables(const struct solver *solver, uint32_t node, const struct solver_error *e,
                           struct solver_error *ret, size_t max) {
  struct other_tables o = {.solver = solver, .e = e, .ret = ret, .max = max};
  const struct flow_summary *s = &solver->nodes.at[node]->summary;
  for (uint32_t i = 0; e->table && i < s->n_calls; i++)
    if (s->calls[i].at == e->at) each_target(solver, node, i, note_table, &o);
  return o.n;
}

bool solver_errors_unknown(const struct solver *solver, uint32_t node) { return solver_errors_gap(solver, node).there; }

struct solver_gap solver_errors_gap(const struct solver *solver, uint32_t node) {
  const struct node_errors *e = solver->nodes.at[node]->errors;
  return e ? e->gap : (struct solver_gap){0};
}

struct solver_kernel_counts solver_count_kernel(const struct solver *solver) {
  struct solver_kernel_counts c = {0};
  for (size_t i = 0; i < solver->nodes.n; i++) {
    const struct node *n = solver->nodes.at[i];
    for (uint32_t k = 0; k < n->summary.n_calls; k++)
      c.pointer_calls += n->summary.calls[k].kind == CALL_POINTER;
    for (uint32_t k = 0; n->errors && k < n->errors->n_pointers; k++) {
      c.resolved += n->errors->pointers[k].n > 0;
      c.targets += n->errors->pointers[k].n;
    }
  }
  return c;
}
