/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile as data: its end, and how a function is found in it.
 */
#include "profile/profile.h"

#include <string.h>

void profile_done(struct profile *p) {
  if (!p) return;
  arena_done(&p->arena);
  *p = (struct profile){0};
}

/* The first of the library's functions of this name, if there are several versions. */
static const struct profile_function *find(const struct profile_library *l, const char *name) {
  size_t from = 0, to = l->n_functions;
  while (from < to) {
    size_t middle = from + (to - from) / 2;
    if (strcmp(l->functions[middle].name, name) < 0)
      from = middle + 1;
    else
      to = middle;
  }
  return from < l->n_functions && strcmp(l->functions[from].name, name) == 0 ? &l->functions[from] : NULL;
}

const struct profile_function *profile_function(const struct profile *p, const char *name) {
  for (size_t i = 0; i < p->n_libraries; i++) {
    const struct profile_function *f = find(&p->libraries[i], name);
    if (f) return f;
  }
  return NULL;
}
