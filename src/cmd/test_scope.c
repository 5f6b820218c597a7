/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose calls are tested: modules, functions and call sites, as the command line names them.
 */
#include "cmd/test_space.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool test_is_system_library(const char *path) {
  static const char *const folders[] = {"/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/", "/lib32/", "/usr/lib32/"};
  for (size_t i = 0; i < COUNT(folders); i++)
    if (strncmp(path, folders[i], strlen(folders[i])) == 0) return true;
  return false;
}

bool test_is_system_program(const char *path) {
  static const char *const folders[] = {"/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/"};
  for (size_t i = 0; i < COUNT(folders); i++)
    if (strncmp(path, folders[i], strlen(folders[i])) == 0) return true;
  return test_is_system_library(path);
}

/* Who tests a program of their own wants its bugs and not those of the shell that it starts. */
bool test_space_is_guest(const struct test_space *s, const struct test_scope *scope, const char *program) {
  if (scope->from.n || scope->system) return false;
  return test_is_system_program(program) && !test_is_system_program(s->modules.modules.at[0].path);
}

bool test_space_has(const struct test_space *s, const struct test_scope *scope, size_t module) {
  const struct program_module *m = &s->modules.modules.at[module];
  if (m->program && !scope->from.n) return !test_space_is_guest(s, scope, m->path);
  for (size_t i = 0; i < scope->from.n; i++)
    if (program_modules_named(&s->modules, scope->from.at[i]) == (int)module) return true;
  return !scope->from.n && (!test_is_system_library(m->path) || test_is_language(s, m->path));
}

bool test_is_listed(const cmd_names *list, const char *name) {
  for (size_t i = 0; i < list->n; i++)
    if (strcmp(list->at[i], name) == 0) return true;
  return list->n == 0;
}

int test_check_scope(const struct test_space *s, const struct test_scope *scope, struct err *e) {
  for (size_t i = 0; i < scope->from.n; i++)
    if (program_modules_named(&s->modules, scope->from.at[i]) < 0)
      return err_set(e, -EINVAL, "--from: %s uses no library '%s' (ldd shows which it uses)", s->target.path,
                     scope->from.at[i]);
  for (size_t i = 0; i < scope->errnos.n; i++)
    if (!errno_number(scope->errnos.at[i])) {
      char hint[SOURCE_HINT];
      return err_set(e, -EINVAL, "--errno: '%s' is no error (%s)", scope->errnos.at[i],
                     source_hint(errno_nearest(scope->errnos.at[i]), "as in EIO", hint));
    }
  return 0;
}

/* --- call sites by name ------------------------------------------------------------------------------------------- */

/*
 * MODULE+0xOFFSET: the address of a call, as murphy check has it, or the one behind it, as stacks have it. Return
 * addresses minus 1 are looked up, and no call of a library is longer than 7 bytes.
 */
static int find_offset(struct program_modules *m, const char *site, const char *plus, program_places *ret,
                       struct err *e) {
  char *name = strndup(site, (size_t)(plus - site));
  int64_t offset = 0;
  if (!name) return err_set(e, -ENOMEM, "out of memory");
  int module = program_modules_named(m, name), r = number_parse(plus + 1, &offset);
  free(name);
  if (module < 0 || r < 0) return err_set(e, -EINVAL, "--only-site: nothing is at '%s' (as in prog+0x1234)", site);
  enum { LONGEST_CALL = 7 };
  uint64_t at = (uint64_t)offset;
  return vec_push(ret,
                  (struct wire_place){.module = (uint32_t)module, .start = at ? at - 1 : 0, .end = at + LONGEST_CALL});
}

int test_find_site(struct program_modules *m, const char *site, program_places *ret, struct err *e) {
  const char *plus = strstr(site, "+0x"), *colon = strrchr(site, ':');
  if (plus) return find_offset(m, site, plus, ret, e);
  int64_t line = 0;
  if (!colon || number_parse(colon + 1, &line) < 0 || line <= 0 || line > INT32_MAX) {
    struct program_where where = {.function = site};
    return program_modules_find(m, &where, ret, e);
  }
  char *file = strndup(site, (size_t)(colon - site));
  if (!file) return err_set(e, -ENOMEM, "out of memory");
  struct program_where where = {.file = file, .line = (unsigned)line};
  int r = program_modules_find(m, &where, ret, e);
  free(file);
  return r;
}
