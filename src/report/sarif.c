/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report as SARIF 2.1.0, for code scanning: a rule for each kind of failure, a result for each finding, at the call
 * that failed. Fingerprints leave out lines and addresses, so that a finding stays the same one when code moves.
 */
#include "report/report_inside.h"

#include "config.h"

#include <inttypes.h>
#include <string.h>

#define BASE "WORKDIR"

static const struct {
  const char *id, *name, *text, *level;
} rules[] = {
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

static void add_rules(struct text *t) {
  for (size_t i = 0; i < COUNT(rules); i++)
    text_addf(t,
              "%s{\"id\":\"%s\",\"name\":\"%s\",\"shortDescription\":{\"text\":\"%s\"},"
              "\"fullDescription\":{\"text\":\"%s\"},\"help\":{\"text\":\"%s\"},"
              "\"defaultConfiguration\":{\"level\":\"%s\"},\"properties\":{\"tags\":[\"reliability\","
              "\"error-handling\"],\"precision\":\"very-high\",\"problem.severity\":\"%s\"}}",
              i ? "," : "", rules[i].id, rules[i].name, rules[i].text, rules[i].text, rules[i].text, rules[i].level,
              rules[i].level);
}

/* Below the working folder relative to that, so that other machines find it too. */
static void add_artifact(const struct report *r, const char *path, struct text *to) {
  size_t n = strlen(r->cwd);
  const char *rest = *path == '/' ? NULL : path;
  if (n && strncmp(path, r->cwd, n) == 0 && path[n] == '/') rest = path + n + 1;
  while (rest && strncmp(rest, "./", 2) == 0)
    rest += 2;
  text_add(to, "\"artifactLocation\":{\"uri\":\"");
  if (!rest) text_add(to, "file://");
  text_add_uri(to, rest ? rest : path);
  text_add(to, rest && n ? "\",\"uriBaseId\":\"" BASE "\"}" : "\"}");
}

/* The name for people, and the symbol if that is another. */
static void add_logical(const char *symbol, struct text *to) {
  struct text name = {0};
  bool other = name_readable(symbol, &name);
  text_add(to, ",\"logicalLocations\":[{\"kind\":\"function\",\"name\":");
  text_add_json(to, name.at ? name.at : symbol);
  if (other) text_add(to, ",\"decoratedName\":");
  if (other) text_add_json(to, symbol);
  text_add(to, "}]");
  to->failed |= name.failed;
  text_done(&name);
}

static void add_location(const struct report *r, const struct store_frame *f, struct text *to) {
  text_add(to, "{\"physicalLocation\":{");
  if (f->file && f->line) {
    add_artifact(r, f->file, to);
    text_addf(to, ",\"region\":{\"startLine\":%u}", f->line);
  } else {
    add_artifact(r, f->path && f->path[0] ? f->path : r->program, to);
    text_addf(to,
              ",\"region\":{\"startLine\":1},\"address\":{\"absoluteAddress\":%" PRIu64 ",\"kind\":\"instruction\"}",
              f->offset);
  }
  text_add(to, "}");
  if (f->function) add_logical(f->function, to);
  text_add(to, "}");
}

static void add_stack(const struct report *r, const char *title, const struct report_stack *s, struct text *to) {
  size_t n = report_depth(s);
  text_addf(to, "{\"message\":{\"text\":\"%s\"},\"frames\":[", title);
  for (size_t i = 0; i < n; i++) {
    text_add(to, i ? ",{\"location\":" : "{\"location\":");
    add_location(r, &s->frames[i], to);
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

static void add_result(const struct report *r, const struct report_finding *f, struct text *to) {
  unsigned rule = rule_of(f);
  struct text message = {0};
  report_title(f, &message);
  if ((report_is_sanitizer(f) || report_is_limited(f)) && f->is.difference[0]) {
    text_add(&message, ": ");
    text_add_bytes(&message, f->is.difference, strcspn(f->is.difference, "\n"));
  }
  text_addf(&message, "; again: %s", f->replay);
  text_addf(to, "{\"ruleId\":\"%s\",\"ruleIndex\":%u,\"level\":\"%s\",\"message\":{\"text\":", rules[rule].id, rule,
            rules[rule].level);
  text_add_json(to, message.at ? message.at : "");
  to->failed |= message.failed;
  text_done(&message);
  text_add(to, "},\"locations\":[");
  add_location(r, report_site(f), to);
  text_add(to, "],\"stacks\":[");
  add_stack(r, f->first.n ? "the call that failed then" : "the call that failed", &f->inject, to);
  if (f->first.n) {
    text_add(to, ",");
    add_stack(r, "the call that failed first", &f->first, to);
  }
  if (f->crash.n) {
    text_add(to, ",");
    add_stack(r, report_ending(f), &f->crash, to);
  }
  text_addf(to, "],\"partialFingerprints\":{\"murphyFinding/v1\":\"%016" PRIx64 "\"}}", fingerprint(f));
}

void report_sarif(const struct report *r, struct text *to) {
  text_add(to, "{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\",\"version\":\"2.1.0\",\"runs\":[{"
               "\"tool\":{\"driver\":{\"name\":\"murphy\",\"version\":\"" MURPHY_VERSION "\",\"rules\":[");
  add_rules(to);
  text_add(to, "]}},\"columnKind\":\"unicodeCodePoints\",");
  if (r->cwd[0]) {
    text_add(to, "\"originalUriBaseIds\":{\"" BASE "\":{\"uri\":\"file://");
    text_add_uri(to, r->cwd);
    text_add(to, "/\"}},");
  }
  text_add(to, "\"results\":[");
  for (size_t i = 0; i < r->findings.n; i++) {
    text_add(to, i ? ",\n" : "\n");
    add_result(r, &r->findings.at[i], to);
  }
  text_add(to, "]}]}\n");
}
