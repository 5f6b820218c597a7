/* SPDX-License-Identifier: Apache-2.0 */
/* Going up a stack, frame by frame. */
#pragma once

#include "bounds.h"
#include "modules.h"

/* For functions that read words of the target's stack. */
#define RT_RAW __attribute__((no_sanitize_address))

struct rt_walk {
  struct rt_modules *modules;
  uint64_t version; /* of the list that the walk started with */
  uint64_t pc;      /* in the frame: its return address minus 1 */
  uint64_t sp, rbp; /* in the frame, after the call has returned */
  struct rt_bounds bounds;
  const struct rt_module *module; /* the last one that was asked for */
  unsigned moved;                 /* from one stack to another */
};

/* At the caller of C. False if nothing is known of any module. */
bool rt_walk_start(const struct rt_call *c, struct rt_walk *ret) RT_HIDDEN;
/* To the caller; false if there is none, or none that could be found. */
bool rt_walk_up(struct rt_walk *w) RT_HIDDEN;

/* The module of the frame; NULL if it is in none. Neighbours are often in one module. */
static inline const struct rt_module *rt_walk_module(struct rt_walk *w) {
  if (!w->module || w->pc - w->module->start >= w->module->end - w->module->start)
    w->module = rt_module_at(w->modules, w->pc);
  return w->module;
}

/* The points' own part of the start. */
void rt_points_start(void) RT_HIDDEN;
