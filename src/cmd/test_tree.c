/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The programs that a command starts: modules of the fault space like the first one.
 */
#include "cmd/test.h"

#include <errno.h>
#include <string.h>

static bool is_first(const struct test_space *s, const char *program) {
  return strcmp(s->modules.modules.at[0].path, program) == 0;
}

static int add_program(struct test_space *s, const char *program, struct text *with, struct text *without,
                       struct err *e) {
  const char *obstacle = run_target_obstacle(program);
  if (obstacle) {
    text_addf(without, "%s%s (%s)", without->n ? ", " : "", program, obstacle);
    return 0;
  }
  int r = run_modules_add(&s->modules, program, e);
  if (r == -EEXIST || r == -ENOENT) return 0;
  if (r == 0) text_addf(with, "%s%s", with->n ? ", " : "", program);
  return r;
}

static void add_note(const char *what, const struct text *names, const char *end, struct text *to) {
  if (names->n) text_addf(to, "%s%s%s\n", what, names->at, end);
}

int test_space_follow(struct test_space *s, const struct sandbox_tree *tree, struct err *e) {
  struct text with = {0}, without = {0};
  int r = 0;
  for (size_t i = 0; i < tree->n_programs && r >= 0; i++)
    if (!is_first(s, tree->programs[i])) r = add_program(s, tree->programs[i], &with, &without, e);
  s->watch = tree->forks > 0;
  s->follow = with.n > 0;
  add_note("programs that it starts are tested with it: ", &with, " (--no-follow leaves them out)", &s->notes);
  add_note("not tested: ", &without, "", &s->notes);
  if (tree->more) text_addf(&s->notes, "not tested: programs beyond the first %d\n", SANDBOX_PROGRAMS);
  if (r >= 0 && (with.failed || without.failed || s->notes.failed)) r = err_set(e, -ENOMEM, "out of memory");
  text_done(&with);
  text_done(&without);
  return r;
}
