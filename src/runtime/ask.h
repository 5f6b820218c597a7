/* SPDX-License-Identifier: Apache-2.0 */
/* Triggers that are asked outside of the plan's own code: plugins and hubs. */
#pragma once

#include "runtime.h"
#include "system.h"

/* Does trigger number TRIGGER of the plan want the call to fail? False while it is itself at work in this thread. */
bool rt_ask(const struct rt_call *c, uint32_t trigger) RT_HIDDEN;
/*
 * A question that a thread is in, on its stack: its own calls, if it is in a trigger, and a signal handler's that come
 * in the middle of a question, are not asked about. A handler may have left one by a jump, and then nothing takes it
 * back; the stack tells that it is gone.
 */
struct rt_question {
  struct rt_question *self;
};

static inline void rt_ask_begin(struct rt_question *q) {
  rt_store(&q->self, q);
  rt_self.asking = q;
}
static inline void rt_ask_end(void) { rt_self.asking = NULL; }
/* Is this thread in a question, seen from a frame at SP? One that was left is forgotten. */
bool rt_asking(uint64_t sp) RT_HIDDEN;
/* Is the question Q still there, seen from a frame at SP? */
bool rt_asking_there(const struct rt_question *q, uint64_t sp) RT_HIDDEN;

/* Finds and initialises plugins; before this their answer is no. When libc is ready, in one thread. */
void rt_ask_start(void) RT_HIDDEN;

/* For murphy to tell: TRIGGER is of no use. ERROR, an errno, may be 0, TEXT NULL. Each kind once for each trigger. */
void rt_trouble(enum wire_trouble_kind kind, uint32_t trigger, int error, const char *text) RT_HIDDEN;

/* All that can be asked; NULL before. */
extern struct rt_plugin *rt_plugins RT_HIDDEN;
/* False if there is no memory. */
bool rt_plugin_start(void) RT_HIDDEN;
/* This process is about to become another program, whatever its other threads are doing. */
void rt_plugin_leave(void) RT_HIDDEN;
/* This thread ends the process by C, which does not return. */
void rt_plugin_end(const struct rt_call *c) RT_HIDDEN;
/* This thread is in no plugin any more: it has jumped out of it. */
void rt_plugin_left(void) RT_HIDDEN;
/* A trigger that is no plugin that can be asked. */
bool rt_ask_other(const struct rt_call *c, uint32_t trigger) RT_HIDDEN;

void rt_hub_start(void) RT_HIDDEN;
bool rt_hub_ask(const struct rt_call *c, uint32_t trigger) RT_HIDDEN;
