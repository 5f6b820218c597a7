/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a call comes from: the modules of the process, and the stack above a call.
 *
 * All of it may be called at any time from any thread and from signal handlers: no lock, no allocation, no fault.
 */
#pragma once

#include "runtime.h"

/* Once, when plan and area are there and before any other function of this header. */
void rt_stack_start(void) RT_HIDDEN;
/* After dlopen and dlclose: the list of modules may be another. */
void rt_modules_changed(void) RT_HIDDEN;

/* Is the call's return address, minus 1, in the set of places that starts at PLACE? */
bool rt_caller_in(const struct rt_call *c, uint32_t place) RT_HIDDEN;
/* Is the pattern of frames that starts at PATTERN on the call's stack? */
bool rt_stack_has(const struct rt_call *c, uint32_t pattern) RT_HIDDEN;
/* The hash of the call's stack, equal in each run of the same program. */
uint64_t rt_point_hash(const struct rt_call *c) RT_HIDDEN;
/* ... and of this process among all of the run: what fault points are known by. */
uint64_t rt_point_here(const struct rt_call *c) RT_HIDDEN;
/* The same without the innermost frame: equal for two calls of the function from one run of a caller. */
uint64_t rt_point_around(const struct rt_call *c) RT_HIDDEN;
/* WIRE_POINTS: enters the call's stack in the area's table of points, or counts it there. */
void rt_point_record(const struct rt_call *c) RT_HIDDEN;
/* Is the caller in a module whose calls are the user's own? */
bool rt_in_scope(const struct rt_call *c) RT_HIDDEN;
/* ... and is it no library of a language? */
bool rt_in_own_code(const struct rt_call *c) RT_HIDDEN;
/* Where the frame of the call's caller ends: its own return address stands there. 0 if that is not known. */
uint64_t rt_stack_frame_end(const struct rt_call *c) RT_HIDDEN;
/* The call's return address and those above it; how many were written, at most MAX. */
unsigned rt_stack_frames(const struct rt_call *c, struct wire_frame *ret, unsigned max) RT_HIDDEN;
