/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment that a finding was made in. What a command does may depend on it, so whoever repeats the finding is
 * told if theirs is another one.
 *
 * A finding is passed on to others, and variables hold passwords. Values are kept of settings that tell nothing of that
 * kind; of all others only that they were set.
 */
#include "cmd/test.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SHOWN_NAMES = 8 };

typedef VEC(const char *) name_list;

static bool is_of(const char *name, const char *const *patterns, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (fnmatch(patterns[i], name, 0) == 0) return true;
  return false;
}

/* Settings of the system, in words. */
static bool is_harmless(const char *name) {
  static const char *const names[] = {"LANG", "LANGUAGE",     "LC_*",         "TZ",       "PATH",    "HOME",
                                      "TERM", "SHELL",        "TMPDIR",       "EDITOR",   "PAGER",   "LOGNAME",
                                      "USER", "NO_COLOR",     "XDG_*",        "MALLOC_*", "COLUMNS", "POSIXLY_CORRECT",
                                      "LD_*", "?SAN_OPTIONS", "??SAN_OPTIONS"};
  return is_of(name, names, COUNT(names));
}

/* Of the shell, the terminal, the session or the server's job that somebody is in: another one each time. */
static bool is_passing(const char *name) {
  static const char *const names[] = {"_",
                                      "SHLVL",
                                      "PWD",
                                      "OLDPWD",
                                      "WINDOWID",
                                      "SSH_*",
                                      "XDG_SESSION_*",
                                      "DBUS_SESSION_*",
                                      "TMUX*",
                                      "STY",
                                      "GPG_TTY",
                                      "TERM_SESSION_*",
                                      "COLUMNS",
                                      "LINES",
                                      "MURPHY*",
                                      "INVOCATION_ID",
                                      "JOURNAL_STREAM",
                                      "CI_*",
                                      "GITHUB_*",
                                      "RUNNER_*",
                                      "JENKINS_*",
                                      "BUILDKITE_*",
                                      "CIRCLE_*"};
  return is_of(name, names, COUNT(names));
}

/* A variable's name, if it counts; free it. NULL with 0 in *ret_r if it does not. */
static char *name_of(const char *variable, int *ret_r) {
  const char *equals = strchr(variable, '=');
  char *name = equals && equals != variable ? strndup(variable, (size_t)(equals - variable)) : NULL;
  *ret_r = equals && equals != variable && !name ? -ENOMEM : 0;
  if (name && is_passing(name)) {
    free(name);
    return NULL;
  }
  return name;
}

void test_environment_json(char *const *envp, struct text *to) {
  bool first = true;
  text_add(to, "{");
  for (; envp && *envp; envp++) {
    int r;
    char *name = name_of(*envp, &r);
    if (r < 0) to->failed = true;
    if (!name) continue;
    const char *value = *envp + strlen(name) + 1;
    text_add(to, first ? "" : ",");
    text_add_json(to, name);
    text_add(to, ":{");
    if (is_harmless(name)) {
      text_add(to, "\"value\":");
      text_add_json(to, value);
    }
    text_add(to, "}");
    first = false;
    free(name);
  }
  text_add(to, "}");
}

/* --- comparing ---------------------------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

/* As far as that is kept. */
static bool is_same(const json_t *kept, const char *now) {
  const char *value = json_string_value(json_object_get(kept, "value"));
  return now && (!value || strcmp(value, now) == 0);
}

static const char *value_in(char *const *envp, const char *name) {
  size_t n = strlen(name);
  for (; envp && *envp; envp++)
    if (strncmp(*envp, name, n) == 0 && (*envp)[n] == '=') return *envp + n + 1;
  return NULL;
}

/* Both those that were and those that are, each once. */
static int collect(char *const *envp, const json_t *kept, name_list *names, struct arena *arena) {
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)(uintptr_t)kept, key, value) {
    if (!is_same(value, value_in(envp, key)) && vec_push(names, key) < 0) return -ENOMEM;
  }
  for (; envp && *envp; envp++) {
    int r;
    char *name = name_of(*envp, &r);
    if (r < 0) return r;
    const char *copy = name && !json_object_get(kept, name) ? arena_strdup(arena, name) : NULL;
    bool lost = name && !json_object_get(kept, name) && !copy;
    free(name);
    if (lost || (copy && vec_push(names, copy) < 0)) return -ENOMEM;
  }
  if (names->n) qsort(names->at, names->n, sizeof *names->at, by_name);
  return 0;
}

static void add_variable(const char *name, const json_t *kept, const char *now, struct text *to) {
  const char *value = json_string_value(json_object_get(kept, "value"));
  text_add_plain(to, name);
  if (!kept) {
    text_add(to, " (was not set)");
  } else if (value) {
    text_add(to, " (was ");
    text_add_plain(to, value);
    text_add(to, now ? ")" : ", is not set)");
  } else if (!now) {
    text_add(to, " (is not set)");
  }
}

int test_environment_differs(char *const *envp, const json_t *kept, struct text *to) {
  struct arena arena = {0};
  name_list names = {0};
  int r = json_is_object(kept) ? collect(envp, kept, &names, &arena) : 0;
  for (size_t i = 0; r == 0 && i < names.n && i < SHOWN_NAMES; i++) {
    text_add(to, i ? ", " : "");
    add_variable(names.at[i], json_object_get(kept, names.at[i]), value_in(envp, names.at[i]), to);
  }
  if (r == 0 && names.n > SHOWN_NAMES) text_addf(to, " and %zu others", names.n - SHOWN_NAMES);
  vec_done(&names);
  arena_done(&arena);
  return r < 0 || to->failed ? -ENOMEM : 0;
}

void test_environment_complain(const json_t *kept) {
  struct text what = {0}, line = {0};
  if (test_environment_differs(environ, kept, &what) == 0 && what.n) {
    text_addf(&line, "the environment differs from that of the finding: %s", what.at);
    if (!line.failed) cmd_complain(line.at);
  }
  text_done(&what);
  text_done(&line);
}
