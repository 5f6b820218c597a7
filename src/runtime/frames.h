/* SPDX-License-Identifier: Apache-2.0 */
/* Unwind rows of a module that the plan has none for, from its own .eh_frame in memory. */
#pragma once

#include "runtime.h"

/* An .eh_frame_hdr and the segment that it lies in; .eh_frame lies there too. HEADER is 0 if there is none. */
struct rt_frames {
  uint64_t header, start, end;
};

/* How to unwind from PC. The row's start is not set. */
struct wire_row rt_frames_row(const struct rt_frames *f, uint64_t pc) RT_HIDDEN;
