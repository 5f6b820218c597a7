/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the room: where calls through pointers can go, by what the tables of a kernel hold. */
#pragma once

#include "solver/solver.h"

/* A function that a call through a pointer can reach, and the table that holds its address; 0 if none does. */
struct solver_target {
  uint64_t function, table;
};

struct targets;

/* TYPES may be NULL: then only pointers at fixed addresses and lists of hooks are known. */
int targets_new(const struct image *img, const struct types *types, const struct solver_ways *ways,
                struct targets **ret) MUST_USE;
void targets_free(struct targets *t);

/*
 * Where call number CALL of the function at ADDRESS with summary S can go. How many, or -ENOMEM; the list lives as long
 * as T and is in the order of addresses. *ret_known: these are all; none, if no table has anything there.
 */
int targets_of_call(struct targets *t, uint64_t address, const struct flow_summary *s, uint32_t call,
                    const struct solver_target **ret, bool *ret_known) MUST_USE;
