/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other direction: from the name of a function, or a file and line, to code.
 *
 * Every unit must be read for that, since nothing says which one has a name; it is asked once for a run, not for every
 * frame.
 */
#include <dwarf.h>
#include <errno.h>

#include "image/debug.h"

static int add(image_ranges *ret, uint64_t start, uint64_t end) {
  return vec_push(ret, (struct image_range){.start = start, .end = end});
}

static int add_scope(const struct debug_scope *s, image_ranges *ret) {
  int r = 0;
  for (uint32_t i = 0; i < s->n_spans && r == 0; i++)
    r = add(ret, s->spans[i].start, s->spans[i].end);
  return r;
}

bool debug_is_tail(const char *name, const char *wanted, const char *separator) {
  size_t n = strlen(name), m = strlen(wanted), s = strlen(separator);
  if (n < m || strcmp(name + n - m, wanted) != 0) return false;
  return n == m || (n >= m + s && memcmp(name + n - m - s, separator, s) == 0);
}

/* --- functions ---------------------------------------------------------------------------------------------------- */

struct by_name {
  const char *name;
  image_ranges *ret;
};

static int find_in_scope(struct image_debug *d, struct debug_scope *s, const struct by_name *q, unsigned depth) {
  const char *name = debug_scope_name(d, s);
  int r = name && debug_is_tail(name, q->name, "::") ? add_scope(s, q->ret) : 0;
  for (struct debug_scope *i = s->inner; i && r == 0 && depth < DEBUG_DEPTH; i = i->next)
    r = find_in_scope(d, i, q, depth + 1);
  return r;
}

static int find_functions(struct image_debug *d, struct debug_unit *u, void *context) {
  const struct debug_scope *before = NULL;
  int r = 0;
  for (size_t i = 0; i < u->functions.n && r == 0; i++) {
    struct debug_scope *s = u->functions.at[i].of;
    if (s != before) r = find_in_scope(d, s, context, 0);
    before = s; /* a function in several pieces is there several times; those in a row are passed over */
  }
  return r;
}

static int name_scope(struct image_debug *d, struct debug_scope *s, image_names *ret, unsigned depth) {
  const char *name = debug_scope_name(d, s);
  int r = name ? vec_push(ret, name) : 0;
  for (struct debug_scope *i = s->inner; i && r == 0 && depth < DEBUG_DEPTH; i = i->next)
    r = name_scope(d, i, ret, depth + 1);
  return r;
}

static int name_functions(struct image_debug *d, struct debug_unit *u, void *context) {
  int r = 0;
  for (size_t i = 0; i < u->functions.n && r == 0; i++)
    r = name_scope(d, u->functions.at[i].of, context, 0);
  return r;
}

/* --- lines -------------------------------------------------------------------------------------------------------- */

struct by_line {
  const char *file;
  unsigned line;
  image_ranges *ret;
};

static bool is_file(struct image_debug *d, const struct debug_unit *u, const char *name, const char *wanted) {
  struct image_frame f;
  debug_path(d, u, name, &f);
  return f.file && debug_is_tail(f.file, wanted, "/");
}

static bool is_row(struct image_debug *d, const struct debug_unit *u, Dwarf_Line *line, const struct by_line *q) {
  bool end = true;
  int n = 0;
  if (!line || dwarf_lineendsequence(line, &end) != 0 || end || dwarf_lineno(line, &n) != 0) return false;
  if (q->line && (n < 0 || (unsigned)n != q->line)) return false;
  return is_file(d, u, dwarf_linesrc(line, NULL, NULL), q->file);
}

static int find_rows(struct image_debug *d, struct debug_unit *u, const struct by_line *q) {
  int r = 0;
  for (size_t i = 0; i + 1 < u->n_lines && r == 0; i++) {
    Dwarf_Addr start, end;
    Dwarf_Line *line = dwarf_onesrcline(u->lines, i);
    if (!is_row(d, u, line, q) || dwarf_lineaddr(line, &start) != 0) continue;
    if (dwarf_lineaddr(dwarf_onesrcline(u->lines, i + 1), &end) != 0 || start < u->discarded_end) continue;
    if (start < end) r = add(q->ret, start, end);
  }
  return r;
}

/* A call that was inlined stands on a line too. */
static int find_calls(struct image_debug *d, const struct debug_unit *u, const struct debug_scope *s,
                      const struct by_line *q, unsigned depth) {
  int r = 0;
  for (const struct debug_scope *i = s->inner; i && r == 0 && depth < DEBUG_DEPTH; i = i->next) {
    const char *name = i->call_file < u->n_files ? dwarf_filesrc(u->files, i->call_file, NULL, NULL) : NULL;
    if (i->call_line && (!q->line || i->call_line == q->line) && name && is_file(d, u, name, q->file))
      r = add_scope(i, q->ret);
    if (r == 0) r = find_calls(d, u, i, q, depth + 1);
  }
  return r;
}

static int find_lines(struct image_debug *d, struct debug_unit *u, void *context) {
  debug_lines_load(d, u);
  int r = find_rows(d, u, context);
  for (size_t i = 0; i < u->functions.n && r == 0; i++)
    r = find_calls(d, u, u->functions.at[i].of, context, 0);
  return r;
}

/* --- all units ---------------------------------------------------------------------------------------------------- */

struct search {
  int (*in_unit)(struct image_debug *d, struct debug_unit *u, void *context);
  void *context;
};

static int search_units(struct image_debug *d, void *context) {
  const struct search *s = context;
  int r = debug_index(d);
  if (r == -ENOMEM) return r;
  r = 0;
  for (size_t i = 0; i < d->units.n && r == 0; i++) {
    /* A unit that is damaged, or past the budget, has what was read of it. */
    if (debug_unit_load(d, d->units.at[i]) == -ENOMEM) return -ENOMEM;
    r = s->in_unit(d, d->units.at[i], s->context);
  }
  return r;
}

int image_debug_function(struct image_debug *d, const char *name, image_ranges *ret) {
  struct by_name q = {.name = name, .ret = ret};
  struct search s = {.in_unit = find_functions, .context = &q};
  return debug_guard(d, search_units, &s);
}

int image_debug_names(struct image_debug *d, image_names *ret) {
  struct search s = {.in_unit = name_functions, .context = ret};
  return debug_guard(d, search_units, &s);
}

int image_debug_line(struct image_debug *d, const char *file, unsigned line, image_ranges *ret) {
  struct by_line q = {.file = file, .line = line, .ret = ret};
  struct search s = {.in_unit = find_lines, .context = &q};
  return debug_guard(d, search_units, &s);
}
