/* SPDX-License-Identifier: Apache-2.0 */
/* How many bytes were written to what is open. */
#pragma once

#include "runtime.h"

/* Once: there is something to count if functions of the plan say so. */
void rt_written_start(void) RT_HIDDEN;
/* The descriptor that the call is about, itself or by its stream; -1 if there is none. */
int64_t rt_written_fd(const struct rt_call *c) RT_HIDDEN;
/* The descriptor of the FILE at STREAM; -1 if it has none, or is none. */
int64_t rt_stream_fd(uint64_t stream) RT_HIDDEN;
/* The FILE that is the variable: WIRE_STDIN, WIRE_STDOUT; 0 if there is none. */
uint64_t rt_stream_named(int which) RT_HIDDEN;

void rt_written_add(int64_t fd, uint64_t bytes) RT_HIDDEN;
/* From now on nobody knows. */
void rt_written_lose(int64_t fd) RT_HIDDEN;
/* It is closed. */
void rt_written_forget(int64_t fd) RT_HIDDEN;
/* All from FROM up to TO are. */
void rt_written_forget_all(uint32_t from, uint32_t to) RT_HIDDEN;
/* C, of the hook WIRE_HOOK_DUP, has returned. */
void rt_written_copy(const struct rt_call *c) RT_HIDDEN;
/* How many bytes this thread has written in its life; -1 if the kernel does not say. */
int64_t rt_written_by_thread(void) RT_HIDDEN;
