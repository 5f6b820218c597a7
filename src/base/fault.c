/* SPDX-License-Identifier: Apache-2.0 */
/* How a fault is called: what comes back, or what is done instead. */
#include "base/base.h"

#include <inttypes.h>

const char *fault_act_name(int error) {
  return error == FAULT_SHORT ? "short" : error == FAULT_THROWS ? "throw" : NULL;
}

void fault_describe(struct text *to, int64_t retval, int error) {
  const char *name = errno_name(error);
  if (error == FAULT_THROWS) {
    text_add(to, " throws std::bad_alloc");
  } else if (error == FAULT_SHORT) {
    text_addf(to, " does %" PRId64 " byte%s only", retval, retval == 1 ? "" : "s");
  } else {
    text_addf(to, " returns %" PRId64, retval);
    if (name) text_addf(to, " with %s", name);
  }
}
