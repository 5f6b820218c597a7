/* SPDX-License-Identifier: Apache-2.0 */
/* The instructions of a CIE or FDE carried out, as far as the return address and rbp are concerned. */
#pragma once

#include "image/image_frames.h"

/* Where a register of the caller is: as it was, at an offset from the CFA or from a register, or it is not known. */
enum cfa_where { WHERE_SAME, WHERE_CFA, WHERE_REGISTER, WHERE_LOST };
struct cfa_saved {
  enum cfa_where where;
  unsigned reg;
  int64_t offset;
};

/* The CFA itself: IMAGE_CFA_END stands for what rows cannot say. */
struct cfa_rules {
  enum image_cfa kind;
  uint64_t reg; /* of def_cfa, whichever that is */
  int64_t offset;
  uint64_t add;
  struct cfa_saved rbp, rip;
};

/* What a CIE says of the start of its FDEs; false if it cannot be carried out. */
bool cfa_begin(const struct cie *cie, struct cfa_rules *ret);

/* The row that stands for RULES; an END if none does. */
struct image_row cfa_row(const struct cfa_rules *rules, uint64_t start);

/*
 * Carries out the program of an FDE of CIE that starts with INITIAL at START: TAKER gets a row for each address below
 * END at which something may change, in order. What cannot be read is an END up to the end.
 */
typedef int (*cfa_taker)(void *context, struct image_row row);
int cfa_run(const struct cie *cie, const struct cfa_rules *initial, struct cursor program, uint64_t start, uint64_t end,
            cfa_taker taker, void *context);
