/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries of languages (data/languages): what they call they call for the program, so it is tested as if the program
 * itself had called it, if the program is behind it.
 */
#include "cmd/test_space.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { DATA_MAX = 1 << 16 };

static int add_line(struct test_space *s, const char *line) {
  static const char compiler[] = "compiler ";
  if (!*line || *line == '#') return 0;
  bool made = strncmp(line, compiler, strlen(compiler)) == 0;
  char *name = arena_strdup(&s->arena, made ? line + strlen(compiler) : line);
  if (!name) return -ENOMEM;
  return made ? vec_push(&s->compilers, name) : vec_push(&s->languages, name);
}

int test_languages_load(struct test_space *s, struct err *e) {
  struct text path = {0};
  char *bytes = NULL;
  size_t size;
  s->languages.n = s->compilers.n = 0;
  text_addf(&path, "%s/languages", s->data);
  int r = path.failed ? -ENOMEM : file_read(path.at, DATA_MAX, &bytes, &size, e);
  for (char *rest = bytes, *line; r >= 0 && (line = strsep(&rest, "\n")) != NULL;)
    r = add_line(s, line);
  free(bytes);
  text_done(&path);
  /* Data of somebody's own may be older. */
  return r == -ENOENT ? 0 : r == -ENOMEM ? err_set(e, r, "out of memory") : r;
}

bool test_is_language(const struct test_space *s, const char *path) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  for (size_t i = 0; i < s->languages.n; i++) {
    size_t n = strlen(s->languages.at[i]);
    /* The loader knows it by the name of a link, the kernel by that of the file: libstdc++.so.6.0.30. */
    if (strncmp(name, s->languages.at[i], n) == 0 && (name[n] == '\0' || name[n] == '.')) return true;
  }
  return false;
}

bool test_is_c_library(const struct test_space *s, const char *path) {
  const struct program_module *home = program_modules_define(&s->modules, "__libc_start_main");
  const char *slash = strrchr(path, '/');
  return home && strcmp(image_name(home->image), slash ? slash + 1 : path) == 0;
}

bool test_has_language(const struct test_space *s, const char *path) {
  for (size_t i = 0; i < s->modules.modules.n; i++) {
    const struct program_module *m = &s->modules.modules.at[i];
    for (size_t k = 0; strcmp(m->path, path) == 0 && k < s->compilers.n; k++)
      if (image_made_by(m->image, s->compilers.at[k])) return true;
  }
  return false;
}

bool test_language_calls(const struct test_space *s, const char *function) {
  struct site_call any = {.function = function};
  bool calls = profile_facts_roles(s->facts, function).throws;
  for (int error = 1; error <= ERRNO_MAX && !calls; error++)
    calls = error != ENOMEM && errno_name(error) && site_likely_of(s->likely, &any, error, -1) > 0;
  return calls;
}

/* Which module of the plan the frame is in; NULL if in none. */
static const struct wire_module *module_of(const struct test_space *s, const char *path) {
  for (size_t i = 0; i < s->world.wire.n; i++)
    if (strcmp(s->modules.modules.at[i].path, path) == 0) return &s->world.wire.at[i];
  return NULL;
}

bool test_is_for_program(const struct test_space *s, const struct run_area *area, const struct wire_point *p) {
  struct wire_loaded loaded;
  for (uint32_t i = 0; i < p->n_frames && run_area_loaded(area, p->frames[i].module, &loaded); i++) {
    if (test_is_language(s, loaded.path)) continue;
    const struct wire_module *m = module_of(s, test_path_of(s, loaded.path));
    return m && m->flags & WIRE_IN_SCOPE;
  }
  return false;
}

bool test_language_excuses(const struct test_space *s, const struct site_call *c) {
  uint64_t to;
  if (site_likely_closes(s->likely, c->function)) return true;
  if (site_likely_writes(s->likely, c, &to) && to <= 2) return true;
  return profile_facts_roles(s->facts, c->function).stream >= 0 && !site_likely_reads(s->likely, c->function);
}
