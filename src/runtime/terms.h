/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of a function as one list of terms, if there is nothing in their conditions but questions about the caller
 * and the stack, and to triggers outside of the plan. Each term knows what comes behind either answer, in its own rule
 * or in the next, so that no stack machine is needed.
 */
#pragma once

#include "runtime.h"

/* An instruction of the plan's code; WIRE_OP_END: this rule of the function, from 0, injects. */
struct rt_term {
  uint32_t instruction;
  uint16_t next[2]; /* how many terms on it goes if it is false, and if it holds; 0: no rule injects */
};

/* How much memory the terms of all functions may need. */
size_t rt_terms_room(void) RT_HIDDEN;
/* Makes f->terms, if its rules are such, at *ROOM, which moves on. The rest of F is known. */
void rt_terms_learn(struct rt_function *f, struct rt_term **room) RT_HIDDEN;
