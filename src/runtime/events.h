/* SPDX-License-Identifier: Apache-2.0 */
/* The area that murphy reads: injections and counts. */
#pragma once

#include "runtime.h"

/* Maps the area of the plan. False if there is none that can be used. */
bool rt_area_start(void) RT_HIDDEN;
/* Counts, in the area beside the shim's file, that a plan was refused which could not say where its area is. */
void rt_area_refuse(const char *shim) RT_HIDDEN;
/*
 * Writes down that CALL gets its fault, but for the side effects MISSED, as bits, with SIGNAL if it is not 0; complete
 * when it returns.
 */
void rt_event(const struct rt_call *c, int32_t error, uint64_t missed, uint32_t signal) RT_HIDDEN;
