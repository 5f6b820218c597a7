/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the instructions of a CIE and of an FDE: rows come in order, inside the entry, and are usable. */
#include <stdlib.h>

#include "image/cfa.h"
#include "tests/fuzz/fuzz.h"

#define START 0x1000u
#define END 0x1800u

static int take(void *context, struct image_row row) {
  uint32_t *last = context;
  MUST(row.start >= *last && row.start < END && row.cfa <= IMAGE_CFA_SIGNAL);
  MUST(row.cfa != IMAGE_CFA_END || (row.offset == 0 && row.rbp == 0 && row.add == 0));
  *last = row.start;
  return 0;
}

/* The first byte is how many belong to the CIE, the second one and the third are its factors. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 3 || data[0] > size - 3) return 0;
  struct cie cie = {.known = true, .understood = true, .encoding = 0, .return_register = 16};
  cie.code_align = data[1];
  cie.data_align = (int8_t)data[2];
  cie.program = (struct cursor){data + 3, data[0], 0, false};
  struct cursor program = {data + 3 + data[0], size - 3 - data[0], 0, false};
  struct cfa_rules initial;
  uint32_t last = START;
  if (cfa_begin(&cie, &initial)) MUST(cfa_run(&cie, &initial, program, START, END, take, &last) == 0);
  return 0;
}
