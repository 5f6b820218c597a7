/* SPDX-License-Identifier: Apache-2.0 */
/* What the runtime does itself around some calls, so that it stays in the picture. */
#pragma once

#include "runtime.h"

/* No rule fired: the call is made, here (RT_RETURN) or by enter.S. */
enum rt_action rt_hook(struct rt_call *c, const struct rt_function *f) RT_HIDDEN;
/* Once, when real functions can be found. */
void rt_hook_start(void) RT_HIDDEN;
/* Those of the exec family, in exec.c. */
enum rt_action rt_hook_exec(struct rt_call *c, const struct rt_function *f) RT_HIDDEN;
/* Who calls asks about itself, by this argument: a trunk is told the number that it shows. */
enum rt_action rt_hook_self(struct rt_call *c, unsigned argument) RT_HIDDEN;
/* syscall(2), in raw.c. */
enum rt_action rt_hook_raw(struct rt_call *c) RT_HIDDEN;
