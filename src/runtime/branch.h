/* SPDX-License-Identifier: Apache-2.0 */
/* Branch mode: the program runs once, and where a call is to fail a child takes the fault. */
#pragma once

#include "runtime.h"

/* This process is to be the trunk; SERVER is the number of the one that it is a fork of, and that waits. */
void rt_trunk_start(long server) RT_HIDDEN;
/* Is an order of the trunk's children about one of these rules? */
bool rt_trunk_asks(uint32_t rule, uint32_t n_rules) RT_HIDDEN;
/* The number that a trunk shows in place of NUMBER: its own, if that is what it is. */
uint64_t rt_trunk_shown(uint64_t number) RT_HIDDEN;
/* And the other way, of a process or, with a minus, of a group: the number that a program means by NUMBER. */
uint64_t rt_trunk_meant(uint64_t number) RT_HIDDEN;
/* The call of a rule with an order, in the trunk. True in a child that takes the fault; the trunk goes on. */
bool rt_branch(const struct rt_call *c) RT_HIDDEN;

extern uint32_t rt_trunk_pid RT_HIDDEN;
/* Is this process the trunk? */
static inline bool rt_trunk(void) { return __builtin_expect(rt_trunk_pid != 0, 0); }
