/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a scenario, XML or rules: they are refused with a message that has a position, or become a plan that the
 * target accepts.
 */
#include "scenario/scenario.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/scenario_world.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct scenario *s = scenario_new();
  struct err e = {0};
  /* What is included is not what is fuzzed, and may be any file of this machine. */
  if (!s || memmem(data, size, "include", 7)) {
    scenario_free(s);
    return 0;
  }
  if (scenario_parse(s, "fuzz", (const char *)data, size, &e) < 0)
    MUST(strncmp(e.text, "fuzz:", 5) == 0);
  else
    fuzz_compile(s, "fuzz:");
  scenario_free(s);
  return 0;
}
