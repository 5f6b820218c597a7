/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the room: instructions that are carried out behind a call (carry.c), and runs that are compared
 * (carry_same.c).
 */
#pragma once

#include "follow/fact.h"

#define RUN_SLOTS 24
#define RUN_STORES 8
#define STRUCTURE_MAX 256 /* bytes that a structure on the stack is thought to have */

struct run_slot {
  int32_t at;
  uint64_t value, done;
  bool known, derived;
  bool of_errno, outside; /* OUTSIDE: not on the stack */
  bool loaded;            /* ... again, as a register is that was put aside */
  uint8_t size;           /* 0 if it is not in the frame, where nobody but this function finds it */
};

struct run {
  struct follow_graph *g;
  uint32_t call;         /* the instruction that all this is behind */
  uint64_t value, error; /* what the call returned and left in errno */
  uint64_t regs[REGISTERS];
  uint64_t done[REGISTERS]; /* to what is not known, and what it was; 0 if nobody knows */
  uint16_t known, derived;  /* DERIVED: from what the call returned */
  uint16_t of_errno;        /* loaded from errno */
  bool errno_gone;          /* another call was passed */
  uint16_t guard;           /* holds the stack guard */
  uint16_t addressed;       /* holds an address of the image, for tables */
  uint64_t addresses[REGISTERS];
  uint16_t written;   /* since the last call */
  uint32_t result_by; /* the instruction that wrote rax last, or 0 */
  struct run_slot slots[RUN_SLOTS];
  unsigned n_slots;
  uint64_t stores[RUN_STORES]; /* hashes of operands that were written to */
  unsigned n_stores;
  bool flags_known, flags_of_value, flags_of_errno;
  bool flags_of_sum; /* ... of the value and something that is not known, and not of the value itself */
  bool decided_by_value, decided_by_errno; /* branches on the way */
  struct follow_event flags;
  uint64_t left, right;
  uint64_t asked;    /* what the flags are of; 0 if that is not known */
  uint64_t expected; /* the last constant that the value was asked to be, and was not; 0 if there is none */
  bool pinned;       /* it was found to be equal to something, so that a constant may stand for it */
  bool unclear;      /* it was asked to be something that is not known */
  bool sum_asked;    /* a sum with it was */
};

static inline uint64_t carry_narrow(uint64_t v, unsigned size) {
  return size >= 8 ? v : v & ((1ull << (size * 8)) - 1);
}

struct run_slot *carry_slot_at(struct run *r, int32_t at);
/* The block that a way goes on to by an edge of this kind; UINT32_MAX if there is none. */
uint32_t carry_next_block(const struct follow_graph *g, uint32_t block, uint8_t kind);
/* Behind the call INSN, which has returned VALUE and left ERROR in errno: the instruction where the run ends. */
uint32_t carry_start(struct follow_graph *g, uint32_t insn, uint64_t value, uint64_t error, struct run *r);
/* Carries on to the end of the run: the instruction where it ends, or UINT32_MAX if that is too far. */
uint32_t carry_go(struct run *r, uint32_t block, uint32_t position);
/*
 * Carries on behind the call in which the run has ended, the one with this NUMBER. What it returns is the same in both
 * runs, and not known.
 */
uint32_t carry_past(struct run *r, uint32_t call, unsigned number);
