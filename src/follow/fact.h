/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the room: the state of following one value forward. */
#pragma once

#include "follow/follow.h"

enum fact_where {
  FACT_REG,
  FACT_SLOT,        /* on the stack, at SLOT; DISP bytes behind where the structure begins, if that is known */
  FACT_PLACE,       /* memory with a known address: PLACE; of a structure that begins at IMM, if that is known */
  FACT_BEHIND_REG,  /* at DISP behind the pointer in REG; the instruction IMM - 1 has put it there, if IMM is not 0 */
  FACT_BEHIND_SLOT, /* at DISP behind the pointer in SLOT */
  FACT_FLAGS,       /* the flags are those of a comparison with the value */
  FACT_ERRNO,       /* errno is as the call left it */
  FACT_ELEMENT,     /* an element of an array: follow_element fills in REG, IMM and DISP */
};

/* The value, after OPS, is there. */
struct fact {
  uint8_t where, subject;
  uint8_t reg, size; /* SIZE: bytes in memory */
  bool mixed;
  bool sum;          /* of it and other values, and of nothing else: who compares it with 0 may ask for failure */
  bool differs;      /* what a variable was taken from: 0 if it was the same */
  bool rest;         /* what is left after it was taken away from something */
  bool element;      /* what is there is an array, of which it is any element */
  bool shown;        /* FACT_ELEMENT: its address was taken since, so that others may write there */
  bool given;        /* FACT_SLOT: who was given its address has put it there */
  bool again;        /* the call that made the value was made again since: in a loop, it is that of an earlier round */
  int16_t pinned;    /* the value that it was found to be on this way; 0 if it may be any */
  uint8_t op, width; /* FACT_FLAGS, as in struct follow_event; FACT_ELEMENT: see follow_named_element */
  bool swapped, variable;
  int32_t slot;
  int64_t disp;
  uint64_t imm;
  struct flow_place place;
  const struct transform *ops;
};

/* A fact that was met, and where it was pushed so far. */
struct fact_met {
  struct fact fact;
  uint32_t number;
  uint32_t round;                  /* the following that BLOCKS is of */
  bool known;                      /* it was met in an earlier following, too */
  uint64_t *blocks;                /* a bit for each block that it has come to the start of */
  const struct passage **passages; /* by block, from its start on; NULL as long as there are none */
};

struct follow_work {
  uint32_t block, position;
  struct fact_met *met;
};

/* What is noted and pushed on the way of a fact through a block, which is the same for whoever comes with it. */
struct passage {
  bool goes_on; /* to the next blocks */
  uint32_t steps, n_notes, n_pushes;
  const struct passage_note {
    struct follow_event event;
    bool again;
  } * notes;
  const struct follow_work *pushes;
};

/* A passage that is being recorded. */
struct recording {
  bool on;
  bool own; /* it depends on what is followed, and is nobody else's */
  VEC(struct passage_note) notes;
  VEC(struct follow_work) pushes;
};

/* What the instructions of a block touch and are, all together. */
struct block_union {
  uint16_t touched;
  uint8_t notes;
  bool leaves; /* the last one may leave the function, which every fact must be told */
  bool stops;  /* one ends the following */
};

/* Where the address of errno is all through a function, and nothing else ever. */
struct errno_kept {
  bool asked;
  uint16_t registers;
  int32_t slots[4];
  unsigned n_slots;
};

struct follow_graph {
  struct flow_function function;
  struct code code;
  bool (*errno_at)(void *context, const char *name);
  bool (*keeps_errno)(void *context, const char *name);
  void *context;
  const uint32_t *next; /* of all blocks, one after the other */
  const uint8_t *next_kinds;
  const uint32_t *next_first; /* by block, and one more */
  VEC(struct follow_work) work;
  struct block_union *unions; /* by block; NULL until something is followed */
  struct arena met;           /* facts and passages, of all followings */
  struct map met_by;          /* facts by hash */
  struct map passages;        /* by (fact, instruction), in the middle of blocks */
  size_t n_passages;          /* of all facts: places for them, and those in the middle of blocks */
  struct recording recording;
  uint32_t round;  /* followings so far */
  unsigned pinned; /* edges of this one behind which a value is one number */
  struct map seen; /* (fact, instruction), in the middle of blocks */
  struct map noted;
  struct follow_events *events;
  const struct map *stops;
  struct map addressed; /* instructions that use the value of this round as an address or argument */
  uint32_t start;       /* the call whose result is followed, or UINT32_MAX */
  uint64_t identity;    /* of what is followed, see follow_graph_argument_identity; 0 if it is not known */
  unsigned steps;
  uint32_t *marks, *todo; /* by block, of follow_graph_always; NULL until it is asked */
  uint32_t mark;          /* marks below this one are old */
  uint8_t clears_errno;   /* 1 + whether the function does; 0 until it is asked */
  struct errno_kept errno_kept;
  uint8_t compares_counts; /* the same of method.c */
  /* Constants in registers that the call KEPT_BY keeps, of carry.c; KEPT_BY is 0 until it is asked. */
  uint64_t kept[REGISTERS];
  uint64_t kept_addresses[REGISTERS]; /* ... and addresses of the image */
  uint16_t kept_known, kept_addressed;
  uint32_t kept_by;
};

/* --- follow.c ----------------------------------------------------------------------------------------------------- */

/* From instruction POSITION of BLOCK on, the value is there too. */
void follow_push(struct follow_graph *g, uint32_t block, uint32_t position, const struct fact *f);
/* Notes an event with F's chain and subject, once. */
void follow_note(struct follow_graph *g, const struct fact *f, struct follow_event e);

/* What tells the value from others, see follow_graph_argument_identity. */
uint64_t follow_identity_of(const struct follow_graph *g, const struct flow_value *v);

/* --- follow_step.c ------------------------------------------------------------------------------------------------ */

/* One instruction, one fact. False if the fact does not hold behind the instruction. */
bool follow_step(struct follow_graph *g, const struct fact *f, uint32_t block, uint32_t position);
/* The value is the operand of an instruction: DST says which one; in a register or in memory. */
void follow_operand(struct follow_graph *g, const struct fact *f, uint32_t block, uint32_t position, bool dst);
/* A register fact for the same value, with an operation more; false if the chain gets too long. */
bool follow_append(struct follow_graph *g, struct fact *f, unsigned kind, unsigned width, int64_t imm);

/* --- follow_errno.c ----------------------------------------------------------------------------------------------- */

/* Is the base of the memory operand of INSN a place that holds the address of errno all through the function? */
bool follow_errno_kept(struct follow_graph *g, uint32_t insn);

/* --- follow_memory.c ---------------------------------------------------------------------------------------------- */

/* The same for facts about memory and errno. */
bool follow_memory(struct follow_graph *g, const struct fact *f, uint32_t block, uint32_t position);
/* Starts what lies behind an argument of a call. */
void follow_behind(struct follow_graph *g, const struct follow_start *start, uint32_t block, uint32_t position);
/* The stack slot that the base register of the memory operand was loaded from just before; false if it was not. */
bool follow_base_slot(const struct follow_graph *g, uint32_t block, uint32_t position, int32_t *ret);
/* Is the memory operand errno? Does the call only return errno's address? */
bool follow_is_errno(struct follow_graph *g, uint32_t insn);
bool follow_is_errno_call(struct follow_graph *g, uint32_t insn);
/* The value of register fact F is written to the memory operand. */
void follow_store(struct follow_graph *g, const struct fact *f, uint32_t block, uint32_t position);

/* --- follow_array.c ----------------------------------------------------------------------------------------------- */

/*
 * Is the memory operand some element of an array? Fills in where, reg, imm, disp and size, which tell the array, and
 * width, unless it is 0: as far as it is seen.
 */
bool follow_element(struct follow_graph *g, uint32_t block, uint32_t position, struct fact *ret);
/*
 * AT, a place in the image, is written by its name. If the places before it are, too, it is an element of the array
 * that begins there: the fact has SLOT bytes between them, of which the bytes from one element to the next, WIDTH of an
 * operand that is compared with it, must be a part.
 */
void follow_named_element(struct follow_graph *g, const struct fact *at, uint32_t block, uint32_t position);
/*
 * The same for what START is about, behind the pointer that REG holds before the instruction: is that an element? If
 * START says that an array is there, it need not be seen here.
 */
bool follow_element_behind(struct follow_graph *g, uint32_t block, uint32_t position, uint8_t reg,
                           const struct follow_start *start, struct fact *ret);
/* The fact of any element of the array that lies behind an argument. */
struct fact follow_element_of_argument(const struct follow_start *start);
/* Is the array of F, a FACT_ELEMENT, one behind an argument? The fact of memory with a known address then. */
bool follow_is_behind_argument(const struct fact *f, struct fact *ret);
/* Is it one on the stack? The slot of the element 0. */
bool follow_is_on_stack(const struct fact *f, int32_t *ret);
/*
 * Does REG hold the address of a stack slot before the instruction, and of the same one on all ways? ASIDE: it may have
 * been put aside in another slot, which is set once.
 */
bool follow_stack_address(struct follow_graph *g, uint32_t block, uint32_t position, uint8_t reg, bool aside,
                          int32_t *ret);
/* Is it one of an array in the image? *RET is where the element 0 is. */
bool follow_image_array(struct follow_graph *g, uint32_t block, uint32_t position, uint64_t *ret);
/*
 * Is the memory operand, without an index, the first element of the array of F, a FACT_ELEMENT, or one of those behind
 * it that a loop over them reads one by one?
 */
bool follow_is_named(const struct follow_graph *g, const struct fact *f, const struct insn *in);
/* Is the slot, whose address is taken, a part of the array of F, a FACT_ELEMENT, of which that was not known? */
bool follow_is_shown(const struct fact *f, int32_t slot);
/*
 * Is the slot, of SIZE bytes, one of the elements of the array on the stack of which INSN, with an index, writes one?
 */
bool follow_is_in_array(struct follow_graph *g, uint32_t insn, int32_t slot, unsigned size);

/* --- identity.c --------------------------------------------------------------------------------------------------- */

/* Does the function that INSN calls return its argument *RET_ARG, or what is *RET_OFFSET bytes behind it? */
bool follow_identity(struct follow_graph *g, uint32_t insn, unsigned *ret_arg, int64_t *ret_offset);
