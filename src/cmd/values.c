/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of options that several commands have.
 */
#include "cmd/cmd.h"

#include <errno.h>
#include <string.h>

enum { JOBS_MAX = 1024 };

int cmd_value_functions(struct arena *arena, const char *list, cmd_names *to, struct err *e) {
  char *names = arena_strdup(arena, list);
  if (!names) return -ENOMEM;
  for (char *rest = names, *name; (name = strsep(&rest, ","));) {
    if (!*name) return err_set(e, -EINVAL, "--function: a name is missing in '%s' (as in close,read)", list);
    if (vec_push(to, name) < 0) return -ENOMEM;
  }
  return 0;
}

int cmd_value_jobs(const char *value, unsigned *ret, struct err *e) {
  int64_t n = 0;
  if (number_parse(value, &n) < 0 || n < 1 || n > JOBS_MAX)
    return err_set(e, -EINVAL, "--jobs cannot be '%s' (it is a number from 1 to %d)", value, JOBS_MAX);
  *ret = (unsigned)n;
  return 0;
}
