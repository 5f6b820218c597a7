/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which call of a function this one is, without a cache line that threads fight for.
 *
 * Where rules look at the call's number alone, it matters only near the numbers at which one could fire. A thread is
 * granted a piece of the numbers before the next such one, and uses it up in the shim's `count` code. When no ungranted
 * ones are left, the thread that needs one recalls what the others have not used. Then the numbers are exact: the call
 * that gets number n is the n-th.
 *
 * Where no rule looks at the number, each thread keeps a tally, and an event's number is their sum. Elsewhere there is
 * one counter for all threads.
 */
#pragma once

#include "runtime.h"

/* Memory for the threads' counts of N functions; false if there is none. */
bool rt_count_start(uint32_t n) RT_HIDDEN;

/*
 * Gives the call its number. False: the call has none, it is one of those at which no rule can fire. COUNTED: the
 * thread's allowance was taken from already.
 */
bool rt_count_asked(struct rt_call *c, struct rt_function *f, bool counted) RT_HIDDEN;

/* One instruction: signal handlers count too. */
static inline void rt_tally(struct wire_allowance *a) { __asm__ volatile("incq %0" : "+m"(a->tally)); }

static inline bool rt_count(struct rt_call *c, struct rt_function *f, bool counted) {
  if (__builtin_expect(f->how != RT_TALLY || !rt_self.mine, 0)) return rt_count_asked(c, f, counted);
  rt_tally(&rt_self.mine[c->index]);
  return true;
}
/* The thread's slots, which lie behind its counts; NULL if it has none. */
uint64_t *rt_count_thread(void) RT_HIDDEN;
/* The number, for the log, of a call that was not given one. */
uint64_t rt_count_sum(uint32_t function) RT_HIDDEN;

/* Could any rule of the function hold for a call with a number from FIRST to LAST? */
bool rt_any_may_hold(const struct rt_function *f, uint64_t first, uint64_t last) RT_HIDDEN;
/* How many numbers from FIRST on no rule of the function can fire at; UINT64_MAX if it never can again. */
uint64_t rt_quiet(uint32_t function, uint64_t first) RT_HIDDEN;

/* From the thread pointer to the pointer that the shim's `count` code uses. */
uint64_t rt_count_thread_offset(void) RT_HIDDEN;
