/* SPDX-License-Identifier: Apache-2.0 */
/* Where the running thread has the variables of a module that each thread has of its own. */
#pragma once

#include <link.h>

#include "runtime.h"

/* AT from the thread pointer; or, with a BLOCK, wherever that block of the thread is. */
struct rt_thread_place {
  uint64_t at;
  uint32_t block;
};

/* False if the module has none, or does not say where. */
bool rt_thread_place(const struct link_map *m, struct rt_thread_place *ret) RT_HIDDEN;
/* The address of what is OFFSET bytes behind its start; 0 if this thread has not used it yet. */
uint64_t rt_thread_at(const struct rt_thread_place *p, uint64_t offset) RT_HIDDEN;
