/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions of rules: does one hold for a call, and can it ever hold again? */
#pragma once

#include "ask.h"
#include "runtime.h"
#include "stack.h"

/* Terms that look at the call alone, and that most conditions begin with or consist of. False if it is none. */
static inline bool rt_look(const struct rt_call *c, uint32_t instruction, bool *ret) {
  switch ((enum wire_op)(instruction & 0xff)) {
  case WIRE_OP_CALLER:
    *ret = rt_caller_in(c, instruction >> 8);
    return true;
  case WIRE_OP_STACK:
    *ret = rt_stack_has(c, instruction >> 8);
    return true;
  case WIRE_OP_ASK:
    *ret = rt_ask(c, instruction >> 8);
    return true;
  default:
    return false;
  }
}

/* Evaluates the condition that starts at AT, that of rule c->rule, with what it does to state slots. */
bool rt_holds_at(const struct rt_call *c, const uint32_t *at) RT_HIDDEN;
static inline bool rt_holds(const struct rt_call *c) { return rt_holds_at(c, rt.code + rt.rules[c->rule].code); }

/* Does it depend on the call's number (and the process's) alone, and change no state? */
bool rt_only_counts(uint32_t code) RT_HIDDEN;
/* Does it change no state? */
bool rt_only_looks(uint32_t code) RT_HIDDEN;
/* Does it ask for the call's number? */
bool rt_asks_number(uint32_t code) RT_HIDDEN;

/*
 * Could that of RULE hold for some call whose number is from FIRST to LAST, with the state as it is now? True in doubt;
 * false is for ever, as state only moves on.
 */
bool rt_may_hold(uint32_t rule, uint64_t first, uint64_t last) RT_HIDDEN;
/* Asked as if no order would ever come. */
extern bool rt_order_never RT_HIDDEN;
/* How many orders are armed; the target may have overwritten the number. */
static inline uint32_t rt_orders(void) {
  uint32_t n = rt_load(&rt.area->n_orders);
  return n < WIRE_ORDERS ? n : WIRE_ORDERS;
}
/*
 * What the call asks for: its first argument, and which of the others are NULL, since that is often another question.
 * Not more, since a buffer moves on.
 */
uint64_t rt_order_asks(const struct rt_call *c) RT_HIDDEN;
/* Is it a call that the order is about, whichever time it is? */
bool rt_order_about(const struct rt_call *c, const struct wire_order *o) RT_HIDDEN;
