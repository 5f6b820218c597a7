/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the room: classes of triggers. A class is an entry in the table of classes.c.
 */
#pragma once

#include "scenario/plan.h"

/* An argument that a class knows. */
struct class_arg {
  const char *name;
  bool many;                /* it may be there several times */
  const char *const *parts; /* what is inside of it; NULL if it is text */
  size_t n_parts;
};

struct trigger_class {
  const char *name;
  const struct class_arg *args;
  size_t n_args;
  /* Reads the arguments, which are known to be of the class, into *ret in the arena. */
  int (*setup)(struct arena *a, const struct trigger *t, const void **ret, struct err *e);
  /* The code of the trigger: one value. */
  int (*emit)(struct emitter *m, const struct trigger *t);
  /* If it is the same for a trigger that sees every call of one function: a condition on the call's number. Or NULL. */
  struct expr *(*counted)(struct arena *a, const struct trigger *t);
  bool once;    /* true once and never again */
  bool outside; /* somebody else has its state, and may want to see every call */
  /* If it is nothing but a condition: that one, and `emit` is trigger_emit_expr. Or NULL. */
  const struct expr *(*expr)(const struct trigger *t);
};

/* For classes that have `expr`. */
int trigger_emit_expr(struct emitter *m, const struct trigger *t) MUST_USE;

/* Finds the class by NAME, which stands AT, and lets it read the arguments. */
int trigger_setup(struct scenario *s, struct trigger *t, const char *name, struct where at, struct err *e) MUST_USE;

/* One file each, but for relatives. */
extern const struct trigger_class class_stack, class_count, class_singleton, class_random, class_fd, class_pipe;
extern const struct trigger_class class_distributed, class_custom;
extern const struct trigger_class class_state, class_mutex, class_with_mutex, class_after, class_coverage;

/* A trigger that is asked outside: its place in the plan's table, the same each time, filled in by FILL at first. */
typedef int trigger_fill(struct emitter *m, const struct trigger *t, struct wire_trigger *ret);
int plan_trigger(struct emitter *m, const struct trigger *t, trigger_fill *fill, uint32_t *ret) MUST_USE;

/* The argument of this name; NULL if it was not given. */
const struct trigger_arg *trigger_arg(const struct trigger *t, const char *name);
/* The number that it is, at least LOW; the second leaves *RET alone if there is no such argument. */
int trigger_number(const struct trigger_arg *a, int64_t low, int64_t *ret, struct err *e) MUST_USE;
int trigger_maybe_number(const struct trigger *t, const char *name, int64_t low, int64_t *ret, struct err *e) MUST_USE;
