/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The result of murphy test, for people and for scripts.
 */
#include "cmd/test.h"

#include <inttypes.h>
#include <stdlib.h>
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

/* --- the command that does it again ------------------------------------------------------------------------------- */

static void add_quoted(const char *s, struct text *to) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,@%+";
  if (*s && strspn(s, plain) == strlen(s)) {
    text_add(to, s);
    return;
  }
  text_add(to, "'");
  for (; *s; s++)
    if (*s == '\'')
      text_add(to, "'\\''");
    else
      text_add_bytes(to, s, 1);
  text_add(to, "'");
}

static void add_replay(const struct test_record *r, const struct test_finding *f, struct text *to) {
  const char *name = f->error ? errno_name(f->error) : NULL;
  text_addf(to, "murphy run --fail '%s:ret=%" PRId64, f->function, f->retval);
  if (name && f->retval != f->error) text_addf(to, " errno=%s", name);
  text_addf(to, " when call%s%" PRIu64, f->onwards ? ">=" : "==", f->call);
  if (f->process > 1) text_addf(to, " and process==%" PRIu32, f->process);
  text_addf(to, "'%s --", r->about.follow ? " --follow" : "");
  for (char *const *p = r->about.command; *p; p++) {
    text_add(to, " ");
    add_quoted(*p, to);
  }
}

/* --- for people --------------------------------------------------------------------------------------------------- */

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

static void add_finding(const struct test_record *r, const struct test_finding *f, size_t number, struct text *to) {
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
  text_add(to, "    again: ");
  add_replay(r, f, to);
  text_addf(to, "\n    %" PRIu64 " experiment%s, %.0f %% of repeats the same\n\n", f->count, f->count == 1 ? "" : "s",
            f->precision * 100);
}

/* What the budget left out, by function: the most of it first. */
static void add_not_covered(const struct test_record *r, struct text *to, bool json) {
  const struct test_space *s = r->about.space;
  const struct wire_plan *plan = (const struct wire_plan *)s->plan.at;
  size_t total = 0, n = plan->functions.n;
  size_t *left = calloc(n + 1, sizeof *left);
  if (!left) {
    to->failed = true;
    return;
  }
  for (size_t i = 0; i < r->about.n_experiments; i++)
    if (!r->was_done[i]) {
      left[s->faults.at[r->about.experiments[i].fault].function]++;
      total++;
    }
  if (total && !json) text_addf(to, "%zu experiments were not made for lack of budget:", total);
  for (bool first = true;; first = false) {
    size_t most = n;
    for (size_t i = 0; i < n; i++)
      if (left[i] && (most == n || left[i] > left[most])) most = i;
    if (most == n) break;
    const char *name = test_function(s, (uint32_t)most);
    text_addf(to, json ? "%s{\"function\":\"%s\",\"experiments\":%zu}" : "%s %s %zu", first ? "" : ",", name,
              left[most]);
    left[most] = 0;
  }
  if (total && !json) text_add(to, "\n");
  free(left);
}

/* How experiments were made, and why not all in the fastest way. */
static void add_modes(const struct test_record *r, struct text *to) {
  bool first = true;
  for (int i = LAB_MODES - 1; i >= 0; i--) {
    if (!r->modes[i]) continue;
    text_addf(to, "%s%zu by %s", first ? "made: " : ", ", r->modes[i], lab_mode_words[i]);
    first = false;
  }
  if (!first) text_addf(to, "%s%s%s\n", r->why[0] ? " (" : "", r->why, r->why[0] ? ")" : "");
}

void test_write_text(const struct test_record *r, struct text *to) {
  for (size_t i = 0; i < r->findings.n; i++)
    add_finding(r, &r->findings.at[i], i + 1, to);
  if (r->about.baseline->notes.n) text_add(to, r->about.baseline->notes.at);
  text_addf(to, "%zu finding%s; %zu of %zu experiments at %zu places in %.1f s:", r->findings.n,
            r->findings.n == 1 ? "" : "s", r->done, r->about.n_experiments, r->about.space->points.n, r->seconds);
  for (int i = 0; i < OUTCOMES; i++)
    if (r->outcomes[i]) text_addf(to, " %zu %s", r->outcomes[i], outcome_words[i]);
  text_add(to, "\n");
  add_modes(r, to);
  add_not_covered(r, to, false);
  if (r->unconfirmed)
    text_addf(to, "%zu failure%s did not come again when repeated\n", r->unconfirmed, r->unconfirmed == 1 ? "" : "s");
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

/* The call itself: the first frame that is not a library's wrapper of it. */
static void add_json_site(const struct test_finding *f, struct text *to) {
  const struct test_frame none = {.module = ""}, *at = f->inject.n ? &f->inject.frames[0] : &none;
  text_add(to, ",\"site\":{\"function_in\":");
  if (at->function)
    text_add_json(to, at->function);
  else
    text_add(to, "null");
  text_add(to, ",\"file\":");
  if (at->file)
    text_add_json(to, at->file);
  else
    text_add(to, "null");
  text_addf(to, ",\"line\":%s", at->line ? "" : "null");
  if (at->line) text_addf(to, "%u", at->line);
  text_add(to, ",\"module\":");
  text_add_json(to, at->module);
  text_addf(to, ",\"offset\":\"0x%" PRIx64 "\"}", at->offset);
}

static void add_json_finding(const struct test_record *r, const struct test_finding *f, size_t number,
                             struct text *to) {
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
  text_add(to, "}");
  add_json_site(f, to);
  text_add(to, ",\"inject_stack\":");
  add_json_stack(&f->inject, to);
  text_add(to, ",\"crash_stack\":");
  add_json_stack(&f->crash, to);
  text_addf(to, ",\"count\":%" PRIu64 ",\"precision\":%.2f,\"replay\":", f->count, f->precision);
  struct text replay = {0};
  add_replay(r, f, &replay);
  text_add_json(to, replay.at ? replay.at : "");
  text_done(&replay);
  text_add(to, "}");
}

void test_write_json(const struct test_record *r, struct text *to) {
  text_add(to, "{\"command\":[");
  for (char *const *p = r->about.command; *p; p++) {
    if (p != r->about.command) text_add(to, ",");
    text_add_json(to, *p);
  }
  text_addf(
      to, "],\"points\":%zu,\"experiments\":%zu,\"seconds\":%.3f,\"modes\":{\"exec\":%zu,\"fork\":%zu,\"branch\":%zu",
      r->about.space->points.n, r->done, r->seconds, r->modes[LAB_EXEC], r->modes[LAB_FORK], r->modes[LAB_BRANCH]);
  text_add(to, ",\"why\":");
  text_add_json(to, r->why);
  text_add(to, "}");
  const struct lab_result *first = &r->about.baseline->runs[0];
  text_addf(to, ",\"baseline\":{\"status\":%d,\"seconds\":%.6f,\"memory\":%" PRIu64 ",\"files\":%zu}",
            first->seen.status, (double)r->about.baseline->wall_ns / 1e9, first->memory, first->seen.entries.n);
  text_add(to, ",\"not_covered\":[");
  add_not_covered(r, to, true);
  text_add(to, "],\"findings\":[");
  for (size_t i = 0; i < r->findings.n; i++) {
    if (i) text_add(to, ",");
    add_json_finding(r, &r->findings.at[i], i + 1, to);
  }
  text_add(to, "]}\n");
}
