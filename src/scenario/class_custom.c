/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Triggers that are asked outside of the plan's code, and the first kind of them: classes of the user's own, which are
 * found by name in shared objects. What their arguments mean is known to nobody here.
 */
#include "scenario/classes.h"

#include <errno.h>
#include <string.h>

/* <low>1</low> is "low"; <frame><line>3</line></frame> is "frame.line". */
static int add_setting(struct plan *p, const char *outer, const struct trigger_arg *a) {
  struct text name = {0};
  struct wire_setting s = {0};
  text_addf(&name, "%s%s%s", outer, *outer ? "." : "", a->name);
  int r = name.failed ? plan_no_memory(p) : plan_string(p, name.at, &s.name);
  if (r >= 0) r = plan_string(p, a->value, &s.value);
  text_done(&name);
  if (r >= 0 && (a->value || !a->n_parts) && vec_push(&p->settings, s) < 0) r = plan_no_memory(p);
  for (size_t i = 0; i < a->n_parts && r >= 0; i++)
    r = add_setting(p, a->name, &a->parts[i]);
  return r;
}

static int add_settings(struct plan *p, const struct trigger *t, struct wire_trigger *w) {
  int r = 0;
  w->setting = (uint32_t)p->settings.n;
  for (size_t i = 0; i < t->n_args && r >= 0; i++)
    r = add_setting(p, "", &t->args[i]);
  w->n_settings = (uint32_t)p->settings.n - w->setting;
  return r;
}

int plan_trigger(struct emitter *m, const struct trigger *t, trigger_fill *fill, uint32_t *ret) {
  struct plan *p = m->plan;
  struct wire_trigger w = {0};
  uint64_t at;
  if (map_get(&p->asked, (uintptr_t)t, &at)) {
    *ret = (uint32_t)at;
    return 0;
  }
  int r = plan_string(p, t->id, &w.id);
  if (r >= 0) r = fill(m, t, &w);
  if (r < 0) return r;
  *ret = (uint32_t)p->triggers.n;
  if (vec_push(&p->triggers, w) < 0 || map_put(&p->asked, (uintptr_t)t, *ret) < 0) return plan_no_memory(p);
  return 0;
}

static int fill_custom(struct emitter *m, const struct trigger *t, struct wire_trigger *ret) {
  ret->kind = WIRE_TRIGGER_PLUGIN;
  int r = add_settings(m->plan, t, ret);
  if (r >= 0) r = plan_string(m->plan, t->class_name, &ret->class);
  return r < 0 ? r : plan_string(m->plan, t->settings, &ret->file);
}

static int custom_emit(struct emitter *m, const struct trigger *t) {
  uint32_t trigger;
  int r = plan_trigger(m, t, fill_custom, &trigger);
  return r < 0 ? r : emit(m, WIRE_OP_ASK, trigger);
}

const struct trigger_class class_custom = {.name = "", .emit = custom_emit, .outside = true};
