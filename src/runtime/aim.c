/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the stubs lead.
 *
 * An order is about one rule, and all functions but that rule's are passed by in each child of a fork server. Which
 * these are is found once, in the server: a child has the one function to see to, and writes to one page of the table.
 */
#include "aim.h"

#include "branch.h"
#include "rt_condition.h"
#include "decide.h"
#include "system.h"

/* Before main of a fork server nothing retires: which rules can fire is for each child to see. */
void rt_aim(void) {
  for (uint32_t i = 0; i < rt.shim->n; i++) {
    struct wire_entry *e = &rt.entries[i];
    if (e->real != 0 && rt.functions[i].how == RT_GRANTED) rt_store(&e->target, e->count);
    if (!(rt_load(&rt.busy) & RT_BUSY_EARLY)) rt_retire(i);
  }
}

void rt_aim_ahead(void) {
  rt_order_never = true;
  rt_aim();
  rt_order_never = false;
}

/* To where it led at first, if that was changed; then as the rules are. */
static void aim_one(uint32_t i) {
  struct wire_entry *e = &rt.entries[i];
  uint64_t first = e->real != 0 && rt.functions[i].how == RT_GRANTED ? e->count : e->gate;
  if (rt_load(&e->target) == e->real && e->real != 0 && !rt_retired(i)) rt_store(&e->target, first);
}

static bool is_about(const struct wire_order *o, const struct rt_function *f) { return o->rule - f->rule < f->n_rules; }

/* May the function have to be seen? What a trunk looks for besides are the orders of its children. */
static bool is_asked(const struct rt_function *f) {
  uint32_t n = rt_orders();
  for (uint32_t i = 0; i < n; i++)
    if (is_about(&rt.area->orders[i], f)) return true;
  return rt_trunk() ? rt_trunk_asks(f->rule, f->n_rules) : n == 0;
}

void rt_aim_again(void) {
  for (uint32_t i = 0; i < rt.shim->n; i++)
    if (is_asked(&rt.functions[i])) aim_one(i);
}

/* What leads around the runtime already does so for good: one page of the table is written to, or a few. */
void rt_aim_branch(void) {
  for (uint32_t i = 0; i < rt.shim->n; i++)
    if (rt_load(&rt.entries[i].target) != rt.entries[i].real) rt_retire(i);
}
