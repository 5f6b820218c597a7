/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sites as JSON, in the form that the design fixes: fields may be added, never renamed or removed.
 */
#include "site/site.h"

/* There are many of both, and printf's ways are long. */
static void add_name(struct text *t, const char *name) {
  text_add(t, ",\"");
  text_add(t, name);
  text_add(t, "\":");
}

static void add_number(struct text *t, int64_t value) {
  char digits[24], *at = digits + sizeof digits;
  uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
  do
    *--at = (char)('0' + rest % 10);
  while ((rest /= 10) != 0);
  if (value < 0) *--at = '-';
  text_add_bytes(t, at, (size_t)(digits + sizeof digits - at));
}

static void add_address(struct text *t, const char *name, uint64_t value) {
  char digits[24], *at = digits + sizeof digits;
  do
    *--at = "0123456789abcdef"[value % 16];
  while ((value /= 16) != 0);
  add_name(t, name);
  text_add(t, "\"0x");
  text_add_bytes(t, at, (size_t)(digits + sizeof digits - at));
  text_add(t, "\"");
}

static void add_string(struct text *t, const char *name, const char *value) {
  add_name(t, name);
  if (value)
    text_add_json(t, value);
  else
    text_add(t, "null");
}

static void add_truth(struct text *t, const char *name, bool value) {
  add_name(t, name);
  text_add(t, value ? "true" : "false");
}

static void add_values(struct text *t, const char *name, const int64_t *values, size_t n, const struct errno_set *set) {
  bool first = true;
  add_name(t, name);
  text_add(t, "[");
  for (size_t i = 0; i < n; i++, first = false) {
    if (!first) text_add(t, ",");
    add_number(t, values[i]);
  }
  for (int e = 1; e <= ERRNO_MAX && !errno_set_empty(set); e++) {
    if (!errno_set_has(set, e) || !errno_name(e)) continue;
    text_add(t, first ? "\"" : ",\"");
    text_add(t, errno_name(e));
    text_add(t, "\"");
    first = false;
  }
  text_add(t, "]");
}

static void add_line(struct text *t, const struct site_line *l) {
  text_add(t, "\"function\":");
  text_add_json(t, l->function ? l->function : "");
  add_string(t, "file", l->file);
  if (l->line)
    text_addf(t, ",\"line\":%u", l->line);
  else
    text_add(t, ",\"line\":null");
}

static void add_recovery(struct text *t, const struct site *s) {
  text_add(t, ",\"recovery\":[");
  for (size_t i = 0; i < s->n_recovery; i++) {
    const struct site_block *b = &s->recovery[i];
    text_addf(t, "%s{\"from\":\"0x%llx\",\"to\":\"0x%llx\",", i ? "," : "", (unsigned long long)b->from,
              (unsigned long long)b->to);
    add_line(t, &b->line);
    text_add(t, "}");
  }
  text_add(t, "]");
}

static void add_site(struct text *t, const struct site_list *l, const struct site *s, bool recovery) {
  text_add(t, "{\"function\":");
  text_add_json(t, s->function);
  add_string(t, "symbol", s->symbol);
  add_string(t, "library", s->library);
  add_string(t, "module", l->module);
  add_address(t, "offset", s->address);
  add_string(t, "in", s->in);
  if (s->in_offset != SITE_NO_OFFSET)
    add_address(t, "in_offset", s->in_offset);
  else
    text_add(t, ",\"in_offset\":null");
  add_string(t, "file", s->at.file);
  if (s->at.line)
    text_addf(t, ",\"line\":%u,\"column\":%u", s->at.line, s->at.column);
  else
    text_add(t, ",\"line\":null,\"column\":null");
  text_add(t, ",\"inlined\":[");
  for (size_t i = 0; i < s->n_inlined; i++) {
    text_add(t, i ? ",{" : "{");
    add_line(t, &s->inlined[i]);
    text_add(t, "}");
  }
  text_add(t, "]");
  add_string(t, "verdict", site_verdict_words[s->verdict]);
  add_string(t, "use", site_use_words[s->use]);
  static const struct errno_set none;
  add_values(t, "checked", s->checked, s->n_checked, &s->checked_errnos);
  add_values(t, "missing", errno_set_empty(&s->missing_errnos) ? s->missing : NULL,
             errno_set_empty(&s->missing_errnos) ? s->n_missing : 0,
             errno_set_empty(&s->missing_errnos) ? &none : &s->missing_errnos);
  add_name(t, "recovery_blocks");
  add_number(t, (int64_t)s->n_recovery);
  if (recovery) add_recovery(t, s);
  add_string(t, "reason", s->reason);
  add_name(t, "rank");
  add_number(t, s->rank);
  add_truth(t, "quiet", s->rank < SITE_QUIET);
  add_truth(t, "reachable", !s->unreached);
  add_truth(t, "suppressed", s->suppressed);
  add_truth(t, "baseline", s->in_baseline);
  text_add(t, "}");
}

static void add_list(struct text *t, const struct site_list *l, const struct site_text_options *o) {
  bool first = true;
  text_add(t, "{\"program\":");
  text_add_json(t, l->program);
  add_string(t, "build_id", l->build_id);
  text_add(t, ",\"missing_libraries\":[");
  for (size_t i = 0; i < l->n_missing_libraries; i++) {
    if (i) text_add(t, ",");
    text_add_json(t, l->missing_libraries[i]);
  }
  text_add(t, "],\"sites\":[");
  for (size_t i = 0; i < l->n; i++) {
    if (!(o->verdicts >> l->sites[i].verdict & 1)) continue;
    text_add(t, first ? "\n" : ",\n");
    add_site(t, l, &l->sites[i], o->recovery);
    first = false;
  }
  text_add(t, "]}");
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
