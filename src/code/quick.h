/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the room: the instructions that are read without Zydis. */
#pragma once

#include "code/code.h"

#include <string.h>

/*
 * Reads one instruction if it is of a form that this knows, as decode would; LEFT bytes can be read. False if Zydis has
 * to look at it; *in is then anything.
 */
bool decode_quick(const uint8_t *bytes, size_t left, uint64_t address, struct insn *in);

/* --- while it is read --------------------------------------------------------------------------------------------- */

#define QUICK_LONGEST 15

/* The bytes of an instruction as they are read. */
struct reading {
  const uint8_t *start, *p;
  uint8_t rex, modrm;
  uint8_t mandatory; /* 0x66, 0xf2 or 0xf3 if there is such a prefix, else 0 */
  bool thread;       /* fs or gs */
  struct insn *in;
};

/* Those that return bool are false if Zydis has to look. */
/* Behind 0f. */
bool quick_0f(struct reading *r);

static inline int32_t quick_take32(struct reading *r) {
  int32_t x;
  memcpy(&x, r->p, sizeof x);
  r->p += sizeof x;
  return x;
}

static inline int8_t quick_take8(struct reading *r) { return (int8_t)*r->p++; }

/* An immediate of SIZE bytes, or of four that are sign-extended to eight. */
static inline int64_t quick_immediate(struct reading *r, unsigned size) {
  int16_t x;
  if (size == 1) return quick_take8(r);
  if (size != 2) return quick_take32(r);
  memcpy(&x, r->p, sizeof x);
  r->p += sizeof x;
  return x;
}

static inline unsigned quick_size(const struct reading *r) { return r->rex & 8 ? 8 : r->mandatory == 0x66 ? 2 : 4; }

static inline uint8_t quick_middle(const struct reading *r) {
  return (uint8_t)((r->modrm >> 3 & 7) | (r->rex & 4 ? 8 : 0));
}

static inline bool quick_is_register(const struct reading *r) { return r->modrm >> 6 == 3; }

static inline uint8_t quick_rm_register(const struct reading *r) {
  return (uint8_t)((r->modrm & 7) | (r->rex & 1 ? 8 : 0));
}

/* Without a REX prefix, the byte registers 4 to 7 are ah to bh. */
static inline bool quick_is_high(const struct reading *r, uint8_t reg) { return !r->rex && reg >= 4; }
