/* SPDX-License-Identifier: Apache-2.0 */
/* Stores that belong to a fault, beside return value and errno. */
#pragma once

#include "runtime.h"

/* Once, when the plan is there. */
void rt_side_start(void) RT_HIDDEN;
/* False: there is no such place, or the pointer to it is NULL or to what cannot be written. */
bool rt_side(const struct rt_call *c, const struct wire_side *s) RT_HIDDEN;
/* The call is to be made, and to fail: it gets a name that there is not in place of its ARGUMENT. */
void rt_side_misname(struct rt_call *c, uint32_t argument) RT_HIDDEN;
