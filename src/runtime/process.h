/* SPDX-License-Identifier: Apache-2.0 */
/* Who and when: numbers of process and thread, and the time, without system calls. */
#pragma once

#include "runtime.h"

/* Once, at the start. */
void rt_process_start(void) RT_HIDDEN;
uint32_t rt_pid(void) RT_HIDDEN;
uint32_t rt_tid(void) RT_HIDDEN;
/* Nanoseconds of CLOCK_MONOTONIC_COARSE. */
uint64_t rt_time(void) RT_HIDDEN;
