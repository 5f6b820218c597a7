/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the real functions are.
 *
 * A function that an object defines which was there at the start is the same for every caller and for ever: it is in
 * the shim's table. Others come and go with libraries that are opened and closed, and there may be several of one name;
 * which one a call means depends on who calls.
 */
#pragma once

#include "runtime.h"

/*
 * The real function for a call of INDEX that comes while the runtime is not ready, or when it has refused the plan:
 * that is not used, only the shim's own symbols are. 0 if there is none.
 */
uint64_t rt_real_early(uint32_t index) RT_HIDDEN;
/* Once: fills in what is there now. */
void rt_real_start(void) RT_HIDDEN;

/* Calls the real function of C with these arguments in registers. */
static inline uint64_t rt_real_call(const struct rt_call *c, const uint64_t a[6]) {
  typedef uint64_t six(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
  return ((six *)c->real)(a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* Is function I one that was not there at the start? */
static inline bool rt_real_is_late(uint32_t i) { return rt.entries[i].real == 0; }
/* The real function for call C of such a one; 0 if there is none. */
uint64_t rt_real_late(const struct rt_call *c) RT_HIDDEN;
/* ... for code at PC. */
uint64_t rt_real_for(uint32_t function, uint64_t pc) RT_HIDDEN;
/* Does any object define such a function for code at PC? */
bool rt_real_exists(uint32_t function, uint64_t pc) RT_HIDDEN;

/*
 * The target has asked the loader for such a function, and ADDRESS is what it has. True: callers that have none of
 * their own are led there, so the stub stands for it.
 */
bool rt_real_asked(uint32_t function, uint64_t address) RT_HIDDEN;

/* A library was closed. */
void rt_real_changed(void) RT_HIDDEN;
