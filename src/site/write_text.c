/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sites for people: one line a site, by verdict, the worst first.
 */
#include "site/site.h"

#include <string.h>

#define PLACE_COLUMN 34

static const char *const titles[4] = {
    "errors that nothing checks",
    "errors that are checked in part",
    "all errors are checked",
    "functions whose errors are not known",
};

/* "dir.c:42 in read_dir", "read_dir+0x12 (0x4012)" */
static void add_place(struct text *t, const struct site_list *l, const struct site *s) {
  if (s->at.file && s->at.line) {
    text_addf(t, "%s:%u", s->at.file, s->at.line);
    if (s->in) text_addf(t, " in %s", s->in);
    return;
  }
  if (s->in)
    text_addf(t, "%s+0x%llx", s->in, (unsigned long long)s->in_offset);
  else
    text_addf(t, "%s", l->module);
  text_addf(t, " (0x%llx)", (unsigned long long)s->address);
}

static bool shown(const struct site *s, const struct site_text_options *o, enum site_verdict v) {
  return s->verdict == v && site_counts(s, o->all || v == SITE_ALL || v == SITE_UNKNOWN);
}

static void add_recovery(struct text *t, const struct site *s) {
  for (size_t i = 0; i < s->n_recovery; i++) {
    const struct site_block *b = &s->recovery[i];
    text_addf(t, "      0x%llx-0x%llx", (unsigned long long)b->from, (unsigned long long)b->to);
    if (b->line.file && b->line.line) text_addf(t, "  %s:%u", b->line.file, b->line.line);
    text_add(t, "\n");
  }
}

static void add_group(struct text *t, const struct site_list *l, const struct site_text_options *o,
                      enum site_verdict v) {
  static const char *const colors[4] = {"\033[31m", "\033[33m", "\033[32m", ""};
  size_t n = 0;
  for (size_t i = 0; i < l->n; i++)
    n += shown(&l->sites[i], o, v);
  if (!n || !(o->verdicts >> v & 1)) return;
  text_addf(t, "\n%s%s%s: %s (%zu)\n", o->color ? colors[v] : "", site_verdict_words[v],
            o->color && *colors[v] ? "\033[0m" : "", titles[v], n);
  for (size_t i = 0; i < l->n; i++) {
    const struct site *s = &l->sites[i];
    if (!shown(s, o, v)) continue;
    text_add(t, "  ");
    add_place(t, l, s);
    text_pad(t, PLACE_COLUMN);
    text_add(t, " ");
    text_add(t, s->reason);
    if (s->unreached) text_add(t, " (nothing refers to this code)");
    text_add(t, "\n");
    if (o->recovery) add_recovery(t, s);
  }
}

static void add_counts(struct text *t, const struct site_list *l, const struct site_text_options *o) {
  size_t by[4] = {0}, quiet = 0, accepted = 0, blocks = 0;
  for (size_t i = 0; i < l->n; i++) {
    const struct site *s = &l->sites[i];
    by[s->verdict]++;
    blocks += s->n_recovery;
    bool finding = s->verdict == SITE_NONE || s->verdict == SITE_SOME;
    accepted += finding && (s->suppressed || s->in_baseline);
    quiet += finding && !s->suppressed && !s->in_baseline && s->rank < SITE_QUIET;
  }
  text_addf(t, "%s: %zu calls that can fail: %zu check all errors, %zu some, %zu none\n", l->program,
            by[SITE_ALL] + by[SITE_SOME] + by[SITE_NONE], by[SITE_ALL], by[SITE_SOME], by[SITE_NONE]);
  for (size_t i = 0; i < l->n_missing_libraries; i++)
    text_addf(t,
              "  %s was not found: calls of its functions are not among them (set LD_LIBRARY_PATH as it is for the "
              "program)\n",
              l->missing_libraries[i]);
  if (accepted) text_addf(t, "  %zu accepted by the baseline or by a comment\n", accepted);
  if (quiet && !o->all) text_addf(t, "  %zu of them of little weight are not shown (--all shows them)\n", quiet);
  if (o->recovery) text_addf(t, "  %zu blocks of recovery code\n", blocks);
}

void site_write_text(const struct site_list *l, const struct site_text_options *o, struct text *to) {
  add_counts(to, l, o);
  for (unsigned v = 0; v < 4; v++)
    add_group(to, l, o, (enum site_verdict)v);
}
