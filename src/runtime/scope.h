/* SPDX-License-Identifier: Apache-2.0 */
/* In which objects, and in which order, the loader looks for what an object refers to. */
#pragma once

#include <link.h>

#include "runtime.h"

/* Once, behind rt_object_start. */
void rt_scope_start(void) RT_HIDDEN;
/* Can the loader's order be told at all? */
bool rt_scope_known(void) RT_HIDDEN;

/* What is done with an object; true ends the search. It must not wait for anything. */
typedef bool rt_scope_visit(const struct link_map *m, void *context);

/*
 * The objects behind the shim in which the loader would look for a symbol that OF refers to; NULL stands for the
 * program. OF is one that cannot be closed meanwhile, since code of it runs. True if VISIT has ended the search.
 */
bool rt_scope_each(const struct link_map *of, rt_scope_visit *visit, void *context) RT_HIDDEN;

/* The address that NAME has for OF; 0 if there is none. An indirect function is resolved. */
uint64_t rt_scope_symbol(const struct link_map *of, const char *name, const char *version) RT_HIDDEN;
