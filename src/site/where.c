/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source lines and enclosing functions of sites: from DWARF, or else the nearest symbol.
 */
#include "site/program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES 16

/* Strings of one list, each kept once: debug information repeats itself. */
struct strings {
  struct arena *arena;
  struct map known;
};

static const char *keep(struct strings *s, const char *text, bool *failed) {
  uint64_t p;
  if (!text) return NULL;
  uint64_t key = hash_string(text);
  if (map_get(&s->known, key, &p)) return (const char *)(uintptr_t)p;
  char *copy = arena_strdup(s->arena, text);
  if (!copy || map_put(&s->known, key, (uintptr_t)copy) < 0) *failed = true;
  return copy;
}

static struct site_line keep_line(struct strings *s, const struct image_frame *f, bool *failed) {
  const char *file = f->file;
  while (file && strncmp(file, "./", 2) == 0)
    file += 2;
  return (struct site_line){
      .function = keep(s, f->function, failed), .file = keep(s, file, failed), .line = f->line, .column = f->column};
}

static bool is_shell(const struct site *s, const char *function) {
  return function && (strcmp(function, s->function) == 0 || strcmp(function, s->symbol) == 0);
}

static bool in_system(const char *file) { return file && strncmp(file, "/usr/include/", 13) == 0; }

static int fill_site(struct strings *strings, struct image_debug *d, struct site *s) {
  struct image_frame frames[FRAMES];
  bool failed = false;
  size_t n = image_debug_at(d, s->address, frames, FRAMES);
  if (n > FRAMES) n = FRAMES;
  if (!n) return 0;
  /* Functions of libc's headers are inlined, fortified ones too: the call that the programmer wrote is further out. */
  size_t first = 0;
  while (first + 1 < n && (is_shell(s, frames[first].function) || in_system(frames[first].file)))
    first++;
  s->at = keep_line(strings, &frames[first], &failed);
  size_t outer = n - first - 1;
  /* The symbol is not what was inlined, and "f.cold" is not where f starts. */
  if (s->at.function && (outer || (s->in && strchr(s->in, '.')))) s->in_offset = SITE_NO_OFFSET;
  if (s->at.function) s->in = s->at.function;
  struct site_line *inlined = outer ? arena_alloc(strings->arena, outer * sizeof *inlined) : NULL;
  if (outer && !inlined) return -ENOMEM;
  for (size_t i = 0; i < outer; i++)
    inlined[i] = keep_line(strings, &frames[first + 1 + i], &failed);
  s->inlined = inlined;
  s->n_inlined = outer;
  struct site_block *blocks = (struct site_block *)s->recovery;
  for (size_t i = 0; i < s->n_recovery; i++)
    if (image_debug_at(d, blocks[i].from, frames, FRAMES) > 0) blocks[i].line = keep_line(strings, &frames[0], &failed);
  return failed ? -ENOMEM : 0;
}

/* --- copies ------------------------------------------------------------------------------------------------------- */

static bool same_line(const struct site_line *a, const struct site_line *b) {
  return a->line == b->line && a->column == b->column && a->file == b->file && a->function == b->function;
}

/* One call of the source that the compiler has copied inside one function; strings are kept once, so pointers do. */
static bool is_copy(const struct site *a, const struct site *b) {
  if (strcmp(a->symbol, b->symbol) != 0 || !a->at.file || !same_line(&a->at, &b->at) || a->n_inlined != b->n_inlined)
    return false;
  for (size_t i = 0; i < a->n_inlined; i++)
    if (!same_line(&a->inlined[i], &b->inlined[i])) return false;
  return true;
}

static int by_line(const void *x, const void *y) {
  const struct site *a = *(struct site *const *)x, *b = *(struct site *const *)y;
  if (a->at.file != b->at.file) return a->at.file < b->at.file ? -1 : 1;
  if (a->at.line != b->at.line) return a->at.line < b->at.line ? -1 : 1;
  if (a->at.column != b->at.column) return a->at.column < b->at.column ? -1 : 1;
  return (a->address > b->address) - (a->address < b->address);
}

/*
 * A copy on a way that has failed already needs no check of its own: "if (close(fd) < 0 && !failed)". It is as good as
 * the best of its copies.
 */
static int join_copies(struct site_list *l) {
  struct site **order = arena_alloc(&l->arena, (l->n + 1) * sizeof *order);
  if (!order) return -ENOMEM;
  for (size_t i = 0; i < l->n; i++)
    order[i] = &l->sites[i];
  if (l->n) qsort(order, l->n, sizeof *order, by_line);
  for (size_t i = 0; i < l->n; i++)
    for (size_t k = i + 1; k < l->n && is_copy(order[i], order[k]); k++) {
      struct site *a = order[i], *b = order[k];
      if (a->verdict == SITE_ALL || b->verdict == SITE_ALL) {
        struct site *good = a->verdict == SITE_ALL ? a : b, *other = good == a ? b : a;
        other->verdict = SITE_ALL;
        other->rank = good->rank;
        other->reason = good->reason;
        other->checked = good->checked;
        other->n_checked = good->n_checked;
        other->n_missing = 0;
        other->missing_errnos = (struct errno_set){0};
      }
    }
  return 0;
}

int where_fill(const struct image *img, struct site_list *l) {
  struct image_debug *d = NULL;
  struct strings strings = {.arena = &l->arena};
  for (size_t i = 0; i < l->n; i++) {
    const struct image_function *f = image_function_before(img, l->sites[i].address);
    if (!f) continue;
    l->sites[i].in_offset = l->sites[i].address - f->address;
    if (f->name) l->sites[i].in = arena_strdup(&l->arena, f->name);
    if (f->name && !l->sites[i].in) return -ENOMEM;
  }
  int r = image_debug_open(img, &d, NULL);
  if (r < 0) return r == -ENOMEM ? r : 0;
  l->has_lines = true;
  for (size_t i = 0; i < l->n && r >= 0; i++)
    r = fill_site(&strings, d, &l->sites[i]);
  image_debug_free(d);
  map_done(&strings.known);
  return r < 0 ? r : join_copies(l);
}
