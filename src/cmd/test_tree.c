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

struct notes {
  struct text with, guests, without;
};

static void add_name(const char *name, const char *why, struct text *to) {
  text_addf(to, "%s%s", to->n ? ", " : "", name);
  if (why) text_addf(to, " (%s)", why);
}

static int add_program(struct test_space *s, const struct test_scope *scope, const char *program, struct notes *n,
                       struct err *e) {
  const char *obstacle = program_target_obstacle(program);
  if (obstacle) {
    add_name(program, obstacle, &n->without);
    return 0;
  }
  int r = program_modules_add(&s->modules, program, e);
  if (r == -EEXIST || r == -ENOENT) return 0;
  if (r == 0) add_name(program, NULL, test_space_is_guest(s, scope, program) ? &n->guests : &n->with);
  return r;
}

static void add_note(const char *what, const struct text *names, const char *end, struct text *to) {
  if (names->n) text_addf(to, "%s%s%s\n", what, names->at, end);
}

int test_space_follow(struct test_space *s, const struct test_scope *scope, const struct sandbox_tree *tree,
                      struct err *e) {
  struct notes n = {0};
  int r = 0;
  for (size_t i = 0; i < tree->n_programs && r >= 0; i++)
    if (!is_first(s, tree->programs[i])) r = add_program(s, scope, tree->programs[i], &n, e);
  s->watch = tree->forks > 0;
  bool again = scope->follow && tree->again > 0;
  if (again) add_name(s->modules.modules.at[0].path, "again", &n.with);
  s->follow = n.with.n > 0;
  add_note("programs that it starts are tested with it: ", &n.with, " (--no-follow leaves them out)", &s->notes);
  add_note("not tested, as they are the system's: ", &n.guests, " (--follow tests them too)", &s->notes);
  add_note("not tested: ", &n.without, "", &s->notes);
  if (tree->more) text_addf(&s->notes, "not tested: programs beyond the first %d\n", SANDBOX_PROGRAMS);
  if (r >= 0 && (n.with.failed || n.guests.failed || n.without.failed || s->notes.failed))
    r = err_set(e, -ENOMEM, "out of memory");
  text_done(&n.with);
  text_done(&n.guests);
  text_done(&n.without);
  return r;
}
