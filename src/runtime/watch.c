/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What must be seen of calls that do not fail: which locks a thread holds, how much was written to a descriptor. The
 * real call is made from here, since its result decides.
 */
#include "operand.h"
#include "system.h"

#define DESCRIPTORS 65536
#define EOWNERDEAD 130 /* the lock is held, though who had it has died */

static uint64_t *written; /* by descriptor; NULL if nobody asks */

void rt_watch_start(void) {
  const struct wire_function *f = rt_array(functions, struct wire_function);
  for (uint32_t i = 0; i < rt.plan->functions.n && !written; i++)
    if (f[i].hook == WIRE_HOOK_OUTPUT) written = rt_map(DESCRIPTORS * sizeof *written);
}

int64_t rt_written(uint64_t fd) { return written && fd < DESCRIPTORS ? (int64_t)rt_load(&written[fd]) : -1; }

typedef uint64_t six(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

static uint64_t call(const struct rt_call *c) {
  return ((six *)c->real)(c->args[0], c->args[1], c->args[2], c->args[3], c->args[4], c->args[5]);
}

static void count_lock(const struct rt_call *c, bool held) {
  uint64_t *slots = rt_thread();
  uint32_t result = (uint32_t)c->retval;
  if (!slots || (result != 0 && !(held && result == EOWNERDEAD))) return;
  if (held)
    slots[WIRE_THREAD_LOCKS]++;
  else if (slots[WIRE_THREAD_LOCKS] > 0)
    slots[WIRE_THREAD_LOCKS]--;
}

static void count_bytes(const struct rt_call *c) {
  int at = rt_array(functions, struct wire_function)[c->index].descriptor;
  uint64_t fd = at >= 0 && at < 6 ? (uint32_t)c->args[at] : DESCRIPTORS;
  if (written && fd < DESCRIPTORS && (int64_t)c->retval > 0) (void)rt_add(&written[fd], c->retval);
}

void rt_watch_returned(const struct rt_call *c) {
  if (rt.functions[c->index].hook == WIRE_HOOK_OUTPUT) count_bytes(c);
}

/* Before it is closed: another thread may get the same one at once. */
static void forget(const struct rt_call *c) {
  int at = rt_array(functions, struct wire_function)[c->index].descriptor;
  uint64_t fd = at >= 0 && at < 6 ? (uint32_t)c->args[at] : DESCRIPTORS;
  if (written && fd < DESCRIPTORS) rt_store(&written[fd], 0);
}

enum rt_action rt_hook_watch(struct rt_call *c, const struct rt_function *f) {
  if (f->hook == WIRE_HOOK_CLOSE) {
    forget(c);
    return RT_PASS;
  }
  c->retval = call(c);
  if (f->hook == WIRE_HOOK_OUTPUT)
    count_bytes(c);
  else
    count_lock(c, f->hook == WIRE_HOOK_LOCK);
  return RT_RETURN;
}
