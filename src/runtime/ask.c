/* SPDX-License-Identifier: Apache-2.0 */
/* Triggers that are asked outside of the plan's own code. */
#include "ask.h"

#include "bounds.h"
#include "process.h"
#include "system.h"
#include "words.h"

static bool ready;

static bool is_hub(uint32_t trigger) {
  return rt_array(triggers, struct wire_trigger)[trigger].kind == WIRE_TRIGGER_HUB;
}

/* On another stack than that of the question, it is taken to be still there. */
bool rt_asking_there(const struct rt_question *q, uint64_t sp) {
  uint64_t end = rt_bounds_of(sp & ~7ull).high;
  if (end == 0 || rt_bounds_of((uint64_t)q).high != end) return true;
  return sp < (uint64_t)q && rt_load(&q->self) == q;
}

bool rt_asking(uint64_t sp) {
  if (rt_self.asking && rt_asking_there(rt_self.asking, sp)) return true;
  if (rt_self.asking) rt_plugin_left();
  rt_ask_end();
  return false;
}

bool rt_ask_other(const struct rt_call *c, uint32_t trigger) {
  struct rt_question question;
  if (!rt_load(&ready) || !is_hub(trigger) || rt_asking((uint64_t)c->sp)) return false;
  rt_ask_begin(&question);
  bool answer = rt_hub_ask(c, trigger);
  rt_ask_end();
  return answer;
}

void rt_trouble(enum wire_trouble_kind kind, uint32_t trigger, int error, const char *text) {
  struct wire_area *a = rt.area;
  uint32_t n = rt_load(&a->next_trouble);
  for (uint32_t i = 0; i < n && i < WIRE_TROUBLES; i++)
    if (rt_load(&a->troubles[i].ready) && a->troubles[i].kind == kind && a->troubles[i].trigger == trigger) return;
  uint32_t mine = n < WIRE_TROUBLES ? rt_add(&a->next_trouble, 1) : n;
  if (mine >= WIRE_TROUBLES) return;
  struct wire_trouble *t = &a->troubles[mine];
  t->kind = kind;
  t->trigger = trigger;
  t->pid = rt_pid();
  t->error = (uint32_t)error;
  rt_copy_text(t->text, sizeof t->text, text);
  rt_store(&t->ready, 1);
}

void rt_ask_start(void) {
  if (rt_load(&rt.ready) != RT_READY || rt.plan->triggers.n == 0) return;
  struct rt_question question;
  rt_ask_begin(&question);
  rt_hub_start();
  rt_store(&ready, rt_plugin_start());
  rt_ask_end();
}
