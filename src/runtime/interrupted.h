/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers of signals that a stack goes through. */
#pragma once

#include "ask.h"

/* How a process comes to its end in the middle of a trigger. */
enum rt_ending {
  RT_ENDING_PLAIN,   /* no handler is on the stack above the trigger */
  RT_ENDING_CRASH,   /* one for a crash in it */
  RT_ENDING_SIGNAL,  /* one for a signal that has nothing to do with it */
  RT_ENDING_HANDLER, /* one, and it is not known what for */
  RT_ENDING_LEFT,    /* one for a signal behind the trigger, which was left by a jump */
  RT_ENDING_UNKNOWN, /* the stack does not tell whether there is one */
};

/* At the caller of C, with QUESTION further up on the stack, or on another one. */
enum rt_ending rt_ending(const struct rt_call *c, const struct rt_question *question) RT_HIDDEN;
