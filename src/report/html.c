/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report as one page that needs nothing else: no script, no other file, light or dark as the reader has it. What
 * comes from the program under test is text and never markup.
 */
#include "report/report_inside.h"

#include <inttypes.h>
#include <string.h>

static const char style[] =
    ":root{color-scheme:light dark;--ink:#1d2328;--soft:#5c6873;--line:#d9dee3;--paper:#fff;--card:#f6f8fa;"
    "--bad:#b3261e;--warn:#8a5a00}"
    "@media(prefers-color-scheme:dark){:root{--ink:#e4e8ec;--soft:#9aa6b1;--line:#333c45;--paper:#14181c;"
    "--card:#1c2228;--bad:#ff8a80;--warn:#f0b860}}"
    "body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:62rem;"
    "margin:2rem auto;padding:0 1rem}"
    "h1{font-size:1.4rem;margin:0 0 .2rem}h2{font-size:1.1rem;margin:2rem 0 .5rem}p{margin:.3rem 0}"
    ".soft{color:var(--soft)}code,pre{font:13px/1.5 ui-monospace,monospace}"
    "pre{background:var(--paper);border:1px solid var(--line);border-radius:6px;padding:.5rem .7rem;overflow-x:auto;"
    "margin:.3rem 0 .8rem}"
    "article{background:var(--card);border:1px solid var(--line);border-left:4px solid var(--bad);border-radius:6px;"
    "padding:.8rem 1rem;margin:1rem 0}article.hang,article.abort{border-left-color:var(--warn)}"
    "article h3{font-size:1rem;margin:0 0 .4rem}table{border-collapse:collapse;width:100%}"
    "td,th{text-align:left;padding:.15rem .8rem .15rem 0;vertical-align:top}td.n{text-align:right;"
    "font-variant-numeric:tabular-nums;width:5rem}"
    ".bar{display:inline-block;height:.7rem;background:var(--soft);border-radius:3px;min-width:1px}"
    ".bar.bad{background:var(--bad)}ol{margin:.3rem 0;padding-left:1.6rem}ol li{font:13px/1.6 ui-monospace,monospace}"
    "summary{cursor:pointer;color:var(--soft)}";

static void add_tagged(const char *tag, const char *content, struct text *to) {
  text_addf(to, "<%s>", tag);
  text_add_xml(to, content);
  text_addf(to, "</%s>", tag);
}

static void add_row(const char *name, const char *value, struct text *to) {
  if (!value[0]) return;
  text_addf(to, "<tr><th scope=\"row\">%s</th><td><code>", name);
  text_add_xml(to, value);
  text_add(to, "</code></td></tr>\n");
}

/* --- a finding ---------------------------------------------------------------------------------------------------- */

static void add_stack(const char *title, const struct report_stack *s, struct text *to) {
  size_t n = report_depth(s);
  if (!n) return;
  text_addf(to, "<p class=\"soft\">%s</p>\n<ol>\n", title);
  for (size_t i = 0; i < n; i++) {
    struct text place = {0}, name = {0};
    report_place(&s->frames[i], &place);
    report_function(&s->frames[i], &name);
    text_add(to, "<li>");
    text_add_xml(to, name.at ? name.at : "");
    text_add(to, " <span class=\"soft\">");
    text_add_xml(to, place.at ? place.at : "");
    text_add(to, "</span></li>\n");
    to->failed |= place.failed || name.failed;
    text_done(&place);
    text_done(&name);
  }
  text_add(to, "</ol>\n");
}

static void add_finding(const struct report_finding *f, struct text *to) {
  struct text title = {0};
  report_title(f, &title);
  text_addf(to, "<article class=\"%s\" id=\"finding-%" PRId64 "\">\n<h3>%" PRId64 ". ", f->is.kind, f->is.id, f->is.id);
  text_add_xml(to, title.at ? title.at : "");
  text_add(to, "</h3>\n");
  to->failed |= title.failed;
  text_done(&title);
  add_stack("The call that failed first", &f->first, to);
  add_stack(f->first.n ? "The call that failed then" : "The call that failed", &f->inject, to);
  add_stack(strcmp(f->is.kind, "hang") == 0 ? "Where it hangs" : "Where it ended", &f->crash, to);
  if (f->is.difference[0]) {
    text_add(to, report_is_sanitizer(f) ? "<details open><summary>What the sanitizer says</summary>"
                 : report_is_limited(f) ? "<details open><summary>How it ended</summary>"
                                        : "<details><summary>What is different from a run without faults</summary>");
    add_tagged("pre", f->is.difference, to);
    text_add(to, "</details>\n");
  }
  text_add(to, "<p class=\"soft\">Again</p>");
  add_tagged("pre", f->replay, to);
  text_add(to, "<details><summary>Once, by the number of the call</summary>");
  add_tagged("pre", f->run, to);
  text_addf(to,
            "</details>\n<p class=\"soft\">%" PRIu64 " experiment%s; %.0f&#160;%% of repeats came out the same.</p>\n"
            "</article>\n",
            f->is.count, f->is.count == 1 ? "" : "s", f->is.precision * 100);
}

/* --- numbers ------------------------------------------------------------------------------------------------------ */

static const char *meaning(const char *outcome) {
  static const char *const words[][2] = {
      {"same", "nothing visible changed"},
      {"handled", "the program said that something failed"},
      {"crash", "a signal ended it"},
      {"abort", "it gave up by an assertion or abort"},
      {"hang", "it did not end"},
      {"silent", "results differ, and it said nothing"},
      {"sanitizer", "a sanitizer reported an error"},
      {"missed", "the call was not reached this time"},
  };
  for (size_t i = 0; i < COUNT(words); i++)
    if (strcmp(words[i][0], outcome) == 0) return words[i][1];
  return "";
}

static bool is_bad(const char *outcome) {
  return strcmp(outcome, "same") != 0 && strcmp(outcome, "handled") != 0 && strcmp(outcome, "missed") != 0;
}

static void add_outcomes(const struct report *r, struct text *to) {
  uint64_t most = 1;
  for (size_t i = 0; i < r->outcomes.n; i++)
    if (r->outcomes.at[i].n > most) most = r->outcomes.at[i].n;
  text_add(to, "<h2>What became of the experiments</h2>\n<table>\n");
  for (size_t i = 0; i < r->outcomes.n; i++) {
    const struct report_count *c = &r->outcomes.at[i];
    text_addf(to,
              "<tr><td>%s</td><td class=\"n\">%" PRIu64 "</td><td><span class=\"bar%s\" style=\"width:%.1frem\"></span>"
              " <span class=\"soft\">%s</span></td></tr>\n",
              c->name, c->n, is_bad(c->name) ? " bad" : "", 12.0 * (double)c->n / (double)most, meaning(c->name));
  }
  text_add(to, "</table>\n");
  struct text modes = {0};
  report_modes(r, &modes);
  if (modes.n) text_add(to, "<p class=\"soft\">");
  if (modes.n) text_add_xml(to, modes.at);
  if (modes.n) text_add(to, "</p>\n");
  to->failed |= modes.failed;
  text_done(&modes);
}

static void add_doubts(const struct report *r, struct text *to) {
  if (!r->doubts.n) return;
  text_add(to, "<h2>Failures that are no findings</h2>\n<ol>\n");
  for (size_t i = 0; i < r->doubts.n; i++) {
    struct text doubt = {0};
    report_doubt(&r->doubts.at[i], &doubt);
    add_tagged("li", doubt.at ? doubt.at : "", to);
    text_add(to, "\n");
    to->failed |= doubt.failed;
    text_done(&doubt);
  }
  text_add(to, "</ol>\n");
  if (!report_is_unsure(r)) return;
  text_add(to, "<p class=\"soft\">To make sure of those for which no time was left</p>");
  add_tagged("pre", r->resume, to);
}

static void add_left(const struct report *r, struct text *to) {
  if (!r->left.n) return;
  text_add(to, "<h2>What was not tried</h2>\n<details><summary>Functions and experiments");
  if (strcmp(r->state, "finished") == 0 && r->left_why[0]) text_add(to, ", ");
  if (strcmp(r->state, "finished") == 0) text_add_xml(to, r->left_why);
  text_add(to, "</summary>\n<table>\n");
  for (size_t i = 0; i < r->left.n; i++) {
    text_add(to, "<tr><td><code>");
    struct text name = {0};
    (void)name_readable(r->left.at[i].name, &name);
    text_add_xml(to, name.at ? name.at : r->left.at[i].name);
    to->failed |= name.failed;
    text_done(&name);
    text_addf(to, "</code></td><td class=\"n\">%" PRIu64 "</td></tr>\n", r->left.at[i].n);
  }
  text_add(to, "</table></details>\n");
}

static void add_surroundings(const struct report *r, struct text *to) {
  text_add(to, "<h2>Surroundings</h2>\n<table>\n");
  add_row("Program", r->program, to);
  add_row("Build", r->build_id, to);
  add_row("Folder", r->cwd, to);
  add_row("Kernel", r->kernel, to);
  add_row("murphy", r->murphy, to);
  add_row("Begun", r->started, to);
  add_row("Notes", r->notes, to);
  text_add(to, "</table>\n");
}

void report_html(const struct report *r, struct text *to) {
  text_add(to, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
               "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>murphy: ");
  text_add_xml(to, r->line);
  text_addf(to, "</title>\n<style>%s</style>\n</head>\n<body>\n<h1><code>", style);
  text_add_xml(to, r->line);
  text_addf(to,
            "</code></h1>\n<p>%zu finding%s in %" PRIu64 " of %" PRIu64 " experiments at %" PRIu64
            " places, %.1f&#160;s%s</p>\n",
            r->findings.n, r->findings.n == 1 ? "" : "s", r->done, r->planned, r->points, r->seconds,
            strcmp(r->state, "finished") == 0 ? "" : " (not finished)");
  if (r->findings.n) text_add(to, "<h2>Findings</h2>\n");
  for (size_t i = 0; i < r->findings.n; i++)
    add_finding(&r->findings.at[i], to);
  add_outcomes(r, to);
  add_doubts(r, to);
  add_left(r, to);
  add_surroundings(r, to);
  text_add(to, "</body>\n</html>\n");
}
