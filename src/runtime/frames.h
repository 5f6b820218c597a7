/* SPDX-License-Identifier: Apache-2.0 */
/* Unwinding by a module's own .eh_frame in memory: rows where the plan has none, and what no row says. */
#pragma once

#include "runtime.h"

/* An .eh_frame_hdr and the segment that it lies in; .eh_frame lies there too. HEADER is 0 if there is none. */
struct rt_frames {
  uint64_t header, start, end;
};

/* rbx and r12 to r15: beside rbp, what a function leaves to its caller as it found it. */
#define RT_KEPT 5
/* The psABI's number of a register as an index of these; RT_KEPT if it is none. */
static inline unsigned rt_kept(uint64_t reg) {
  return reg == 3 ? 0 : reg >= 12 && reg <= 15 ? (unsigned)reg - 11 : RT_KEPT;
}

/* Where the caller's value of such a register is: still in it, OFFSET bytes from CFA or rsp, or nobody knows. */
enum rt_saved_how { RT_SAVED_NOT, RT_SAVED_AT, RT_SAVED_RSP, RT_SAVED_LOST };
struct rt_saved {
  uint8_t how; /* of enum rt_saved_how */
  int64_t offset;
};
/* Of all of them, for code at PC. False if the tables do not say. */
bool rt_frames_kept(const struct rt_frames *f, uint64_t pc, struct rt_saved ret[RT_KEPT]) RT_HIDDEN;

/* How to unwind from PC. The row's start is not set. */
struct wire_row rt_frames_row(const struct rt_frames *f, uint64_t pc) RT_HIDDEN;
