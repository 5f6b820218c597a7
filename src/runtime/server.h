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
