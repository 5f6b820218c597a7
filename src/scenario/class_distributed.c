/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DistributedTrigger: a hub, murphy-hub(1), decides with a view over all processes that ask it.
 */
#include "scenario/classes.h"

#include <errno.h>
#include <string.h>

#define PATIENCE_MS 1000
#define PATIENCE_MAX_MS 600000

struct hub_settings {
  const struct trigger_arg *address; /* NULL: the user says elsewhere */
  uint32_t patience;
};

static const struct class_arg hub_args[] = {{.name = "address"}, {.name = "timeout"}};

/* 250ms, 2s */
static int read_time(const struct trigger_arg *a, uint32_t *ret, struct err *e) {
  char digits[16] = {0};
  size_t n = strspn(a->value, "0123456789");
  int64_t value = 0;
  bool seconds = strcmp(a->value + n, "s") == 0, good = seconds || strcmp(a->value + n, "ms") == 0;
  if (good && n > 0 && n < sizeof digits) {
    memcpy(digits, a->value, n);
    good = number_parse(digits, &value) >= 0;
  }
  value *= seconds ? 1000 : 1;
  if (!good || n == 0 || n >= 10 || value < 1 || value > PATIENCE_MAX_MS)
    return FAIL_AT(a->value_at, e, -EINVAL, "'%.60s' is not a time limit (write it as 250ms or 2s; at most 600s)",
                   a->value);
  *ret = (uint32_t)value;
  return 0;
}

static int hub_setup(struct arena *a, const struct trigger *t, const void **ret, struct err *e) {
  struct hub_settings *s = arena_zalloc(a, sizeof *s);
  const struct trigger_arg *timeout = trigger_arg(t, "timeout");
  if (!s) return -ENOMEM;
  *s = (struct hub_settings){.address = trigger_arg(t, "address"), .patience = PATIENCE_MS};
  int r = timeout ? read_time(timeout, &s->patience, e) : 0;
  if (r >= 0) *ret = s;
  return r;
}

static int fill_hub(struct emitter *m, const struct trigger *t, struct wire_trigger *ret) {
  const struct hub_settings *s = t->settings;
  const struct scenario_world *w = m->plan->world;
  struct where at = s->address ? s->address->value_at : t->at;
  const char *name = NULL;
  struct err why = {0};
  if (!w->hub) return FAIL_AT(at, m->plan->e, -ENOTSUP, "there is no hub here (murphy run knows how to reach one)");
  int r = w->hub(w->hub_context, s->address ? s->address->value : NULL, ret, &name, &why);
  const char *text = why.text[0] ? why.text : strerror(-r);
  if (r == -EDESTADDRREQ) return FAIL_AT(at, m->plan->e, -EINVAL, "%s", text);
  if (r < 0 && !s->address) return err_set(m->plan->e, r, "%s", text); /* what is wrong is not written here */
  if (r < 0) return FAIL_AT(at, m->plan->e, r, "%s", text);
  ret->kind = WIRE_TRIGGER_HUB;
  ret->patience = s->patience;
  r = plan_string(m->plan, t->class->name, &ret->class);
  return r < 0 ? r : plan_string(m->plan, name, &ret->file);
}

static int hub_emit(struct emitter *m, const struct trigger *t) {
  uint32_t trigger;
  int r = plan_trigger(m, t, fill_hub, &trigger);
  return r < 0 ? r : emit(m, WIRE_OP_ASK, trigger);
}

const struct trigger_class class_distributed = {
    .name = "DistributedTrigger",
    .args = hub_args,
    .n_args = COUNT(hub_args),
    .setup = hub_setup,
    .emit = hub_emit,
    .outside = true,
};
