/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the unwinding tables of a loaded library: nothing outside of them is read, and rows are usable. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "runtime/frames.h"
#include "tests/fuzz/fuzz.h"

static void ask(const struct rt_frames *f, uint64_t pc) {
  struct wire_row r = rt_frames_row(f, pc);
  bool nothing = r.cfa == WIRE_CFA_END || r.cfa == WIRE_CFA_NONE || r.cfa == WIRE_CFA_SIGNAL;
  MUST(r.cfa < WIRE_CFA_COUNT && (!nothing || (r.offset == 0 && r.rbp == 0 && r.add == 0)));
}

/* Addresses that the table has, around which entries start and end. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  uint8_t *copy = malloc(size ? size : 1);
  if (!copy) return 0;
  memcpy(copy, data, size);
  uint64_t at = (uint64_t)copy;
  struct rt_frames f = {at, at, at + size};
  for (size_t i = 12; i + 8 <= size && i < 12 + 8 * 64; i += 8) {
    int32_t start;
    memcpy(&start, data + i, sizeof start);
    for (int delta = -1; delta < 40; delta += 3)
      ask(&f, at + (uint64_t)(int64_t)start + (uint64_t)(int64_t)delta);
  }
  ask(&f, at);
  ask(&f, 0);
  free(copy);
  return 0;
}
