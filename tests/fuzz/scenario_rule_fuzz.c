/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as the condition of a rule: it is refused with a message that has a column, or becomes code that the target
 * accepts.
 */
#include "scenario/scenario.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/scenario_world.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char before[] = "read:EIO when ";
  struct scenario *s = scenario_new();
  char *rule = malloc(sizeof before + size);
  struct err e = {0};
  if (!s || !rule) abort();
  /* Half of the inputs are whole rules. */
  bool whole = size && data[0] == '!';
  size_t skip = whole ? 0 : sizeof before - 1;
  memcpy(rule, before, skip);
  if (size) memcpy(rule + skip, data + whole, size - whole);
  rule[skip + size - whole] = '\0';
  if (scenario_add_rule(s, "fuzz", rule, &e) < 0)
    MUST(strncmp(e.text, "fuzz:", 5) == 0);
  else
    fuzz_compile(s, "fuzz:");
  free(rule);
  scenario_free(s);
  return 0;
}
