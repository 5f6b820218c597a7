/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guard of a function: the first terms of its rule's condition, if that is a conjunction. What stands behind them
 * is not evaluated if one of them is false, so nothing is missed when the call does not get that far.
 */
#include "guard.h"

static uint32_t op_at(uint32_t at) { return rt.code[at] & 0xff; }
static uint32_t operand_at(uint32_t at) { return rt.code[at] >> 8; }

static uint8_t wanted_by(uint32_t op) {
  switch (op) {
  case WIRE_OP_EQ:
    return RT_EQUAL;
  case WIRE_OP_NE:
    return RT_LESS | RT_GREATER;
  case WIRE_OP_LT:
    return RT_LESS;
  case WIRE_OP_LE:
    return RT_LESS | RT_EQUAL;
  case WIRE_OP_GT:
    return RT_GREATER;
  case WIRE_OP_GE:
    return RT_GREATER | RT_EQUAL;
  default:
    return 0;
  }
}

static bool is_number(uint32_t at, int64_t n) { return op_at(at) == WIRE_OP_NUMBER && rt.numbers[operand_at(at)] == n; }

/* int(...): the value before it is shifted up and down again. */
static bool narrows(uint32_t at) {
  return is_number(at, 32) && op_at(at + 1) == WIRE_OP_SHL && is_number(at + 2, 32) && op_at(at + 3) == WIRE_OP_SHR;
}

uint32_t rt_guard_comparison(uint32_t at, struct rt_guard *ret) {
  if (op_at(at) != WIRE_OP_ARG || operand_at(at) >= 6) return 0;
  uint32_t behind = narrows(at + 1) ? at + 5 : at + 1;
  uint8_t wanted = op_at(behind) == WIRE_OP_NUMBER ? wanted_by(op_at(behind + 1)) : 0;
  if (!wanted) return 0;
  ret->wanted = wanted;
  ret->argument = (uint8_t)operand_at(at);
  ret->shift = behind == at + 1 ? 0 : 32;
  ret->number = rt.numbers[operand_at(behind)];
  return behind + 2 - at;
}

/* The term at AT goes into the guard: where it ends; 0 if it is of another kind, or of one that is there already. */
static uint32_t take_term(struct rt_guard *g, uint32_t at) {
  if (op_at(at) == WIRE_OP_CALLER && !g->caller) {
    g->caller = operand_at(at) + 1;
    return at + 1;
  }
  uint32_t n = g->wanted ? 0 : rt_guard_comparison(at, g);
  return n ? at + n : 0;
}

/* Does a value of 0 at AT make the whole condition false? */
static bool ends_false(uint32_t at) {
  while (op_at(at) == WIRE_OP_IF_ZERO)
    at += 1 + operand_at(at);
  return op_at(at) == WIRE_OP_END;
}

/* A plan has an end behind everything, so looking a few instructions ahead is safe as long as none was met. */
void rt_guard_learn(uint32_t function) {
  struct rt_function *f = &rt.functions[function];
  struct rt_guard g = {0};
  const struct wire_rule *r = &rt.rules[f->rule];
  if (f->n_rules != 1 || f->hook != WIRE_HOOK_NONE || f->how != RT_TALLY || r->code == WIRE_NO_CODE) return;
  for (uint32_t at = r->code, end; (end = take_term(&g, at)) != 0 && ends_false(end); at = end + 1) {
    f->guard = g;
    f->guarded = 1;
    if (op_at(end) == WIRE_OP_END) break;
  }
}
