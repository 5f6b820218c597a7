/* SPDX-License-Identifier: Apache-2.0 */
/* LD_PRELOAD and ASAN_OPTIONS in the environment. */
#include "environment.h"

#include <asm/errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "fd.h"
#include "lend.h"
#include "link.h"
#include "system.h"
#include "words.h"

#define PRELOAD "LD_PRELOAD="
#define OPTIONS "ASAN_OPTIONS="
#define OPTION "verify_asan_link_order=0" /* before the user's options, with a colon behind it if he has any */

static const char *shim_path, *runtime_path; /* the loader's; they are never unloaded */
static char ***variables[3];                 /* environ, under each name that libc has for it; often one place */

/* The value of VARIABLE, a name with =; *RET_AT is its place, SIZE_MAX if there is none. */
static char *value_of(char *const *envp, const char *variable, size_t *ret_at) {
  for (size_t i = 0; envp && envp[i]; i++) {
    const char *value = rt_behind(envp[i], variable);
    if (!value) continue;
    *ret_at = i;
    return envp[i] + (value - envp[i]);
  }
  *ret_at = SIZE_MAX;
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

static bool follows(void) { return rt.ready == RT_READY && rt.plan->flags & WIRE_FOLLOW && !rt_load(&rt.area->stop); }

/* Is the file there for this process? */
static bool sees(const char *path, struct stat *ret) {
  long r = path ? rt_system(SYS_newfstatat, AT_FDCWD, (long)path, (long)ret, 0, 0, 0) : 0;
  return r != -ENOENT && r != -EACCES && r != -ENOTDIR && r != -ELOOP;
}

/*
 * A process that has become another user's, or has another root, starts programs in which the loader would find nothing
 * to preload, and complain where the target's messages go. Only the user whose shim it is may read it, and root; what
 * rights the process has besides is no answer, since they may end with the start of a program.
 */
static bool wanted(void) {
  struct stat shim = {0}, other;
  if (!follows() || !sees(shim_path, &shim) || !sees(runtime_path, &other)) return false;
  uint32_t user = (uint32_t)rt_system(SYS_geteuid, 0, 0, 0, 0, 0, 0);
  return sees(rt_text(rt.plan->area), &other) && (user == 0 || user == shim.st_uid);
}

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

/*
 * What the user has of the options of the address sanitizer; NULL if he has none. LIST is what LD_PRELOAD has beside
 * them: if murphy was there it was here too.
 */
static const char *users_options(const char *options, const char *list) {
  bool follow = !rt.plan || rt.plan->flags & WIRE_FOLLOW;
  const char *rest = options && list && follow && before_murphy(list) ? rt_behind(options, OPTION) : NULL;
  if (!rest || (*rest && *rest != ':')) return options;
  return *rest ? rest + 1 : NULL;
}

static bool has_option(const char *options) {
  const char *rest = options ? rt_behind(options, OPTION) : NULL;
  return rest && (*rest == 0 || *rest == ':');
}

bool rt_environment_good(char *const *envp) {
  size_t at;
  const char *list = value_of(envp, PRELOAD, &at);
  if (list && others_shim(list)) return true;
  bool follow = wanted();
  if (!follow && follows()) (void)rt_add(&rt.area->unreached, 1);
  if (!follow) return !list || !before_murphy(list);
  return list && behind_path(list, rt_text(rt.plan->preload)) && has_option(value_of(envp, OPTIONS, &at));
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
  *ret_string = e->strings;
  e->at = e->entries;
  if (n <= RT_ENV_ENTRIES && size <= RT_ENV_BYTES) return true;
  size_t needed = n * sizeof(char *) + size;
  if (!e->mapped || e->mapped_size < needed) {
    e->mapped_size = e->kept ? 2 * needed : needed;
    e->mapped = e->kept ? rt_map(e->mapped_size) : rt_lend(needed);
  }
  e->at = e->mapped;
  *ret_string = (char *)e->mapped + n * sizeof(char *);
  return e->mapped;
}

/* VARIABLE with OURS, and what the USER has, behind it; where the string ends. */
static char *put(char *to, const char *variable, const char *ours, const char *user) {
  to = appended(appended(to, variable), ours);
  if (user) to = appended(*ours ? appended(to, ":") : to, user);
  return to + 1;
}

/* ENVP as FOLLOW wants it: with what murphy has in its variables, or without. */
static void make(struct rt_environment *e, char **envp, bool follow) {
  size_t n = 0, at, options_at;
  const char *first = follow ? rt_text(rt.plan->preload) : "", *option = follow ? OPTION : "";
  const char *list = value_of(envp, PRELOAD, &at), *rest = list ? before_murphy(list) : NULL;
  const char *options = users_options(value_of(envp, OPTIONS, &options_at), list);
  rest = rest ? rest : list ? list : "";
  /* The plan's list may end with what the user had already. */
  if (!*rest || behind_path(first, rest)) rest = NULL;
  while (envp && envp[n])
    n++;
  size_t preload_size = sizeof PRELOAD + rt_length(first) + 1 + (rest ? rt_length(rest) : 0);
  char *preload, *asan;
  if (!make_room(e, n + 3, preload_size + sizeof OPTIONS OPTION + 1 + (options ? rt_length(options) : 0), &preload)) {
    e->at = envp;
    return;
  }
  asan = put(preload, PRELOAD, first, rest);
  (void)put(asan, OPTIONS, option, options);
  if (!rest && !*first) preload = NULL;
  if (!options && !*option) asan = NULL;
  size_t out = 0;
  for (size_t i = 0; i < n; i++) {
    char *entry = i == at ? preload : i == options_at ? asan : envp[i];
    if (entry) e->at[out++] = entry;
  }
  if (at == SIZE_MAX && preload) e->at[out++] = preload;
  if (options_at == SIZE_MAX && asan) e->at[out++] = asan;
  e->at[out] = NULL;
}

void rt_environment_make(struct rt_environment *e, char **envp) { make(e, envp, wanted()); }

void rt_environment_done(struct rt_environment *e) {
  if (e->mapped) rt_lend_back(e->mapped, e->mapped_size);
}

/* --- the process's own -------------------------------------------------------------------------------------------- */

char **rt_environment_own(void) { return variables[0] ? *variables[0] : NULL; }

void rt_environment_set(char **old, char **envp) {
  for (size_t i = 0; i < 3; i++)
    if (variables[i] && *variables[i] == old) *variables[i] = envp;
}

static bool is_string_of(const struct rt_environment *e, const char *s) {
  uint64_t at = (uint64_t)s;
  return at - (uint64_t)e->strings < sizeof e->strings || (e->mapped && at - (uint64_t)e->mapped < e->mapped_size);
}

void rt_environment_restore(const struct rt_environment *e, char **before) {
  rt_environment_set(e->at, before);
  char **to = rt_environment_own();
  for (char **from = to; from && *from; from++)
    if (!is_string_of(e, *from)) *to++ = *from;
  if (to && *to) *to = NULL;
}

/*
 * The array on the stack is left alone: some runtimes look for the auxiliary vector behind its end. libc gets a copy of
 * it instead.
 */
void rt_environment_start(char **envp) {
  static const char *const names[] = {"environ", "__environ", "_environ"};
  static struct rt_environment own = {.kept = true};
  const struct link_map *shim = rt_link_shim();
  shim_path = shim ? shim->l_name : NULL;
  for (size_t i = 0; i < 3; i++)
    variables[i] = (char ***)rt_link_any(names[i]);
  runtime_path = rt_link_runtime();
  size_t at;
  const char *list = value_of(envp, PRELOAD, &at);
  if (!list || !before_murphy(list)) return;
  make(&own, envp, false);
  rt_environment_set(envp, own.at);
}
