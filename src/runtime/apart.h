/* SPDX-License-Identifier: Apache-2.0 */
/* What the program has made of its process, by calls that the kernel tells nobody of afterwards. */
#pragma once

#include "runtime.h"

/* The program calls prctl, for OPTION. */
void rt_apart_control(uint64_t option) RT_HIDDEN;
/* It makes system calls fail or kill. */
void rt_apart_filter(void) RT_HIDDEN;
/* It goes into namespaces of its own, or of others, or sets something else that no copy has. */
void rt_apart_leave(void) RT_HIDDEN;
/*
 * It asks how much time it has used of processors, which is little in a child. CLOCK: as of clock_gettime; clock,
 * times and getrusage are about that of the process.
 */
void rt_apart_spent(uint64_t clock) RT_HIDDEN;
/* May system calls be made that the program does not make itself? */
bool rt_apart_filtered(void) RT_HIDDEN;
/* Can a child be what the program has made of its process? WIRE_FORK_GOOD, or why not; makes no system call. */
enum wire_refusal rt_apart_judge(void) RT_HIDDEN;
/*
 * In the trunk, before the fork; and in the child: what fork(2) does not hand on. In the server, where the kernel is
 * asked whatever was seen: once, before all forks.
 */
void rt_apart_keep(void) RT_HIDDEN;
void rt_apart_keep_all(void) RT_HIDDEN;
void rt_apart_put_back(void) RT_HIDDEN;
