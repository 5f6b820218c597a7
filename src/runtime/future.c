/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Can a condition hold for any of the calls to come? The stack machine over ranges of values instead of values.
 *
 * What is not known is the whole range; both ways of a jump are looked at then. State slots only count up, and `once`
 * only goes from unused to used, so what is false for all states from now on stays false.
 */
#include "branch.h"
#include "rt_condition.h"
#include "system.h"

#define MOST INT64_MAX
#define LEAST INT64_MIN
#define MAX_FORKS 8 /* of undecided jumps within each other */

struct range {
  int64_t low, high;
};

static const struct range anything = {LEAST, MOST};
static const struct range yes_or_no = {0, 1};

static struct range exactly(int64_t value) { return (struct range){value, value}; }

static bool known(struct range r) { return r.low == r.high; }

static struct range truth(bool always, bool never) { return always ? exactly(1) : never ? exactly(0) : yes_or_no; }

static struct range added(struct range a, struct range b) {
  struct range r;
  if (__builtin_add_overflow(a.low, b.low, &r.low) || __builtin_add_overflow(a.high, b.high, &r.high)) return anything;
  return r;
}

static struct range subtracted(struct range a, struct range b) {
  struct range r;
  if (__builtin_sub_overflow(a.low, b.high, &r.low) || __builtin_sub_overflow(a.high, b.low, &r.high)) return anything;
  return r;
}

/* a % b for b that is known: the range itself if it lies within, else all remainders. */
static struct range remainder_of(struct range a, struct range b) {
  if (!known(b) || b.low <= 0 || a.low < 0) return anything;
  return a.high < b.low ? a : (struct range){0, b.low - 1};
}

static struct range combined(enum wire_op op, struct range a, struct range b) {
  if (known(a) && known(b)) return exactly(wire_compute(op, a.low, b.low));
  switch (op) {
  case WIRE_OP_EQ:
    return truth(false, a.high < b.low || a.low > b.high);
  case WIRE_OP_NE:
    return truth(a.high < b.low || a.low > b.high, false);
  case WIRE_OP_LT:
    return truth(a.high < b.low, a.low >= b.high);
  case WIRE_OP_LE:
    return truth(a.high <= b.low, a.low > b.high);
  case WIRE_OP_GT:
    return truth(a.low > b.high, a.high <= b.low);
  case WIRE_OP_GE:
    return truth(a.low >= b.high, a.high < b.low);
  case WIRE_OP_ADD:
    return added(a, b);
  case WIRE_OP_SUB:
    return subtracted(a, b);
  case WIRE_OP_MOD:
    return remainder_of(a, b);
  default:
    return anything;
  }
}

/* Is there a member of the series in the range? */
static struct range serial(const int64_t series[3], struct range r) {
  if (known(r)) return exactly(wire_in_series(series, r.low));
  if (r.high < series[0] || r.low > series[1]) return exactly(0);
  uint64_t from = (uint64_t)series[0], step = (uint64_t)series[2], first = from;
  if (r.low > series[0]) first += ((uint64_t)r.low - from + step - 1) / step * step;
  int64_t last = r.high < series[1] ? r.high : series[1];
  return first > (uint64_t)last ? exactly(0) : yes_or_no;
}

struct machine {
  struct range stack[WIRE_STACK + 1];
  unsigned n;
};

/* What the conditions are asked for. */
struct question {
  uint32_t rule;
  struct range call;
};

bool rt_order_never;

static bool may_come(const struct question *q, const struct wire_order *o) {
  return o->rule == q->rule && (o->persistent || rt_load(&o->seen) < o->nth);
}

/* Is there an order, and none of them will make this rule fire? In a trunk, those of its children may. */
static bool is_past(const struct question *q) {
  uint32_t n = rt.area && !rt_trunk() ? rt_orders() : 0;
  for (uint32_t i = 0; i < n; i++)
    if (may_come(q, &rt.area->orders[i])) return false;
  return n > 0;
}

static struct range source(const struct question *q, uint32_t op, uint32_t operand) {
  switch (op) {
  case WIRE_OP_ORDER:
    if (rt_order_never) return exactly(0);
    return is_past(q) ? exactly(0) : yes_or_no;
  case WIRE_OP_NUMBER:
    return exactly(rt_array(numbers, int64_t)[operand]);
  case WIRE_OP_CALL:
    return q->call;
  case WIRE_OP_NEXT:
    return (struct range){(int64_t)rt_load(&rt.slots[operand]) + 1, MOST};
  case WIRE_OP_ONCE:
    return rt_load(&rt.slots[operand]) ? exactly(0) : yes_or_no;
  case WIRE_OP_CALLER:
  case WIRE_OP_STACK:
  case WIRE_OP_ASK:
    return yes_or_no;
  case WIRE_OP_LENGTH:
  case WIRE_OP_TIME:
  case WIRE_OP_THREAD:
  case WIRE_OP_MARKED:
  case WIRE_OP_SINCE:
    return (struct range){0, MOST};
  case WIRE_OP_FRESH:
    return yes_or_no;
  case WIRE_OP_PROCESS:
    /* Code that asks for it is of a run with several processes; a child of this one will have another number. */
    return (struct range){1, MOST};
  default:
    return anything;
  }
}

/* A jump on TOP: is it taken? 1, 0, or -1 if both are possible. */
static int taken(uint32_t op, struct range top) {
  bool may_be_zero = top.low <= 0 && top.high >= 0, is_zero = known(top) && top.low == 0;
  if (!is_zero && may_be_zero) return -1;
  return is_zero == (op == WIRE_OP_IF_ZERO);
}

/* One instruction that is no jump and no end. */
static void step(struct machine *m, const struct question *q, uint32_t op, uint32_t operand) {
  struct range *top = m->n > 0 ? &m->stack[m->n - 1] : NULL;
  switch (op) {
  case WIRE_OP_RANDOM: /* a threshold of 0 never comes true */
    m->n--;
    top[-1] = known(top[-1]) && top[-1].low <= 0 ? exactly(0) : yes_or_no;
    break;
  case WIRE_OP_FD_KIND ... WIRE_OP_FD_PATH:
    *top = anything;
    break;
  case WIRE_OP_LOAD:
  case WIRE_OP_STREAM:
  case WIRE_OP_WRITTEN:
    *top = anything;
    break;
  case WIRE_OP_MATCH:
    *top = yes_or_no;
    break;
  case WIRE_OP_MARK:
    break;
  case WIRE_OP_KNOWN: /* or 0 */
    *top = (struct range){top->low < 0 ? top->low : 0, top->high > 0 ? top->high : 0};
    break;
  case WIRE_OP_SERIES:
    *top = serial(rt_array(numbers, int64_t) + operand, *top);
    break;
  case WIRE_OP_NOT:
    *top = known(*top) ? exactly(~top->low) : anything;
    break;
  case WIRE_OP_NEG:
    *top = known(*top) ? exactly(wire_compute(WIRE_OP_SUB, 0, top->low)) : subtracted(exactly(0), *top);
    break;
  case WIRE_OP_IS_ZERO:
    *top = truth(known(*top) && top->low == 0, top->low > 0 || top->high < 0);
    break;
  case WIRE_OP_EQ ... WIRE_OP_SHR:
    m->n--;
    top[-1] = combined((enum wire_op)op, top[-1], *top);
    break;
  default:
    m->stack[m->n++] = source(q, op, operand);
  }
}

static bool may_hold(struct machine *m, const struct question *q, const uint32_t *at, unsigned forks) {
  for (;; at++) {
    uint32_t op = *at & 0xff, operand = *at >> 8;
    if (op == WIRE_OP_END) {
      struct range r = m->stack[m->n - 1];
      return !(known(r) && r.low == 0);
    }
    if (op != WIRE_OP_IF_ZERO && op != WIRE_OP_IF_SET) {
      step(m, q, op, operand);
      continue;
    }
    struct range *top = &m->stack[m->n - 1];
    int way = taken(op, *top);
    if (way < 0) {
      if (forks == MAX_FORKS) return true;
      struct machine jumped = *m;
      if (op == WIRE_OP_IF_ZERO) jumped.stack[m->n - 1] = exactly(0);
      if (may_hold(&jumped, q, at + 1 + operand, forks + 1)) return true;
    }
    if (way > 0)
      at += operand;
    else
      m->n--;
  }
}

bool rt_may_hold(uint32_t rule, uint64_t first, uint64_t last) {
  const struct wire_rule *r = &rt_array(rules, struct wire_rule)[rule];
  if ((r->flags & WIRE_ONE_SHOT && rt_load(&rt.slots[r->slot]) > 0) || r->last < first || r->first > last) return false;
  if (r->code == WIRE_NO_CODE) return true;
  struct machine m = {.n = 0};
  struct question q = {.rule = rule, .call = {(int64_t)first, last > (uint64_t)MOST ? MOST : (int64_t)last}};
  return may_hold(&m, &q, rt_array(code, uint32_t) + r->code, 0);
}

static bool all_ops(uint32_t code, bool (*good)(uint32_t op)) {
  const uint32_t *at = rt_array(code, uint32_t) + (code == WIRE_NO_CODE ? 0 : code);
  for (; code != WIRE_NO_CODE && (*at & 0xff) != WIRE_OP_END; at++)
    if (!good(*at & 0xff)) return false;
  return true;
}

static bool counts(uint32_t op) {
  return op == WIRE_OP_NUMBER || op == WIRE_OP_CALL || (op >= WIRE_OP_EQ && op <= WIRE_OP_SERIES);
}

/* What looks at the call, the process and the world, and leaves them as they are. */
static bool looks(uint32_t op) {
  return counts(op) || op == WIRE_OP_ARG || op == WIRE_OP_CALLER || op == WIRE_OP_STACK || op == WIRE_OP_PROCESS ||
         (op >= WIRE_OP_FD_KIND && op <= WIRE_OP_FD_PATH);
}

bool rt_only_counts(uint32_t code) { return all_ops(code, counts); }

bool rt_only_looks(uint32_t code) { return all_ops(code, looks); }

bool rt_asks_number(uint32_t code) {
  if (code == WIRE_NO_CODE) return false;
  for (const uint32_t *at = rt_array(code, uint32_t) + code; (*at & 0xff) != WIRE_OP_END; at++)
    if ((*at & 0xff) == WIRE_OP_CALL) return true;
  return false;
}
