/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CallCountTrigger: the nth time that it is asked, or every so many times from one to another.
 */
#include "scenario/classes.h"

#include <errno.h>
#include <string.h>

struct count_settings {
  int64_t from, to, step;
};

static const struct class_arg count_args[] = {{.name = "n"}, {.name = "from"}, {.name = "to"}, {.name = "step"}};

static int count_setup(struct arena *a, const struct trigger *t, const void **ret, struct err *e) {
  struct count_settings *s = arena_zalloc(a, sizeof *s);
  const struct trigger_arg *n = trigger_arg(t, "n");
  if (!s) return -ENOMEM;
  *s = (struct count_settings){.from = 1, .to = INT64_MAX, .step = 1};
  if (n && t->n_args > 1) return FAIL_AT(n->at, e, -EINVAL, "n is one call, from and to are many (remove one of them)");
  if (!t->n_args) return FAIL_AT(t->at, e, -EINVAL, "CallCountTrigger needs n, or from and to (write <args><n>3</n>…)");
  int r = n ? trigger_number(n, 1, &s->from, e) : trigger_maybe_number(t, "from", 1, &s->from, e);
  if (r >= 0 && n) s->to = s->from;
  if (r >= 0) r = trigger_maybe_number(t, "to", 1, &s->to, e);
  if (r >= 0) r = trigger_maybe_number(t, "step", 1, &s->step, e);
  if (r >= 0 && s->to < s->from) r = FAIL_AT(trigger_arg(t, "to")->value_at, e, -EINVAL, "to is before from");
  if (r >= 0) *ret = s;
  return r;
}

static int count_emit(struct emitter *m, const struct trigger *t) {
  const struct count_settings *s = t->settings;
  uint32_t slot;
  int r = plan_slot(m->plan, t, &slot);
  if (r >= 0) r = emit(m, WIRE_OP_NEXT, slot);
  return r < 0 ? r : emit_series(m, s->from, s->to, s->step);
}

static struct expr *number(struct arena *a, const struct trigger *t, int64_t n) {
  struct expr *x = expr_new(a, EXPR_NUMBER, TYPE_NUMBER, t->at);
  if (x) x->number = n;
  return x;
}

static struct expr *binary(struct arena *a, const struct trigger *t, enum wire_op op, struct expr *x, struct expr *y) {
  struct expr *b = x && y ? expr_new(a, op == WIRE_OP_IF_ZERO ? EXPR_AND : EXPR_BINARY, TYPE_TRUTH, t->at) : NULL;
  if (!b) return NULL;
  b->op = op;
  b->n_args = 2;
  b->args[0] = x;
  b->args[1] = y;
  if (op == WIRE_OP_SUB || op == WIRE_OP_MOD) b->type = TYPE_NUMBER;
  return b;
}

static struct expr *count_counted(struct arena *a, const struct trigger *t) {
  const struct count_settings *s = t->settings;
  struct expr *calls[3];
  for (size_t i = 0; i < COUNT(calls); i++)
    calls[i] = expr_new(a, EXPR_CALL, TYPE_NUMBER, t->at);
  if (s->from == s->to) return binary(a, t, WIRE_OP_EQ, calls[0], number(a, t, s->from));
  struct expr *x = binary(a, t, WIRE_OP_GE, calls[0], number(a, t, s->from));
  if (s->to != INT64_MAX) x = binary(a, t, WIRE_OP_IF_ZERO, x, binary(a, t, WIRE_OP_LE, calls[1], number(a, t, s->to)));
  if (s->step == 1) return x;
  struct expr *since = binary(a, t, WIRE_OP_SUB, calls[2], number(a, t, s->from));
  struct expr *rest = binary(a, t, WIRE_OP_MOD, since, number(a, t, s->step));
  return binary(a, t, WIRE_OP_IF_ZERO, x, binary(a, t, WIRE_OP_EQ, rest, number(a, t, 0)));
}

const struct trigger_class class_count = {
    .name = "CallCountTrigger",
    .args = count_args,
    .n_args = COUNT(count_args),
    .setup = count_setup,
    .emit = count_emit,
    .counted = count_counted,
};
