/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Triggers that are nothing but a condition: ProgramStateTrigger, whose conditions are written out; MutexTrigger (the
 * paper's WithMutex), true if the thread holds a lock; AfterTrigger, true behind a call of another function.
 *
 * They have no code of their own, so that what conditions need, slots and hooks, is found in them like in a rule.
 */
#include "scenario/classes.h"

#include <errno.h>
#include <string.h>

static const struct expr *settings_expr(const struct trigger *t) { return t->settings; }

static struct expr *make(struct arena *a, enum expr_kind kind, enum expr_type type, struct where at, struct expr *left,
                         struct expr *right) {
  struct expr *x = expr_new(a, kind, type, at);
  if (!x) return NULL;
  x->args[0] = left;
  x->args[1] = right;
  x->n_args = (left != NULL) + (right != NULL);
  return x;
}

static struct expr *make_number(struct arena *a, int64_t number, struct where at) {
  struct expr *x = make(a, EXPR_NUMBER, TYPE_NUMBER, at, NULL, NULL);
  if (x) x->number = number;
  return x;
}

/* --- ProgramStateTrigger ------------------------------------------------------------------------------------------ */

static const struct class_arg state_args[] = {{.name = "condition", .many = true}};

static int parse_condition(struct arena *a, const struct trigger_arg *arg, struct expr **ret, struct err *e) {
  const struct source_text *source = arg->value_at.source;
  size_t start = arg->value_at.offset, n = strlen(arg->value);
  struct lexer l;
  int r = lexer_start(&l, a, source, start, start + n, e);
  if (r >= 0) r = expr_parse(&l, ret);
  if (r < 0) return r;
  *ret = expr_order(a, expr_fold(*ret));
  return *ret ? 0 : -ENOMEM;
}

static int state_setup(struct arena *a, const struct trigger *t, const void **ret, struct err *e) {
  struct expr *all = NULL;
  for (size_t i = 0; i < t->n_args; i++) {
    struct expr *x = NULL;
    int r = parse_condition(a, &t->args[i], &x, e);
    if (r >= 0) x = all ? make(a, EXPR_AND, TYPE_TRUTH, t->at, all, x) : x;
    if (r < 0 || !x) return r < 0 ? r : -ENOMEM;
    all = x;
  }
  if (!all)
    return FAIL_AT(t->at, e, -EINVAL,
                   "ProgramStateTrigger needs a condition (write <args><condition>global(\"x\") == 1</condition>…)");
  *ret = all;
  return 0;
}

const struct trigger_class class_state = {
    .name = "ProgramStateTrigger",
    .args = state_args,
    .n_args = COUNT(state_args),
    .setup = state_setup,
    .emit = trigger_emit_expr,
    .expr = settings_expr,
};

/* --- MutexTrigger ------------------------------------------------------------------------------------------------- */

static const struct class_arg mutex_args[] = {{.name = "locks"}};

static int mutex_setup(struct arena *a, const struct trigger *t, const void **ret, struct err *e) {
  int64_t least = 1;
  int r = trigger_maybe_number(t, "locks", 1, &least, e);
  if (r < 0) return r;
  struct expr *locks = make(a, EXPR_LOCKS, TYPE_NUMBER, t->at, NULL, NULL), *number = make_number(a, least, t->at);
  struct expr *x = locks && number ? make(a, EXPR_BINARY, TYPE_TRUTH, t->at, locks, number) : NULL;
  if (!x) return -ENOMEM;
  x->op = WIRE_OP_GE;
  *ret = x;
  return 0;
}

#define MUTEX_CLASS(its_name)                                                                                          \
  {                                                                                                                    \
    .name = its_name, .args = mutex_args, .n_args = COUNT(mutex_args), .setup = mutex_setup,                           \
    .emit = trigger_emit_expr, .expr = settings_expr                                                                   \
  }

const struct trigger_class class_mutex = MUTEX_CLASS("MutexTrigger");
const struct trigger_class class_with_mutex = MUTEX_CLASS("WithMutex");

/* --- AfterTrigger ------------------------------------------------------------------------------------------------- */

static const struct class_arg after_args[] = {
    {.name = "function"}, {.name = "calls"}, {.name = "lines"}, {.name = "until"}};

static struct expr *make_name(struct arena *a, const struct trigger_arg *arg) {
  struct expr *x = make(a, EXPR_STRING, TYPE_STRING, arg->value_at, NULL, NULL);
  if (x) x->string = arg->value;
  return x;
}

static int after_setup(struct arena *a, const struct trigger *t, const void **ret, struct err *e) {
  const struct trigger_arg *function = trigger_arg(t, "function"), *until = trigger_arg(t, "until"),
                           *calls = trigger_arg(t, "calls"), *lines = trigger_arg(t, "lines");
  int64_t within = 0;
  if (!function)
    return FAIL_AT(t->at, e, -EINVAL, "AfterTrigger needs a function (write <args><function>unlock</function>…)");
  if ((until != NULL) + (calls != NULL) + (lines != NULL) > 1)
    return FAIL_AT(t->at, e, -EINVAL, "calls, lines and until cannot be together (write two triggers)");
  int r = trigger_maybe_number(t, lines ? "lines" : "calls", 1, &within, e);
  if (r < 0) return r;
  if (lines) calls = lines;
  struct expr *name = make_name(a, function), *second = until ? make_name(a, until) : NULL;
  if (calls) second = make_number(a, within, calls->value_at);
  if (!name || ((until || calls) && !second)) return -ENOMEM;
  *ret = make(a, until ? EXPR_BETWEEN : lines ? EXPR_NEAR : EXPR_AFTER, TYPE_TRUTH, t->at, name, second);
  return *ret ? 0 : -ENOMEM;
}

const struct trigger_class class_after = {
    .name = "AfterTrigger",
    .args = after_args,
    .n_args = COUNT(after_args),
    .setup = after_setup,
    .emit = trigger_emit_expr,
    .expr = settings_expr,
};
