/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a call must be like for the one rule of its function to hold, as far as that can be told in a few instructions:
 * who calls, and one comparison of an argument with a number. A call that it does not admit is passed on at once.
 */
#pragma once

#include "modules.h"
#include "runtime.h"

/* How many instructions the comparison at AT of the code has, which becomes that of *RET; 0 if there is none. */
uint32_t rt_guard_comparison(uint32_t at, struct rt_guard *ret) RT_HIDDEN;

/* Finds the guard of FUNCTION, if it can have one. */
void rt_guard_learn(uint32_t function) RT_HIDDEN;

/* How two numbers compare, as bits of rt_guard.wanted. */
enum { RT_LESS = 1, RT_EQUAL = 2, RT_GREATER = 4 };

/* The comparison alone, which there must be. */
static inline bool rt_guard_compares(const struct rt_guard *g, const struct rt_call *c) {
  int64_t value = (int64_t)(c->args[g->argument] << g->shift) >> g->shift;
  unsigned is = value == g->number ? RT_EQUAL : value < g->number ? RT_LESS : RT_GREATER;
  return is & g->wanted;
}

static inline bool rt_guard_admits(const struct rt_guard *g, const struct rt_call *c) {
  if (g->wanted && !rt_guard_compares(g, c)) return false;
  return !g->caller || rt_place_has(g->caller - 1, rt_return_address(c) - 1) != 0;
}
