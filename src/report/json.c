/* SPDX-License-Identifier: Apache-2.0 */
/* The report for scripts. Fields may be added, never renamed or removed. */
#include "report/report_inside.h"

#include <inttypes.h>
#include <string.h>

static void add_text(const char *key, const char *value, struct text *to) {
  text_addf(to, "\"%s\":", key);
  if (value)
    text_add_json(to, value);
  else
    text_add(to, "null");
}

static void add_line(const struct store_frame *f, struct text *to) {
  text_addf(to, ",\"line\":%s", f->line ? "" : "null");
  if (f->line) text_addf(to, "%u", f->line);
}

static void add_stack(const struct report_stack *s, struct text *to) {
  text_add(to, "[");
  for (size_t i = 0; i < s->n; i++) {
    const struct store_frame *f = &s->frames[i];
    text_add(to, i ? ",{" : "{");
    add_text("module", f->module, to);
    text_addf(to, ",\"offset\":\"0x%" PRIx64 "\",", f->offset);
    add_text("symbol", f->function, to);
    text_add(to, ",");
    add_text("file", f->file, to);
    add_line(f, to);
    text_add(to, "}");
  }
  text_add(to, "]");
}

static void add_site(const struct store_frame *at, struct text *to) {
  text_add(to, ",\"site\":{");
  add_text("function_in", at->function, to);
  text_add(to, ",");
  add_text("file", at->file, to);
  add_line(at, to);
  text_add(to, ",");
  add_text("module", at->module, to);
  text_addf(to, ",\"offset\":\"0x%" PRIx64 "\"}", at->offset);
}

/* The fault before it, of two; null if there was one fault only. */
static void add_first(const struct report_finding *f, struct text *to) {
  const struct store_first *first = &f->is.first;
  text_add(to, first->function ? ",\"first\":{" : ",\"first\":null");
  if (!first->function) return;
  add_text("function", first->function, to);
  text_addf(to, ",\"call\":%" PRIu64 ",\"retval\":%" PRId64 ",", first->call, first->retval);
  add_text("errno", first->error ? errno_name(first->error) : NULL, to);
  text_add(to, ",");
  add_text("act", first->act, to);
  text_addf(to, ",\"nth\":%" PRIu64 ",\"process\":%" PRIu32 ",\"stack\":", first->nth, first->process);
  add_stack(&f->first, to);
  text_add(to, "}");
}

static void add_finding(const struct report_finding *f, struct text *to) {
  text_addf(to, "{\"id\":%" PRId64 ",\"kind\":\"%s\",", f->is.id, f->is.kind);
  add_text("signal", f->is.signal ? signal_name(f->is.signal) : NULL, to);
  text_add(to, ",\"fault\":{");
  add_text("function", f->is.function, to);
  text_addf(to, ",\"call\":%" PRIu64 ",\"retval\":%" PRId64 ",", f->is.call, f->is.retval);
  add_text("errno", f->is.error ? errno_name(f->is.error) : NULL, to);
  text_add(to, ",");
  add_text("act", f->is.act, to);
  text_addf(to, ",\"nth\":%" PRIu64 ",\"onwards\":%s,\"process\":%" PRIu32 "}", f->is.nth,
            f->is.onwards ? "true" : "false", f->is.process);
  add_first(f, to);
  add_site(report_site(f), to);
  text_add(to, ",\"inject_stack\":");
  add_stack(&f->inject, to);
  text_add(to, ",\"crash_stack\":");
  add_stack(&f->crash, to);
  text_addf(to, ",\"count\":%" PRIu64 ",\"precision\":%.2f,", f->is.count, f->is.precision);
  text_addf(to, "\"interpreter\":%s,", f->foreign ? "true" : "false");
  add_text("difference", f->is.difference, to);
  text_add(to, ",");
  add_text("replay", f->replay, to);
  text_add(to, ",");
  add_text("run", f->run, to);
  text_add(to, "}");
}

static uint64_t count_of(const struct report *r, const char *mode) {
  for (size_t i = 0; i < r->modes.n; i++)
    if (strcmp(r->modes.at[i].name, mode) == 0) return r->modes.at[i].n;
  return 0;
}

/* Failures that are no findings. */
static void add_doubts(const struct report *r, struct text *to) {
  text_add(to, "\"doubts\":[");
  for (size_t i = 0; i < r->doubts.n; i++) {
    const struct store_doubt *d = &r->doubts.at[i];
    const struct store_frame at = {
        .module = d->module, .function = d->in, .file = d->file, .offset = d->offset, .line = d->line};
    text_add(to, i ? ",{" : "{");
    add_text("kind", d->outcome, to);
    text_add(to, ",");
    add_text("function", d->function, to);
    text_addf(to, ",\"retval\":%" PRId64 ",", d->retval);
    add_text("errno", d->error ? errno_name(d->error) : NULL, to);
    text_add(to, ",");
    add_text("act", d->act, to);
    text_add(to, ",");
    add_text("file", d->file, to);
    add_line(&at, to);
    add_site(&at, to);
    text_add(to, d->precision < 0 ? ",\"precision\":null," : ",\"precision\":");
    if (d->precision >= 0) text_addf(to, "%.2f,", d->precision);
    add_text("reason", d->why, to);
    text_add(to, "}");
  }
  text_add(to, "],");
}

static void add_reasons(const struct report *r, const char *mode, struct text *to) {
  bool first = true;
  for (size_t i = 0; i < r->reasons.n; i++) {
    const char *reason = report_reason(&r->reasons.at[i], mode);
    if (!reason) continue;
    if (!first) text_add(to, ",");
    text_add_json(to, reason);
    text_addf(to, ":%" PRIu64, r->reasons.at[i].n);
    first = false;
  }
}

void report_json(const struct report *r, struct text *to) {
  text_addf(to, "{\"command\":%s,\"baseline\":%s", r->command[0] ? r->command : "[]",
            r->baseline[0] ? r->baseline : "{}");
  text_addf(to, ",\"points\":%" PRIu64 ",\"planned\":%" PRIu64 ",\"experiments\":%" PRIu64 ",\"seconds\":%.3f",
            r->points, r->planned, r->done, r->seconds);
  text_addf(to, ",\"modes\":{\"exec\":%" PRIu64 ",\"fork\":%" PRIu64 ",\"branch\":%" PRIu64 ",", count_of(r, "exec"),
            count_of(r, "fork"), count_of(r, "branch"));
  add_text("why", r->why_exec[0] ? r->why_exec : r->why_fork, to);
  text_add(to, ",");
  add_text("why_exec", r->why_exec, to);
  text_add(to, ",");
  add_text("why_fork", r->why_fork, to);
  text_add(to, ",\"reasons\":{\"exec\":{");
  add_reasons(r, "exec", to);
  text_add(to, "},\"fork\":{");
  add_reasons(r, "fork", to);
  text_add(to, "}}},\"outcomes\":{");
  for (size_t i = 0; i < r->outcomes.n; i++)
    text_addf(to, "%s\"%s\":%" PRIu64, i ? "," : "", r->outcomes.at[i].name, r->outcomes.at[i].n);
  text_addf(to, "},\"unconfirmed\":%" PRIu64 ",", r->unconfirmed);
  text_addf(to, "\"excused\":%" PRIu64 ",", r->excused);
  add_doubts(r, to);
  text_addf(to, "\"pairs\":%" PRIu64 ",", r->pairs);
  add_text("state", r->state, to);
  text_add(to, ",\"not_covered\":[");
  for (size_t i = 0; i < r->left.n; i++) {
    text_add(to, i ? ",{" : "{");
    add_text("function", r->left.at[i].name, to);
    text_addf(to, ",\"experiments\":%" PRIu64 "}", r->left.at[i].n);
  }
  text_add(to, "],\"findings\":[");
  for (size_t i = 0; i < r->findings.n; i++) {
    if (i) text_add(to, ",");
    add_finding(&r->findings.at[i], to);
  }
  text_add(to, "]}\n");
}
