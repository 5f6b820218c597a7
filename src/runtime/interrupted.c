/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a handler of the program was called for, from what the kernel has left on its stack. The number of the signal is
 * not there for certain, but what it has blocked is: the signal itself, unless the program wants it otherwise, and
 * those of its sa_mask.
 */
#include <signal.h>

#include "interrupted.h"
#include "system.h"
#include "walk.h"

#define DEPTH 256
#define BIT(signal) (1ull << ((signal)-1))
#define CRASHES (BIT(SIGILL) | BIT(SIGTRAP) | BIT(SIGABRT) | BIT(SIGBUS) | BIT(SIGFPE) | BIT(SIGSEGV) | BIT(SIGSYS))

/* What was interrupted: the processor's exception, if it has ever been one, and the signals that were blocked. */
struct context {
  uint64_t trap, blocked;
};

static bool is_signal(const struct rt_walk *w) {
  const struct rt_module *m = rt_module_at(w->modules, w->pc);
  return m && rt_module_row(w->modules, m, w->pc).cfa == WIRE_CFA_SIGNAL;
}

/* From the start of the kernel's ucontext. */
static bool read_context(struct rt_walk *w, struct context *ret) {
  enum { UC_TRAP = 200, UC_BLOCKED = 296 };
  return rt_walk_word(w, w->sp + UC_TRAP, &ret->trap) && rt_walk_word(w, w->sp + UC_BLOCKED, &ret->blocked);
}

RT_RAW static bool find_context(const struct rt_call *c, const void *question, struct context *ret) {
  struct rt_walk w;
  uint64_t end = rt_bounds_of((uint64_t)question & ~7ull).high;
  if (!rt_walk_start(c, &w)) return false;
  for (unsigned i = 0; i < DEPTH; i++) {
    if (end != 0 && w.bounds.high == end && w.sp > (uint64_t)question) return false;
    if (is_signal(&w)) return read_context(&w, ret);
    if (!rt_walk_up(&w)) return false;
  }
  return false;
}

enum rt_ending rt_ending(const struct rt_call *c, const void *question) {
  struct context context;
  uint64_t now = 0;
  if (!find_context(c, question, &context)) return RT_ENDING_PLAIN;
  if (rt_system(SYS_rt_sigprocmask, SIG_BLOCK, 0, (long)&now, sizeof now, 0, 0) < 0) return RT_ENDING_HANDLER;
  uint64_t handled = now & ~context.blocked;
  if (handled != 0 && !(handled & CRASHES)) return RT_ENDING_SIGNAL;
  bool only = handled != 0 && !(handled & ~CRASHES);
  return only || (handled & CRASHES && context.trap != 0) ? RT_ENDING_CRASH : RT_ENDING_HANDLER;
}
