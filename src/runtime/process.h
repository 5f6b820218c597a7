/* SPDX-License-Identifier: Apache-2.0 */
/* Who and when: numbers of process and thread, and the time, without system calls. */
#pragma once

#include "runtime.h"

/* Once, at the start. */
void rt_process_start(void) RT_HIDDEN;
uint32_t rt_pid(void) RT_HIDDEN;
uint32_t rt_tid(void) RT_HIDDEN;
/* Where libc keeps the number of the thread; NULL if that is not known. */
uint32_t *rt_process_tid(void) RT_HIDDEN;
/* In the child of a fork that the runtime has made itself: it has a number of its own. */
void rt_process_forked(void) RT_HIDDEN;
/* Nanoseconds of CLOCK_MONOTONIC_COARSE. */
uint64_t rt_time(void) RT_HIDDEN;
