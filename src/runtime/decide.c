/* SPDX-License-Identifier: Apache-2.0 */
/* A call has come through a gate: does it fail? */
#include "act.h"
#include "bounds.h"
#include "rt_condition.h"
#include "count.h"
#include "decide.h"
#include "fault.h"
#include "hold.h"
#include "hooks.h"
#include "guard.h"
#include "rt_names.h"
#include "operand.h"
#include "real.h"
#include "server.h"
#include "stack.h"
#include "system.h"
#include "terms.h"

#define ENOSYS 38
#define NO_FAULT UINT32_MAX
#define PAGE 4096ull

/* For enter.S, which knows them by one offset. */
_Static_assert(sizeof(struct rt_function) == 64 && sizeof(struct wire_allowance) == 32, "enter.S");
_Static_assert((uint32_t)(WIRE_COUNTED * sizeof(struct wire_allowance)) == 0, "the bit is above");
_Static_assert(offsetof(struct wire_allowance, tally) == 24, "enter.S");

/* It was not there at the start. If it is not there now, its library has not been opened yet, or was closed. */
static enum rt_action find_late(struct rt_call *c) {
  c->real = rt_load(&rt.ready) == RT_READY ? rt_real_late(c) : rt_real_early((uint32_t)c->index);
  if (c->real != 0) return RT_PASS;
  c->retval = (uint64_t)-ENOSYS;
  return RT_RETURN;
}

/* May calls of the function go around the runtime once no rule can fire? */
static bool retirable(const struct rt_function *f) {
  if (rt.plan->flags & (WIRE_COUNT | WIRE_POINTS) || f->hook != WIRE_HOOK_NONE || f->shared) return false;
  for (uint32_t i = 0; i < f->n_rules; i++)
    if (rt.rules[f->rule + i].flags & WIRE_UNUSED) return false;
  return true;
}

bool rt_retired(uint32_t function) {
  const struct rt_function *f = &rt.functions[function];
  uint64_t next = f->how == RT_ONE ? rt_load(&f->given) + 1 : 1;
  return retirable(f) && rt.entries[function].real != 0 && !rt_any_may_hold(f, next, INT64_MAX);
}

void rt_retire(uint32_t function) {
  if (rt_retired(function)) rt_store(&rt.entries[function].target, rt.entries[function].real);
}

/*
 * How many words above the return address may be arguments: those of the caller's frame, since it has put them there.
 * Of a frame that is very large the first are enough, and of one that is not known a guess that is not too low; on a
 * stack that libc has not made there may not be room for many. No more than can be read: a stack may end there.
 */
static uint64_t words_above(const struct rt_call *c) {
  uint64_t at = (uint64_t)(c->sp + 1), end = rt_stack_frame_end(c);
  uint64_t most = end > at ? (end - at) / 8 : RT_SOME_WORDS, n;
  if (most < WIRE_MAX_ARGS - 6) most = WIRE_MAX_ARGS - 6;
  struct rt_bounds b = rt_bounds_of(at);
  uint64_t limit = b.high > 0 ? RT_MANY_WORDS : RT_SOME_WORDS;
  if (most > limit) most = limit;
  if (b.high > 0)
    n = (b.high - at) / 8;
  else
    for (n = -at % PAGE / 8; n < most && rt_bounds_try(&b, at + 8 * n);)
      n += PAGE / 8;
  return n < most ? n : most;
}

/* The real call of a function that the runtime does something about itself. */
static enum rt_action then_hooked(struct rt_call *c, const struct rt_function *f) {
  if (rt_hook(c, f) == RT_RETURN) return rt_fault_apply(c);
  c->words = words_above(c);
  return RT_THEN;
}

/* No rule holds, but the runtime wants to know what the function does. */
static enum rt_action only_hooked(struct rt_call *c, const struct rt_function *f) {
  enum rt_action action = rt_hook(c, f);
  c->fault = NO_FAULT;
  if (action == RT_THEN) c->words = words_above(c);
  return action;
}

/* Does nothing: debuggers stop here, at a call that is about to fail (murphy replay --gdb). */
void murphy_rt_fault(void) __attribute__((noinline, visibility("default")));
void murphy_rt_fault(void) { __asm__ volatile(""); }

static __attribute__((noinline)) enum rt_action inject(struct rt_call *c, const struct rt_function *f,
                                                       const struct wire_rule *r) {
  if (rt.area && rt_load(&rt.area->stop)) return RT_PASS;
  rt_fault_choose(c);
  rt_hold();
  murphy_rt_fault();
  rt_retire((uint32_t)c->index);
  if (rt_array(faults, struct wire_fault)[c->fault].act != WIRE_ACT_RETURN) return rt_act(c);
  if (!(r->flags & WIRE_THEN)) return rt_fault_instead(c);
  if (f->hook != WIRE_HOOK_NONE) return then_hooked(c, f);
  c->words = words_above(c);
  return RT_THEN;
}

/* What a call needs beside its rules. False: it is passed through whatever they say. */
static bool prepare(const struct rt_call *c, uint32_t busy) {
  if (busy & RT_BUSY_OFF) return false;
  if (busy & RT_BUSY_MODULES) {
    (void)__atomic_fetch_and(&rt.busy, ~(uint32_t)RT_BUSY_MODULES, __ATOMIC_ACQ_REL);
    rt_modules_changed();
    rt_names_again();
  }
  if (busy & RT_BUSY_COUNT) {
    (void)rt_process(); /* processes are counted by their numbers */
    (void)rt_add(&rt_area_array(counts, uint64_t)[c->index], 1);
  }
  if (busy & RT_BUSY_POINTS) rt_point_record(c);
  if (busy & RT_BUSY_EARLY) rt_server_early(c);
  return true;
}

/* The rules, in their order; the call has its number, if any of them asks for it. */
static RT_HOT __attribute__((noinline)) enum rt_action judge(struct rt_call *c, const struct rt_function *f) {
  const struct wire_rule *r = rt.rules + f->rule;
  c->rule = f->rule;
  for (uint32_t left = f->n_rules; left > 0; left--, r++, c->rule++) {
    bool holds = r->code == WIRE_NO_CODE || rt_holds_at(c, rt.code + r->code);
    if (holds && !(r->flags & WIRE_UNUSED)) return inject(c, f, r);
  }
  return __builtin_expect(f->hook != WIRE_HOOK_NONE, 0) ? only_hooked(c, f) : RT_PASS;
}

/* Rules that are terms: what judge does, in a shorter way. Who asks a plugin is enter.S, which is at it already. */
RT_HOT enum rt_action rt_judge_terms(struct rt_call *c, const struct rt_term *t) {
  for (bool holds;;) {
    if ((t->instruction & 0xff) == WIRE_OP_ASK && rt_load(&rt_plugins)) {
      c->term = t;
      return RT_ASK;
    }
    if ((t->instruction & 0xff) == RT_TERM_COMPARES)
      holds = rt_guard_compares(&rt_terms_compared[t->instruction >> 8], c);
    else if (!rt_look(c, t->instruction, &holds))
      break;
    unsigned next = t->next[holds];
    if (next == 0) return RT_PASS;
    t += next;
  }
  const struct rt_function *f = &rt.functions[c->index];
  c->rule = f->rule + (t->instruction >> 8);
  return inject(c, f, &rt.rules[c->rule]);
}

enum rt_action rt_decide_fully(struct rt_call *c) {
  bool counted = c->index & WIRE_COUNTED;
  c->index &= ~(uint64_t)WIRE_COUNTED;
  c->real = rt.entries[c->index].real;
  if (__builtin_expect(c->real == 0, 0)) {
    enum rt_action a = find_late(c);
    if (a != RT_PASS) return a;
  }
  uint32_t busy = rt_load(&rt.busy);
  if (__builtin_expect(busy, 0) && !prepare(c, busy)) return RT_PASS;
  struct rt_function *f = &rt.functions[c->index];
  c->number = 0;
  return rt_count(c, f, counted) ? judge(c, f) : RT_PASS;
}

/* The way of most calls: nothing but rules, which are about other callers, or mean another thing; or ask no number. */
RT_HOT enum rt_action rt_decide(struct rt_call *c, const struct rt_function *f) {
  if (f->guarded && !rt_guard_admits(&f->guard, c)) return RT_PASS;
  return f->terms ? rt_judge_terms(c, f->terms) : judge(c, f);
}

enum rt_action rt_after(struct rt_call *c) {
  if (rt.functions[c->index].hook == WIRE_HOOK_STREAM) rt_watch_after(c);
  return c->fault == NO_FAULT ? RT_RETURN : rt_fault_apply(c);
}
