/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sites for people: one line a site, by verdict, the worst first. Copies of one call share a line, unless their
 * recovery code is asked for.
 */
#include "site/site.h"

#include <stdio.h>
#include <string.h>

#define PLACE_COLUMN 34
#define NAME_MAX_SHOWN 48
#define INDENT "      "

static const char *const titles[4] = {
    "errors that nothing checks",
    "errors that are checked in part",
    "all errors are checked",
    "functions whose errors are not known",
};

/* The name from the working folder, if it is below that. */
static void add_file(struct text *t, const struct site_text_options *o, const char *file) {
  size_t n = o->folder ? strlen(o->folder) : 0;
  bool below = n && strncmp(file, o->folder, n) == 0 && file[n] == '/' && file[n + 1];
  text_add_plain(t, below ? file + n + 1 : file);
}

/* A function's name; of a long one, as templates and Rust make them, the beginning and the end. */
static void add_function(struct text *t, const char *symbol) {
  struct text name = {0};
  (void)name_readable(symbol, &name);
  if (!name.failed && name.n <= NAME_MAX_SHOWN) text_add_plain(t, name.at);
  if (!name.failed && name.n > NAME_MAX_SHOWN) {
    char cut[NAME_MAX_SHOWN + 1];
    snprintf(cut, sizeof cut, "%.*s...%s", NAME_MAX_SHOWN / 2 - 3, name.at, name.at + name.n - NAME_MAX_SHOWN / 2);
    text_add_plain(t, cut);
  }
  t->failed |= name.failed;
  text_done(&name);
}

/* "dir.c:42 in read_dir", "read_dir+0x12 (0x4012)" */
static void add_place(struct text *t, const struct site_list *l, const struct site_text_options *o,
                      const struct site *s) {
  if (s->at.file && s->at.line) {
    add_file(t, o, s->at.file);
    text_addf(t, ":%u", s->at.line);
    if (s->in) text_add(t, " in ");
    if (s->in) add_function(t, s->in);
    return;
  }
  add_function(t, s->in ? s->in : l->module);
  if (s->in && s->in_offset != SITE_NO_OFFSET) text_addf(t, "+0x%llx", (unsigned long long)s->in_offset);
  text_addf(t, " (0x%llx)", (unsigned long long)s->address);
}

static bool shown(const struct site *s, const struct site_text_options *o, enum site_verdict v) {
  return s->verdict == v && site_counts(s, o->all || v == SITE_ALL || v == SITE_UNKNOWN);
}

static void add_recovery(struct text *t, const struct site_text_options *o, const struct site *s) {
  /* "r = 1; if (fd == -1) goto out;" has no code of its own: what is done then is done in any case. */
  if (!s->n_recovery && s->verdict == SITE_ALL) text_add(t, "      no block of its own runs when it fails\n");
  for (size_t i = 0; i < s->n_recovery; i++) {
    const struct site_block *b = &s->recovery[i];
    text_addf(t, "      0x%llx-0x%llx", (unsigned long long)b->from, (unsigned long long)b->to);
    if (b->line.file && b->line.line) {
      text_add(t, "  ");
      add_file(t, o, b->line.file);
      text_addf(t, ":%u", b->line.line);
      if (b->last_line > b->line.line) text_addf(t, "-%u", b->last_line);
    }
    text_add(t, "\n");
  }
}

/*
 * Do the lines of both look the same? They are copies of one call, which compilers make by inlining and unrolling, and
 * are one line; or they are calls of one line of the source, and more has to be said.
 */
static uint64_t look(const struct site *s) {
  uint64_t h = hash_mix(hash_string(s->reason) ^ s->at.line);
  h = hash_mix(h ^ hash_string(s->at.file ? s->at.file : ""));
  return hash_mix(h ^ hash_string(s->in ? s->in : ""));
}

static bool has_line(const struct site *s) { return s->at.file && s->at.line; }

/* The same for copies of one call. Where there are no lines, nobody knows what is a copy. */
static uint64_t copy_look(const struct site *s, const struct site_text_options *o) {
  return hash_mix(look(s) + (has_line(s) && !o->recovery ? s->at.column : hash_mix(s->address)));
}

/* The call that was inlined, of a site whose copies are shown each by itself. */
static void add_callers(struct text *t, const struct site_text_options *o, const struct site *s) {
  for (size_t i = 0; i < s->n_inlined; i++) {
    const struct site_line *c = &s->inlined[i];
    text_add(t, i ? ", " : " (inlined at ");
    add_file(t, o, c->file ? c->file : "?");
    if (c->line) text_addf(t, ":%u", c->line);
    if (c->function) text_add(t, " in ");
    if (c->function) add_function(t, c->function);
  }
  if (s->n_inlined) text_add(t, ")");
}

/* How many lines look like that of a site, and how many copies it stands for. */
struct likes {
  uint64_t lines, copies;
};

static void add_difference(struct text *t, const struct site_text_options *o, const struct site *s,
                           const struct likes *like) {
  if (like->lines > 1 && has_line(s) && o->recovery && s->n_inlined)
    add_callers(t, o, s);
  else if (like->lines > 1 && has_line(s) && s->at.column)
    text_addf(t, " (column %u)", s->at.column);
  if (like->copies > 1) text_addf(t, " (%llu times in the code)", (unsigned long long)like->copies);
}

/* WORDS on lines of their own, none of them longer than WIDTH unless a word is. */
static void add_wrapped(struct text *t, const char *words, size_t width) {
  size_t column = 0;
  for (size_t n; *words; words += n + strspn(words + n, " ")) {
    n = strcspn(words, " ");
    bool fits = column && column + 1 + n <= width;
    if (!fits) text_add(t, "\n" INDENT);
    if (fits) text_add(t, " ");
    column = fits ? column + 1 + n : sizeof INDENT - 1 + n;
    text_add_bytes(t, words, n);
  }
}

/* One line; on a terminal that is too narrow for it, the place and below it the rest. */
static void add_site(struct text *t, const struct site_list *l, const struct site_text_options *o, const struct site *s,
                     const struct likes *like) {
  struct text rest = {0};
  size_t start = t->n;
  text_add(t, "  ");
  add_place(t, l, o, s);
  text_add_plain(&rest, s->reason);
  add_difference(&rest, o, s, like);
  if (s->unreached) text_add(&rest, " (nothing refers to this code)");
  size_t place = t->n - start > PLACE_COLUMN ? t->n - start : PLACE_COLUMN;
  if (rest.failed) {
    t->failed = true;
  } else if (o->columns && place + 1 + rest.n > o->columns) {
    add_wrapped(t, rest.at, o->columns);
  } else {
    text_pad(t, PLACE_COLUMN);
    text_add(t, " ");
    text_add(t, rest.at);
  }
  text_add(t, "\n");
  text_done(&rest);
}

/* What is shown of a verdict: lines by their looks, and sites by the line that stands for them. */
struct group {
  struct map lines, copies;
  size_t sites, n_lines;
};

static int count_up(struct map *m, uint64_t key, bool *ret_first) {
  uint64_t before = 0;
  *ret_first = !map_get(m, key, &before);
  return map_put(m, key, before + 1);
}

static int group_count(struct group *g, const struct site_list *l, const struct site_text_options *o,
                       enum site_verdict v) {
  int r = 0;
  for (size_t i = 0; i < l->n && r >= 0; i++) {
    const struct site *s = &l->sites[i];
    bool first;
    if (!shown(s, o, v)) continue;
    g->sites++;
    r = count_up(&g->copies, copy_look(s, o), &first);
    if (r < 0 || !first) continue;
    g->n_lines++;
    r = count_up(&g->lines, look(s), &first);
  }
  return r;
}

static void add_title(struct text *t, const struct site_text_options *o, enum site_verdict v, const struct group *g) {
  static const char *const colors[4] = {"\033[31m", "\033[33m", "\033[32m", ""};
  text_addf(t, "\n%s%s%s: %s (%zu", o->color ? colors[v] : "", site_verdict_words[v],
            o->color && *colors[v] ? "\033[0m" : "", titles[v], g->sites);
  if (g->n_lines != g->sites) text_addf(t, " in %zu line%s", g->n_lines, g->n_lines == 1 ? "" : "s");
  text_add(t, ")\n");
}

/* The first, and so the worst, of copies stands for all. */
static void add_lines(struct text *t, const struct site_list *l, const struct site_text_options *o, enum site_verdict v,
                      struct group *g) {
  for (size_t i = 0; i < l->n; i++) {
    const struct site *s = &l->sites[i];
    struct likes like = {0};
    if (!shown(s, o, v)) continue;
    (void)map_get(&g->copies, copy_look(s, o), &like.copies);
    if (!like.copies) continue;
    (void)map_get(&g->lines, look(s), &like.lines);
    add_site(t, l, o, s, &like);
    if (o->recovery) add_recovery(t, o, s);
    if (map_put(&g->copies, copy_look(s, o), 0) < 0) t->failed = true;
  }
}

static void add_group(struct text *t, const struct site_list *l, const struct site_text_options *o,
                      enum site_verdict v) {
  struct group g = {0};
  if (!(o->verdicts >> v & 1)) return;
  if (group_count(&g, l, o, v) < 0) t->failed = true;
  if (g.sites) add_title(t, o, v, &g);
  add_lines(t, l, o, v, &g);
  map_done(&g.lines);
  map_done(&g.copies);
}

/* Blocks of the sites that are shown, each once: many checks may lead to one. */
static size_t count_blocks(struct text *t, const struct site_list *l, const struct site_text_options *o) {
  struct map starts = {0};
  for (size_t i = 0; i < l->n; i++) {
    const struct site *s = &l->sites[i];
    bool listed = o->verdicts >> s->verdict & 1 && shown(s, o, s->verdict);
    for (size_t k = 0; listed && k < s->n_recovery; k++)
      if (map_put(&starts, s->recovery[k].from, 1) < 0) t->failed = true;
  }
  size_t n = starts.n;
  map_done(&starts);
  return n;
}

static void add_counts(struct text *t, const struct site_list *l, const struct site_text_options *o) {
  size_t by[4] = {0}, quiet = 0, accepted = 0;
  for (size_t i = 0; i < l->n; i++) {
    const struct site *s = &l->sites[i];
    by[s->verdict]++;
    bool finding = s->verdict == SITE_NONE || s->verdict == SITE_SOME;
    bool asked = o->verdicts >> s->verdict & 1;
    accepted += finding && (s->suppressed || s->in_baseline);
    quiet += finding && asked && !s->suppressed && !s->in_baseline && s->rank < SITE_QUIET;
  }
  text_add_plain(t, l->program);
  size_t calls = by[SITE_ALL] + by[SITE_SOME] + by[SITE_NONE];
  text_addf(t, ": %zu call%s that can fail: %zu check%s all errors, %zu some, %zu none\n", calls, calls == 1 ? "" : "s",
            by[SITE_ALL], by[SITE_ALL] == 1 ? "s" : "", by[SITE_SOME], by[SITE_NONE]);
  for (size_t i = 0; i < l->n_missing_libraries; i++)
    text_addf(t,
              "  %s was not found: calls of its functions are not among them (set LD_LIBRARY_PATH as it is for the "
              "program)\n",
              l->missing_libraries[i]);
  if (l->unseen)
    text_addf(t, "  no call was found of the %zu function%s that can fail and that it imports\n", l->unseen,
              l->unseen == 1 ? "" : "s");
  if (accepted) text_addf(t, "  %zu accepted by the baseline or by a comment\n", accepted);
  if (l->stale)
    text_addf(t, "  %zu of the baseline %s no longer there (write it anew)\n", l->stale, l->stale == 1 ? "is" : "are");
  if (quiet && !o->all)
    text_addf(t, "  %zu finding%s of little weight %s not shown (--all shows %s)\n", quiet, quiet == 1 ? "" : "s",
              quiet == 1 ? "is" : "are", quiet == 1 ? "it" : "them");
  size_t blocks = o->recovery ? count_blocks(t, l, o) : 0;
  if (o->recovery) text_addf(t, "  %zu block%s of recovery code\n", blocks, blocks == 1 ? "" : "s");
}

void site_write_text(const struct site_list *l, const struct site_text_options *o, struct text *to) {
  add_counts(to, l, o);
  for (unsigned v = 0; v < 4; v++)
    add_group(to, l, o, (enum site_verdict)v);
}
