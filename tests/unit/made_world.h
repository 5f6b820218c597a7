/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small world for scenarios to be compiled against: functions with a profile, two modules, some code.
 */
#pragma once

#include "scenario/scenario.h"

#include <errno.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char made_profile[] =
    "<profile format=\"1\"><library name=\"libmade.so.1\">"
    "<function name=\"close\"><error-codes retval=\"-1\"><side-effect errno=\"EIO\"/><side-effect errno=\"EBADF\"/>"
    "</error-codes></function>"
    "<function name=\"malloc\"><error-codes retval=\"0\"><side-effect errno=\"ENOMEM\"/></error-codes></function>"
    "<function name=\"read\"><error-codes retval=\"-1\"><side-effect errno=\"EIO\"/><side-effect errno=\"EINTR\"/>"
    "</error-codes></function>"
    "</library></profile>";

static const char *const made_functions[] = {"close", "malloc", "read"};

static const char *made_data(void) {
  const char *data = getenv("MURPHY_DATA");
  return data ? data : "data";
}

/* Compiles S into *ret; the result of plan_compile. */
static int made_compile(const struct scenario *s, struct text *ret, struct err *e) {
  struct profile profile;
  assert_int_equal(profile_parse("made", made_profile, sizeof made_profile - 1, &profile, e), 0);
  struct scenario_world world = {
      .profile = &profile,
      .data = made_data(),
      .functions = made_functions,
      .n_functions = COUNT(made_functions),
      .area = "/area",
      .preload = "/shim.so",
  };
  int r = plan_compile(s, &world, ret, e);
  profile_done(&profile);
  return r;
}

/* The plan of S reads as WANT. */
static void expect_dump(const struct scenario *s, const char *want) {
  struct text plan = {0}, dump = {0};
  struct err e = {0};
  int r = made_compile(s, &plan, &e);
  if (r < 0) fail_msg("%s", e.text);
  const char *bad = wire_plan_check(plan.at, plan.n);
  if (bad) fail_msg("the plan has %s", bad);
  plan_dump(plan.at, &dump);
  assert_string_equal(dump.at, want);
  text_done(&plan);
  text_done(&dump);
}

static void expect_plan(const char *rule, const char *want) {
  struct scenario *s = scenario_new();
  struct err e = {0};
  assert_non_null(s);
  if (scenario_add_rule(s, "--fail", rule, &e) < 0) fail_msg("%s", e.text);
  expect_dump(s, want);
  scenario_free(s);
}
