/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report as JUnit's XML, which most CI systems show: a test for each finding, failed; one for each function without
 * findings, passed, or skipped if nothing of it was tried.
 */
#include "report/report_inside.h"

#include <inttypes.h>
#include <string.h>

static uint64_t left_of(const struct report *r, const char *function) {
  for (size_t i = 0; i < r->left.n; i++)
    if (strcmp(r->left.at[i].name, function) == 0) return r->left.at[i].n;
  return 0;
}

static bool has_finding(const struct report *r, const char *function) {
  for (size_t i = 0; i < r->findings.n; i++)
    if (strcmp(r->findings.at[i].is.function, function) == 0) return true;
  return false;
}

static void add_attribute(const char *name, const char *value, struct text *to) {
  text_addf(to, " %s=\"", name);
  text_add_xml(to, value);
  text_add(to, "\"");
}

static void add_finding(const struct report *r, const struct report_finding *f, struct text *to) {
  struct text title = {0}, body = {0}, name = {0};
  report_title(f, &title);
  report_text_finding(f, &body);
  (void)name_readable(f->is.function, &name);
  text_add(&name, " at ");
  report_place(report_site(f), &name);
  text_add(to, "    <testcase");
  add_attribute("classname", r->program, to);
  add_attribute("name", name.at ? name.at : "", to);
  text_add(to, ">\n      <failure");
  add_attribute("type", f->is.kind, to);
  add_attribute("message", title.at ? title.at : "", to);
  text_add(to, ">");
  text_add_xml(to, body.at ? body.at : "");
  text_add(to, "</failure>\n    </testcase>\n");
  to->failed |= title.failed || body.failed || name.failed;
  text_done(&title);
  text_done(&body);
  text_done(&name);
}

static void add_function(const struct report *r, const struct report_count *f, struct text *to) {
  struct text name = {0};
  (void)name_readable(f->name, &name);
  text_add(to, "    <testcase");
  add_attribute("classname", r->program, to);
  add_attribute("name", name.at ? name.at : f->name, to);
  to->failed |= name.failed;
  text_done(&name);
  uint64_t left = left_of(r, f->name);
  if (left < f->n)
    text_add(to, "/>\n");
  else
    text_addf(to, "><skipped message=\"%" PRIu64 " experiments were not made\"/></testcase>\n", left);
}

void report_junit(const struct report *r, struct text *to) {
  size_t passed = 0, skipped = 0;
  for (size_t i = 0; i < r->functions.n; i++) {
    if (has_finding(r, r->functions.at[i].name)) continue;
    passed++;
    skipped += left_of(r, r->functions.at[i].name) >= r->functions.at[i].n;
  }
  text_addf(to,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite tests=\"%zu\" failures=\"%zu\" "
            "skipped=\"%zu\" time=\"%.3f\"",
            r->findings.n + passed, r->findings.n, skipped, r->seconds);
  add_attribute("name", r->line, to);
  if (r->started[0]) add_attribute("timestamp", r->started, to);
  text_add(to, ">\n");
  for (size_t i = 0; i < r->findings.n; i++)
    add_finding(r, &r->findings.at[i], to);
  for (size_t i = 0; i < r->functions.n; i++)
    if (!has_finding(r, r->functions.at[i].name)) add_function(r, &r->functions.at[i], to);
  text_add(to, "  </testsuite>\n</testsuites>\n");
}
