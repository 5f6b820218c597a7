/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports of a database that was made by hand: what a program under test can put into names, outputs and paths must
 * come out as text in each form.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/report.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* Markup, quotes, an escape sequence, a byte that is not UTF-8. */
#define EVIL "<b>\"x\"&'\033[2J\xff"

static char folder[64];

static int set_up(void **state) {
  (void)state;
  strcpy(folder, "/tmp/report-XXXXXX");
  return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state) {
  (void)state;
  char command[128];
  (void)snprintf(command, sizeof command, "rm -rf %s", folder);
  return system(command);
}

static void add_finding(struct store *s, int64_t id, const char *kind, int signal, int64_t point) {
  struct store_experiment x = {.point = point,
                               .nth = 1,
                               .retval = -1,
                               .error = EIO,
                               .mode = id == 1 ? "exec" : "fork",
                               .outcome = kind,
                               .precision = 1,
                               .call = 7,
                               .process = 2,
                               .finding = id};
  assert_int_equal(store_add_experiment(s, &x, NULL), 0);
  struct store_finding f = {
      .id = id, .kind = kind, .signal = signal, .experiment = x.id, .precision = 1, .difference = "- a\n+ " EVIL "\n"};
  assert_int_equal(store_add_finding(s, &f, NULL), 0);
  struct store_frame frames[] = {{.module = "prog", .path = "/x/prog", .function = EVIL, .file = EVIL ".c", .line = 3},
                                 {.module = "libc.so.6", .function = "__libc_start_call_main", .offset = 0x10}};
  for (size_t i = 0; i < COUNT(frames); i++)
    assert_int_equal(store_add_frame(s, id, STORE_INJECT, i, &frames[i], NULL), 0);
}

static struct store *make_store(void) {
  struct store *s = NULL;
  struct store_point p = {.hash = 1, .function = "read", .count = 1};
  assert_int_equal(store_open(folder, true, &s, NULL), 0);
  assert_int_equal(store_add_point(s, &p, NULL), 0);
  assert_int_equal(store_set(s, "line", "prog '" EVIL "'", NULL), 0);
  assert_int_equal(store_set(s, "command", "[\"prog\"]", NULL), 0);
  assert_int_equal(store_set(s, "cwd", "/x/" EVIL, NULL), 0);
  assert_int_equal(store_set(s, "program", "/x/prog", NULL), 0);
  assert_int_equal(store_set(s, "state", "finished", NULL), 0);
  assert_int_equal(store_set(s, "left", "for lack of budget", NULL), 0);
  assert_int_equal(store_set(s, "seconds", "1.5", NULL), 0);
  add_finding(s, 1, "hang", 0, p.id);
  add_finding(s, 2, "crash", SIGSEGV, p.id);
  assert_int_equal(store_plan(s, "read", 5, NULL), 0);
  assert_int_equal(store_plan(s, "write", 4, NULL), 0);
  return s;
}

typedef void form(const struct report *r, struct text *to);

static char *made(form *f) {
  struct store *s = make_store();
  struct report r;
  struct text t = {0};
  struct err e = {0};
  if (report_load(s, "some folder", &r, &e) < 0) fail_msg("%s", e.text);
  f(&r, &t);
  assert_false(t.failed);
  report_done(&r);
  store_close(s);
  return t.at;
}

static void has(const char *text, const char *part) {
  if (!strstr(text, part)) fail_msg("no '%s' in: %s", part, text);
}

static void has_not(const char *text, const char *part) {
  if (strstr(text, part)) fail_msg("'%s' in: %s", part, text);
}

/* Why experiments were not made in a faster way, with their numbers if there are several. */
static void test_reasons(void **state) {
  (void)state;
  struct store *s = make_store();
  struct report r;
  struct text text = {0}, json = {0};
  assert_int_equal(store_set(s, "why_exec", "it is old", NULL), 0);
  assert_int_equal(store_set(s, "why_fork", "timers \"run\"", NULL), 0);
  static const char *const more[] = {"a", "b", "c", "d"};
  for (size_t i = 0; i < COUNT(more); i++) {
    char name[32];
    (void)snprintf(name, sizeof name, "why_fork: %s", more[i]);
    assert_int_equal(store_set(s, name, i < 2 ? "9" : "2", NULL), 0);
  }
  assert_int_equal(store_set(s, "why_fork: timers \"run\"", "10", NULL), 0);
  assert_int_equal(report_load(s, "some folder", &r, NULL), 0);
  report_text(&r, &text);
  has(text.at, "modes: 1 by exec (it is old), 1 by fork (10: timers \"run\"; 9: a; 9: b; 2: c; 2: others)\n");
  report_json(&r, &json);
  has(json.at, "\"reasons\":{\"exec\":{},\"fork\":{\"timers \\\"run\\\"\":10,\"a\":9,\"b\":9,\"c\":2,\"d\":2}}}");
  text_done(&text);
  text_done(&json);
  report_done(&r);
  store_close(s);
}

static void test_text(void **state) {
  (void)state;
  char *t = made(report_text);
  /* The worst first, under its own number. */
  assert_true(strncmp(t, "finding 2: crash (SIGSEGV) when read returns -1 with EIO\n", 57) == 0);
  has(t, "\nfinding 1: hang when");
  has(t, "again: murphy replay 2 --campaign 'some folder'\n");
  has(t, "2 findings; 2 of 9 experiments at 1 place in 1.5 s: 1 crash 1 hang\n"
         "findings are numbered as they were found, and the worst stand first\n");
  has(t, "7 experiments were not made for lack of budget: write 4, read 3\n");
  has(t, "modes: 1 by exec, 1 by fork\n");
  has_not(t, "__libc_start_call_main");
  has_not(t, "not finished");
  has_not(t, "\033[2J\xff.c:3");
  free(t);
}

static void test_doubts(void **state) {
  (void)state;
  struct store *s = make_store();
  struct report r;
  struct text t = {0}, json = {0}, html = {0};
  struct store_experiment x = {.point = 1, .nth = 1, .retval = 1, .mode = "exec", .act = "short"};
  const char *const doubts[] = {NULL, "it ended", "it is <b>" EVIL};
  for (size_t i = 0; i < COUNT(doubts); i++) {
    x.outcome = "hang";
    x.doubt = doubts[i];
    x.precision = i == 1 ? 0.33 : -1;
    assert_int_equal(store_add_experiment(s, &x, NULL), 0);
  }
  x.outcome = "silent";
  x.doubt = NULL;
  assert_int_equal(store_add_experiment(s, &x, NULL), 0);
  assert_int_equal(report_load(s, ".murphy", &r, NULL), 0);
  report_text(&r, &t);
  report_json(&r, &json);
  report_html(&r, &html);
  has(json.at, "\"act\":\"short\",\"file\":null,\"line\":null,\"site\":{\"function_in\":null,");
  has(json.at, "\"precision\":0.33,\"reason\":\"it ended\"");
  has(json.at, "\"precision\":null,\"reason\":\"it is ");
  has(html.at, "<li>hang when read does only 1 byte of what it is asked for at 0x0 (in no module): it ended</li>");
  has(html.at, "<pre>murphy test --resume</pre>");
  has_not(html.at, "did not come again");
  has(t.at, "murphy test --resume makes sure of those for which no time was left\n");
  has(t.at, "\n2 failures are no finding:\n  hang when read does only 1 byte of what it is asked for at 0x0 (in no "
            "module): it ended\n");
  has(t.at, "1 silent failure is no finding: where it came, it is custom not to look\n");
  has(json.at, "\"unconfirmed\":2,\"excused\":1,\"doubts\":[{\"kind\":\"hang\",\"function\":\"read\",");
  has_not(json.at, "\033");
  text_done(&t);
  text_done(&json);
  text_done(&html);
  report_done(&r);
  store_close(s);
}

static void test_folded(void **state) {
  (void)state;
  struct store *s = make_store();
  struct report r;
  struct text t = {0};
  assert_int_equal(report_load(s, ".murphy", &r, NULL), 0);
  r.columns = 40;
  report_text(&r, &t);
  has(t.at, "2 findings; 2 of 9 experiments at 1\n    place in 1.5 s: 1 crash 1 hang\n");
  has(t.at, "as they were\n    found, and the worst stand first\nmodes: 1 by exec, 1 by fork\n");
  text_done(&t);
  report_done(&r);
  store_close(s);
}

/* Where nothing was tried it is said why: no call was seen, or none of their errors is worth it. */
static void test_nothing_tried(void **state) {
  (void)state;
  struct report r = {.state = "finished", .notes = "", .points = 1, .resume = "", .left_why = ""};
  struct text t = {0};
  report_text(&r, &t);
  has(t.at, "nothing was tried: none of the errors of the calls that were seen is likely enough");
  text_done(&t);
  t = (struct text){0};
  r.points = 0;
  report_text(&r, &t);
  has(t.at, "nothing was tried: no call of the program itself that is known to fail was seen");
  text_done(&t);
}

static void test_json(void **state) {
  (void)state;
  char *t = made(report_json);
  has(t,
      "\"id\":2,\"kind\":\"crash\",\"signal\":\"SIGSEGV\",\"fault\":{\"function\":\"read\",\"call\":7,\"retval\":-1,");
  has(t, "\"modes\":{\"exec\":1,\"fork\":1,\"branch\":0,");
  has(t, "\"not_covered\":[{\"function\":\"write\",\"experiments\":4},{\"function\":\"read\",\"experiments\":3}]");
  has(t, "\"run\":\"murphy run 'some folder/findings/2/scenario.xml' -- ");
  has_not(t, "\033");
  has_not(t, "\xff");
  free(t);
}

static void test_junit(void **state) {
  (void)state;
  char *t = made(report_junit);
  has(t, "tests=\"3\" failures=\"2\" skipped=\"1\"");
  has(t, "<skipped message=\"4 experiments were not made\"/>");
  has(t, "&lt;b&gt;&quot;x&quot;&amp;");
  has_not(t, "<b>");
  has_not(t, "\033");
  free(t);
}

static void test_sarif(void **state) {
  (void)state;
  char *t = made(report_sarif);
  has(t, "\"ruleId\":\"crash\",\"ruleIndex\":0");
  has(t, "\"ruleId\":\"hang\",\"ruleIndex\":3");
  has(t, "%3Cb%3E%22x%22");
  has(t, "\"startLine\":3");
  has_not(t, "\033");
  free(t);
}

static void test_html(void **state) {
  (void)state;
  char *t = made(report_html);
  has(t, "<article class=\"crash\" id=\"finding-2\">");
  has(t, "&lt;b&gt;");
  has_not(t, "<b>");
  has_not(t, "<script");
  has(t, "1 by exec, 1 by fork");
  has_not(t, "http");
  free(t);
}

static void test_empty(void **state) {
  (void)state;
  struct store *s = NULL;
  form *const forms[] = {report_text, report_json, report_junit, report_sarif, report_html};
  assert_int_equal(store_open(folder, true, &s, NULL), 0);
  for (size_t i = 0; i < COUNT(forms); i++) {
    struct report r;
    struct text t = {0};
    assert_int_equal(report_load(s, ".murphy", &r, NULL), 0);
    forms[i](&r, &t);
    assert_false(t.failed);
    assert_true(t.n > 0);
    if (i == 0) has(t.at, "the campaign had not begun: murphy test without --resume begins anew\n");
    if (i == 0) has_not(t.at, "nothing was tried");
    text_done(&t);
    report_done(&r);
  }
  store_close(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_text, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_doubts, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_reasons, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_folded, set_up, tear_down),
      cmocka_unit_test(test_nothing_tried),
      cmocka_unit_test_setup_teardown(test_json, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_junit, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_sarif, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_html, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_empty, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
