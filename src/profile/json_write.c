/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON form of a profile, as the design promises it to scripts: fields may be added, never renamed or removed.
 *
 * Every field is always there. An error is a line, so that a difference between two profiles is a difference of lines.
 * Numbers that may need 64 bits without a sign (offsets) are strings, because most readers of JSON would round them.
 */
#include "profile/format.h"

#include <string.h>

static void add_field(struct text *to, const char *name, const char *value) {
  text_addf(to, "\"%s\":", name);
  if (value)
    text_add_json(to, value);
  else
    text_add(to, "null");
}

static void add_offset(struct text *to, const char *name, uint64_t offset) {
  text_addf(to, "\"%s\":\"0x%llx\"", name, (unsigned long long)offset);
}

static const char *truth(bool b) { return b ? "true" : "false"; }

static void write_errnos(const struct errno_set *set, struct text *to) {
  const char *before = "";
  text_add(to, "\"errno\":[");
  for (int i = 1; i <= ERRNO_MAX; i++) {
    if (!errno_set_has(set, i)) continue;
    const char *name = errno_name(i);
    if (name)
      text_addf(to, "%s\"%s\"", before, name);
    else
      text_addf(to, "%s%d", before, i);
    before = ",";
  }
  text_add(to, "]");
}

static void write_side(const struct profile_side *side, struct text *to) {
  struct text where = {0};
  profile_side_where(side, &where);
  to->failed |= where.failed;
  text_addf(to, "{\"kind\":\"%s\",", profile_side_words[side->kind]);
  add_field(to, "where", where.at);
  text_done(&where);
  text_add(to, ",\"values\":[");
  for (size_t i = 0; i < side->n_values; i++)
    text_addf(to, "%s%lld", i ? "," : "", (long long)side->values[i]);
  text_add(to, "],");
  if (side->kind == SIDE_ARG)
    text_addf(to, "\"argument\":%u,", side->argument);
  else
    add_field(to, "module", side->module ? side->module : ""), text_add(to, ",");
  add_offset(to, "offset", side->offset);
  text_add(to, ",");
  add_field(to, "name", side->name);
  text_addf(to, ",\"width\":%u}", side->width);
}

static void write_error(const struct profile_error *e, struct text *to) {
  text_addf(to, "{\"retval\":%lld,", (long long)e->retval);
  write_errnos(&e->errnos, to);
  text_addf(to, ",\"errno_unknown\":%s,\"wide\":%s,\"side\":[", truth(e->errno_unknown), truth(e->wide));
  const char *before = "";
  for (size_t i = 0; i < e->n_sides; i++) {
    if (e->sides[i].n_values == 0) continue;
    text_add(to, before);
    write_side(&e->sides[i], to);
    before = ",";
  }
  text_addf(to, "],\"confidence\":\"%s\",\"evidence\":[", profile_confidence_words[e->confidence]);
  for (size_t i = 0; i < e->n_evidence; i++) {
    text_add(to, i ? "," : "");
    text_add_json(to, e->evidence[i]);
  }
  text_add(to, "]}");
}

static void write_function(const struct profile_function *f, struct text *to) {
  text_add(to, "{");
  add_field(to, "name", f->name);
  text_add(to, ",");
  add_field(to, "version", f->version);
  if (f->syscall) text_addf(to, ",\"syscall\":%u", f->syscall - 1);
  text_add(to, ",\"errors\":[");
  for (size_t i = 0; i < f->n_errors; i++) {
    text_add(to, i ? ",\n   " : "\n   ");
    write_error(&f->errors[i], to);
  }
  text_addf(to, "],\"unknown\":%s,\"unknown_because\":[", truth(f->unknown));
  const char *before = "";
  for (size_t i = 0; i < profile_n_reasons; i++) {
    if (!(f->unknown & profile_reasons[i].bit)) continue;
    text_addf(to, "%s\"%s\"", before, profile_reasons[i].word);
    before = ",";
  }
  text_add(to, "]}");
}

/* "a b" as ["a","b"]: names that need no escaping (profile_is_words). */
static void add_words(struct text *to, const char *name, const char *words) {
  const char *before = "";
  text_addf(to, ",\"%s\":[", name);
  for (size_t n; words && *words; words += n) {
    words += strspn(words, " ");
    n = strcspn(words, " ");
    text_add(to, before);
    text_add(to, "\"");
    text_add_bytes(to, words, n);
    text_add(to, "\"");
    before = ",";
  }
  text_add(to, "]");
}

static void write_library(const struct profile_library *l, struct text *to) {
  text_add(to, "{");
  add_field(to, "name", l->name ? l->name : "");
  text_add(to, ",");
  add_field(to, "path", l->path);
  text_add(to, ",");
  add_field(to, "build_id", l->build_id);
  if (l->modules) {
    add_words(to, "modules", l->modules);
    add_words(to, "modules_missing", l->modules_missing);
    text_addf(to, ",\"functions_only\":%s", truth(l->functions_only));
  }
  text_add(to, ",\"functions\":[");
  for (size_t i = 0; i < l->n_functions; i++) {
    text_add(to, i ? ",\n  " : "\n  ");
    write_function(&l->functions[i], to);
  }
  text_add(to, "]}");
}

void profile_write_json(const struct profile *p, struct text *to) {
  text_addf(to, "{\"format\":%d,", PROFILE_FORMAT);
  add_field(to, "errno_module", p->errno_module);
  text_add(to, ",");
  if (p->errno_module)
    add_offset(to, "errno_offset", p->errno_offset);
  else
    add_field(to, "errno_offset", NULL);
  if (p->kernel) {
    text_add(to, ",");
    add_field(to, "kernel", p->kernel);
    text_add(to, ",");
    add_field(to, "kernel_note", p->kernel_note);
  }
  text_add(to, ",\"libraries\":[");
  for (size_t i = 0; i < p->n_libraries; i++) {
    text_add(to, i ? ",\n " : "\n ");
    write_library(&p->libraries[i], to);
  }
  text_add(to, "]}\n");
}
