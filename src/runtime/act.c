/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults that do something to the call: it transfers less, comes later, is interrupted, ends the process, throws.
 *
 * Unlike other faults, some of them make system calls: to sleep, to send a signal. Who asks for them has a program that
 * may do so. The event is always there before. Who gets the signal is asked of the kernel: a child of vfork has its
 * parent's memory, and all that is remembered there is the parent's.
 */
#include "act.h"

#include "events.h"
#include "fault.h"
#include "length.h"
#include "link.h"
#include "operand.h"
#include "process.h"
#include "side.h"
#include "system.h"

#define SIGNALS 64
#define SIGKILL 9

static const struct wire_fault *chosen(const struct rt_call *c) {
  return &rt_array(faults, struct wire_fault)[c->fault];
}

/* --- less --------------------------------------------------------------------------------------------------------- */

/*
 * The log has how much is asked for now. Where a plain argument says it, the call goes on by a jump, as if the program
 * had asked for that.
 */
static enum rt_action shorten(struct rt_call *c, const struct wire_fault *f) {
  c->retval = (uint64_t)f->retval;
  rt_event(c, f->error, 0, 0);
  uint16_t hook = rt.functions[c->index].hook;
  if (f->length == WIRE_LENGTH_BYTES && hook != WIRE_HOOK_OUTPUT) {
    c->args[f->argument] = (uint64_t)f->retval;
    return RT_PASS;
  }
  if (hook == WIRE_HOOK_STREAM) (void)rt_hook_watch(c, &rt.functions[c->index]);
  c->retval = rt_call_shortened(c, (enum wire_length)f->length, f->argument, (uint64_t)f->retval);
  rt_watch_returned(c);
  if (hook == WIRE_HOOK_STREAM) rt_watch_after(c);
  for (uint32_t i = 0; i < f->n_sides; i++)
    rt_side(c, &rt_array(sides, struct wire_side)[f->side + i]);
  (void)rt_fault_errno(f);
  return RT_RETURN;
}

/* --- later -------------------------------------------------------------------------------------------------------- */

struct span {
  int64_t seconds, nanoseconds;
};

static void wait_for(int64_t time) {
  struct span rest = {time / 1000000000, time % 1000000000};
  while (rt_system(SYS_clock_nanosleep, 1 /* monotonic */, 0, (long)&rest, (long)&rest, 0, 0) == -4 /* EINTR */)
    ;
}

static enum rt_action delay(struct rt_call *c, const struct wire_fault *f) {
  c->retval = 0;
  rt_event(c, 0, 0, 0);
  wait_for(f->retval);
  return RT_PASS;
}

/* --- interrupted -------------------------------------------------------------------------------------------------- */

/* Has the program a handler? With RESTARTS, one after which most system calls begin again. */
static bool is_handled(long signal, bool restarts) {
  struct rt_sigaction a = {0};
  if (rt_system(SYS_rt_sigaction, signal, 0, (long)&a, sizeof a.mask, 0, 0) < 0) return false;
  return a.handler > 1 && !(a.flags & RT_RESTART) == !restarts;
}

#define SIGNAL(n) (1ull << ((n)-1))
/*
 * Those that only tell of something: WINCH, URG, CONT, CHLD, IO, ALRM, USR2, USR1, VTALRM, PROF. Never those of
 * mistakes, nor libc's own (32 and 33), nor those that programs are told to end or to stop by: what a program does then
 * is no answer to an interrupted call.
 */
static const uint8_t mild[] = {28, 23, 18, 17, 29, 14, 12, 10, 26, 27};

static uint32_t first_of(const uint8_t *signals, size_t n, uint64_t allowed, bool restarts) {
  for (size_t i = 0; i < n; i++)
    if (allowed & SIGNAL(signals[i]) && is_handled(signals[i], restarts)) return signals[i];
  return 0;
}

/* Those that do the least harm first, even if calls begin again after them: this one does not. 0 if there is none. */
static uint32_t find_signal(void) {
  uint64_t blocked = 0;
  if (rt_system(SYS_rt_sigprocmask, 0, 0, (long)&blocked, sizeof blocked, 0, 0) < 0) return 0;
  uint64_t allowed = ~blocked;
  for (int restarts = 0; restarts < 2; restarts++) {
    uint32_t signal = first_of(mild, sizeof mild, allowed, restarts);
    for (uint8_t i = 34; i <= SIGNALS && signal == 0; i++)
      signal = first_of(&i, 1, allowed, restarts);
    if (signal != 0) return signal;
  }
  return 0;
}

/* The handler runs here; it may also never return. Whatever it does to errno, that is EINTR then. */
static enum rt_action interrupt(struct rt_call *c, const struct wire_fault *f) {
  uint32_t signal = find_signal();
  enum rt_action action = rt_fault_signal(c, signal);
  if (signal != 0)
    (void)rt_system(SYS_tgkill, rt_system(SYS_getpid, 0, 0, 0, 0, 0, 0), rt_system(SYS_gettid, 0, 0, 0, 0, 0, 0),
                    signal, 0, 0, 0);
  (void)rt_fault_errno(f);
  return action;
}

/* --- ended -------------------------------------------------------------------------------------------------------- */

static enum rt_action end_process(struct rt_call *c) {
  c->retval = 0;
  rt_event(c, 0, 0, 0);
  (void)rt_system(SYS_kill, rt_system(SYS_getpid, 0, 0, 0, 0, 0, 0), SIGKILL, 0, 0, 0, 0);
  (void)rt_system(SYS_exit_group, 128 + SIGKILL, 0, 0, 0, 0, 0); /* the first process of a namespace is spared */
  return RT_PASS;
}

/* --- thrown ------------------------------------------------------------------------------------------------------- */

/* What the C++ library throws a bad_alloc with. */
static struct {
  uint64_t *(*allocate)(uint64_t size);
  void (*throw)(void *object, uint64_t type, uint64_t destroy);
  uint64_t type, table, destroy;
} thrower;

static bool find_thrower(void) {
  if (thrower.throw) return true;
  thrower.allocate = (uint64_t * (*)(uint64_t)) rt_link_real("__cxa_allocate_exception", NULL);
  thrower.type = rt_link_any("_ZTISt9bad_alloc");
  thrower.table = rt_link_any("_ZTVSt9bad_alloc");
  thrower.destroy = rt_link_real("_ZNSt9bad_allocD1Ev", NULL);
  if (!thrower.allocate || !thrower.type || !thrower.table || !thrower.destroy) return false;
  uint64_t throw = rt_link_real("__cxa_throw", NULL);
  rt_store(&thrower.throw, (void (*)(void *, uint64_t, uint64_t)) throw);
  return throw != 0;
}

/*
 * Jumped to in place of the real function, with its caller's frame right above: nothing of the runtime is on the stack
 * that is unwound but this. The object is nothing but a pointer behind the first two words of its virtual table.
 */
static void throw_bad_alloc(void) {
  uint64_t *object = thrower.allocate(sizeof *object);
  *object = thrower.table + 16;
  thrower.throw(object, thrower.type, thrower.destroy);
}

static enum rt_action throw_it(struct rt_call *c) {
  if (!thrower.throw &&!(rt_link_settled() && find_thrower())) return RT_PASS;
  c->retval = 0;
  rt_event(c, 0, 0, 0);
  c->real = (uint64_t)throw_bad_alloc;
  return RT_PASS;
}

void rt_act_start(void) {
  const struct wire_fault *f = rt_array(faults, struct wire_fault);
  for (uint32_t i = 0; i < rt.plan->faults.n; i++)
    if (f[i].act == WIRE_ACT_THROW && find_thrower()) return;
}

enum rt_action rt_act(struct rt_call *c) {
  const struct wire_fault *f = chosen(c);
  switch ((enum wire_act)f->act) {
  case WIRE_ACT_SHORT:
    return shorten(c, f);
  case WIRE_ACT_DELAY:
    return delay(c, f);
  case WIRE_ACT_EINTR:
    return interrupt(c, f);
  case WIRE_ACT_KILL:
    return end_process(c);
  case WIRE_ACT_THROW:
    return throw_it(c);
  default:
    return rt_fault_apply(c);
  }
}
