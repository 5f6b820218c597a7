/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of a test's plan: each way in which a function can fail, or do less than it was asked to. Which of them an
 * experiment is about is said in the area.
 */
#include "cmd/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { RULE_MAX = 256 };

/* WAY is what stands behind the colon of a rule. A name that is too long is left out. */
static bool write_rule(const char *name, const char *way, char ret[RULE_MAX]) {
  return snprintf(ret, RULE_MAX, "%s:%s when ordered", name, way) < RULE_MAX;
}

/* Does the rule alone compile? Some functions cannot be intercepted, of others no error is known. */
static bool accepts(const struct test_space *s, const char *rule) {
  struct scenario *one = scenario_new();
  struct text plan = {0};
  bool good = one && scenario_add_rule(one, "murphy", rule, NULL) >= 0;
  if (good) {
    struct scenario_world w = s->world.world;
    w.n_rows = 0;
    w.area = w.preload = "";
    good = plan_compile(one, &w, &plan, NULL) >= 0;
  }
  text_done(&plan);
  scenario_free(one);
  return good;
}

/* 1 if the rule was added. */
static int add_way(struct test_space *s, const char *name, const char *way, struct err *e) {
  char rule[RULE_MAX];
  if (!write_rule(name, way, rule) || !accepts(s, rule)) return 0;
  int r = scenario_add_rule(s->scenario, "murphy", rule, e);
  return r < 0 ? r : 1;
}

/* Behind the real call, where that does its work anyway. */
static const char *then_of(const struct test_space *s, const char *name) {
  return profile_facts_done(s->facts, name) ? "then " : "";
}

static int add_profile(struct test_space *s, const char *name, struct err *e) {
  char way[RULE_MAX];
  (void)snprintf(way, sizeof way, "%sprofile", then_of(s, name));
  return add_way(s, name, way, e);
}

/*
 * A stream calls what reads and writes through pointers, so that the profile has no errnos; but there always is one,
 * and who returns it negated to its caller would return success without. How many were added.
 */
static int add_errnos(struct test_space *s, const char *name, struct err *e) {
  char way[RULE_MAX];
  int n = 0, r = 0;
  for (int error = 1; error < ERRNO_MAX && r >= 0; error++) {
    if (!errno_name(error) || !site_likely_names(s->likely, name, error, -1)) continue;
    (void)snprintf(way, sizeof way, "%s%s", then_of(s, name), errno_name(error));
    r = add_way(s, name, way, e);
    n += r > 0;
  }
  return r < 0 ? r : n;
}

static int add_failures(struct test_space *s, const char *name, const struct profile_roles *is, struct err *e) {
  if (is->throws) return add_way(s, name, "throw", e);
  bool stream = is->stream >= 0 || is->variable || is->emptied >= 0;
  int r = stream ? add_errnos(s, name, e) : 0;
  return r == 0 ? add_profile(s, name, e) : r;
}

int test_add_rules(struct test_space *s, const char *name, struct err *e) {
  struct profile_roles is = profile_facts_roles(s->facts, site_likely_written(s->likely, name));
  int r = add_failures(s, name, &is, e);
  if (r >= 0 && site_likely_names(s->likely, name, 0, TEST_SHORT)) {
    char way[RULE_MAX];
    (void)snprintf(way, sizeof way, "short=%d", TEST_SHORT);
    r = add_way(s, name, way, e);
  }
  return r < 0 ? r : 0;
}

int test_name_rule(struct scenario *to, const char *name, struct err *e) {
  char rule[RULE_MAX];
  return write_rule(name, "profile", rule) ? scenario_add_rule(to, "murphy", rule, e) : 0;
}
