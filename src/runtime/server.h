/* SPDX-License-Identifier: Apache-2.0 */
/* The fork server: the first process of a run waits before main, and is forked for each experiment. */
#pragma once

#include "runtime.h"

/* Once, when the area is there: is a server wanted of this process? */
void rt_server_start(void) RT_HIDDEN;
/* A call before main; one that an experiment could be about must be made anew by each of them. */
void rt_server_early(const struct rt_call *c) RT_HIDDEN;
/* Main is next. Returns at once if no server is wanted or none is possible, else in each child. */
void rt_server(void) RT_HIDDEN;

/* --- for branch.c, which forks too -------------------------------------------------------------------------------- */

#define RT_FILES 4 /* descriptors that come with a message, at most */
bool rt_say(int socket, const void *p, size_t n) RT_HIDDEN;
/* How many bytes came, with descriptors beside them; -1 stands for those that did not. */
long rt_hear(int socket, void *p, size_t n, int files[RT_FILES]) RT_HIDDEN;
/* A child beside this process; 0 in it. */
long rt_fork_beside(void) RT_HIDDEN;
/* In the child: what libc registers with the kernel for a thread. */
void rt_child_lists(void) RT_HIDDEN;
