/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program and its libraries, as the loader will find them, and what they import.
 *
 * Libraries that are opened later (dlopen) are not known here; the runtime sees them when they come.
 */
#include "program/program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *last_part(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* --- the closure -------------------------------------------------------------------------------------------------- */

/* The loader compares names, then files; two names of one file are one module. */
static bool is_there(const struct program_modules *m, const char *needed, const char *path) {
  for (size_t i = 0; i < m->modules.n; i++) {
    const struct program_module *have = &m->modules.at[i];
    if (i > 0 && strcmp(image_name(have->image), needed) == 0) return true;
    if (path && strcmp(have->path, path) == 0) return true;
  }
  return false;
}

/* Takes PATH over. A library that cannot be read is the loader's business to complain about. */
static int add_module(struct program_modules *m, char *path, struct err *e) {
  struct program_module module = {.path = path};
  int r = image_open(path, &module.image, e);
  if (r >= 0) r = vec_push(&m->modules, module);
  if (r < 0) {
    image_free(module.image);
    free(path);
  }
  return r;
}

static int add_needed(struct program_modules *m, const struct image *img) {
  const char *const *needed;
  size_t n = image_needed(img, &needed);
  for (size_t i = 0; i < n; i++) {
    char *path = NULL;
    if (is_there(m, needed[i], NULL)) continue;
    int r = image_find(needed[i], img, &path, NULL);
    if (r >= 0 && is_there(m, needed[i], path)) {
      free(path);
      continue;
    }
    if (r >= 0) r = add_module(m, path, NULL);
    if (r == -ENOMEM) return r;
    if (r < 0 && !m->missing && !(m->missing = arena_strdup(&m->arena, needed[i]))) return -ENOMEM;
  }
  return 0;
}

/* gcc's sanitizers are libraries; clang's are part of the program, unless it was asked for a library. */
static const char *find_sanitizer(const struct program_modules *m) {
  static const char *const names[] = {"libasan.so", "libclang_rt.asan", "libtsan.so", "libclang_rt.tsan", "liblsan.so"};
  for (size_t i = 1; i < m->modules.n; i++)
    for (size_t k = 0; k < COUNT(names); k++)
      if (strncmp(last_part(m->modules.at[i].path), names[k], strlen(names[k])) == 0) return m->modules.at[i].path;
  return NULL;
}

/* --- imports ------------------------------------------------------------------------------------------------------ */

static int by_name(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

/* What a program beside the first exports is for its own libraries. */
const struct program_module *program_modules_define(const struct program_modules *m, const char *function) {
  for (size_t i = 0; i < m->modules.n; i++) {
    if (i > 0 && m->modules.at[i].program) continue;
    const struct image_symbol *s = image_export(m->modules.at[i].image, function, NULL);
    if (s && (s->kind == SYMBOL_FUNCTION || s->kind == SYMBOL_IFUNC)) return &m->modules.at[i];
  }
  return NULL;
}

/* Is NAME a variable wherever it is defined? What nobody defines may be a function of a library that comes later. */
static bool is_variable(const struct program_modules *m, const char *name) {
  for (size_t i = 0; i < m->modules.n; i++) {
    const struct image_symbol *s = image_export(m->modules.at[i].image, name, NULL);
    if (s) return s->kind != SYMBOL_FUNCTION && s->kind != SYMBOL_IFUNC;
  }
  return false;
}

static int add_imports(struct program_modules *m, const struct image *img, struct map *seen) {
  struct image_slot slot = {0};
  int r = 0;
  for (uint64_t at = 0; r >= 0 && image_slot_after(img, at, &slot); at = slot.at + 1) {
    if (slot.kind != SLOT_IMPORT || !slot.name || !*slot.name) continue;
    uint64_t key = hash_string(slot.name);
    if (map_get(seen, key, NULL)) continue;
    r = map_put(seen, key, 1);
    if (r >= 0 && !is_variable(m, slot.name)) r = vec_push(&m->functions, slot.name);
  }
  return r;
}

/* What programs that are started later may import of the same libraries. */
static int add_exports(struct program_modules *m, const struct image *img, struct map *seen) {
  const struct image_symbol *all;
  size_t n = image_exports(img, &all);
  int r = 0;
  for (size_t i = 0; i < n && r >= 0; i++) {
    if (all[i].kind != SYMBOL_FUNCTION && all[i].kind != SYMBOL_IFUNC) continue;
    uint64_t key = hash_string(all[i].name);
    if (map_get(seen, key, NULL)) continue;
    r = map_put(seen, key, 1);
    if (r >= 0) r = vec_push(&m->functions, all[i].name);
  }
  return r;
}

static int find_functions(struct program_modules *m, bool exports) {
  struct map seen = {0};
  int r = 0;
  for (size_t i = 0; i < m->modules.n && r >= 0; i++)
    r = add_imports(m, m->modules.at[i].image, &seen);
  for (size_t i = 1; i < m->modules.n && r >= 0 && exports; i++)
    r = add_exports(m, m->modules.at[i].image, &seen);
  map_done(&seen);
  if (r >= 0 && m->functions.n) qsort(m->functions.at, m->functions.n, sizeof *m->functions.at, by_name);
  return r;
}

/* --- programs beside the first ------------------------------------------------------------------------------------ */

static bool has_path(const struct program_modules *m, const char *path) {
  for (size_t i = 0; i < m->modules.n; i++)
    if (strcmp(m->modules.at[i].path, path) == 0) return true;
  return false;
}

int program_modules_add(struct program_modules *m, const char *program, struct err *e) {
  char *path = realpath(program, NULL);
  if (!path) return err_set(e, -errno, "%s: %m", program);
  size_t first = m->modules.n;
  if (has_path(m, path)) {
    free(path);
    return -EEXIST;
  }
  int r = add_module(m, path, e);
  if (r < 0) return r;
  m->modules.at[first].program = true;
  for (size_t i = first; i < m->modules.n && r >= 0; i++)
    r = add_needed(m, m->modules.at[i].image);
  m->functions.n = 0;
  if (r >= 0) r = find_functions(m, false);
  m->sanitizer = find_sanitizer(m);
  m->asan = m->sanitizer && strstr(last_part(m->sanitizer), "asan") != NULL;
  return r < 0 ? err_set(e, r, "out of memory") : 0;
}

/* --- all of it ---------------------------------------------------------------------------------------------------- */

int program_modules_load(const char *program, bool exports, struct program_modules *ret, struct err *e) {
  struct program_modules m = {0};
  /* The loader knows the program by no name; the runtime tells it by a flag. */
  char *path = realpath(program, NULL);
  int r = path ? add_module(&m, path, e) : -errno;
  if (r >= 0) m.modules.at[0].program = true;
  for (size_t i = 0; i < m.modules.n && r >= 0; i++)
    r = add_needed(&m, m.modules.at[i].image);
  if (r >= 0) r = find_functions(&m, exports);
  if (r < 0) {
    if (e && !e->text[0]) (void)err_set(e, r, "%s: %s", program, strerror(-r));
    program_modules_done(&m);
    return r;
  }
  m.command = arena_strdup(&m.arena, last_part(program));
  m.sanitizer = find_sanitizer(&m);
  m.asan = m.sanitizer && strstr(last_part(m.sanitizer), "asan") != NULL;
  *ret = m;
  return 0;
}

void program_modules_done(struct program_modules *m) {
  for (size_t i = 0; i < m->modules.n; i++) {
    image_debug_free(m->modules.at[i].debug);
    image_free(m->modules.at[i].image);
    free(m->modules.at[i].path);
  }
  vec_done(&m->modules);
  vec_done(&m->functions);
  arena_done(&m->arena);
  memset(m, 0, sizeof *m);
}

struct image_debug *program_module_debug(struct program_module *m) {
  if (!m->debug_tried && image_debug_open(m->image, &m->debug, NULL) < 0) m->debug = NULL;
  m->debug_tried = true;
  return m->debug;
}

/* --- names -------------------------------------------------------------------------------------------------------- */

/* "libc" is libc.so.6, and "libcrypto" is not "libcr". */
static bool is_stem(const char *name, const char *file) {
  size_t n = strlen(name);
  return strncmp(file, name, n) == 0 && strncmp(file + n, ".so", 3) == 0 && (file[n + 3] == 0 || file[n + 3] == '.');
}

/* A name that starts from some folder, which is not said, is the end of a path: it does not matter from where. */
static bool is_end(const char *name, const char *path) {
  while (strncmp(name, "./", 2) == 0 || strncmp(name, "../", 3) == 0)
    name += name[1] == '/' ? 2 : 3;
  size_t n = strlen(name), length = strlen(path);
  return n && n <= length && strcmp(path + length - n, name) == 0 && (n == length || path[length - n - 1] == '/');
}

static bool is_path(const struct program_module *m, const char *name) {
  char *real = name[0] == '/' ? realpath(name, NULL) : NULL, *own = realpath(m->path, NULL);
  bool same = real && own && strcmp(real, own) == 0;
  if (name[0] != '/') same = is_end(name, m->path) || (own && is_end(name, own));
  free(real);
  free(own);
  return same || strcmp(name, m->path) == 0;
}

static bool is_named(const struct program_module *m, const char *name) {
  const char *file = last_part(m->path), *soname = image_name(m->image);
  if (strchr(name, '/')) return is_path(m, name);
  return strcmp(name, file) == 0 || strcmp(name, soname) == 0 || is_stem(name, file) || is_stem(name, soname);
}

int program_modules_named(const struct program_modules *m, const char *name) {
  if (m->command && strcmp(name, m->command) == 0) return 0;
  for (size_t i = 0; i < m->modules.n; i++)
    if (is_named(&m->modules.at[i], name)) return (int)i;
  return -ENOENT;
}
