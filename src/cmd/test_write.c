/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The result of murphy test, for people and for scripts.
 */
#include "cmd/test.h"

#include <inttypes.h>
#include <string.h>

enum { SHOWN_FRAMES = 8 };

static void add_frame(const struct test_frame *f, struct text *to) {
  text_add(to, "      ");
  text_add_plain(to, f->function ? f->function : f->module);
  if (f->file && f->line) {
    text_add(to, "  ");
    text_add_plain(to, f->file);
    text_addf(to, ":%u", f->line);
  } else {
    text_addf(to, "  %s+0x%" PRIx64, f->module, f->offset);
  }
  text_add(to, "\n");
}

/* What lies between the program's start and main tells nothing. */
static bool is_start(const struct test_frame *f) {
  return f->function && (strncmp(f->function, "__libc_start", 12) == 0 || strcmp(f->function, "_start") == 0);
}

static void add_stack(const char *title, const struct test_stack *s, struct text *to) {
  if (!s->n) return;
  text_addf(to, "    %s\n", title);
  size_t shown = 0;
  for (size_t i = 0; i < s->n && shown < SHOWN_FRAMES && !is_start(&s->frames[i]); i++, shown++)
    add_frame(&s->frames[i], to);
}

static void add_title(const struct test_finding *f, size_t number, struct text *to) {
  const char *name = f->error ? errno_name(f->error) : NULL;
  text_addf(to, "%zu. %s", number, outcome_words[f->kind]);
  if (f->signal && signal_name(f->signal)) text_addf(to, " (%s)", signal_name(f->signal));
  text_addf(to, " when %s", f->function);
  text_addf(to, " returns %" PRId64, f->retval);
  if (name) text_addf(to, " with %s", name);
  if (f->onwards) text_add(to, ", from then on every time");
  text_add(to, "\n");
}

static void add_finding(const struct test_finding *f, size_t number, struct text *to) {
  add_title(f, number, to);
  add_stack("the call that failed:", &f->inject, to);
  add_stack(f->kind == OUTCOME_HANG ? "where it hangs:" : "where it ended:", &f->crash, to);
  if (f->kind == OUTCOME_SILENT && f->difference) {
    text_add(to, "    what is different:\n");
    for (const char *p = f->difference; *p;) {
      size_t n = strcspn(p, "\n");
      text_add(to, "      ");
      text_add_bytes(to, p, n);
      text_add(to, "\n");
      p += n + (p[n] == '\n');
    }
  }
  text_addf(to, "    %" PRIu64 " experiment%s, %.0f %% of repeats the same\n\n", f->count, f->count == 1 ? "" : "s",
            f->precision * 100);
}

void test_write_text(const struct test_record *r, struct text *to) {
  for (size_t i = 0; i < r->findings.n; i++)
    add_finding(&r->findings.at[i], i + 1, to);
  if (r->about.baseline->notes.n) text_add(to, r->about.baseline->notes.at);
  text_addf(to, "%zu finding%s; %zu of %zu experiments at %zu places in %.1f s:", r->findings.n,
            r->findings.n == 1 ? "" : "s", r->done, r->about.n_experiments, r->about.space->points.n, r->seconds);
  for (int i = 0; i < OUTCOMES; i++)
    if (r->outcomes[i]) text_addf(to, " %zu %s", r->outcomes[i], outcome_words[i]);
  text_add(to, "\n");
}

static void add_json_stack(const struct test_stack *s, struct text *to) {
  text_add(to, "[");
  for (size_t i = 0; i < s->n; i++) {
    const struct test_frame *f = &s->frames[i];
    text_addf(to, "%s{\"module\":", i ? "," : "");
    text_add_json(to, f->module);
    text_addf(to, ",\"offset\":\"0x%" PRIx64 "\",\"symbol\":", f->offset);
    if (f->function)
      text_add_json(to, f->function);
    else
      text_add(to, "null");
    text_add(to, ",\"file\":");
    if (f->file)
      text_add_json(to, f->file);
    else
      text_add(to, "null");
    text_addf(to, ",\"line\":%s", f->line ? "" : "null");
    if (f->line) text_addf(to, "%u", f->line);
    text_add(to, "}");
  }
  text_add(to, "]");
}

static void add_json_finding(const struct test_finding *f, size_t number, struct text *to) {
  const char *name = f->error ? errno_name(f->error) : NULL;
  text_addf(to, "{\"id\":%zu,\"kind\":\"%s\",\"signal\":", number, outcome_words[f->kind]);
  if (f->signal && signal_name(f->signal))
    text_add_json(to, signal_name(f->signal));
  else
    text_add(to, "null");
  text_add(to, ",\"fault\":{\"function\":");
  text_add_json(to, f->function);
  text_addf(to, ",\"call\":%" PRIu64 ",\"retval\":%" PRId64 ",\"errno\":", f->call, f->retval);
  if (name)
    text_add_json(to, name);
  else
    text_add(to, "null");
  text_add(to, "},\"inject_stack\":");
  add_json_stack(&f->inject, to);
  text_add(to, ",\"crash_stack\":");
  add_json_stack(&f->crash, to);
  text_addf(to, ",\"count\":%" PRIu64 ",\"precision\":%.2f}", f->count, f->precision);
}

void test_write_json(const struct test_record *r, struct text *to) {
  text_add(to, "{\"command\":[");
  for (char *const *p = r->about.command; *p; p++) {
    if (p != r->about.command) text_add(to, ",");
    text_add_json(to, *p);
  }
  text_addf(to,
            "],\"points\":%zu,\"experiments\":%zu,\"seconds\":%.3f,\"modes\":{\"exec\":%zu,\"fork\":0,\"branch\":0}",
            r->about.space->points.n, r->done, r->seconds, r->done);
  text_add(to, ",\"findings\":[");
  for (size_t i = 0; i < r->findings.n; i++) {
    if (i) text_add(to, ",");
    add_json_finding(&r->findings.at[i], i + 1, to);
  }
  text_add(to, "]}\n");
}
