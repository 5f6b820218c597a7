/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts profiles together: a file over what was found, a few functions out of many. Only arrays of functions and
 * libraries are made anew; errors and strings stay where they are.
 */
#include "profile/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- overlay ------------------------------------------------------------------------------------------------------ */

/* By name; of two versions of one name, a version that was not written down stands for all. */
static int compare_functions(const struct profile_function *a, const struct profile_function *b) {
  int order = strcmp(a->name, b->name);

  if (order != 0 || !a->version || !b->version) return order;
  return strcmp(a->version, b->version);
}

static int merge_functions(struct arena *arena, const struct profile_library *below, const struct profile_library *over,
                           struct profile_library *ret) {
  struct profile_function *to = arena_alloc(arena, (below->n_functions + over->n_functions + 1) * sizeof *to);
  if (!to) return -ENOMEM;

  size_t i = 0, j = 0, n = 0;
  while (i < below->n_functions || j < over->n_functions) {
    int order = i == below->n_functions  ? 1
                : j == over->n_functions ? -1
                                         : compare_functions(&below->functions[i], &over->functions[j]);
    if (order < 0) {
      to[n++] = below->functions[i++];
      continue;
    }
    to[n++] = over->functions[j];
    while (i < below->n_functions && compare_functions(&below->functions[i], &over->functions[j]) == 0)
      i++;
    j++;
  }
  *ret = *below;
  ret->functions = to;
  ret->n_functions = n;
  return 0;
}

static const struct profile_library *find_library(const struct profile *p, const char *name) {
  for (size_t i = 0; i < p->n_libraries; i++)
    if (strcmp(p->libraries[i].name, name) == 0) return &p->libraries[i];
  return NULL;
}

static bool has_function(const struct profile_library *l, const char *name) {
  for (size_t i = 0; i < l->n_functions; i++)
    if (strcmp(l->functions[i].name, name) == 0) return true;
  return false;
}

/* The functions of LOOSE that L has, or, if L is NULL, that no library of P has. */
static int pick_loose(struct arena *arena, const struct profile_library *loose, const struct profile_library *l,
                      const struct profile *p, struct profile_library *ret) {
  struct profile_function *to = arena_alloc(arena, (loose->n_functions + 1) * sizeof *to);
  if (!to) return -ENOMEM;
  *ret = *loose;
  ret->functions = to;
  ret->n_functions = 0;
  for (size_t i = 0; i < loose->n_functions; i++) {
    bool found = l && has_function(l, loose->functions[i].name);
    for (size_t k = 0; !l && !found && k < p->n_libraries; k++)
      found = has_function(&p->libraries[k], loose->functions[i].name);
    if (found == (l != NULL)) to[ret->n_functions++] = loose->functions[i];
  }
  return 0;
}

/* A library with what the file says of it, and of functions without a library, as the LFI papers write them. */
static int overlay_library(struct arena *arena, const struct profile_library *below, const struct profile *over,
                           struct profile_library *ret) {
  const struct profile_library *same = find_library(over, below->name), *loose = find_library(over, "");
  struct profile_library some;
  *ret = *below;
  int status = same ? merge_functions(arena, below, same, ret) : 0;
  if (status < 0 || !loose || !*below->name) return status;
  status = pick_loose(arena, loose, ret, NULL, &some);
  if (status < 0) return status;
  struct profile_library named = *ret;
  return merge_functions(arena, &named, &some, ret);
}

static int overlay_libraries(const struct profile *below, const struct profile *over, struct profile *made) {
  struct profile_library *to = arena_alloc(&made->arena, (below->n_libraries + over->n_libraries + 1) * sizeof *to);
  if (!to) return -ENOMEM;

  size_t n = 0;
  for (size_t i = 0; i < below->n_libraries; i++, n++)
    if (overlay_library(&made->arena, &below->libraries[i], over, &to[n]) < 0) return -ENOMEM;
  for (size_t i = 0; i < over->n_libraries; i++) {
    const struct profile_library *l = &over->libraries[i];
    if (find_library(below, l->name)) continue;
    to[n] = *l;
    if (!*l->name && pick_loose(&made->arena, l, NULL, below, &to[n]) < 0) return -ENOMEM;
    n += to[n].n_functions > 0 || *l->name;
  }
  made->libraries = to;
  made->n_libraries = n;
  return 0;
}

int profile_overlay(const struct profile *below, const struct profile *over, struct profile *ret) {
  const struct profile *errno_from = below->errno_module ? below : over, *kernel = below->kernel ? below : over;
  struct profile made = {.errno_module = errno_from->errno_module,
                         .errno_offset = errno_from->errno_offset,
                         .kernel = kernel->kernel,
                         .kernel_note = kernel->kernel_note};

  int status = overlay_libraries(below, over, &made);
  if (status < 0)
    arena_done(&made.arena);
  else
    *ret = made;
  return status;
}

/* --- a few functions ---------------------------------------------------------------------------------------------- */

static int compare_names(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static const char *const *find_name(const char *const *sorted, size_t n, const char *name) {
  return bsearch(&name, sorted, n, sizeof *sorted, compare_names);
}

/* The functions of FROM that are asked for, in a new array; SEEN takes a note of each name. */
static int pick(struct arena *arena, const struct profile_library *from, const char *const *sorted, size_t n,
                bool *seen, struct profile_library *ret) {
  VEC(struct profile_function) found = {0};
  int status = 0;

  for (size_t i = 0; i < from->n_functions && status == 0; i++) {
    const char *const *at = find_name(sorted, n, from->functions[i].name);
    if (!at) continue;
    seen[at - sorted] = true;
    status = vec_push(&found, from->functions[i]);
  }
  if (status == 0) {
    *ret = *from;
    ret->n_functions = found.n;
    ret->functions = found.n ? arena_memdup(arena, found.at, found.n * sizeof *found.at) : NULL;
    if (found.n && !ret->functions) status = -ENOMEM;
  }
  vec_done(&found);
  return status;
}

static int pick_all(const struct profile *p, const char *const *sorted, size_t n, bool *seen, struct profile *made) {
  struct profile_library *to = arena_alloc(&made->arena, (p->n_libraries + 1) * sizeof *to);
  if (!to) return -ENOMEM;
  made->libraries = to;
  for (size_t i = 0; i < p->n_libraries; i++) {
    int status = pick(&made->arena, &p->libraries[i], sorted, n, seen, &to[made->n_libraries]);
    if (status < 0) return status;
    if (to[made->n_libraries].n_functions > 0) made->n_libraries++;
  }
  return 0;
}

int profile_select(const struct profile *p, const char *const *names, size_t n, struct profile *ret,
                   const char **ret_missing) {
  struct profile made = {.errno_module = p->errno_module,
                         .errno_offset = p->errno_offset,
                         .kernel = p->kernel,
                         .kernel_note = p->kernel_note};

  const char **sorted = arena_memdup(&made.arena, names, n * sizeof *names);
  bool *seen = arena_zalloc(&made.arena, n * sizeof *seen);
  int status = sorted && seen ? 0 : -ENOMEM;
  if (status == 0) {
    qsort(sorted, n, sizeof *sorted, compare_names);
    status = pick_all(p, sorted, n, seen, &made);
  }
  /* A name that was given twice is found under one of its places only. */
  for (size_t i = 0; status == 0 && i < n; i++) {
    if (!profile_function(&made, names[i])) {
      *ret_missing = names[i];
      status = -ENOENT;
    }
  }
  if (status < 0)
    arena_done(&made.arena);
  else
    *ret = made;
  return status;
}

const char *profile_near(const struct profile *p, const char *name) {
  VEC(const char *) names = {0};
  int status = 0;

  for (size_t i = 0; i < p->n_libraries; i++)
    for (size_t j = 0; j < p->libraries[i].n_functions && status == 0; j++)
      status = vec_push(&names, p->libraries[i].functions[j].name);
  const char *near = name_nearest(name, names.at, names.n); /* the best of those there was memory for */
  vec_done(&names);
  return near;
}
