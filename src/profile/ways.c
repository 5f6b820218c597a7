/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads what is known about the inside of kernels: which tables of operations ordinary programs meet, which functions
 * they do not come to, which errors never come out, which modules matter, what system calls are called.
 */
#include "profile/ways.h"
#include "profile/lines.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#define CALLS_MAX 4096
#define RESTART_FIRST 512 /* ERESTARTSYS */
#define RESTART_LAST 516  /* ERESTART_RESTARTBLOCK */

static int read_words(struct lines *at, word_list *to, char **save) {
  struct ways *w = at->to;
  for (char *word; (word = strtok_r(NULL, " \t", save)) != NULL;) {
    const char *kept = arena_strdup(&w->arena, word);
    if (!kept || vec_push(to, kept) < 0) return -ENOMEM;
  }
  return 0;
}

/* FUNCTION ERRNO... */
static int read_errors(struct lines *at, way_errors_list *to, char **save) {
  struct ways *w = at->to;
  struct way_errors n = {0};
  char *word = strtok_r(NULL, " \t", save);
  if (!word) return lines_bad(at, "a function is missing behind", to == &w->never ? "never" : "gives");
  n.function = arena_strdup(&w->arena, word);
  while ((word = strtok_r(NULL, " \t", save)) != NULL) {
    bool restart = to == &w->never && strcmp(word, "RESTART") == 0;
    int error = restart ? 0 : errno_number(word);
    if (!error && !restart) return lines_bad(at, "not an errno:", word);
    n.restarts |= restart;
    if (error) errno_set_add(&n.errors, error);
  }
  return n.function ? vec_push(to, n) : -ENOMEM;
}

/* CALL ERRNO[CONDITION]... */
static int read_condition(struct lines *at, char **save) {
  struct ways *w = at->to;
  struct way_condition c = {0};
  char *word = strtok_r(NULL, " \t", save);
  if (!word) return lines_bad(at, "a system call is missing behind", "condition");
  c.call = arena_strdup(&w->arena, word);
  while ((word = strtok_r(NULL, " \t", save)) != NULL) {
    size_t n = strcspn(word, "[");
    char name[32];
    c.text = arena_strdup(&w->arena, word + n);
    if (n >= sizeof name || !word[n]) return lines_bad(at, "not a condition (as in EBADF[4!-1]):", word);
    memcpy(name, word, n);
    name[n] = 0;
    c.error = errno_number(name);
    if (!c.error) return lines_bad(at, "not an errno:", name);
    if (!c.call || !c.text || vec_push(&w->conditions, c) < 0) return -ENOMEM;
  }
  return 0;
}

static int read_way(struct lines *at, char *line) {
  struct ways *w = at->to;
  char *save = NULL, *what = strtok_r(line, " \t", &save);
  if (strcmp(what, "table") == 0) return read_words(at, &w->tables, &save);
  if (strcmp(what, "beyond") == 0) return read_words(at, &w->beyond, &save);
  if (strcmp(what, "module") == 0) return read_words(at, &w->modules, &save);
  if (strcmp(what, "never") == 0) return read_errors(at, &w->never, &save);
  if (strcmp(what, "gives") == 0) return read_errors(at, &w->gives, &save);
  if (strcmp(what, "condition") == 0) return read_condition(at, &save);
  return lines_bad(at, "not table, beyond, never, gives, module or condition:", what);
}

/* NUMBER NAME */
static int read_call(struct lines *at, char *line) {
  struct ways *w = at->to;
  char *save = NULL, *number = strtok_r(line, " \t", &save), *name = strtok_r(NULL, " \t", &save);
  int64_t n;
  if (number_parse(number, &n) < 0 || n < 0 || n >= CALLS_MAX)
    return lines_bad(at, "not a system call's number:", number);
  if (!name) return lines_bad(at, "a name is missing behind", number);
  while (w->calls.n <= (size_t)n)
    if (vec_push(&w->calls, NULL) < 0) return -ENOMEM;
  w->calls.at[n] = arena_strdup(&w->arena, name);
  return w->calls.at[n] ? 0 : -ENOMEM;
}

static int read_file(struct ways *w, const char *folder, const char *name, lines_take take, struct err *e) {
  struct text path = {0};
  text_addf(&path, "%s/kernel/%s", folder, name);
  int r = path.failed ? -ENOMEM : lines_read(path.at, take, w, &w->hash, e);
  text_done(&path);
  return r;
}

int ways_load(const char *folder, struct ways *ret, struct err *e) {
  struct ways w = {0};
  int r = read_file(&w, folder, "ways", read_way, e);
  if (r >= 0) r = read_file(&w, folder, "x86_64.calls", read_call, e);
  if (r < 0)
    ways_done(&w);
  else
    *ret = w;
  return r;
}

void ways_done(struct ways *w) {
  vec_done(&w->tables);
  vec_done(&w->beyond);
  vec_done(&w->modules);
  vec_done(&w->never);
  vec_done(&w->gives);
  vec_done(&w->conditions);
  vec_done(&w->calls);
  arena_done(&w->arena);
}

/*
 * The macros that define a system call make several functions of it, one inside the other, and the compiler leaves out
 * what it inlines: what holds for one of them holds for all. What is behind "__x64" and the like, so that they are
 * one; other names as they are.
 */
static const char *without_layer(const char *name) {
  static const char *const layers[] = {"__x64_sys_", "__se_sys_", "__do_sys_"};
  for (size_t i = 0; i < COUNT(layers); i++)
    if (strncmp(name, layers[i], strlen(layers[i])) == 0) return name + strlen(layers[i]) - strlen("_sys_");
  return name;
}

/* NAME also as it is, for patterns such as *_sys_open that begin otherwise. */
static bool is_meant(const char *pattern, const char *name) {
  return fnmatch(pattern, name, 0) == 0 || fnmatch(without_layer(pattern), without_layer(name), 0) == 0;
}

static bool matches(const word_list *patterns, const char *name) {
  for (size_t i = 0; i < patterns->n; i++)
    if (is_meant(patterns->at[i], name)) return true;
  return false;
}

bool ways_table(void *ways, const char *name) { return matches(&((const struct ways *)ways)->tables, name); }

size_t ways_table_rank(const struct ways *w, const char *name) {
  size_t i = 0;
  while (i < w->tables.n && fnmatch(w->tables.at[i], name, 0) != 0)
    i++;
  return i;
}

bool ways_beyond(void *ways, const char *name) { return matches(&((const struct ways *)ways)->beyond, name); }

static bool has_error(const struct way_errors *n, unsigned error) {
  if (error >= RESTART_FIRST && error <= RESTART_LAST) return n->restarts;
  return error <= ERRNO_MAX && errno_set_has(&n->errors, (int)error);
}

bool ways_never(void *ways, const char *name, unsigned error) {
  const struct ways *w = ways;
  for (size_t i = 0; i < w->never.n; i++)
    if (has_error(&w->never.at[i], error) && is_meant(w->never.at[i].function, name)) return true;
  return false;
}

const uint64_t *ways_gives(void *ways, const char *name) {
  const struct ways *w = ways;
  for (size_t i = 0; i < w->gives.n; i++)
    if (strcmp(without_layer(w->gives.at[i].function), without_layer(name)) == 0) return w->gives.at[i].errors.bits;
  return NULL;
}

const char *ways_condition(const struct ways *w, const char *call, int error) {
  for (size_t i = 0; i < w->conditions.n; i++)
    if (w->conditions.at[i].error == error && strcmp(w->conditions.at[i].call, call) == 0)
      return w->conditions.at[i].text;
  return "";
}
