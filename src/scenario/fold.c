/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can be known of a condition before the program runs: constants, and for which calls it can hold at all.
 */
#include "scenario/classes.h"

static bool constant(const struct expr *x) { return x->kind == EXPR_NUMBER; }

static struct expr *set(struct expr *x, enum expr_type type, int64_t number) {
  x->kind = EXPR_NUMBER;
  x->type = type;
  x->number = number;
  x->n_args = 0;
  return x;
}

bool expr_pure(const struct expr *x) {
  if (x->kind == EXPR_ONCE || x->kind == EXPR_RANDOM || x->kind == EXPR_TRIGGER || x->kind == EXPR_ORDERED ||
      x->kind == EXPR_SINCE || (x->kind == EXPR_AFTER && x->n_args > 1))
    return false;
  for (size_t i = 0; i < x->n_args; i++)
    if (!expr_pure(x->args[i])) return false;
  return true;
}

bool expr_counts(const struct expr *x) {
  switch (x->kind) {
  case EXPR_NUMBER:
  case EXPR_CALL:
    return true;
  case EXPR_UNARY:
  case EXPR_BINARY:
  case EXPR_AND:
  case EXPR_OR:
  case EXPR_NOT:
    for (size_t k = 0; k < x->n_args; k++)
      if (!expr_counts(x->args[k])) return false;
    return true;
  default:
    return false;
  }
}

/* State that other rules see as well. */
static bool shared(const struct expr *x) {
  if (x->kind == EXPR_TRIGGER) return x->trigger->references > 1 || x->trigger->class->outside;
  for (size_t i = 0; i < x->n_args; i++)
    if (shared(x->args[i])) return true;
  return false;
}

static struct expr *fold_unary(struct expr *x) {
  int64_t n = x->args[0]->number;
  if (!constant(x->args[0])) return x;
  return set(x, TYPE_NUMBER, x->op == WIRE_OP_NEG ? wire_compute(WIRE_OP_SUB, 0, n) : ~n);
}

/* One side decides, or does not matter. */
static struct expr *fold_joined(struct expr *x) {
  bool decides = x->kind == EXPR_OR;
  struct expr *a = x->args[0], *b = x->args[1];
  if (constant(a) && (a->number != 0) == decides) return set(x, TYPE_TRUTH, decides);
  if (constant(b) && (b->number != 0) == decides && !shared(a)) return set(x, TYPE_TRUTH, decides);
  if (constant(a) && b->type == TYPE_TRUTH) return b;
  if (constant(b) && (b->number != 0) != decides && a->type == TYPE_TRUTH) return a;
  return x;
}

struct expr *expr_fold(struct expr *x) {
  for (size_t i = 0; i < x->n_args; i++)
    x->args[i] = expr_fold(x->args[i]);
  switch (x->kind) {
  case EXPR_RANDOM:
    return x->real >= 1 ? set(x, TYPE_TRUTH, 1) : x->real <= 0 ? set(x, TYPE_TRUTH, 0) : x;
  case EXPR_UNARY:
    return fold_unary(x);
  case EXPR_BINARY:
    if (!constant(x->args[0]) || !constant(x->args[1])) return x;
    return set(x, x->type, wire_compute(x->op, x->args[0]->number, x->args[1]->number));
  case EXPR_NOT:
    return constant(x->args[0]) ? set(x, TYPE_TRUTH, x->args[0]->number == 0) : x;
  case EXPR_AND:
  case EXPR_OR:
    return fold_joined(x);
  default:
    return x;
  }
}

/* --- order -------------------------------------------------------------------------------------------------------- */

/* How dear it is to ask: registers, the caller, memory, the kernel, the stack. */
enum cost { COST_NUMBER, COST_REGISTER, COST_CALLER, COST_MEMORY, COST_KERNEL, COST_STACK, COST_STATE, COST_ONCE };

static enum cost own_cost(const struct expr *x) {
  switch (x->kind) {
  case EXPR_CALLER:
  case EXPR_NEAR:
    return COST_CALLER;
  case EXPR_MATCH:
  case EXPR_GLOBAL:
  case EXPR_TIME:
    return COST_MEMORY;
  case EXPR_FD_KIND:
  case EXPR_FD_BLOCKING:
  case EXPR_FD_PATH:
  case EXPR_PATH: /* it may be the descriptor's */
  case EXPR_THREAD_NAME:
  case EXPR_PROGRAM:
    return COST_KERNEL;
  case EXPR_STACK:
  case EXPR_LOCAL:
  case EXPR_OUTER:
    return COST_STACK;
  default:
    return expr_counts(x) ? COST_NUMBER : COST_REGISTER;
  }
}

static enum cost cost(const struct expr *x) {
  if (x->kind == EXPR_ONCE) return COST_ONCE;
  if (!expr_pure(x)) return COST_STATE;
  enum cost most = own_cost(x);
  for (size_t i = 0; i < x->n_args && x->kind != EXPR_CALLER && x->kind != EXPR_STACK; i++) {
    enum cost one = cost(x->args[i]); /* once: chains are deep */
    if (one > most) most = one;
  }
  return most;
}

typedef VEC(struct expr *) expr_vec;

/* The operands of a chain of KIND that have this cost, from left to right. */
static int collect(struct expr *x, enum expr_kind kind, enum cost wanted, expr_vec *ret) {
  if (x->kind != kind) return cost(x) == wanted ? vec_push(ret, x) : 0;
  int r = collect(x->args[0], kind, wanted, ret);
  return r < 0 ? r : collect(x->args[1], kind, wanted, ret);
}

static struct expr *chained(struct arena *a, enum expr_kind kind, struct expr *left, struct expr *right,
                            struct where at) {
  struct expr *node = expr_new(a, kind, TYPE_TRUTH, at);
  if (!node) return NULL;
  node->n_args = 2;
  node->args[0] = left;
  node->args[1] = right;
  return node;
}

/* All operands of a chain, from left to right. */
static int flatten(struct expr *x, enum expr_kind kind, expr_vec *ret) {
  if (x->kind != kind) return vec_push(ret, x);
  int r = flatten(x->args[0], kind, ret);
  return r < 0 ? r : flatten(x->args[1], kind, ret);
}

/* Those without state that stand side by side, the cheapest first: what has state is asked for the same calls then. */
static void sort_runs(expr_vec *parts) {
  for (size_t i = 1; i < parts->n; i++)
    for (size_t k = i; k > 0; k--) {
      struct expr *left = parts->at[k - 1], *right = parts->at[k];
      if (!expr_pure(left) || !expr_pure(right) || cost(left) <= cost(right)) break;
      parts->at[k - 1] = right;
      parts->at[k] = left;
    }
}

static int collect_all(struct expr *x, expr_vec *ret) {
  int r = 0;
  if (x->kind == EXPR_OR) {
    r = flatten(x, x->kind, ret);
    sort_runs(ret);
    return r;
  }
  for (enum cost wanted = COST_NUMBER; wanted <= COST_ONCE && r >= 0; wanted++)
    r = collect(x, x->kind, wanted, ret);
  return r;
}

/*
 * Conjuncts, the cheapest first; alternatives as far as those with state are not asked for other calls. What has state
 * in a conjunction is asked for the same calls as before, or for fewer: those that a condition without state does not
 * rule out anyway.
 */
struct expr *expr_order(struct arena *a, struct expr *x) {
  expr_vec parts = {0};
  if (x->kind == EXPR_NOT || (x->kind == EXPR_BINARY && x->args[0]->type == TYPE_TRUTH)) {
    for (size_t i = 0; i < x->n_args; i++)
      if (!(x->args[i] = expr_order(a, x->args[i]))) return NULL;
    return x;
  }
  if (x->kind != EXPR_AND && x->kind != EXPR_OR) return x;
  struct expr *chain = collect_all(x, &parts) < 0 ? NULL : expr_order(a, parts.at[0]);
  for (size_t i = 1; i < parts.n && chain; i++) {
    struct expr *next = expr_order(a, parts.at[i]);
    chain = next ? chained(a, x->kind, chain, next, x->at) : NULL;
  }
  vec_done(&parts);
  return chain;
}

/* --- ranges ------------------------------------------------------------------------------------------------------- */

static const struct range all = {1, UINT64_MAX}, none = {1, 0};

static struct range both(struct range a, struct range b) {
  struct range r = {a.first > b.first ? a.first : b.first, a.last < b.last ? a.last : b.last};
  return r.first > r.last ? none : r;
}

static struct range either(struct range a, struct range b) {
  if (a.first > a.last) return b;
  if (b.first > b.last) return a;
  return (struct range){a.first < b.first ? a.first : b.first, a.last > b.last ? a.last : b.last};
}

/* Calls whose number compares so with N. */
static struct range compared(enum wire_op op, int64_t n) {
  uint64_t u = (uint64_t)n;
  switch (op) {
  case WIRE_OP_EQ:
    return n < 1 ? none : (struct range){u, u};
  case WIRE_OP_LT:
    return n <= 1 ? none : (struct range){1, u - 1};
  case WIRE_OP_LE:
    return n < 1 ? none : (struct range){1, u};
  case WIRE_OP_GT:
    return n < 1 ? all : n == INT64_MAX ? none : (struct range){u + 1, UINT64_MAX};
  case WIRE_OP_GE:
    return n < 1 ? all : (struct range){u, UINT64_MAX};
  default: /* !=: only the first call can be cut off */
    return n == 1 ? (struct range){2, UINT64_MAX} : all;
  }
}

static enum wire_op mirrored(enum wire_op op) {
  switch (op) {
  case WIRE_OP_LT:
    return WIRE_OP_GT;
  case WIRE_OP_LE:
    return WIRE_OP_GE;
  case WIRE_OP_GT:
    return WIRE_OP_LT;
  case WIRE_OP_GE:
    return WIRE_OP_LE;
  default:
    return op;
  }
}

static enum wire_op opposite(enum wire_op op) {
  switch (op) {
  case WIRE_OP_EQ:
    return WIRE_OP_NE;
  case WIRE_OP_NE:
    return WIRE_OP_EQ;
  case WIRE_OP_LT:
    return WIRE_OP_GE;
  case WIRE_OP_LE:
    return WIRE_OP_GT;
  case WIRE_OP_GT:
    return WIRE_OP_LE;
  default:
    return WIRE_OP_LT;
  }
}

/* Calls for which the comparison can come out as VALUE. */
static struct range comparison(const struct expr *x, bool value) {
  const struct expr *a = x->args[0], *b = x->args[1];
  enum wire_op op = x->op;
  if (op < WIRE_OP_EQ || op > WIRE_OP_GE) return all;
  if (a->kind == EXPR_NUMBER && b->kind == EXPR_CALL) {
    const struct expr *swap = a;
    a = b;
    b = swap;
    op = mirrored(op);
  }
  if (a->kind != EXPR_CALL || b->kind != EXPR_NUMBER) return all;
  return compared(value ? op : opposite(op), b->number);
}

/* Calls for which X, which is pure, can come out as VALUE. */
static struct range can_be(const struct expr *x, bool value) {
  switch (x->kind) {
  case EXPR_NUMBER:
    return (x->number != 0) == value ? all : none;
  case EXPR_BINARY:
    return comparison(x, value);
  case EXPR_NOT:
    return can_be(x->args[0], !value);
  case EXPR_AND:
  case EXPR_OR: {
    struct range a = can_be(x->args[0], value), b = can_be(x->args[1], value);
    return (x->kind == EXPR_AND) == value ? both(a, b) : either(a, b);
  }
  default:
    return all;
  }
}

/* Of a conjunction, the part before the first that has state decides: the rest is not evaluated where that is false. */
static bool leading(const struct expr *x, struct range *r) {
  if (expr_pure(x)) {
    *r = both(*r, can_be(x, true));
    return true;
  }
  if (x->kind == EXPR_AND && leading(x->args[0], r)) return leading(x->args[1], r);
  return false;
}

struct range expr_range(const struct expr *x) {
  struct range r = all;
  (void)leading(x, &r);
  return r;
}

bool expr_one_shot(const struct expr *x) {
  if (shared(x)) return false;
  if (x->kind == EXPR_ONCE || (x->kind == EXPR_TRIGGER && x->trigger->class->once)) return true;
  return x->kind == EXPR_AND && (expr_one_shot(x->args[0]) || expr_one_shot(x->args[1]));
}
