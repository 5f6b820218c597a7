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

enum rt_counting {
  RT_TALLY,   /* nobody asks, but the log */
  RT_GRANTED, /* rules that only count */
  RT_ONE,     /* numbers are asked for, together with other things */
};

/* A function's, on a cache line of its own. */
struct rt_counter {
  uint64_t given;  /* numbers that were given away, to calls and to threads */
  uint32_t how;    /* of enum rt_counting */
  uint32_t shared; /* its rules change state that rules of other functions use: it must be asked for ever */
  uint64_t pad[6];
} __attribute__((aligned(64)));

/* Memory for N functions; false if there is none. */
bool rt_count_start(uint32_t n) RT_HIDDEN;
struct rt_counter *rt_counter(uint32_t function) RT_HIDDEN;

/*
 * Gives the call its number. False: the call has none, it is one of those at which no rule can fire. COUNTED: the
 * thread's allowance was taken from already.
 */
bool rt_count(struct rt_call *c, bool counted) RT_HIDDEN;
/* The number, for the log, of a call that was not given one. */
uint64_t rt_count_sum(uint32_t function) RT_HIDDEN;

/* Could any rule of the function hold for a call with a number from FIRST to LAST? */
bool rt_any_may_hold(const struct wire_function *f, uint64_t first, uint64_t last) RT_HIDDEN;
/* How many numbers from FIRST on no rule of the function can fire at; UINT64_MAX if it never can again. */
uint64_t rt_quiet(uint32_t function, uint64_t first) RT_HIDDEN;

/* From the thread pointer to the pointer that the shim's `count` code uses. */
uint64_t rt_count_thread_offset(void) RT_HIDDEN;
