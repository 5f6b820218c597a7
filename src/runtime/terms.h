/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of a function as one list of terms, if there is nothing in their conditions but questions about the caller
 * and the stack and to triggers outside of the plan, and comparisons of an argument with a number. Each term knows what
 * comes behind either answer, in its own rule or in the next, so that no stack machine is needed.
 */
#pragma once

#include "guard.h"

/* Beside the instructions of the plan: a comparison, by its number. */
#define RT_TERM_COMPARES 0xffu

/* An instruction of the plan's code, or a comparison; WIRE_OP_END: this rule of the function, from 0, injects. */
struct rt_term {
  uint32_t instruction;
  uint16_t next[2]; /* how many terms on it goes if it is false, and if it holds; 0: no rule injects */
};

extern struct rt_guard *rt_terms_compared RT_HIDDEN;

/* How much memory the terms of all functions may need; and here it is, cleared. */
size_t rt_terms_room(void) RT_HIDDEN;
void rt_terms_start(void *memory) RT_HIDDEN;
/* Makes f->terms, if its rules are such. The rest of F is known. */
void rt_terms_learn(struct rt_function *f) RT_HIDDEN;
