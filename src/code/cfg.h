/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the room: the state of building one function's graph. */
#pragma once

#include "code/decode.h"
#include "code/code_kernel.h"

/* In CC of a call: it never returns. */
#define CC_STOPS 0xff

/* A jump table: its jump, and the targets of its entries in order. */
struct table {
  uint32_t jump;     /* instruction, in order of decoding */
  uint32_t first, n; /* targets */
};

/* An instruction whose fault goes on elsewhere. */
struct fault {
  uint32_t insn; /* in order of decoding */
  const struct patch *to;
};

struct way {
  uint32_t to;
  struct edge edge;
};

#define INDEX_ELSEWHERE UINT16_MAX /* the number is in OUTSIDE */

struct builder {
  const struct image *image;
  const struct code_options *options;
  ZydisDecoder decoder;
  uint64_t low, high; /* the function's main range */
  bool exact;         /* something says where the range ends */
  uint64_t indexed;   /* end of the part of it that INDEX is for */
  uint16_t *index;    /* by offset in the range: number of the instruction there, from 1, or INDEX_ELSEWHERE */
  struct map outside; /* the same for addresses elsewhere, and for numbers that are too large */
  struct map cases;   /* of one jump table: how many entries lead to a target */
  uint32_t looked;    /* instructions looked at for the addresses of jump tables */
  VEC(struct insn) insns;
  VEC(uint8_t) leader;
  VEC(uint32_t) runs; /* the first instruction of each straight line */
  VEC(struct work) work;
  VEC(uint32_t) tails; /* branches to other functions */
  VEC(struct fault) faults;
  VEC(struct table) tables;
  VEC(uint64_t) targets;
  VEC(struct way) ways;
  VEC(int32_t) escaped;
  const uint32_t *order; /* instruction by place */
  uint32_t *place;       /* place by instruction */
  uint32_t *block_of;
  uint32_t n_blocks; /* without those that come last */
  struct columns {
    uint16_t *defs, *touched;
    uint8_t *notes;
  } columns; /* of the code, while it is made */
  unsigned problems;
};

/*
 * 1 if the indirect jump AT (the newest instruction) goes through a table, which is then the newest in TABLES; 0 if
 * not.
 */
int table_follow(struct builder *b, uint32_t at);
