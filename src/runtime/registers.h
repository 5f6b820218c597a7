/* SPDX-License-Identifier: Apache-2.0 */
/* What the registers were in a frame further up, where functions have kept them. */
#pragma once

#include "frames.h"
#include "runtime.h"

struct rt_registers {
  uint64_t kept[RT_KEPT]; /* as rt_kept numbers them */
  unsigned known;         /* bit of each */
};

/* In the frame DEPTH above the caller of C, which is 0. False if the list of modules has changed under the walk. */
bool rt_registers(const struct rt_call *c, unsigned depth, struct rt_registers *ret) RT_HIDDEN;
