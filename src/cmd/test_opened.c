/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries that a command opens by itself, as plugins: known only once it has run. The runtime lists what dlopen has
 * brought as soon as it is there, so that one that is closed again is in the list too.
 */
#include "cmd/test.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* It is a module like a program that was started, with libraries of its own. */
static int add_library(struct test_space *s, const char *path, struct err *e) {
  struct err ignored;
  size_t at = s->modules.modules.n;
  int r = program_modules_add(&s->modules, path, &ignored);
  /* It may be known, or not be there outside of the sandbox. */
  if (r < 0 && r != -ENOMEM) return 0;
  if (r == 0) r = vec_push(&s->opened, s->modules.modules.at[at].path);
  return r < 0 ? err_set(e, -ENOMEM, "out of memory") : 0;
}

int test_space_add_opened(struct test_space *s, const struct test_scope *scope, struct err *e) {
  int r = 0;
  for (size_t i = 0; i < scope->opened.n && r >= 0; i++)
    r = add_library(s, scope->opened.at[i], e);
  return r;
}

/* The loader names what was opened as the program did. */
static bool is_own(const char *cwd, const char *path, char ret[PATH_MAX]) {
  if (!strchr(path, '/')) return false;
  bool whole = path[0] == '/';
  int n = snprintf(ret, PATH_MAX, "%s%s%s", whole ? "" : cwd, whole ? "" : "/", path);
  return n < PATH_MAX && !test_is_system_library(ret);
}

int test_space_take_opened(struct test_space *s, const struct test_subject *is, const struct run_area *area, bool *ret,
                           struct err *e) {
  struct wire_loaded loaded;
  char path[PATH_MAX];
  size_t before = s->opened.n;
  int r = 0;
  for (uint32_t i = 1; i <= area->loaded.n && r >= 0; i++) {
    /* Murphy's own is on the stack of what is called in a fork. */
    bool known = run_area_loaded(area, i, &loaded) && strcmp(loaded.path, s->runtime) != 0;
    if (known && is_own(is->cwd, loaded.path, path)) r = add_library(s, path, e);
  }
  for (size_t i = before; i < s->opened.n; i++)
    text_addf(&s->notes, "%s%s", i > before ? ", " : "libraries that it opens are tested with it: ", s->opened.at[i]);
  *ret = s->opened.n > before;
  if (*ret) text_add(&s->notes, "\n");
  return r >= 0 && s->notes.failed ? err_set(e, -ENOMEM, "out of memory") : r;
}
