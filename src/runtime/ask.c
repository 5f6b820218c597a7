/* SPDX-License-Identifier: Apache-2.0 */
/* Triggers that are asked outside of the plan's own code. */
#include "ask.h"

#include "process.h"
#include "system.h"
#include "words.h"

__thread struct rt_asker rt_asker __attribute__((tls_model("initial-exec")));
static bool ready;

static bool is_hub(uint32_t trigger) {
  return rt_array(triggers, struct wire_trigger)[trigger].kind == WIRE_TRIGGER_HUB;
}

bool rt_ask_other(const struct rt_call *c, uint32_t trigger) {
  if (rt_asker.asking || !rt_load(&ready) || !is_hub(trigger)) return false;
  rt_asker.asking = 1;
  bool answer = rt_hub_ask(c, trigger);
  rt_asker.asking = 0;
  return answer;
}

void rt_trouble(enum wire_trouble_kind kind, uint32_t trigger, const char *text) {
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
  rt_copy_text(t->text, sizeof t->text, text);
  rt_store(&t->ready, 1);
}

void rt_ask_start(void) {
  if (rt_load(&rt.ready) != RT_READY || rt.plan->triggers.n == 0) return;
  rt_asker.asking = 1;
  rt_hub_start();
  rt_store(&ready, rt_plugin_start());
  rt_asker.asking = 0;
}
