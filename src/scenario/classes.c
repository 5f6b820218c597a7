/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The classes of triggers that scenarios can name, and what their arguments must be like.
 *
 * State belongs to the trigger's instance: functions that refer to one trigger share its count.
 */
#include "scenario/classes.h"

#include <errno.h>
#include <string.h>

/* --- arguments ---------------------------------------------------------------------------------------------------- */

const struct trigger_arg *trigger_arg(const struct trigger *t, const char *name) {
  for (size_t i = 0; i < t->n_args; i++)
    if (strcmp(t->args[i].name, name) == 0) return &t->args[i];
  return NULL;
}

int trigger_number(const struct trigger_arg *a, int64_t low, int64_t *ret, struct err *e) {
  int64_t value;
  if (number_parse(a->value, &value) < 0)
    return FAIL_AT(a->value_at, e, -EINVAL, "'%.60s' is not a number (write it as 10 or 0x1f)", a->value);
  if (value < low) return FAIL_AT(a->value_at, e, -EINVAL, "%s is at least %lld", a->name, (long long)low);
  *ret = value;
  return 0;
}

/* If it is there. */
int trigger_maybe_number(const struct trigger *t, const char *name, int64_t low, int64_t *ret, struct err *e) {
  const struct trigger_arg *a = trigger_arg(t, name);
  return a ? trigger_number(a, low, ret, e) : 0;
}

/* --- the table ---------------------------------------------------------------------------------------------------- */

static const struct trigger_class *const classes[] = {
    &class_stack, &class_count, &class_singleton,  &class_random, &class_fd,       &class_pipe,
    &class_state, &class_mutex, &class_with_mutex, &class_after,  &class_coverage, &class_distributed,
};

#define MAX_CLASSES 64 /* that a message looks at */

static int unknown_class(const struct scenario *s, const char *name, struct where at, struct err *e) {
  const char *names[COUNT(classes) + MAX_CLASSES];
  const char *const *others = NULL;
  char all[400] = "there are ", way[SOURCE_HINT];
  size_t used = strlen(all), n = 0, n_others = s->plugins.list ? s->plugins.list(s->plugins.context, &others) : 0;
  for (; n < COUNT(classes); n++)
    names[n] = classes[n]->name;
  for (size_t i = 0; i < n_others && i < MAX_CLASSES; i++)
    names[n++] = others[i];
  for (size_t i = 0; i < n && used < sizeof all; i++)
    used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", i ? ", " : "", names[i]);
  const char *near = name_nearest(name, names, n);
  return FAIL_AT(at, e, -EINVAL, "trigger class '%.60s' is not known (%s)", name,
                 near ? source_hint(near, "", way) : all);
}

/* A class of the user's own: its arguments are its own business. */
static int find_plugin(const struct scenario *s, struct trigger *t, const char *name, struct where at, struct err *e) {
  const char *file = NULL;
  struct err why = {0};
  int r = s->plugins.find ? s->plugins.find(s->plugins.context, name, &file, &why) : -ENOENT;
  if (r == -ENOENT && !why.text[0]) return unknown_class(s, name, at, e);
  if (r < 0) return FAIL_AT(at, e, r, "%s", why.text[0] ? why.text : strerror(-r));
  t->class = &class_custom;
  t->class_name = name;
  t->settings = file;
  return 0;
}

static int unknown_arg(const char *class, const char *const *names, size_t n, const struct trigger_arg *arg,
                       struct err *e) {
  char all[SOURCE_HINT] = "it has none", way[SOURCE_HINT];
  for (size_t i = 0, used = 0; i < n && used < sizeof all; i++)
    used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", i ? ", " : "there are ", names[i]);
  return FAIL_AT(arg->at, e, -EINVAL, "%s has no argument %.60s (%s)", class, arg->name,
                 source_hint(name_nearest(arg->name, names, n), all, way));
}

/* The arguments are known, once each, and have what belongs into them. */
static int check_args(const char *owner, const struct class_arg *known, size_t n_known, const struct trigger_arg *args,
                      size_t n, struct err *e) {
  const char *names[16];
  MUST(n_known <= COUNT(names));
  for (size_t i = 0; i < n_known; i++)
    names[i] = known[i].name;
  for (size_t i = 0; i < n; i++) {
    size_t k = 0;
    while (k < n_known && strcmp(names[k], args[i].name) != 0)
      k++;
    if (k == n_known) return unknown_arg(owner, names, n_known, &args[i], e);
    for (size_t j = 0; j < i && !known[k].many; j++)
      if (strcmp(args[j].name, args[i].name) == 0)
        return FAIL_AT(args[i].at, e, -EINVAL, "%s is there twice (remove one)", args[i].name);
    if (!known[k].parts && !args[i].value) return FAIL_AT(args[i].at, e, -EINVAL, "<%s> is empty", args[i].name);
    if (known[k].parts && args[i].value)
      return FAIL_AT(args[i].value_at, e, -EINVAL, "<%s> cannot hold text (write <%s>…)", args[i].name,
                     known[k].parts[0]);
    struct class_arg parts[8] = {0};
    MUST(known[k].n_parts <= COUNT(parts));
    for (size_t j = 0; j < known[k].n_parts; j++)
      parts[j].name = known[k].parts[j];
    int r = check_args(args[i].name, parts, known[k].n_parts, args[i].parts, args[i].n_parts, e);
    if (r < 0) return r;
  }
  return 0;
}

int trigger_setup(struct scenario *s, struct trigger *t, const char *name, struct where at, struct err *e) {
  for (size_t i = 0; i < COUNT(classes) && !t->class; i++)
    if (strcmp(classes[i]->name, name) == 0) t->class = classes[i];
  if (!t->class) return find_plugin(s, t, name, at, e);
  int r = check_args(name, t->class->args, t->class->n_args, t->args, t->n_args, e);
  if (r >= 0 && t->class->setup) r = t->class->setup(&s->arena, t, &t->settings, e);
  return r == -ENOMEM ? source_no_memory(at.source, e) : r;
}
