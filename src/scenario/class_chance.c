/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SingletonTrigger, true once; RandomTrigger, true with a probability. The same seed gives the same decisions.
 */
#include "scenario/classes.h"

#include <errno.h>
#include <string.h>

static int once_emit(struct emitter *m, const struct trigger *t) {
  uint32_t slot;
  int r = plan_slot(m->plan, t, &slot);
  return r < 0 ? r : emit(m, WIRE_OP_ONCE, slot);
}

const struct trigger_class class_singleton = {.name = "SingletonTrigger", .emit = once_emit, .once = true};

struct random_settings {
  double chance;
  bool seeded;
  int64_t seed;
};

static const struct class_arg random_args[] = {{.name = "probability"}, {.name = "seed"}};

static int random_setup(struct arena *a, const struct trigger *t, const void **ret, struct err *e) {
  struct random_settings *s = arena_zalloc(a, sizeof *s);
  const struct trigger_arg *chance = trigger_arg(t, "probability");
  if (!s) return -ENOMEM;
  if (!chance)
    return FAIL_AT(t->at, e, -EINVAL,
                   "RandomTrigger needs a probability (write <args><probability>0.1</probability>…)");
  if (real_parse(chance->value, &s->chance) < 0 || !(s->chance >= 0 && s->chance <= 1)) /* nor 0e999 */
    return FAIL_AT(chance->value_at, e, -EINVAL, "'%.60s' is not a probability (write a number from 0 to 1, as 0.1)",
                   chance->value);
  s->seeded = trigger_arg(t, "seed") != NULL;
  int r = trigger_maybe_number(t, "seed", INT64_MIN, &s->seed, e);
  if (r >= 0) *ret = s;
  return r;
}

static int random_emit(struct emitter *m, const struct trigger *t) {
  const struct random_settings *s = t->settings;
  if (s->chance >= 1 || s->chance <= 0) return emit_number(m, s->chance >= 1);
  return emit_random(m, t, s->chance, s->seeded ? (uint64_t)s->seed : plan_draw_seed(m->plan, t));
}

const struct trigger_class class_random = {
    .name = "RandomTrigger",
    .args = random_args,
    .n_args = COUNT(random_args),
    .setup = random_setup,
    .emit = random_emit,
};
