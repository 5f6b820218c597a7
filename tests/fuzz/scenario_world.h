/* SPDX-License-Identifier: Apache-2.0 */
/* A world for fuzzed scenarios, in which every place exists. */
#pragma once

#include "scenario/scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fuzz_places(void *context, const struct scenario_frame *f, struct scenario_places *ret, struct err *e) {
  (void)context, (void)e;
  struct wire_place place = {.start = f->offset, .end = f->offset + 1, .flags = WIRE_LAST};
  if (place.end < place.start) place = (struct wire_place){.flags = WIRE_ANYWHERE};
  return vec_push(&ret->places, place);
}

/* Every variable exists, and is what its name's bytes say. */
static int fuzz_variable(void *context, const char *function, const char *name, unsigned parameter,
                         struct scenario_variable *ret, struct err *e) {
  static const unsigned widths[] = {1, 2, 4, 8};
  uint64_t hash = hash_string(name ? name : "") + parameter;
  (void)context, (void)e;
  *ret = (struct scenario_variable){.local = function != NULL,
                                    .address = hash,
                                    .n_steps = 1 + hash % SCENARIO_STEPS,
                                    .width = widths[hash >> 8 & 3],
                                    .sign = hash >> 10 & 1,
                                    .pointer = hash >> 11 & 1,
                                    .characters = hash >> 12 & 1,
                                    .bits = hash >> 13 & 1 ? 1 + (hash >> 14) % 32 : 0};
  struct wire_location l = {.kind = (uint32_t)(hash >> 20) % WIRE_LOCATION_COUNT, .start = hash, .end = hash + 1};
  for (size_t i = 0; i < ret->n_steps; i++)
    ret->steps[i].offset = (int64_t)(hash >> i);
  return function ? vec_push(&ret->locations, l) : 0;
}

/*
 * The plan is one that the target accepts and that can be read; or the message starts with BEFORE or tells of no rules.
 */
static void fuzz_compile(const struct scenario *s, const char *before) {
  static const char profile_text[] =
      "<profile format=\"1\"><library name=\"l\">"
      "<function name=\"close\"><error-codes retval=\"-1\"><side-effect errno=\"EIO\"/></error-codes></function>"
      "<function name=\"read\"><error-codes retval=\"-1\"><side-effect errno=\"EIO\"/></error-codes></function>"
      "</library></profile>";
  static const char *const functions[] = {"close", "malloc", "open64", "read"}, *const names[] = {"prog"};
  static const struct wire_module modules[] = {{.flags = WIRE_PROGRAM}};
  const char *source = getenv("MURPHY_SOURCE");
  char data[4096];
  (void)snprintf(data, sizeof data, "%s/tests/fuzz/data", source ? source : ".");
  struct profile profile;
  struct err e = {0};
  struct text plan = {0}, words = {0};
  MUST(profile_parse("profile", profile_text, sizeof profile_text - 1, &profile, &e) == 0);
  struct scenario_world world = {
      .profile = &profile,
      .data = data,
      .functions = functions,
      .n_functions = COUNT(functions),
      .modules = modules,
      .module_names = names,
      .n_modules = 1,
      .places = fuzz_places,
      .find_variable = fuzz_variable,
  };
  if (plan_compile(s, &world, &plan, &e) < 0) {
    MUST(strncmp(e.text, before, strlen(before)) == 0 || strncmp(e.text, "the scenario", 12) == 0);
  } else {
    MUST(wire_plan_check(plan.at, plan.n) == NULL);
    plan_dump(plan.at, &words);
  }
  text_done(&plan);
  text_done(&words);
  profile_done(&profile);
}
