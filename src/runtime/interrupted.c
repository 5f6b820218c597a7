/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a handler of the program was called for, from what the kernel has left on its stack. The number of the signal is
 * not there for certain, but what it has blocked is: the signal itself, unless the program wants it otherwise, and
 * those of its sa_mask.
 */
#include <signal.h>

#include "interrupted.h"
#include "system.h"
#include "rt_walk.h"

#define DEPTH 256
#define BIT(signal) (1ull << ((signal)-1))
#define CRASHES (BIT(SIGILL) | BIT(SIGTRAP) | BIT(SIGABRT) | BIT(SIGBUS) | BIT(SIGFPE) | BIT(SIGSEGV) | BIT(SIGSYS))
#define LIBC_OWN (BIT(32) | BIT(33)) /* its handlers of these end nothing */

/* What was interrupted, and where: the processor's exception, if it has ever been one, and what was blocked. */
struct context {
  uint64_t sp, trap, blocked;
};

static bool is_signal(const struct rt_walk *w) {
  const struct rt_module *m = rt_module_at(w->modules, w->pc);
  return m && rt_module_row(w->modules, m, w->pc).cfa == WIRE_CFA_SIGNAL;
}

/* From the start of the kernel's ucontext. */
static bool read_context(struct rt_walk *w, struct context *ret) {
  enum { UC_RSP = 160, UC_TRAP = 200, UC_BLOCKED = 296 };
  return rt_walk_word(w, w->sp + UC_RSP, &ret->sp) && rt_walk_word(w, w->sp + UC_TRAP, &ret->trap) &&
         rt_walk_word(w, w->sp + UC_BLOCKED, &ret->blocked);
}

enum found { FOUND_QUESTION, FOUND_HANDLER, FOUND_NOTHING };

/*
 * What comes first on the way up. A frame pointer that is only guessed may be that of what a signal has interrupted,
 * and so lead past the handler: behind such a step the question says nothing.
 */
RT_RAW static enum found look_up(const struct rt_call *c, const struct rt_question *question, struct context *ret) {
  struct rt_walk w;
  uint64_t end = rt_bounds_of((uint64_t)question & ~7ull).high;
  bool goes = rt_walk_start(c, &w), sure = true;
  for (unsigned i = 0; goes && i < DEPTH; i++) {
    if (end != 0 && w.bounds.high == end && w.sp > (uint64_t)question)
      return sure && rt_walk_valid(&w) ? FOUND_QUESTION : FOUND_NOTHING;
    if (is_signal(&w)) return read_context(&w, ret) ? FOUND_HANDLER : FOUND_NOTHING;
    sure &= STEP_KIND(w.step) < STEP_POINTER;
    goes = rt_walk_up(&w);
  }
  return FOUND_NOTHING;
}

/* Has the program a handler for one of these? */
static bool has_handler(uint64_t signals) {
  for (int i = 1; i <= 64; i++) {
    struct rt_sigaction a = {0};
    if (!(signals & BIT(i))) continue;
    if (rt_system(SYS_rt_sigaction, i, 0, (long)&a, sizeof a.mask, 0, 0) < 0 || a.handler > 1) return true;
  }
  return false;
}

/*
 * Where crashes are blocked and others too, it was a crash if nothing else is handled. An exception of the processor
 * must have been there, but may have been an earlier one, which the kernel does not forget.
 */
static bool is_crash(uint64_t handled, uint64_t trap) {
  uint64_t others = handled & ~CRASHES;
  if (!(handled & CRASHES)) return false;
  return !others || (trap != 0 && !has_handler(others & ~LIBC_OWN));
}

enum rt_ending rt_ending(const struct rt_call *c, const struct rt_question *question) {
  struct context context;
  uint64_t now = 0;
  enum found found = look_up(c, question, &context);
  if (found != FOUND_HANDLER) return found == FOUND_QUESTION ? RT_ENDING_PLAIN : RT_ENDING_UNKNOWN;
  if (!rt_asking_there(question, context.sp)) return RT_ENDING_LEFT;
  if (rt_system(SYS_rt_sigprocmask, SIG_BLOCK, 0, (long)&now, sizeof now, 0, 0) < 0) return RT_ENDING_HANDLER;
  uint64_t handled = now & ~context.blocked;
  if (handled != 0 && !(handled & CRASHES)) return RT_ENDING_SIGNAL;
  return is_crash(handled, context.trap) ? RT_ENDING_CRASH : RT_ENDING_HANDLER;
}
