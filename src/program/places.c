/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From what a person calls a piece of code to addresses: a module, a function, a file and line.
 */
#include "program/program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int add(program_places *ret, size_t module, uint64_t start, uint64_t end) {
  return vec_push(ret, (struct wire_place){.module = (uint32_t)module, .start = start, .end = end});
}

static int add_whole(program_places *ret, size_t module) {
  return vec_push(ret, (struct wire_place){.module = (uint32_t)module, .flags = WIRE_ANYWHERE});
}

/* --- as few as possible: the runtime looks through them at each call ---------------------------------------------- */

static int by_start(const void *a, const void *b) {
  const struct wire_place *x = a, *y = b;
  if (x->module != y->module) return x->module < y->module ? -1 : 1;
  if (x->start != y->start) return x->start < y->start ? -1 : 1;
  return 0;
}

/* Sorts the places from number FIRST on, and unites those that touch. */
static void merge(program_places *p, size_t first) {
  size_t kept = first;
  if (p->n - first < 2) return;
  qsort(p->at + first, p->n - first, sizeof *p->at, by_start);
  for (size_t i = first + 1; i < p->n; i++) {
    struct wire_place *last = &p->at[kept], *next = &p->at[i];
    if (next->module != last->module || next->start > last->end)
      p->at[++kept] = *next;
    else if (next->end > last->end)
      last->end = next->end;
  }
  p->n = kept + 1;
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

static int add_symbols(const struct image *img, size_t module, const char *name, program_places *ret) {
  const struct image_function *all;
  size_t n = image_functions(img, &all);
  int r = 0;
  for (size_t i = 0; i < n && r >= 0; i++)
    if (all[i].name && is_part(all[i].name, name)) r = add(ret, module, all[i].address, function_end(img, &all[i]));
  return r;
}

/* A second name of a function that image_functions lists under another. */
static int add_alias(const struct image *img, size_t module, const char *name, program_places *ret) {
  const struct image_symbol *s = image_export(img, name, NULL);
  if (!s || s->kind != SYMBOL_FUNCTION) return 0;
  const struct image_function *f = image_function_at(img, s->address);
  if (f && f->name && strcmp(f->name, name) == 0) return 0;
  uint64_t end = s->size ? s->address + s->size : f ? function_end(img, f) : s->address + 1;
  return add(ret, module, s->address, end);
}

/* Code that DWARF knows of: static functions of stripped programs, inlined ones, names as C++ has them, lines. */
static int add_debug(struct program_modules *m, size_t module, const struct program_where *w, program_places *ret) {
  struct image_debug *d = program_module_debug(&m->modules.at[module]);
  image_ranges found = {0};
  if (!d) return 0;
  int r = w->file ? image_debug_line(d, w->file, w->line, &found) : image_debug_function(d, w->function, &found);
  for (size_t i = 0; i < found.n && r >= 0; i++)
    r = add(ret, module, found.at[i].start, found.at[i].end);
  vec_done(&found);
  return r;
}

static int add_function(struct program_modules *m, size_t module, const char *name, program_places *ret) {
  const struct image *img = m->modules.at[module].image;
  struct program_where where = {.function = name};
  int r = add_symbols(img, module, name, ret);
  if (r >= 0) r = add_alias(img, module, name, ret);
  return r < 0 ? r : add_debug(m, module, &where, ret);
}

/* --- all of it ---------------------------------------------------------------------------------------------------- */

/* Behind the last "::" but PARTS of a name; what is between < and > has none that count. */
static const char *last_parts(const char *name, size_t parts) {
  int depth = 0;
  for (const char *at = name + strlen(name); at > name; at--) {
    depth += (at[-1] == '>') - (at[-1] == '<');
    if (depth > 0 || at - name < 2 || at[-1] != ':' || at[-2] != ':') continue;
    if (parts-- == 0) return at;
    at--;
  }
  return name;
}

static size_t count_parts(const char *name) {
  size_t n = 0;
  while (strcmp(last_parts(name, n), name) != 0)
    n++;
  return n;
}

/* Without what a template was made for. */
static bool same_template(const char *a, const char *b) {
  size_t n = strcspn(a, "<");
  return n > 0 && n == strcspn(b, "<") && strncmp(a, b, n) == 0 && (a[n] || b[n]);
}

/* Functions as they were written, with as much before them as NAME has. */
static int add_written(struct program_modules *m, const char *name, image_names *to) {
  size_t parts = count_parts(name), first = to->n;
  int r = 0;
  for (size_t i = 0; i < m->modules.n && r >= 0; i++) {
    struct image_debug *d = program_module_debug(&m->modules.at[i]);
    if (d) r = image_debug_names(d, to);
  }
  for (size_t i = first; i < to->n; i++)
    to->at[i] = last_parts(to->at[i], parts);
  return r;
}

/* Names that NAME may be a slip of, or what it may be a template for; what there is no memory for is not offered. */
static const char *nearest(struct program_modules *m, const char *name, bool functions) {
  image_names names = {0};
  int r = 0;
  for (size_t i = 0; i < m->modules.n && r >= 0; i++)
    r = vec_push(&names, image_name(m->modules.at[i].image));
  for (size_t i = 0; i < m->modules.n && functions; i++) {
    const struct image_function *all;
    size_t n = image_functions(m->modules.at[i].image, &all);
    for (size_t k = 0; k < n && r >= 0; k++)
      if (all[k].name) r = vec_push(&names, all[k].name);
  }
  if (functions && r >= 0) r = add_written(m, name, &names);
  const char *near = name_nearest(name, names.at, names.n);
  for (size_t i = 0; i < names.n && !near && functions; i++)
    if (same_template(names.at[i], name)) near = names.at[i];
  vec_done(&names);
  return near;
}

int program_modules_lack(struct program_modules *m, int r, struct err *e) {
  for (size_t i = 0; i < m->modules.n; i++) {
    struct image_debug *d = program_module_debug(&m->modules.at[i]);
    const char *lacks = d ? image_debug_lacks(d) : NULL;
    struct err why = *e;
    if (!lacks) continue;
    return err_set(e, r, "%s; debug information of %s is in %s, which is not there", why.text,
                   image_name(m->modules.at[i].image), lacks);
  }
  return r;
}

static int not_named(struct program_modules *m, const char *what, const char *name, bool functions, struct err *e) {
  const char *near = nearest(m, name, functions);
  return err_set(e, -ENOENT, "no %s '%s' in %s and its libraries%s%s%s", what, name, m->modules.at[0].path,
                 near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
}

static int say_nothing(struct program_modules *m, const struct program_where *w, struct err *e) {
  const char *program = m->modules.at[0].path;
  if (w->file && w->line)
    return err_set(e, -ENOENT, "no code of %s:%u in %s and its libraries (are there debug symbols?)", w->file, w->line,
                   program);
  if (w->file)
    return err_set(e, -ENOENT, "no code of %s in %s and its libraries (are there debug symbols?)", w->file, program);
  return not_named(m, w->any ? "module or function" : "function", w->any ? w->any : w->function, true, e);
}

static int nothing_found(struct program_modules *m, const struct program_where *w, struct err *e) {
  return e ? program_modules_lack(m, say_nothing(m, w, e), e)
           : -ENOENT; /* nobody reads what would take time to write */
}

static int find_any(struct program_modules *m, const char *name, program_places *ret) {
  int module = program_modules_named(m, name), r = 0;
  if (module >= 0) return add_whole(ret, (size_t)module);
  for (size_t i = 0; i < m->modules.n && r >= 0; i++)
    r = add_function(m, i, name, ret);
  return r;
}

static int find_in(struct program_modules *m, size_t i, const struct program_where *w, program_places *ret) {
  if (w->file) return add_debug(m, i, w, ret);
  if (w->function) return add_function(m, i, w->function, ret);
  return add_whole(ret, i);
}

int program_modules_find(struct program_modules *m, const struct program_where *w, program_places *ret, struct err *e) {
  size_t before = ret->n;
  int r = 0, only = w->module ? program_modules_named(m, w->module) : -1;
  if (w->module && only < 0) return not_named(m, "module", w->module, false, e);
  if (w->any) {
    r = find_any(m, w->any, ret);
  } else {
    for (size_t i = 0; i < m->modules.n && r >= 0; i++)
      if (only < 0 || (size_t)only == i) r = find_in(m, i, w, ret);
  }
  if (r < 0) return err_set(e, r, "out of memory");
  merge(ret, before);
  return ret->n > before ? 0 : nothing_found(m, w, e);
}
