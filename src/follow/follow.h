/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What becomes of a value.
 *
 * LFI's algorithm 3: a value is followed forward from where it comes to be, through copies, stack slots, structure
 * members and arithmetic with constants, and all that is done with it is noted. What is noted holds on some way from
 * there, not on all.
 */
#pragma once

#include "flow/flow.h"

enum follow_event_kind {
  EVENT_COMPARE,     /* compared, and something depends on the flags */
  EVENT_SWITCH,      /* the index of a jump table or of a set of bits */
  EVENT_ARGUMENT,    /* argument ARG of the call CALL */
  EVENT_DEREFERENCE, /* used as an address */
  EVENT_RETURN,      /* returned to the caller */
  EVENT_STORE,       /* written to memory that is not the function's own */
  EVENT_GIVEN,       /* the call CALL gets as argument ARG the address of what it is in, IMM bytes from there */
  EVENT_LEFT,        /* errno is as it was left when the function TARGET is called; where errno is set to 0 only */
  EVENT_USE,         /* anything else */
};

/*
 * Where a value is stored: the variable at IMM; IMM bytes behind argument ARG, or behind what the function returns;
 * somewhere else. WIDTH: bytes.
 */
enum store_place { STORE_ELSEWHERE, STORE_GLOBAL, STORE_BEHIND_ARGUMENT, STORE_BEHIND_RESULT };

/* EVENT_RETURN, START_RESULT: ARG, if it is not what is returned but the second eight bytes of a structure. */
#define RETURN_SECOND 1

enum follow_subject { SUBJECT_VALUE, SUBJECT_ERRNO };

struct follow_event {
  uint8_t kind, subject;
  uint8_t op, width, cc;       /* EVENT_COMPARE: flags of OP; CC as written */
  bool swapped;                /* the value is the right operand */
  bool variable;               /* the other operand is not a constant */
  bool mixed;                  /* something unknown was added before */
  bool sum;                    /* ... and nothing else was done: a sum of it and other values */
  bool rest;                   /* it was taken away from something, and this is what is left */
  bool indexed;                /* EVENT_DEREFERENCE: as an index */
  bool lost;                   /* EVENT_USE: it goes to where it is not followed, as a floating-point register */
  bool behind;                 /* EVENT_STORE: a function that was called has stored it */
  bool element;                /* EVENT_STORE, EVENT_GIVEN: what is there is an array, of which it is any element */
  int16_t pinned;              /* it is on a way on which the value was found to be this; 0 if on any */
  uint8_t place;               /* EVENT_STORE: an enum store_place */
  uint8_t arg;                 /* from 0 */
  uint32_t insn, block;        /* EVENT_COMPARE: of what depends on the flags */
  uint64_t at;                 /* the instruction */
  uint64_t imm;                /* the other operand; if that is not a constant, its identity */
  uint8_t call_kind;           /* EVENT_ARGUMENT, EVENT_GIVEN: an enum call_kind */
  uint64_t target;             /* ... and where it goes */
  const struct transform *ops; /* what was done to the value before */
};

/* Is EVENT_COMPARE's condition true for VALUE? VARIABLE stands for the other operand if that is not a constant. */
bool follow_event_holds(const struct follow_event *e, const struct image *img, uint64_t value, uint64_t variable);

/* A function that values are followed in. It lives in the worker's scratch arena until the next one is opened. */
struct follow_graph;

struct follow_graph_options {
  struct code_options code;
  /* Does the function of this name return the address of errno? May be NULL. */
  bool (*errno_at)(void *context, const char *name);
  /* Does it leave errno as it is, as the former do? May be NULL. */
  bool (*keeps_errno)(void *context, const char *name);
  void *context;
};

int follow_graph_open(struct flow_worker *worker, const struct image *img, uint64_t entry,
                      const struct follow_graph_options *options, struct follow_graph **ret) MUST_USE;
void follow_graph_close(struct follow_graph *g);
const struct code *follow_graph_code(const struct follow_graph *g);
/* Where the call instruction INSN goes; kind CALL_POINTER if that is not known. Arguments are not filled in. */
struct flow_call follow_graph_call(struct follow_graph *g, uint32_t insn);
/* The blocks behind block K: *ret points to their numbers, and the edges' kinds are in *ret_kinds. */
uint32_t follow_graph_next(const struct follow_graph *g, uint32_t k, const uint32_t **ret, const uint8_t **ret_kinds);
/* The constant that argument ARG of the call INSN has; false if it is not one, or not the same on all ways. */
bool follow_graph_argument(struct follow_graph *g, uint32_t insn, unsigned arg, struct flow_value *ret);
/*
 * Does argument ARG of the call INSN point to a variable on the stack that holds a constant? *RET_STACK: whether it
 * points to one at all.
 */
bool follow_graph_preset(struct follow_graph *g, uint32_t insn, unsigned arg, bool *ret_stack);
uint32_t follow_graph_block(const struct follow_graph *g, uint32_t insn);
/* Is argument ARG of the call X argument OTHER of the call Y, because one register holds it all the way between? */
bool follow_graph_same_argument(const struct follow_graph *g, uint32_t x, unsigned arg, uint32_t y, unsigned other);
/* Is the memory operand of INSN behind the pointer V, a result of a call or an argument, by its displacement? */
bool follow_graph_is_behind(struct follow_graph *g, uint32_t insn, const struct flow_value *v);
/* Does some way through the function leave garbage as its result: does it return nothing? */
bool follow_graph_returns_nothing(struct follow_graph *g);
/* Does the function set errno to 0 somewhere? */
bool follow_graph_clears_errno(struct follow_graph *g);
/*
 * The values that argument ARG of the call INSN may have, at most MAX: results of calls, arguments, constants. Returns
 * how many; 0 if not all are known.
 */
unsigned follow_graph_sources(struct follow_graph *g, uint32_t insn, unsigned arg, struct flow_value *ret,
                              unsigned max);
/*
 * What tells the value of argument ARG of the call INSN from other values of this function; 0 if that is not known. Of
 * a call's result it is the address of the call.
 */
uint64_t follow_graph_argument_identity(struct follow_graph *g, uint32_t insn, unsigned arg);
/* The call whose result V is, but for its extension to more bits; UINT32_MAX if it is none. */
uint32_t follow_graph_call_insn(const struct follow_graph *g, const struct flow_value *v);
/* Does a way lead from behind INSN to the instruction TO? */
bool follow_graph_leads(struct follow_graph *g, uint32_t insn, uint32_t to);
/*
 * Does the code behind the call INSN come to the same place in the same state, whether it gets the error (its value and
 * errno) or the success? False if they differ, or if it cannot be told. Returning the value is the same for both.
 */
struct follow_pair {
  uint64_t error_value, error_errno, success_value;
  bool nothing; /* the function returns nothing: what is left in the register is nobody's */
};
bool follow_graph_same(struct follow_graph *g, uint32_t insn, const struct follow_pair *p);
/*
 * Is all the difference between the error and the success that the function returns another number, and that number the
 * error's errno, or the negative of it?
 */
bool follow_graph_returns_errno(struct follow_graph *g, uint32_t insn, const struct follow_pair *p);
/*
 * Does every way from behind INSN to the end of the function pass one of STOPS, instructions that use what was followed
 * last as an address or argument? Those that only use the value of an earlier round of a loop do not count.
 */
bool follow_graph_always(struct follow_graph *g, uint32_t insn, const struct map *stops);

/*
 * The offset from which the pointer that INSN calls is read, behind whatever address; false if it is not seen.
 * *RET_TABLE: the instruction that has read that address from memory, as that of a table of virtual functions is;
 * UINT32_MAX if there is none.
 */
bool follow_graph_pointer_offset(const struct follow_graph *g, uint32_t insn, int64_t *ret, uint32_t *ret_table);
/*
 * Is INSN, which calls what is at OFFSET in the table that TABLE has read, no call of a function that returns a number
 * or an address of its own: is something returned in memory, or is the object the one that counts for std::shared_ptr?
 */
bool follow_graph_calls_other(struct follow_graph *g, uint32_t insn, uint32_t table, int64_t offset);
/* Is the operand in memory an element of an array in the image, by an index or a pointer? Where the element 0 is. */
bool follow_graph_array(struct follow_graph *g, uint32_t insn, uint64_t *ret);

struct follow_events {
  VEC(struct follow_event) at;
  bool torn; /* there was more to follow than the budget allows */
};

/* Where a value comes to be. */
enum follow_start_kind {
  START_RESULT,   /* what the call INSN returns, and leaves in errno */
  START_ARGUMENT, /* what the function gets as argument ARG */
  START_BEHIND,   /* what the call INSN has written, SIZE bytes at OFFSET behind its argument ARG */
  START_GLOBAL,   /* what INSN reads from the variable at OFFSET */
  START_GIVEN,    /* what the function finds, SIZE bytes at OFFSET behind argument ARG */
  START_MADE,     /* what the call INSN has written, SIZE bytes at OFFSET behind what it returns */
  START_ERRNO,    /* what the function finds in errno */
};

struct follow_start {
  uint8_t kind, arg, size;
  bool element; /* START_BEHIND, START_GIVEN: it is any element of the array that begins there */
  uint32_t insn;
  int64_t offset;
};

/*
 * Follows a value. Nothing is followed beyond the instructions in STOPS, which may be NULL; they are uses that were
 * found when the same value was followed without. Events are added in the order in which they are met, each once. The
 * chains live as long as the worker. 0 or -ENOMEM.
 */
int follow_value(struct follow_graph *g, const struct follow_start *start, const struct map *stops,
                 struct follow_events *ret) MUST_USE;
