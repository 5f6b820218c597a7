/* SPDX-License-Identifier: Apache-2.0 */
/* Which memory above a stack pointer can be read. */
#pragma once

#include "runtime.h"

/*
 * From LOW, a multiple of 8, there are N words that can be read. A stack that is not known has none; then pages are
 * tried one by one, and PAGE is the last one that could be read.
 */
struct rt_bounds {
  uint64_t low, n, page;
};

/* Turned by the 3 bits that must be 0, what is not aligned is far too large. */
static inline bool rt_bounds_have(const struct rt_bounds *b, uint64_t address) {
  uint64_t at = address - b->low;
  return (at >> 3 | at << 61) < b->n;
}

/* Once, before all others. */
void rt_bounds_start(void) RT_HIDDEN;
/* The stack that SP points into. */
struct rt_bounds rt_bounds_of(uint64_t sp) RT_HIDDEN;
/* Whether the word at ADDRESS, outside of the known part, can be read; asks the kernel. */
bool rt_bounds_try(struct rt_bounds *b, uint64_t address) RT_HIDDEN;
