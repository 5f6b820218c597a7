/* SPDX-License-Identifier: Apache-2.0 */
/* What enter.S calls. */
#pragma once

#include "runtime.h"

/* A call of F that has been counted, in a thread that has counts. */
enum rt_action rt_decide(struct rt_call *c, const struct rt_function *f) RT_HIDDEN;
/* Any other call. */
enum rt_action rt_decide_fully(struct rt_call *c) RT_HIDDEN;
/* What the terms from T on say. */
enum rt_action rt_judge_terms(struct rt_call *c, const struct rt_term *t) RT_HIDDEN;
/* After the real call of RT_THEN. */
enum rt_action rt_after(struct rt_call *c) RT_HIDDEN;
/* Can no rule of the function fire any more, whatever happens? Then calls need not come here. */
bool rt_retired(uint32_t function) RT_HIDDEN;
/* Lets them go around the runtime then. */
void rt_retire(uint32_t function) RT_HIDDEN;
