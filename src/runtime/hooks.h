/* SPDX-License-Identifier: Apache-2.0 */
/* What the runtime does itself around some calls, so that it stays in the picture. */
#pragma once

#include "runtime.h"

/* No rule fired: the call is made, here (RT_RETURN) or by enter.S. */
enum rt_action rt_hook(struct rt_call *c, const struct wire_function *f) RT_HIDDEN;
/* The process's environment, when it is there: what was put into it to get here, and must not stay, goes. */
void rt_hook_environment(char **envp) RT_HIDDEN;
