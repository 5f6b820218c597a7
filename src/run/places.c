/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From what a person calls a piece of code to addresses: a module, a function, a file and line.
 */
#include "run/run.h"

#include <errno.h>
#include <string.h>

static int add(run_places *ret, size_t module, uint64_t start, uint64_t end) {
  return vec_push(ret, (struct wire_place){.module = (uint32_t)module, .start = start, .end = end});
}

static int add_whole(run_places *ret, size_t module) {
  return vec_push(ret, (struct wire_place){.module = (uint32_t)module, .flags = WIRE_ANYWHERE});
}

/* --- functions ---------------------------------------------------------------------------------------------------- */

/* Where the function at ADDRESS ends: by its symbol or frame, else where the next one starts. */
static uint64_t function_end(const struct image *img, const struct image_function *f) {
  const struct image_function *all;
  size_t n = image_functions(img, &all);
  if (f->end > f->address) return f->end;
  return f + 1 < all + n ? f[1].address : f->address + 1;
}

/* What the compiler split off: NAME.cold, NAME.part.0, NAME.constprop.1, NAME.isra.0. */
static bool is_part(const char *own, const char *name) {
  size_t n = strlen(name);
  return strncmp(own, name, n) == 0 && (own[n] == 0 || own[n] == '.');
}

static int add_symbols(const struct image *img, size_t module, const char *name, run_places *ret) {
  const struct image_function *all;
  size_t n = image_functions(img, &all);
  int r = 0;
  for (size_t i = 0; i < n && r >= 0; i++)
    if (all[i].name && is_part(all[i].name, name)) r = add(ret, module, all[i].address, function_end(img, &all[i]));
  return r;
}

/* A second name of a function that image_functions lists under another. */
static int add_alias(const struct image *img, size_t module, const char *name, run_places *ret) {
  const struct image_symbol *s = image_export(img, name, NULL);
  if (!s || s->kind != SYMBOL_FUNCTION) return 0;
  const struct image_function *f = image_function_at(img, s->address);
  if (f && f->name && strcmp(f->name, name) == 0) return 0;
  uint64_t end = s->size ? s->address + s->size : f ? function_end(img, f) : s->address + 1;
  return add(ret, module, s->address, end);
}

static int add_function(struct run_modules *m, size_t module, const char *name, run_places *ret) {
  const struct image *img = m->modules.at[module].image;
  size_t before = ret->n;
  int r = add_symbols(img, module, name, ret);
  if (r >= 0) r = add_alias(img, module, name, ret);
  (void)before;
  return r;
}

/* --- all of it ---------------------------------------------------------------------------------------------------- */

static int no_module(const struct run_modules *m, const char *name, struct err *e) {
  return err_set(e, -ENOENT, "no module '%s' in %s and its libraries", name, m->modules.at[0].path);
}

static int find_any(struct run_modules *m, const char *name, run_places *ret) {
  int module = run_modules_named(m, name), r = 0;
  if (module >= 0) return add_whole(ret, (size_t)module);
  for (size_t i = 0; i < m->modules.n && r >= 0; i++)
    r = add_function(m, i, name, ret);
  return r;
}

static int find_in(struct run_modules *m, size_t i, const struct run_where *w, run_places *ret) {
  if (w->function) return add_function(m, i, w->function, ret);
  return add_whole(ret, i);
}

int run_modules_find(struct run_modules *m, const struct run_where *w, run_places *ret, struct err *e) {
  size_t before = ret->n;
  int r = 0, only = w->module ? run_modules_named(m, w->module) : -1;
  if (w->module && only < 0) return no_module(m, w->module, e);
  if (w->any) {
    r = find_any(m, w->any, ret);
  } else {
    for (size_t i = 0; i < m->modules.n && r >= 0; i++)
      if (only < 0 || (size_t)only == i) r = find_in(m, i, w, ret);
  }
  if (r < 0) return err_set(e, r, "out of memory");
  if (ret->n > before) return 0;
  const char *what = w->any ? w->any : w->function ? w->function : w->file;
  return err_set(e, -ENOENT, "%s: no module or function of this name in %s and its libraries", what ? what : "?",
                 m->modules.at[0].path);
}
