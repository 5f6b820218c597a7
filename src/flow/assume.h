/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the room: functions whose arguments are known constants. */
#pragma once

#include "flow/backward.h"

/* Takes away the edges that cannot be taken if the arguments are what ASSUME says. 0, or -1 if there is no memory. */
int assume_prune(struct code *c, const struct flow_assume *assume, struct arena *arena);
