/* SPDX-License-Identifier: Apache-2.0 */
/* LD_PRELOAD in the environment. */
#include "environment.h"

#include "fd.h"
#include "link.h"
#include "system.h"
#include "words.h"

#define VARIABLE "LD_PRELOAD="

static const char *shim_path; /* the loader's; it is never unloaded */
static char ***variables[3];  /* environ, under each name that libc has for it; often one place */

/* The value of LD_PRELOAD; *RET_AT is its place. NULL if there is none. */
static char *preload_of(char *const *envp, size_t *ret_at) {
  for (size_t i = 0; envp && envp[i]; i++)
    if (rt_behind(envp[i], VARIABLE)) {
      *ret_at = i;
      return envp[i] + sizeof VARIABLE - 1;
    }
  return NULL;
}

static bool separates(char c) { return c == ':' || c == ' ' || c == 0; }

/* Where LIST, of paths between colons, goes on behind PATH; NULL if PATH is not in it. PATH may be a list itself. */
static const char *behind_path(const char *list, const char *path) {
  for (const char *at = list; *path; at++) {
    const char *rest = at == list || separates(at[-1]) ? rt_behind(at, path) : NULL;
    if (rest && separates(*rest)) return rest;
    if (!*at) break;
  }
  return NULL;
}

static bool wanted(void) { return rt.ready == RT_READY && rt.plan->flags & WIRE_FOLLOW && !rt_load(&rt.area->stop); }

/* What a list of preloads was before murphy: what stands behind the shim. NULL if the shim is not in it. */
static const char *before_murphy(const char *list) {
  const char *rest = shim_path ? behind_path(list, shim_path) : NULL;
  while (rest && *rest && separates(*rest))
    rest++;
  return rest;
}

/*
 * Does LIST name the shim of another murphy, which this one is used to test? Then its command is its own: two shims
 * would be two tables for one runtime.
 */
static bool others_shim(const char *list) {
  while (*list) {
    size_t n = 0;
    while (!separates(list[n]))
      n++;
    bool own = shim_path && rt_length(shim_path) == n && rt_behind(list, shim_path);
    if (!own && rt_glob("*/murphy-*/shim*.so", list, n)) return true;
    list += list[n] ? n + 1 : n;
  }
  return false;
}

bool rt_environment_good(char *const *envp) {
  size_t at;
  const char *list = preload_of(envp, &at);
  if (list && others_shim(list)) return true;
  if (wanted()) return list && behind_path(list, rt_text(rt.plan->preload));
  return !list || !before_murphy(list);
}

/* --- a new one ---------------------------------------------------------------------------------------------------- */

static char *appended(char *to, const char *s) {
  while (*s)
    *to++ = *s++;
  *to = 0;
  return to;
}

/* Room for N entries and a string of SIZE bytes; false if there is none. */
static bool make_room(struct rt_environment *e, size_t n, size_t size, char **ret_string) {
  *ret_string = e->preload;
  e->at = e->entries;
  if (n <= RT_ENV_ENTRIES && size <= RT_ENV_BYTES) return true;
  e->mapped_size = n * sizeof(char *) + size;
  e->mapped = rt_map(e->mapped_size);
  e->at = e->mapped;
  *ret_string = (char *)e->mapped + n * sizeof(char *);
  return e->mapped;
}

/* ENVP with FIRST, and what the user has, in LD_PRELOAD. */
static void make(struct rt_environment *e, char **envp, const char *first) {
  e->mapped = NULL;
  size_t n = 0, at = SIZE_MAX;
  const char *list = preload_of(envp, &at);
  const char *rest = list ? before_murphy(list) : NULL;
  rest = rest ? rest : list ? list : "";
  while (envp && envp[n])
    n++;
  char *string;
  if (!make_room(e, n + 2, sizeof VARIABLE + rt_length(first) + rt_length(rest) + 1, &string)) {
    e->at = envp;
    return;
  }
  char *to = appended(appended(string, VARIABLE), first);
  /* The plan's list may end with what the user had already. */
  if (*rest && !behind_path(first, rest)) to = appended(*first ? appended(to, ":") : to, rest);
  bool empty = to == string + sizeof VARIABLE - 1;
  size_t out = 0;
  for (size_t i = 0; i < n; i++)
    if (i != at)
      e->at[out++] = envp[i];
    else if (!empty)
      e->at[out++] = string;
  if (at == SIZE_MAX && !empty) e->at[out++] = string;
  e->at[out] = NULL;
}

void rt_environment_make(struct rt_environment *e, char **envp) {
  make(e, envp, wanted() ? rt_text(rt.plan->preload) : "");
}

void rt_environment_done(struct rt_environment *e) {
  if (e->mapped) (void)rt_system(SYS_munmap, (long)e->mapped, (long)e->mapped_size, 0, 0, 0, 0);
}

/* --- the process's own -------------------------------------------------------------------------------------------- */

char **rt_environment_own(void) { return variables[0] ? *variables[0] : NULL; }

void rt_environment_set(char **old, char **envp) {
  for (size_t i = 0; i < 3; i++)
    if (variables[i] && *variables[i] == old) *variables[i] = envp;
}

/*
 * The array on the stack is left alone: some runtimes look for the auxiliary vector behind its end. libc gets a copy of
 * it instead.
 */
void rt_environment_start(char **envp) {
  static const char *const names[] = {"environ", "__environ", "_environ"};
  static struct rt_environment own;
  const struct link_map *shim = rt_link_shim();
  shim_path = shim ? shim->l_name : NULL;
  for (size_t i = 0; i < 3; i++)
    variables[i] = (char ***)rt_link_any(names[i]);
  size_t at;
  const char *list = preload_of(envp, &at);
  if (!list || !before_murphy(list)) return;
  make(&own, envp, "");
  rt_environment_set(envp, own.at);
}
