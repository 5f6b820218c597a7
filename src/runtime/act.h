/* SPDX-License-Identifier: Apache-2.0 */
/* Faults that do something to the call in place of making a result up. */
#pragma once

#include "runtime.h"

/* Once, when real functions can be found. */
void rt_act_start(void) RT_HIDDEN;
/* Does what the chosen fault of C says, and logs it. */
enum rt_action rt_act(struct rt_call *c) RT_HIDDEN;
