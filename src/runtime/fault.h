/* SPDX-License-Identifier: Apache-2.0 */
/* What a fault does: return value, errno, side effects, and the event about it. */
#pragma once

#include "runtime.h"

/* Once, when real functions can be found. */
void rt_fault_start(void) RT_HIDDEN;
/* Chooses one of the faults of c->rule. */
void rt_fault_choose(struct rt_call *c) RT_HIDDEN;
/* Sets errno as the fault says; what it was set to, 0 if it was left alone. */
int32_t rt_fault_errno(const struct wire_fault *f) RT_HIDDEN;
/* Makes it come true, and logs it. For a call that was really made (THEN), c->retval is what that returned. */
enum rt_action rt_fault_apply(struct rt_call *c) RT_HIDDEN;
/* The same of a call that SIGNAL interrupts, which is sent behind it; 0: none is. */
enum rt_action rt_fault_signal(struct rt_call *c, uint32_t signal) RT_HIDDEN;
/* The same for a call that was not made. If it is to fail for real, it is made yet, by who called it. */
enum rt_action rt_fault_instead(struct rt_call *c) RT_HIDDEN;
