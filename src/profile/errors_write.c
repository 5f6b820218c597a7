/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The form in which a kernel's profile is kept in data/kernel: one system call a line.
 */
#include "profile/ways.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char explanation[] =
    "# One system call a line: NUMBER NAME ERRNO..., sorted by number; errnos in alphabetical order, under the "
    "kernel's\n"
    "# own names (EAGAIN, EOPNOTSUPP, EDEADLK, not their aliases). A call without errnos cannot fail. A last word ...\n"
    "# says that the call may fail with others, too, that could not be found. A call that has no line is not known.\n"
    "# Lines that start with # are comments. Behind an errno, [ARG!VALUE|VALUE...] says that it is not possible if\n"
    "# argument ARG, counted from 0, is one of the values, and [ARG=VALUE|VALUE...] that it is possible only then.\n";

static int by_number(const void *a, const void *b) {
  const struct profile_function *const *x = a, *const *y = b;
  return ((*x)->syscall > (*y)->syscall) - ((*x)->syscall < (*y)->syscall);
}

static int by_text(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

static void write_call(const struct profile_function *f, const struct ways *w, struct text *to) {
  const char *names[ERRNO_MAX + 1];
  size_t n = 0;
  for (size_t i = 0; i < f->n_errors; i++)
    for (int e = 1; e <= ERRNO_MAX && n < COUNT(names); e++)
      if (errno_set_has(&f->errors[i].errnos, e) && errno_name(e)) names[n++] = errno_name(e);
  if (n) qsort(names, n, sizeof *names, by_text);
  text_addf(to, "%u %s", f->syscall - 1, f->name);
  for (size_t i = 0; i < n; i++)
    text_addf(to, " %s%s", names[i], ways_condition(w, f->name, errno_number(names[i])));
  text_add(to, f->unknown ? " ...\n" : "\n");
}

static void write_header(const struct profile_library *l, struct text *to) {
  const char *release = strchr(l->name, ' ');
  text_add(to, "# SPDX-License-Identifier: Apache-2.0\n# murphy kernel errors, format 1\n# machine: x86-64\n");
  text_addf(to, "# kernel: %s\n# build-id: %s\n", release ? release + 1 : l->name, l->build_id);
  text_add(to, "# source: analysis of the kernel's machine code by murphy profile --kernel\n");
  text_addf(to, "# modules: %s\n", l->modules && *l->modules ? l->modules : "none");
  if (l->modules_missing && *l->modules_missing) text_addf(to, "# modules missing: %s\n", l->modules_missing);
  if (l->functions_only) text_add(to, "# its symbols name functions only: no tables of operations were found\n");
  text_addf(to, "#\n%s", explanation);
}

int profile_write_errors(const struct profile *p, const char *data, struct text *to, struct err *e) {
  struct ways w = {0};
  int r = ways_load(data, &w, e);
  if (r < 0) return r;
  for (size_t i = 0; i < p->n_libraries && r >= 0; i++) {
    const struct profile_library *l = &p->libraries[i];
    const struct profile_function **order = calloc(l->n_functions + 1, sizeof *order);
    size_t n = 0;
    if (!order) {
      r = -ENOMEM;
      break;
    }
    for (size_t k = 0; k < l->n_functions; k++)
      if (l->functions[k].syscall) order[n++] = &l->functions[k];
    qsort(order, n, sizeof *order, by_number);
    write_header(l, to);
    for (size_t k = 0; k < n; k++)
      write_call(order[k], &w, to);
    free(order);
  }
  ways_done(&w);
  return r < 0 ? r : to->failed ? -ENOMEM : 0;
}
