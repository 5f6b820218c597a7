/* SPDX-License-Identifier: Apache-2.0 */
/* A trigger that does nothing, to see what asking one costs. */
#include <murphy/trigger.h>

static int eval(struct murphy_trigger *t, const struct murphy_call *call) {
  (void)t;
  (void)call;
  return 0;
}

MURPHY_TRIGGER(Nothing, .eval = eval);
