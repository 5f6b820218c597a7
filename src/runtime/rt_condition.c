/* SPDX-License-Identifier: Apache-2.0 */
/* The stack machine of wire.h. wire_plan_check has seen to it that no index is wild and the stack is deep enough. */
#include "rt_condition.h"

#include "branch.h"
#include "ask.h"
#include "fd.h"
#include "operand.h"
#include "stack.h"
#include "system.h"

static int64_t argument(const struct rt_call *c, uint32_t i) {
  return (int64_t)(i < 6 ? c->args[i] : c->sp[1 + i - 6]);
}

static int64_t once(uint32_t slot) {
  uint64_t *s = &rt.slots[slot], none = 0;
  return rt_load(s) == 0 && rt_swap_if(s, &none, 1);
}

static int64_t drawn(uint32_t slot, int64_t threshold, int64_t seed) {
  uint64_t k = rt_add(&rt.slots[slot], 1);
  return (int64_t)(wire_draw((uint64_t)seed, k) >> 1) < threshold;
}

uint64_t rt_order_asks(const struct rt_call *c) {
  const struct wire_function *f = &rt_array(functions, struct wire_function)[c->index];
  uint64_t asks = c->args[0];
  for (unsigned i = 1; i < f->n_args; i++)
    asks += (uint64_t)(c->args[i] == 0) << (56 + i);
  return asks;
}

/* A loop that tries again may have been compiled as two calls, and what fails for good fails in both. */
static bool again(const struct rt_call *c, const struct wire_order *o) {
  uint64_t around = o->persistent && rt_load(&o->seen) >= o->nth ? rt_load(&o->around) : 0;
  return around && rt_order_asks(c) == rt_load(&o->about) && rt_point_around(c) == around;
}

bool rt_order_about(const struct rt_call *c, const struct wire_order *o) {
  return rt_point_here(c) == o->hash || again(c, o);
}

/* Is it the call that the order wants, the time that it wants it? */
static bool comes(const struct rt_call *c, struct wire_order *o) {
  if (rt_load(&o->rule) != c->rule || (!o->persistent && rt_load(&o->seen) >= o->nth)) return 0;
  if (rt_point_here(c) != o->hash) return again(c, o);
  if (o->persistent) {
    rt_store(&o->about, rt_order_asks(c));
    rt_store(&o->around, rt_point_around(c));
  }
  uint64_t seen = rt_add(&o->seen, 1) + 1;
  return o->persistent ? seen >= o->nth : seen == o->nth;
}

/* All of them are asked, since each counts its calls. */
static int64_t ordered(const struct rt_call *c) {
  int64_t any = 0;
  for (uint32_t i = 0; i < rt_orders(); i++)
    any |= comes(c, &rt.area->orders[i]);
  return any || !rt_trunk() ? any : rt_branch(c);
}

static bool compute(const struct rt_call *c, const uint32_t *at, const int64_t *first);

/* The instruction at AT, where the value 0 comes to if it is what decides a conjunction. */
static inline const uint32_t *behind_zero(const uint32_t *at) {
  while ((*at & 0xff) == WIRE_OP_IF_ZERO)
    at += 1 + (*at >> 8);
  return at;
}

/* A chain of such terms, each of which must hold, needs no stack. */
RT_HOT bool rt_holds_at(const struct rt_call *c, const uint32_t *at) {
  bool holds;
  for (; rt_look(c, *at, &holds); at++) {
    if (!holds) at = behind_zero(at + 1) - 1;
    enum wire_op next = (enum wire_op)(*++at & 0xff);
    if (next == WIRE_OP_END) return holds;
    if (holds && next == WIRE_OP_IF_ZERO) continue;
    return compute(c, at, &(int64_t){holds});
  }
  return compute(c, at, NULL);
}

/* All that a condition can be, from AT on. FIRST: what is on the stack already; or NULL. */
static __attribute__((noinline)) bool compute(const struct rt_call *c, const uint32_t *at, const int64_t *first) {
  int64_t stack[WIRE_STACK + 1], *top = stack; /* top is the first free one */
  bool unknown = false;
  if (first) *top++ = *first;
  for (;; at++) {
    enum wire_op op = (enum wire_op)(*at & 0xff);
    uint32_t operand = *at >> 8;
    switch (op) {
    case WIRE_OP_END:
      return top[-1] != 0;
    case WIRE_OP_NUMBER:
      *top++ = rt.numbers[operand];
      break;
    case WIRE_OP_ARG:
      *top++ = argument(c, operand);
      break;
    case WIRE_OP_CALL:
      *top++ = (int64_t)c->number;
      break;
    case WIRE_OP_NEXT:
      *top++ = (int64_t)rt_add(&rt.slots[operand], 1) + 1;
      break;
    case WIRE_OP_ONCE:
      *top++ = once(operand);
      break;
    case WIRE_OP_RANDOM:
      top--;
      top[-1] = drawn(operand, top[-1], top[0]);
      break;
    case WIRE_OP_CALLER:
      *top++ = rt_caller_in(c, operand);
      break;
    case WIRE_OP_STACK:
      *top++ = rt_stack_has(c, operand);
      break;
    case WIRE_OP_POINT:
      *top++ = (int64_t)rt_point_hash(c);
      break;
    case WIRE_OP_PROCESS:
      *top++ = rt_process();
      break;
    case WIRE_OP_ASK:
      *top++ = rt_ask(c, operand);
      break;
    case WIRE_OP_ORDER:
      *top++ = ordered(c);
      break;
    case WIRE_OP_FD_KIND:
      top[-1] = rt_fd_kind((int)top[-1]);
      unknown |= top[-1] == WIRE_FD_NONE;
      break;
    case WIRE_OP_FD_BLOCKS:
      top[-1] = rt_fd_blocks((int)top[-1]);
      unknown |= top[-1] < 0;
      break;
    case WIRE_OP_FD_PATH:
      top[-1] = rt_fd_path((int)top[-1], rt_text(operand));
      break;
    case WIRE_OP_LENGTH ... WIRE_OP_FRESH:
      top = rt_operand(c, op, operand, top, &unknown);
      break;
    case WIRE_OP_NOT:
      top[-1] = ~top[-1];
      break;
    case WIRE_OP_NEG:
      top[-1] = (int64_t)(0 - (uint64_t)top[-1]);
      break;
    case WIRE_OP_IS_ZERO:
      top[-1] = top[-1] == 0;
      break;
    case WIRE_OP_SERIES:
      top[-1] = wire_in_series(rt.numbers + operand, top[-1]);
      break;
    case WIRE_OP_IF_ZERO:
    case WIRE_OP_IF_SET:
      if ((top[-1] == 0) == (op == WIRE_OP_IF_ZERO))
        at += operand;
      else
        top--;
      break;
    default:
      top--;
      top[-1] = wire_compute(op, top[-1], top[0]);
    }
  }
}
