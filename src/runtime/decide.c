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

/* Can no rule of the function fire any more, whatever happens? Then calls need not come here. */
static void retire(uint32_t function) {
  const struct wire_function *f = &rt_array(functions, struct wire_function)[function];
  if (!rt_retirable(function)) return;
  uint64_t next = rt_counter(function)->how == RT_ONE ? rt_load(&rt_counter(function)->given) + 1 : 1;
  for (uint32_t i = 0; i < f->n_rules; i++) {
    const struct wire_rule *r = &rt_array(rules, struct wire_rule)[f->rule + i];
    bool spent = r->flags & WIRE_ONE_SHOT && rt_load(&rt.slots[r->slot]) > 0;
    if (!spent && rt_may_hold(r->code, next, INT64_MAX)) return;
  }
  rt_store(&rt.entries[function].target, rt.entries[function].real);
}

bool rt_retirable(uint32_t function) {
  const struct wire_function *f = &rt_array(functions, struct wire_function)[function];
  if (rt.plan->flags & (WIRE_COUNT | WIRE_POINTS) || f->hook != WIRE_HOOK_NONE || rt_counter(function)->shared)
    return false;
  for (uint32_t i = 0; i < f->n_rules; i++)
    if (rt_array(rules, struct wire_rule)[f->rule + i].flags & WIRE_UNUSED) return false;
  return true;
}

static enum rt_action inject(struct rt_call *c, uint32_t rule) {
  const struct wire_rule *r = &rt_array(rules, struct wire_rule)[rule];
  if (rt.area && rt_load(&rt.area->stop)) return RT_PASS;
  c->rule = rule;
  rt_fault_choose(c);
  retire((uint32_t)c->index);
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
  const struct wire_rule *r = &rt_array(rules, struct wire_rule)[f->rule];
  for (uint32_t i = 0; i < f->n_rules; i++, r++)
    if ((r->code == WIRE_NO_CODE || rt_holds(c, r->code)) && !(r->flags & WIRE_UNUSED)) return inject(c, f->rule + i);
  return f->hook != WIRE_HOOK_NONE ? rt_hook(c, f) : RT_PASS;
}

enum rt_action rt_after(struct rt_call *c) { return rt_fault_apply(c); }
