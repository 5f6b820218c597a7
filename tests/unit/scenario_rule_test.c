/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One-line rules: from text to plan, read back as words.
 */
#include "scenario/scenario.h"
#include "tests/unit/made_world.h"

#include <errno.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* --- plans -------------------------------------------------------------------------------------------------------- */

static void a_rule_is_compiled(void **state) {
  (void)state;
  expect_plan("read:EIO when call==3", "function read, 3 arguments, descriptor 0, size 2, only counts\n"
                                       "  rule \"call==3\", calls 3 to 3, one shot, injections @0\n"
                                       "    call\n"
                                       "    number 3\n"
                                       "    ==\n"
                                       "    fault: return -1, errno EIO\n");
}

static void without_a_condition_all_calls_fail(void **state) {
  (void)state;
  expect_plan("malloc:ENOMEM", "function malloc, 1 arguments, size 0, only counts\n"
                               "  rule, injections @0\n"
                               "    fault: return 0, errno ENOMEM\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_rule_is_compiled),
      cmocka_unit_test(without_a_condition_all_calls_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
