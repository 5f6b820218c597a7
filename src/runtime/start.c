/* SPDX-License-Identifier: Apache-2.0 */
/* How the runtime comes to be ready. */
#include "runtime.h"

struct rt rt;

uint32_t rt_process(void) { return 1; }
