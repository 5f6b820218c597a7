/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source lines and enclosing functions of sites: from DWARF, or else the nearest symbol.
 */
#include "site/site_program.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES 16
#define BLOCK_SAMPLES 8
#define COPIES_MAX 32 /* of one call; more are many calls of one macro */

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

/* The first line of a block, and the last one that some of its bytes are of. */
static void place_block(struct strings *strings, struct image_debug *d, struct site_block *b, bool *failed) {
  struct image_frame frames[FRAMES], other[1];
  if (image_debug_at(d, b->from, frames, FRAMES) == 0) return;
  b->line = keep_line(strings, &frames[0], failed);
  uint64_t step = (b->to - b->from) / BLOCK_SAMPLES + 1;
  for (uint64_t at = b->to - 1; at > b->from; at = at - b->from > step ? at - step : b->from) {
    if (image_debug_at(d, at, other, COUNT(other)) == 0 || !other[0].file || !frames[0].file) continue;
    if (strcmp(other[0].file, frames[0].file) == 0 && other[0].line > b->last_line) b->last_line = other[0].line;
  }
}

static bool in_word(char c) { return c == '_' || isalnum((unsigned char)c); }

/* Where the word is in the text, not as a part of another one; or NULL. */
static const char *find_word(const char *text, const char *word) {
  size_t n = strlen(word);
  for (const char *at = text; (at = strstr(at, word)) != NULL; at++)
    if ((at == text || !in_word(at[-1])) && !in_word(at[n])) return at;
  return NULL;
}

/* REASON, in which the word OLD is another one. */
static const char *reword(struct arena *arena, const char *reason, const char *old, const char *new) {
  struct text t = {0};
  const char *at = find_word(reason, old);
  if (!at) return reason;
  text_addf(&t, "%.*s%s%s", (int)(at - reason), reason, new, at + strlen(old));
  const char *copy = t.failed ? NULL : arena_strdup(arena, t.at);
  text_done(&t);
  return copy;
}

/* A function of libc's headers that is known by its own name is what the programmer wrote: getchar, not getc. */
static void name_site(const struct program *p, struct strings *strings, const char *function, struct site *s,
                      bool *failed) {
  if (!function || is_shell(s, function) || !relevance_knows(p->relevance, function)) return;
  if (relevance_answers(p->relevance, function)) return;
  s->reason = reword(strings->arena, s->reason, s->function, function);
  s->function = keep(strings, function, failed);
  *failed |= !s->reason;
}

static int fill_site(const struct program *p, struct strings *strings, struct site *s) {
  struct image_debug *d = p->debug;
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
  if (first) name_site(p, strings, frames[first - 1].function, s, &failed);
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
    place_block(strings, d, &blocks[i], &failed);
  return failed ? -ENOMEM : 0;
}

/* --- copies ------------------------------------------------------------------------------------------------------- */

static bool same_line(const struct site_line *a, const struct site_line *b) {
  return a->column && a->line == b->line && a->column == b->column && a->file == b->file && a->function == b->function;
}

/* One call of the source that the compiler has copied inside one function; strings are kept once, so pointers do. */
static bool is_copy(const struct site *a, const struct site *b) {
  if (strcmp(a->symbol, b->symbol) != 0 || !a->at.file || !same_line(&a->at, &b->at) || a->n_inlined != b->n_inlined)
    return false;
  for (size_t i = 0; i < a->n_inlined; i++)
    if (!same_line(&a->inlined[i], &b->inlined[i])) return false;
  return true;
}

static int compare_lines(const struct site_line *a, const struct site_line *b) {
  if (a->file != b->file) return a->file < b->file ? -1 : 1;
  if (a->line != b->line) return a->line < b->line ? -1 : 1;
  return (a->column > b->column) - (a->column < b->column);
}

/* One call of the source behind the other, those of one function together, and then copies of one call. */
static int by_line(const void *x, const void *y) {
  const struct site *a = *(struct site *const *)x, *b = *(struct site *const *)y;
  int r = compare_lines(&a->at, &b->at);
  if (!r) r = strcmp(a->symbol, b->symbol);
  if (!r) r = (a->n_inlined > b->n_inlined) - (a->n_inlined < b->n_inlined);
  for (size_t i = 0; !r && i < a->n_inlined; i++)
    r = compare_lines(&a->inlined[i], &b->inlined[i]);
  return r ? r : (a->address > b->address) - (a->address < b->address);
}

/* Does a way lead from the entry to block TO, not through block WITHOUT? */
static bool reaches(struct program *p, const struct follow_graph *g, uint32_t to, uint32_t without,
                    struct arena *arena) {
  const struct code *code = follow_graph_code(g);
  uint8_t *seen = arena_zalloc(arena, code->n_blocks + 1);
  uint32_t *todo = arena_alloc(arena, (code->n_blocks + 1) * sizeof *todo), n_todo = 0;
  if (!seen || !todo) p->error = -ENOMEM;
  if (!seen || !todo || code->entry_block == without) return false;
  seen[code->entry_block] = 1;
  for (todo[n_todo++] = code->entry_block; n_todo > 0;) {
    const uint32_t *next;
    uint32_t n = follow_graph_next(g, todo[--n_todo], &next, NULL);
    for (uint32_t i = 0; i < n; i++) {
      if (next[i] == without || seen[next[i]]) continue;
      seen[next[i]] = 1;
      todo[n_todo++] = next[i];
    }
  }
  return seen[to];
}

static uint32_t block_at(const struct follow_graph *g, uint64_t address) {
  const struct code *code = follow_graph_code(g);
  for (uint32_t i = 0; i < code->n_insns; i++)
    if (code->insns[i].address == address) return follow_graph_block(g, i);
  return UINT32_MAX;
}

/*
 * Is one of them made after the other on every way? Then they are two calls of one macro, which debug information does
 * not tell from copies of one call.
 */
static bool follow_each_other(struct program *p, const struct found *a, const struct found *b) {
  struct worker *w = &p->workers[0];
  struct follow_graph_options o = gather_options(p, w);
  struct follow_graph *g = NULL;
  struct arena arena = {0};
  int r = a->entry == b->entry ? follow_graph_open(&w->flow, p->image, a->entry, &o, &g) : -ENOENT;
  if (r == -ENOMEM) p->error = r;
  if (r < 0) return false;
  uint32_t x = block_at(g, a->at), y = block_at(g, b->at);
  bool known = x != UINT32_MAX && y != UINT32_MAX, follow = known && x == y;
  if (known && !follow && reaches(p, g, x, UINT32_MAX, &arena) && reaches(p, g, y, UINT32_MAX, &arena))
    follow = !reaches(p, g, y, x, &arena) || !reaches(p, g, x, y, &arena);
  arena_done(&arena);
  follow_graph_close(g);
  return follow;
}

/* Of the copies from FROM to TO, those that are not checked become as good as one that is. */
static void join(struct program *p, const struct site_list *l, struct site **from, struct site **to) {
  struct site *good = NULL;
  for (struct site **s = from; s < to && !good; s++)
    if ((*s)->verdict == SITE_ALL) good = *s;
  for (struct site **s = from; s < to && good; s++) {
    struct site *other = *s;
    if (other->verdict == SITE_ALL) continue;
    if (follow_each_other(p, &p->found.at[good - l->sites], &p->found.at[other - l->sites])) continue;
    other->verdict = SITE_ALL;
    other->rank = good->rank;
    other->reason = good->reason;
    other->checked = good->checked;
    other->n_checked = good->n_checked;
    other->n_missing = 0;
    other->missing_errnos = (struct errno_set){0};
  }
}

/*
 * A copy on a way that has failed already needs no check of its own: "if (close(fd) < 0 && !failed)". It is as good as
 * the best of its copies. The sites are still in the order of what was found.
 */
static int join_copies(struct program *p, const struct site_list *l, struct site **order) {
  for (size_t i = 0, end; i < l->n; i = end) {
    for (end = i + 1; end < l->n && is_copy(order[i], order[end]);)
      end++;
    if (end - i > 1 && end - i <= COPIES_MAX) join(p, l, order + i, order + end);
  }
  return p->error;
}

/* One call of the source, wherever the function that it is written in was inlined. */
static bool is_same_call(const struct site *a, const struct site *b) {
  return strcmp(a->symbol, b->symbol) == 0 && a->at.file && same_line(&a->at, &b->at);
}

/*
 * Compilers keep the body of a function that others could call, and inline it wherever it is called. Nobody ever runs
 * that body, and who gets what it returns is seen at the copies only.
 */
static void leave_out_bodies(struct site_list *l, struct site **order) {
  for (size_t i = 0, end; i < l->n; i = end) {
    bool runs = !order[i]->unreached;
    for (end = i + 1; end < l->n && is_same_call(order[i], order[end]); end++)
      runs |= !order[end]->unreached;
    for (size_t k = i; k < end && runs; k++)
      if (order[k]->unreached) order[k]->function = NULL;
  }
  size_t n = 0;
  for (size_t i = 0; i < l->n; i++)
    if (l->sites[i].function) l->sites[n++] = l->sites[i];
  l->n = n;
}

/* The symbol; of Rust, as people know it. NULL if there is no memory. */
static const char *name_of(struct arena *arena, const char *symbol) {
  struct text t = {0};
  bool rust = name_rust(symbol, &t);
  const char *name = t.failed ? NULL : arena_strdup(arena, rust ? t.at : symbol);
  text_done(&t);
  return name;
}

int where_fill(struct program *p, struct site_list *l) {
  const struct image *img = p->image;
  struct strings strings = {.arena = &l->arena};
  for (size_t i = 0; i < l->n; i++) {
    const struct image_function *f = image_function_before(img, l->sites[i].address);
    if (!f) continue;
    l->sites[i].in_offset = l->sites[i].address - f->address;
    if (f->name) l->sites[i].in = name_of(&l->arena, f->name);
    if (f->name && !l->sites[i].in) return -ENOMEM;
  }
  if (!p->debug) return 0;
  int r = 0;
  for (size_t i = 0; i < l->n && r >= 0; i++)
    r = fill_site(p, &strings, &l->sites[i]);
  map_done(&strings.known);
  struct site **order = arena_alloc(&l->arena, (l->n + 1) * sizeof *order);
  if (!order) r = -ENOMEM;
  if (r < 0) return r;
  for (size_t i = 0; i < l->n; i++)
    order[i] = &l->sites[i];
  if (l->n) qsort(order, l->n, sizeof *order, by_line);
  r = join_copies(p, l, order);
  if (r >= 0) leave_out_bodies(l, order);
  return r;
}
