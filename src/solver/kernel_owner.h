/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the room: which structure of a kernel a pointer to a function was loaded from. */
#pragma once

#include "solver/kernel_tables.h"

/* A call through a pointer, in the function at ADDRESS with summary S. */
struct asker {
  struct tables *t;
  struct map *known; /* answers that take long to find, which are kept here */
  uint64_t address;
  const struct flow_summary *s;
  const struct flow_call *call;
};

/* The structure that the path's last load is from; 0 if it is not known. */
uint32_t owner_of_last_load(const struct asker *a, const struct flow_path *p);
