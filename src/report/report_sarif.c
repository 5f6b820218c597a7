/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report as SARIF 2.1.0, for code scanning: a rule for each kind of failure, a result for each finding, at the call
 * that failed. Fingerprints leave out lines and addresses, so that a finding stays the same one when code moves.
 */
#include "report/report_inside.h"
#include "sarif/sarif.h"

#include <string.h>

static const struct sarif_rule rules[] = {
    {"crash", "CrashAfterFailure", "A failed library call makes the program crash.", "error"},
    {"sanitizer", "ReportAfterFailure", "A failed library call leads to an error that a sanitizer reports.", "error"},
    {"silent", "SilentFailure", "A failed library call changes results, and the program says nothing.", "error"},
    {"hang", "HangAfterFailure", "A failed library call makes the program hang.", "warning"},
    {"abort", "AbortAfterFailure", "A failed library call makes the program abort.", "warning"},
};

static unsigned rule_of(const struct report_finding *f) {
  for (unsigned i = 0; i < COUNT(rules); i++)
    if (strcmp(rules[i].id, f->is.kind) == 0) return i;
  return 0;
}

static struct sarif_location location_of(const struct report *r, const struct store_frame *f) {
  return (struct sarif_location){
      .file = f->file,
      .line = f->line,
      .binary = f->path && f->path[0] ? f->path : r->program,
      .address = f->offset,
      .function = f->function,
  };
}

static void add_stack(const struct report *r, const char *title, const struct report_stack *s, struct sarif *log) {
  size_t n = report_depth(s);
  struct text *to = log->to;
  text_addf(to, "{\"message\":{\"text\":\"%s\"},\"frames\":[", title);
  for (size_t i = 0; i < n; i++) {
    struct sarif_location at = location_of(r, &s->frames[i]);
    text_add(to, i ? ",{\"location\":" : "{\"location\":");
    sarif_add_location(log, &at);
    text_add(to, ",\"module\":");
    text_add_json(to, s->frames[i].module);
    text_add(to, "}");
  }
  text_add(to, "]}");
}

static uint64_t fingerprint(const struct report_finding *f) {
  const struct store_frame *at = report_site(f);
  uint64_t h = hash_mix(hash_string(f->is.kind) ^ hash_mix(hash_string(f->is.function)));
  h = hash_mix(h ^ hash_string(at->module));
  return hash_mix(h ^ (at->function ? hash_string(at->function) : at->offset));
}

static void add_result(const struct report *r, const struct report_finding *f, struct sarif *log) {
  struct sarif_location at = location_of(r, report_site(f));
  struct text message = {0};
  report_title(f, &message);
  if ((report_is_sanitizer(f) || report_is_limited(f)) && f->is.difference[0]) {
    text_add(&message, ": ");
    text_add_bytes(&message, f->is.difference, strcspn(f->is.difference, "\n"));
  }
  text_addf(&message, "; again: %s", f->replay);
  sarif_result(log, rule_of(f), NULL, &message, &at);
  text_done(&message);
  text_add(log->to, "\"stacks\":[");
  add_stack(r, f->first.n ? "the call that failed then" : "the call that failed", &f->inject, log);
  if (f->first.n) {
    text_add(log->to, ",");
    add_stack(r, "the call that failed first", &f->first, log);
  }
  if (f->crash.n) {
    text_add(log->to, ",");
    add_stack(r, report_ending(f), &f->crash, log);
  }
  text_add(log->to, "],");
  sarif_result_end(log, "murphyFinding/v1", fingerprint(f), NULL);
}

void report_sarif(const struct report *r, struct text *to) {
  struct sarif log = {.to = to, .folder = r->cwd[0] ? r->cwd : NULL, .dots = true};
  sarif_start(&log, rules, COUNT(rules), "very-high");
  for (size_t i = 0; i < r->findings.n; i++)
    add_result(r, &r->findings.at[i], &log);
  sarif_end(&log);
}
