/* SPDX-License-Identifier: Apache-2.0 */
/* What a fault does. */
#include "fault.h"

#include "rt_condition.h"
#include "events.h"
#include "link.h"
#include "side.h"
#include "system.h"

static int *(*errno_location)(void);

void rt_fault_start(void) {
  errno_location = (int *(*)(void))rt_link_real("__errno_location", NULL);
  rt_side_start();
}

/*
 * The order by which it fails, from 1; 0 if it is by none. Of several about the same call, the one whose time it is;
 * another thread may just have counted on, so any that is about it will do.
 */
static uint32_t order_for(const struct rt_call *c) {
  uint32_t found = 0, best = 0;
  for (uint32_t i = 0; i < rt_orders(); i++) {
    const struct wire_order *o = &rt.area->orders[i];
    if (o->rule != c->rule) continue;
    bool about = rt_order_about(c, o), now = o->persistent ? rt_load(&o->seen) >= o->nth : rt_load(&o->seen) == o->nth;
    uint32_t fits = 1 + (about ? 2 : 0) + (now ? 1 : 0);
    if (fits > best) found = i + 1;
    if (fits > best) best = fits;
  }
  return found;
}

void rt_fault_choose(struct rt_call *c) {
  const struct wire_rule *r = &rt_array(rules, struct wire_rule)[c->rule];
  uint64_t k = rt_add(&rt.slots[r->slot], 1);
  c->fault = r->fault;
  c->order = rt.area ? order_for(c) : 0;
  if (r->n_faults < 2) return;
  uint64_t which = c->order ? rt.area->orders[c->order - 1].fault : wire_draw(rt.plan->seed ^ c->rule, k);
  c->fault += (uint32_t)(which % r->n_faults);
}

int32_t rt_fault_errno(const struct wire_fault *f) {
  if (f->error == 0 || !errno_location) return 0;
  *errno_location() = f->error;
  return f->error;
}

/* The side effects but for those of one kind; which of them could not be made, as bits. */
static uint64_t apply_sides(const struct rt_call *c, const struct wire_fault *f, int left_out) {
  const struct wire_side *sides = &rt_array(sides, struct wire_side)[f->side];
  uint64_t missed = 0;
  for (uint32_t i = 0; i < f->n_sides; i++)
    if (sides[i].kind != left_out && !rt_side(c, &sides[i])) missed |= 1ull << (i < 64 ? i : 63);
  return missed;
}

enum rt_action rt_fault_signal(struct rt_call *c, uint32_t signal) {
  const struct wire_fault *f = &rt_array(faults, struct wire_fault)[c->fault];
  if (f->ret != WIRE_KEEP) c->retval = (uint64_t)f->retval;
  uint64_t missed = apply_sides(c, f, -1);
  rt_event(c, rt_fault_errno(f), missed, signal);
  return f->ret == WIRE_XMM0 ? RT_RETURN_FP : RT_RETURN;
}

enum rt_action rt_fault_apply(struct rt_call *c) { return rt_fault_signal(c, 0); }

/* Who called is part of the message, which the real function makes: it must not see us. It may change errno, though. */
enum rt_action rt_fault_instead(struct rt_call *c) {
  const struct wire_fault *f = &rt_array(faults, struct wire_fault)[c->fault];
  const struct wire_side *s = &rt_array(sides, struct wire_side)[f->side], *end = s + f->n_sides;
  while (s < end && s->kind != WIRE_SIDE_MISNAMED)
    s++;
  if (s == end || f->ret != WIRE_RAX || f->retval != 0 || f->error != 0) return rt_fault_apply(c);
  c->retval = 0;
  uint64_t missed = apply_sides(c, f, WIRE_SIDE_MISNAMED);
  rt_event(c, rt_fault_errno(f), missed, 0);
  rt_side_misname(c, s->argument);
  return RT_PASS;
}
