/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Golden cases: scenarios in tests/unit/golden/scenario/, and what becomes of them, a plan in words or a message.
 *
 * `rules` holds rules, one behind each >, each with its result; NAME.xml has its result in NAME.plan. With
 * MURPHY_GOLDEN=write in the environment the results are written anew, so that a change of behaviour is a difference to
 * review. The examples of the manual are in `manual`.
 */
#include "tests/unit/made_world.h"

#include <dirent.h>
#include <unistd.h>

static const char *folder(void) {
  static char path[4096];
  const char *source = getenv("MURPHY_SOURCE");
  (void)snprintf(path, sizeof path, "%s/tests/unit/golden/scenario", source ? source : ".");
  return path;
}

static void slurp(const char *name, struct text *ret) {
  char *bytes;
  size_t size;
  struct err e = {0};
  if (file_read(name, 1 << 20, &bytes, &size, &e) < 0) fail_msg("%s (MURPHY_GOLDEN=write makes it)", e.text);
  text_add_bytes(ret, bytes, size);
  free(bytes);
}

/* The file is as the text, or is made so. */
static void compare(const char *path, const struct text *now) {
  const char *mode = getenv("MURPHY_GOLDEN");
  struct err e = {0};
  if (mode && strcmp(mode, "write") == 0) {
    assert_int_equal(file_write(path, now->at, now->n, &e), 0);
    return;
  }
  struct text before = {0};
  slurp(path, &before);
  size_t same = 0;
  while (same < before.n && same < now->n && before.at[same] == now->at[same])
    same++;
  if (same < before.n || same < now->n)
    fail_msg("%s differs from here on:\n%.200s\nit is now:\n%.200s", path, before.at + same, now->at + same);
  text_done(&before);
}

static void add_result(struct scenario *s, int r, struct err *e, struct text *to) {
  struct text plan = {0}, notes = {0};
  if (r >= 0) r = made_compile(s, 0, &notes, &plan, e);
  if (notes.n) text_addf(to, "note: %s\n", notes.at);
  if (r < 0)
    text_addf(to, "%s\n", e->text);
  else {
    const char *bad = wire_plan_check(plan.at, plan.n);
    if (bad) fail_msg("a plan with %s", bad);
    plan_dump(plan.at, to);
  }
  text_done(&notes);
  text_done(&plan);
  scenario_free(s);
}

static void rules_become_what_they_should(void **state) {
  (void)state;
  char path[4200];
  struct text before = {0}, now = {0};
  (void)snprintf(path, sizeof path, "%s/rules", folder());
  slurp(path, &before);
  unsigned n = 0;
  for (char *rest = before.at, *line; (line = strsep(&rest, "\n")) != NULL;) {
    if (line[0] == '#') text_addf(&now, "%s\n", line);
    if (line[0] != '>') continue;
    struct scenario *s = scenario_new();
    struct err e = {0};
    assert_non_null(s);
    text_addf(&now, "%s\n", line);
    add_result(s, scenario_add_rule(s, "--fail", line + 2, &e), &e, &now);
    n++;
  }
  assert_true(n > 50);
  compare(path, &now);
  text_done(&before);
  text_done(&now);
}

static int is_xml(const struct dirent *d) {
  size_t n = strlen(d->d_name);
  return n > 4 && strcmp(d->d_name + n - 4, ".xml") == 0;
}

static void files_become_what_they_should(void **state) {
  (void)state;
  struct dirent **list;
  char here[4096];
  assert_non_null(getcwd(here, sizeof here));
  assert_int_equal(chdir(folder()), 0); /* messages have names without folders */
  int n = scandir(".", &list, is_xml, alphasort);
  assert_true(n > 5);
  for (int i = 0; i < n; i++) {
    struct scenario *s = scenario_new();
    struct text now = {0};
    struct err e = {0};
    char path[300];
    assert_non_null(s);
    scenario_set_plugins(s, &made_plugins);
    add_result(s, scenario_load(s, list[i]->d_name, &e), &e, &now);
    (void)snprintf(path, sizeof path, "%.*s.plan", (int)(strlen(list[i]->d_name) - 4), list[i]->d_name);
    compare(path, &now);
    text_done(&now);
    free(list[i]);
  }
  free(list);
  assert_int_equal(chdir(here), 0);
}

/* What murphy-scenario(5) shows: literal blocks are scenarios, and --fail has a rule behind it in quotes. */
static void examples_of_the_manual_are_true(void **state) {
  (void)state;
  char path[4200];
  struct text manual = {0}, now = {0}, block = {0};
  unsigned blocks = 0, rules = 0;
  bool literal = false;
  const char *source = getenv("MURPHY_SOURCE");
  (void)snprintf(path, sizeof path, "%s/man/murphy-scenario.5", source ? source : ".");
  slurp(path, &manual);
  for (char *rest = manual.at, *line; (line = strsep(&rest, "\n")) != NULL;) {
    char *rule = strstr(line, "--fail \\(aq"), *end = rule ? strstr(rule + 11, "\\(aq") : NULL;
    struct err e = {0};
    if (strncmp(line, ".Bd -literal", 12) == 0) {
      literal = true;
      block.n = 0;
    } else if (literal && strcmp(line, ".Ed") == 0) {
      struct scenario *s = scenario_new();
      literal = false;
      text_addf(&now, "example %u\n", ++blocks);
      add_result(s, scenario_parse(s, "example", block.at, block.n, &e), &e, &now);
    } else if (literal) {
      text_addf(&block, "%s\n", line);
    } else if (end) {
      struct scenario *s = scenario_new();
      *end = '\0';
      text_addf(&now, "rule %u\n", ++rules);
      add_result(s, scenario_add_rule(s, "--fail", rule + 11, &e), &e, &now);
    }
  }
  assert_true(blocks >= 2 && rules >= 1);
  (void)snprintf(path, sizeof path, "%s/manual", folder());
  compare(path, &now);
  text_done(&manual);
  text_done(&now);
  text_done(&block);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rules_become_what_they_should),
      cmocka_unit_test(files_become_what_they_should),
      cmocka_unit_test(examples_of_the_manual_are_true),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
