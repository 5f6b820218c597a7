/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sites as JSON, in the form that the design fixes: fields may be added, never renamed or removed.
 */
#include "site/site.h"

#include <string.h>

/* There are many of these, one thread writes them all, and printf's ways are long. */
static inline void add_bytes(struct text *t, const char *p, size_t n) {
  if (t->failed || t->cap - t->n <= n) {
    text_add_bytes(t, p, n);
    return;
  }
  memcpy(t->at + t->n, p, n);
  t->n += n;
  t->at[t->n] = '\0';
}

/* A constant, whose length is one too. */
#define ADD(t, constant) add_bytes(t, constant, sizeof(constant) - 1)
/* ,"name": and what ADD writes behind it. */
#define MEMBER(t, name, add, ...) (ADD(t, ",\"" name "\":"), add(t, __VA_ARGS__))

static void add_number(struct text *t, int64_t value) {
  char digits[24], *at = digits + sizeof digits;
  uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
  do
    *--at = (char)('0' + rest % 10);
  while ((rest /= 10) != 0);
  if (value < 0) *--at = '-';
  add_bytes(t, at, (size_t)(digits + sizeof digits - at));
}

static void add_address(struct text *t, uint64_t value) {
  char digits[24], *at = digits + sizeof digits;
  do
    *--at = "0123456789abcdef"[value % 16];
  while ((value /= 16) != 0);
  *--at = 'x';
  *--at = '0';
  ADD(t, "\"");
  add_bytes(t, at, (size_t)(digits + sizeof digits - at));
  ADD(t, "\"");
}

static void add_string(struct text *t, const char *value) {
  if (value)
    text_add_json(t, value);
  else
    ADD(t, "null");
}

static void add_truth(struct text *t, bool value) {
  if (value)
    ADD(t, "true");
  else
    ADD(t, "false");
}

static void add_values(struct text *t, const int64_t *values, size_t n, const struct errno_set *set) {
  bool first = true;
  ADD(t, "[");
  for (size_t i = 0; i < n; i++, first = false) {
    if (!first) ADD(t, ",");
    add_number(t, values[i]);
  }
  for (int e = 1; e <= ERRNO_MAX && !errno_set_empty(set); e++) {
    if (!errno_set_has(set, e) || !errno_name(e)) continue;
    text_add(t, first ? "\"" : ",\"");
    text_add(t, errno_name(e));
    ADD(t, "\"");
    first = false;
  }
  ADD(t, "]");
}

static void add_line(struct text *t, const struct site_line *l) {
  ADD(t, "\"function\":");
  text_add_json(t, l->function ? l->function : "");
  MEMBER(t, "file", add_string, l->file);
  if (l->line)
    text_addf(t, ",\"line\":%u", l->line);
  else
    ADD(t, ",\"line\":null");
}

static void add_recovery(struct text *t, const struct site *s) {
  ADD(t, ",\"recovery\":[");
  for (size_t i = 0; i < s->n_recovery; i++) {
    const struct site_block *b = &s->recovery[i];
    text_addf(t, "%s{\"from\":\"0x%llx\",\"to\":\"0x%llx\",", i ? "," : "", (unsigned long long)b->from,
              (unsigned long long)b->to);
    add_line(t, &b->line);
    ADD(t, "}");
  }
  ADD(t, "]");
}

static void add_site(struct text *t, const struct site_list *l, const struct site *s, bool recovery) {
  ADD(t, "{\"function\":");
  text_add_json(t, s->function);
  MEMBER(t, "symbol", add_string, s->symbol);
  MEMBER(t, "library", add_string, s->library);
  MEMBER(t, "module", add_string, l->module);
  MEMBER(t, "offset", add_address, s->address);
  MEMBER(t, "in", add_string, s->in);
  if (s->in_offset != SITE_NO_OFFSET)
    MEMBER(t, "in_offset", add_address, s->in_offset);
  else
    ADD(t, ",\"in_offset\":null");
  MEMBER(t, "file", add_string, s->at.file);
  if (s->at.line)
    text_addf(t, ",\"line\":%u,\"column\":%u", s->at.line, s->at.column);
  else
    ADD(t, ",\"line\":null,\"column\":null");
  ADD(t, ",\"inlined\":[");
  for (size_t i = 0; i < s->n_inlined; i++) {
    text_add(t, i ? ",{" : "{");
    add_line(t, &s->inlined[i]);
    ADD(t, "}");
  }
  ADD(t, "]");
  MEMBER(t, "verdict", add_string, site_verdict_words[s->verdict]);
  MEMBER(t, "use", add_string, site_use_words[s->use]);
  static const struct errno_set none;
  MEMBER(t, "checked", add_values, s->checked, s->n_checked, &s->checked_errnos);
  MEMBER(t, "missing", add_values, errno_set_empty(&s->missing_errnos) ? s->missing : NULL,
         errno_set_empty(&s->missing_errnos) ? s->n_missing : 0,
         errno_set_empty(&s->missing_errnos) ? &none : &s->missing_errnos);
  MEMBER(t, "recovery_blocks", add_number, (int64_t)s->n_recovery);
  if (recovery) add_recovery(t, s);
  MEMBER(t, "reason", add_string, s->reason);
  MEMBER(t, "rank", add_number, s->rank);
  MEMBER(t, "quiet", add_truth, s->rank < SITE_QUIET);
  MEMBER(t, "reachable", add_truth, !s->unreached);
  MEMBER(t, "suppressed", add_truth, s->suppressed);
  MEMBER(t, "baseline", add_truth, s->in_baseline);
  ADD(t, "}");
}

static void add_list(struct text *t, const struct site_list *l, const struct site_text_options *o) {
  bool first = true;
  ADD(t, "{\"program\":");
  text_add_json(t, l->program);
  MEMBER(t, "build_id", add_string, l->build_id);
  ADD(t, ",\"missing_libraries\":[");
  for (size_t i = 0; i < l->n_missing_libraries; i++) {
    if (i) ADD(t, ",");
    text_add_json(t, l->missing_libraries[i]);
  }
  ADD(t, "],\"sites\":[");
  for (size_t i = 0; i < l->n; i++) {
    if (!(o->verdicts >> l->sites[i].verdict & 1)) continue;
    text_add(t, first ? "\n" : ",\n");
    add_site(t, l, &l->sites[i], o->recovery);
    first = false;
  }
  ADD(t, "]}");
}

void site_write_json(const struct site_list *l, size_t n, const struct site_text_options *o, struct text *to) {
  bool array = n != 1 || o->several;
  if (array) text_add(to, "[");
  for (size_t i = 0; i < n; i++) {
    if (i) text_add(to, ",\n");
    add_list(to, &l[i], o);
  }
  text_add(to, array ? "]\n" : "\n");
}
