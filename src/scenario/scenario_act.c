/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults that make nothing up: something is done to the call, and what the program sees then is real.
 */
#include "scenario/plan.h"

#include <errno.h>
#include <string.h>

#define DELAY_MAX 86400000000000ll /* a day */

static const char *const acts[WIRE_ACT_COUNT] = {
    [WIRE_ACT_RETURN] = "",     [WIRE_ACT_SHORT] = "short", [WIRE_ACT_DELAY] = "delay",
    [WIRE_ACT_EINTR] = "eintr", [WIRE_ACT_KILL] = "kill",   [WIRE_ACT_THROW] = "throw"};

/* --- reading ------------------------------------------------------------------------------------------------------ */

int time_parse(const char *text, int64_t *ret) {
  static const struct {
    const char *name;
    double factor;
  } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 60e9}};
  char number[32];
  size_t n = strspn(text, "0123456789.");
  double value;
  if (n == 0 || n >= sizeof number) return -EINVAL;
  memcpy(number, text, n);
  number[n] = '\0';
  if (real_parse(number, &value) < 0) return -EINVAL;
  for (size_t i = 0; i < COUNT(units); i++) {
    if (strcmp(text + n, units[i].name) != 0) continue;
    value *= units[i].factor;
    if (value > 9e18) return -ERANGE;
    *ret = (int64_t)value;
    return 0;
  }
  return -EINVAL;
}

static int read_short(const char *value, struct where at, struct fault *f, struct err *e) {
  if (number_parse(value, &f->amount) < 0)
    return FAIL_AT(at, e, -EINVAL, "'%.60s' is not a number of bytes (write short=10)", value);
  if (f->amount < 1) return FAIL_AT(at, e, -EINVAL, "fewer than 1 byte is no short transfer (write ret=0)");
  return 0;
}

static int read_delay(const char *value, struct where at, struct fault *f, struct err *e) {
  int r = time_parse(value, &f->amount);
  if (r == -EINVAL) return FAIL_AT(at, e, r, "'%.60s' is not a time (write delay=10ms; us, ms, s, min)", value);
  if (r < 0 || f->amount > DELAY_MAX) return FAIL_AT(at, e, -ERANGE, "a delay is at most a day");
  return 0;
}

int act_parse(const char *name, const char *value, struct where name_at, struct where value_at, struct fault *f,
              struct err *e) {
  unsigned act = 1;
  while (act < WIRE_ACT_COUNT && strcmp(acts[act], name) != 0)
    act++;
  if (act == WIRE_ACT_COUNT || (act != WIRE_ACT_SHORT && act != WIRE_ACT_DELAY) == (value != NULL)) {
    char way[SOURCE_HINT];
    return FAIL_AT(name_at, e, -EINVAL, "'%.60s' is not a fault (%s)", name,
                   source_hint(name_nearest(name, acts + 1, COUNT(acts) - 1), "there are eintr, kill, throw", way));
  }
  f->act = (enum wire_act)act;
  f->form = act == WIRE_ACT_EINTR ? FAULT_ERRNO : FAULT_ACT;
  if (act == WIRE_ACT_EINTR) f->error = EINTR;
  if (act == WIRE_ACT_SHORT) return read_short(value, value_at, f, e);
  return act == WIRE_ACT_DELAY ? read_delay(value, value_at, f, e) : 0;
}

/* --- compiling ---------------------------------------------------------------------------------------------------- */

static int cannot(struct plan *p, const struct rule *rule, const struct subject *s, const char *why) {
  return FAIL_AT(rule->fault.at, p->e, -ENOTSUP, "%.60s %s", s->written, why);
}

static int check(struct plan *p, const struct rule *rule, const struct subject *s) {
  const struct fault *f = &rule->fault;
  if (f->act == WIRE_ACT_THROW && !s->roles.throws)
    return cannot(p, rule, s,
                  "is not known to throw std::bad_alloc (_Znwm, operator new, does; data/functions says it)");
  if (f->act != WIRE_ACT_SHORT) return 0;
  if (s->roles.length < 0)
    return cannot(p, rule, s,
                  "is not known to transfer less than it is asked for (write ret=…; data/functions says it)");
  if (f->error && s->roles.how != WIRE_LENGTH_ITEMS)
    return cannot(p, rule, s, "does not set errno when it transfers less (remove errno)");
  return 0;
}

int plan_act(struct plan *p, const struct rule *rule, const struct subject *s, struct wire_fault *ret) {
  const struct fault *f = &rule->fault;
  int r = check(p, rule, s);
  if (r < 0) return r;
  *ret = (struct wire_fault){.act = (uint8_t)f->act, .retval = f->amount, .error = f->error};
  if (f->act != WIRE_ACT_SHORT) return 0;
  ret->length = (uint8_t)s->roles.how;
  ret->argument = (uint16_t)s->roles.length;
  if (s->roles.how == WIRE_LENGTH_ITEMS && !f->error) ret->error = EIO;
  return 0;
}

/* A call that asks for no more than that is not the one that is meant. */
const struct expr *plan_act_condition(struct plan *p, const struct rule *rule, bool *ret_failed) {
  const struct fault *f = &rule->fault;
  if (f->act != WIRE_ACT_SHORT) return rule->when;
  struct expr *size = expr_new(&p->arena, EXPR_SIZE, TYPE_NUMBER, f->at);
  struct expr *number = expr_new(&p->arena, EXPR_NUMBER, TYPE_NUMBER, f->at);
  struct expr *more = expr_new(&p->arena, EXPR_BINARY, TYPE_TRUTH, f->at);
  struct expr *both = expr_new(&p->arena, EXPR_AND, TYPE_TRUTH, rule->when ? rule->when->at : f->at);
  *ret_failed = !size || !number || !more || !both;
  if (*ret_failed) return NULL;
  number->number = f->amount;
  more->op = WIRE_OP_GT;
  more->n_args = 2;
  more->args[0] = size;
  more->args[1] = number;
  if (!rule->when || (rule->when->kind == EXPR_NUMBER && rule->when->number)) return more;
  both->n_args = 2;
  both->args[0] = more;
  both->args[1] = rule->when;
  if (rule->ordered) return both;
  struct expr *ordered = expr_order(&p->arena, both);
  *ret_failed = !ordered;
  return ordered;
}
