/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What must be seen of calls that do not fail: which locks a thread holds, how much was written (written.c). The real
 * call is made from here, since its result decides.
 */
#include "operand.h"
#include "real.h"
#include "system.h"
#include "written.h"

#define CLOSE_ON_EXEC 4 /* CLOSE_RANGE_CLOEXEC */
#define EOWNERDEAD 130  /* the lock is held, though who had it has died */

static uint64_t call(const struct rt_call *c) { return rt_real_call(c, c->args); }

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
  if ((int64_t)c->retval > 0) rt_written_add(rt_written_fd(c), c->retval);
}

/* The kernel says in each message how much of it was sent. */
static void count_messages(const struct rt_call *c) {
  enum { MMSGHDR = 64, MSG_LEN = 56 };
  uint64_t sum = 0;
  for (int i = 0; i < (int)c->retval; i++)
    sum += *(const volatile uint32_t *)(c->args[1] + (uint64_t)i * MMSGHDR + MSG_LEN);
  if (sum > 0) rt_written_add(rt_written_fd(c), sum);
}

void rt_watch_returned(const struct rt_call *c) {
  if (rt.functions[c->index].hook == WIRE_HOOK_OUTPUT) count_bytes(c);
}

/* The real call may have arguments on the stack: it is made with all of them, and rt_watch_after asked behind it. */
static enum rt_action begin_stream(void) {
  uint64_t *slots = rt_thread();
  if (!slots) return RT_PASS;
  slots[WIRE_THREAD_BEFORE] = (uint64_t)rt_written_by_thread() + 2; /* 1: not known */
  return RT_THEN;
}

void rt_watch_after(const struct rt_call *c) {
  uint64_t *slots = rt_thread();
  if (!slots || slots[WIRE_THREAD_BEFORE] == 0) return;
  int64_t before = (int64_t)slots[WIRE_THREAD_BEFORE] - 2, now = rt_written_by_thread();
  slots[WIRE_THREAD_BEFORE] = 0;
  if (before < 0 || now < 0)
    rt_written_lose(rt_written_fd(c));
  else if (now > before)
    rt_written_add(rt_written_fd(c), (uint64_t)(now - before));
}

enum rt_action rt_hook_watch(struct rt_call *c, const struct rt_function *f) {
  switch ((enum wire_hook)f->hook) {
  case WIRE_HOOK_CLOSE: /* before it is closed: another thread may get the same one at once */
    rt_written_forget(rt_written_fd(c));
    return RT_PASS;
  case WIRE_HOOK_CLOSE_ALL:
    rt_written_forget_all((int)c->args[0] < 0 ? 0 : (uint32_t)c->args[0], UINT32_MAX);
    return RT_PASS;
  case WIRE_HOOK_CLOSE_SOME:
    if (!(c->args[2] & CLOSE_ON_EXEC)) rt_written_forget_all((uint32_t)c->args[0], (uint32_t)c->args[1]);
    return RT_PASS;
  case WIRE_HOOK_STREAM:
    return begin_stream();
  default:
    break;
  }
  c->retval = call(c);
  if (f->hook == WIRE_HOOK_OUTPUT)
    count_bytes(c);
  else if (f->hook == WIRE_HOOK_MESSAGES)
    count_messages(c);
  else if (f->hook == WIRE_HOOK_DUP || f->hook == WIRE_HOOK_FCNTL)
    rt_written_copy(c);
  else
    count_lock(c, f->hook == WIRE_HOOK_LOCK);
  return RT_RETURN;
}
