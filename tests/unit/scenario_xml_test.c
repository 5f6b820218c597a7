/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scenarios in XML: the paper's figures as they stand, what murphy adds, and what is refused.
 */
#include "scenario/scenario.h"
#include "tests/unit/made_world.h"

/* --- the paper's figures ------------------------------------------------------------------------------------------ */

static const char figure_11[] = "<trigger id=\"Trig8054a69\" class=\"CallStackTrigger\">\n"
                                "  <args>\n"
                                "  <frame>\n"
                                "        <module>bft/bft-simple/simple-server</module>\n"
                                "        <offset>0x8054a69</offset>\n"
                                "        </frame>\n"
                                "        </args>\n"
                                "        </trigger>\n"
                                "        <function name=\"fopen\" retval=\"0\" errno=\"EINVAL\">\n"
                                "        <reftrigger ref=\"Trig8054a69\" />\n"
                                "        </function>\n";

static void figure_11_is_read(void **state) {
  (void)state;
  expect_xml(figure_11, "function fopen, 2 arguments\n"
                        "  rule \"Trig8054a69\", injections @0\n"
                        "    stack ( /opt/bft/bft-simple/simple-server[0x8054a69,0x8054a6a) )\n"
                        "    fault: return 0, errno EINVAL\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(figure_11_is_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
