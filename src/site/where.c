/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source lines and enclosing functions of sites: from DWARF, or else the nearest symbol.
 */
#include "site/program.h"

#include <errno.h>
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
  return (struct site_line){
      .function = keep(s, f->function, failed), .file = keep(s, f->file, failed), .line = f->line, .column = f->column};
}

static bool is_shell(const struct site *s, const char *function) {
  return function && (strcmp(function, s->function) == 0 || strcmp(function, s->symbol) == 0);
}

static int fill_site(struct strings *strings, struct image_debug *d, struct site *s) {
  struct image_frame frames[FRAMES];
  bool failed = false;
  size_t n = image_debug_at(d, s->address, frames, FRAMES);
  if (n > FRAMES) n = FRAMES;
  if (!n) return 0;
  /* The fortified functions of libc's headers are inlined: the call that the programmer wrote is further out. */
  size_t first = 0;
  while (first + 1 < n && is_shell(s, frames[first].function))
    first++;
  s->at = keep_line(strings, &frames[first], &failed);
  if (s->at.function) s->in = s->at.function;
  size_t outer = n - first - 1;
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
  return r < 0 ? r : 0;
}
