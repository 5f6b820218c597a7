/* SPDX-License-Identifier: Apache-2.0 */
/* Which memory above a stack pointer can be read. */
#pragma once

#include "runtime.h"

/*
 * All words from LOW up to HIGH, multiples of 8, can be read. Of a stack that is not known both are 0; then pages are
 * tried one by one, and PAGE is the last one that could be read.
 */
struct rt_bounds {
  uint64_t low, high, page;
};

/* Once, before all others. */
void rt_bounds_start(void) RT_HIDDEN;
/* The stack that SP points into. */
struct rt_bounds rt_bounds_of(uint64_t sp) RT_HIDDEN;
/* Whether the word at ADDRESS, outside of the known part, can be read; asks the kernel. */
bool rt_bounds_try(struct rt_bounds *b, uint64_t address) RT_HIDDEN;
