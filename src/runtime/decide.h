/* SPDX-License-Identifier: Apache-2.0 */
/* What enter.S calls. */
#pragma once

#include "runtime.h"

enum rt_action rt_decide(struct rt_call *c) RT_HIDDEN;
/* After the real call of RT_THEN. */
enum rt_action rt_after(struct rt_call *c) RT_HIDDEN;
/* Can no rule of the function fire any more, whatever happens? Then calls need not come here. */
bool rt_retired(uint32_t function) RT_HIDDEN;
/* Lets them go around the runtime then. */
void rt_retire(uint32_t function) RT_HIDDEN;
