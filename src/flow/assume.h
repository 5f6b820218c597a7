/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the room: functions whose arguments are known constants. */
#pragma once

#include "flow/walk.h"

/* Takes away the edges that cannot be taken if the arguments are what ASSUME says. 0, or -1 if there is no memory. */
int assume_prune(struct code *c, const struct flow_assume *assume, struct arena *arena);
/* The arguments, as bits, whose values decide branches or are given to other functions. */
uint8_t assume_deciding(const struct code *c, struct arena *arena);
