/* SPDX-License-Identifier: Apache-2.0 */
/* How the runtime comes to be ready. */
#pragma once

#include "runtime.h"

/* Makes it ready if it is not. enter.S calls it before the first call is decided. */
void rt_start_once(void) RT_HIDDEN;
void murphy_rt_start(int argc, char **argv, char **envp, struct wire_shim *shim);
