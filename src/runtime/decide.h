/* SPDX-License-Identifier: Apache-2.0 */
/* What enter.S calls. */
#pragma once

#include "runtime.h"

enum rt_action rt_decide(struct rt_call *c) RT_HIDDEN;
/* After the real call of RT_THEN. */
enum rt_action rt_after(struct rt_call *c) RT_HIDDEN;
/* Lets calls of the function go around the runtime if no rule of it can fire any more. */
void rt_retire(uint32_t function) RT_HIDDEN;
