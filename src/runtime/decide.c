/* SPDX-License-Identifier: Apache-2.0 */
/* A call has come through a gate: does it fail? */
#include "condition.h"
#include "count.h"
#include "decide.h"
#include "fault.h"
#include "hooks.h"
#include "link.h"
#include "stack.h"
#include "system.h"

#define ENOSYS 38

/* There is no such function: its library has not been opened yet, or was closed. */
static enum rt_action missing(struct rt_call *c) {
  const struct wire_function *f = &rt_array(functions, struct wire_function)[c->index];
  c->real = rt_link_real(rt_text(f->name), f->version ? rt_text(f->version) : NULL);
  if (c->real != 0) {
    rt_store(&rt.entries[c->index].real, c->real);
    return RT_PASS;
  }
  c->retval = (uint64_t)-ENOSYS;
  return RT_RETURN;
}

/* May calls of the function go around the runtime once no rule can fire? */
static bool retirable(uint32_t function) {
  const struct wire_function *f = &rt_array(functions, struct wire_function)[function];
  if (rt.plan->flags & (WIRE_COUNT | WIRE_POINTS) || f->hook != WIRE_HOOK_NONE || rt_counter(function)->shared)
    return false;
  for (uint32_t i = 0; i < f->n_rules; i++)
    if (rt_array(rules, struct wire_rule)[f->rule + i].flags & WIRE_UNUSED) return false;
  return true;
}

/* If no rule of the function can fire any more, whatever happens, calls need not come here. */
void rt_retire(uint32_t function) {
  const struct wire_function *f = &rt_array(functions, struct wire_function)[function];
  struct rt_counter *counter = rt_counter(function);
  uint64_t next = counter->how == RT_ONE ? rt_load(&counter->given) + 1 : 1;
  if (retirable(function) && rt.entries[function].real != 0 && !rt_any_may_hold(f, next, INT64_MAX))
    rt_store(&rt.entries[function].target, rt.entries[function].real);
}

static enum rt_action inject(struct rt_call *c, const struct wire_rule *r) {
  if (rt.area && rt_load(&rt.area->stop)) return RT_PASS;
  rt_fault_choose(c);
  rt_retire((uint32_t)c->index);
  return r->flags & WIRE_THEN ? RT_THEN : rt_fault_apply(c);
}

enum rt_action rt_decide(struct rt_call *c) {
  bool counted = c->index & WIRE_COUNTED;
  c->index &= ~(uint64_t)WIRE_COUNTED;
  c->real = rt.entries[c->index].real;
  c->number = 0;
  if (__builtin_expect(rt.ready != RT_READY || c->real == 0, 0)) {
    enum rt_action a = c->real == 0 ? missing(c) : RT_PASS;
    if (rt.ready != RT_READY || a != RT_PASS) return a;
  }
  const struct wire_function *f = &rt_array(functions, struct wire_function)[c->index];
  if (rt.plan->flags & (WIRE_COUNT | WIRE_POINTS)) {
    if (rt.plan->flags & WIRE_COUNT && rt.area && rt.area->counts.n > 0)
      (void)rt_add(&rt_area_array(counts, uint64_t)[c->index], 1);
    if (rt.plan->flags & WIRE_POINTS && rt.area) rt_point_record(c);
  }
  if (!rt_count(c, counted)) return RT_PASS;
  if (__builtin_expect(rt_load(&rt.modules_pending), 0)) {
    rt_store(&rt.modules_pending, 0);
    rt_modules_changed();
  }
  const struct wire_rule *r = &rt_array(rules, struct wire_rule)[f->rule];
  for (uint32_t i = 0; i < f->n_rules; i++, r++) {
    c->rule = f->rule + i;
    if ((r->code == WIRE_NO_CODE || rt_holds(c)) && !(r->flags & WIRE_UNUSED)) return inject(c, r);
  }
  return f->hook != WIRE_HOOK_NONE ? rt_hook(c, f) : RT_PASS;
}

enum rt_action rt_after(struct rt_call *c) { return rt_fault_apply(c); }
