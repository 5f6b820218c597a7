/* SPDX-License-Identifier: Apache-2.0 */
/* The area that murphy reads: injections and counts. */
#pragma once

#include "runtime.h"

/* Maps the area of the plan. False if there is none that can be used. */
bool rt_area_start(void) RT_HIDDEN;
/* Writes down that CALL gets its fault; complete when it returns. */
void rt_event(const struct rt_call *c, int32_t error) RT_HIDDEN;
