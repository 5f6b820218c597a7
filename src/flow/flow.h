/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which constants reach the return of a function, on which conditions, and what is set on the way.
 *
 * Each function alone: LFI's algorithm 1, backward from its returns, on demand, with the conditions of the branches
 * crossed; a call is a leaf. The result, a summary, is a list of outcomes over leaves; room solver puts summaries
 * together. Where a value of a function comes from, on all ways, can be asked by itself; room follow does.
 */
#pragma once

#include "base/base.h"
#include "code/code.h"
#include "image/image.h"

#include <pthread.h>

/* --- what workers tell each other --------------------------------------------------------------------------------- */

/* Answers about small functions, by a hash of the question. From any thread. */
struct flow_shared {
  pthread_mutex_t lock;
  struct map answers;
};
int flow_shared_init(struct flow_shared *s) MUST_USE;
void flow_shared_done(struct flow_shared *s);
/* S may be NULL: then nothing is known. */
bool flow_shared_get(struct flow_shared *s, uint64_t question, uint64_t *ret);
void flow_shared_put(struct flow_shared *s, uint64_t question, uint64_t answer);

/* --- calls that never return -------------------------------------------------------------------------------------- */

/* What a thread learns of one image; all zero but for the first three is valid. */
struct flow_probe {
  const struct image *image;
  const struct code_kernel *kernel;                  /* or NULL */
  bool (*noreturn)(void *context, const char *name); /* is a function of this name known never to return? or NULL */
  void *context;
  bool own;                   /* calls through a slot of what the image itself defines are looked into */
  struct flow_shared *shared; /* what other threads have learned, with the same functions and context; or NULL */
  struct map known;
  unsigned depth;
  bool failed; /* there was no memory */
};

/* The function of the image itself that a slot stands for, unless another image defines it first; false if none. */
bool flow_own_slot(const struct image *img, uint64_t slot, uint64_t *ret);

/* CONTEXT is a struct flow_probe; fits code_options.noreturn. */
bool flow_probe_noreturn(void *context, struct code_target target);
void flow_probe_done(struct flow_probe *p);

/* --- the summary of one function ---------------------------------------------------------------------------------- */

enum transform_kind {
  XF_ZERO, /* keep the low WIDTH bytes */
  XF_SIGN, /* sign-extend the low WIDTH bytes */
  XF_ADD,
  XF_MUL,
  XF_AND,
  XF_OR,
  XF_XOR,
  XF_SHL,
  XF_SHR,
  XF_SAR,
  XF_NEG,
  XF_NOT,
  XF_MAX0,        /* the value if it is positive, else 0 */
  XF_MIN0,        /* the low WIDTH bytes, signed: the value if it is negative, else 0 */
  XF_LOAD,        /* WIDTH bytes from read-only memory at IMM + value */
  XF_LOAD_SIGNED, /* the same, sign-extended */
};

/* A chain of operations on a 64-bit value, applied from the front. Equal chains of one worker are one object. */
struct transform {
  uint8_t kind, width, length;
  int64_t imm;
  const struct transform *next;
};

enum value_kind {
  VALUE_CONST,
  VALUE_CALL,       /* what call number CALL returns */
  VALUE_ARG,        /* argument number ARG, from 0 */
  VALUE_ADDRESS,    /* an address in the image: VALUE; never null */
  VALUE_STACK,      /* an address on the function's stack */
  VALUE_TLS,        /* the address of a thread-local variable: of the slot at VALUE, or at offset VALUE if RAW */
  VALUE_TLS_OFFSET, /* its distance from the thread pointer */
  VALUE_THREAD,     /* the thread pointer */
  VALUE_MEMORY,     /* loaded from memory */
  VALUE_COMPUTED,   /* arithmetic that is not followed */
  VALUE_UNDEFINED,  /* not set by the function: garbage, as void functions return it */
  /*
   * What call CALL set in a place, as errno. ARG: its enum place_kind; VALUE, RAW: where, or which call; PLACE_ARG:
   * VALUE is the number of the argument that points there.
   */
  VALUE_SIDE,
  VALUE_CHOICE,     /* one of a few, of arguments only: VALUE of them at CHOICES */
  VALUE_IMPOSSIBLE, /* no compiler would read it: control does not come this way */
  VALUE_NONE,
};

/*
 * RAW says more of a value. VALUE_TLS: VALUE is an offset, not a slot. VALUE_ADDRESS: VALUE is the slot of an imported
 * variable or function. VALUE_MEMORY, VALUE_COMPUTED: one of these.
 */
enum {
  RAW_NARROW,
  RAW_WIDE,      /* all 64 bits are meant */
  RAW_POINTER,   /* so they are, and it is used as an address */
  RAW_ORDER = 4, /* the difference of two bytes */
};

struct flow_value {
  uint8_t kind;
  uint8_t arg;
  uint8_t raw;
  uint16_t call;
  uint64_t value;
  const struct transform *ops; /* of CALL, ARG, SIDE, THREAD */
  const struct flow_value *choices;
  uint64_t at; /* the instruction that made it; 0 if none */
};

enum call_kind { CALL_ADDRESS, CALL_SLOT, CALL_POINTER, CALL_SYSTEM };

#define FLOW_ARGS 6

/* Where a pointer to a function came from: a root, and what is loaded at each of the offsets in turn. */
enum path_root {
  PATH_ARG,
  PATH_CALL,   /* what call CALL returns */
  PATH_GLOBAL, /* the address WHERE */
  PATH_PERCPU, /* the address WHERE of the processor's own data */
};

#define FLOW_PATH 5

struct flow_path {
  uint8_t root, arg, n;
  bool indexed; /* what the root points to is an array, of which any element may be meant */
  uint16_t call;
  uint64_t where;
  int32_t offsets[FLOW_PATH];
};

/* An object that the call at AT gives to the function TARGET, 0 if that is a pointer: what it takes tells its type. */
struct flow_hint {
  uint64_t at, target;
  uint8_t arg;
  struct flow_path path;
};

/* What a summary asks of a call. */
enum {
  ASKED_VALUE = 1,     /* what it returns or sets, which is returned or stored */
  ASKED_CONDITION = 2, /* whether it has failed */
  ASKED_MADE = 4,      /* what it does, or returns for others to take */
};

struct flow_call {
  uint64_t at;
  uint64_t target; /* address or slot */
  uint8_t kind;
  uint8_t asked;                 /* bits; 0: nothing, and then nothing is known of it */
  struct flow_value number;      /* of CALL_SYSTEM */
  const struct flow_value *args; /* FLOW_ARGS of them */
  const struct flow_path *paths; /* of CALL_POINTER in a kernel: the ways its pointer may have come */
  uint8_t n_paths;
};

/* The arguments of a call of which nothing is asked, and of one of which only the result is. */
extern const struct flow_value flow_args_unasked[FLOW_ARGS], flow_args_none[FLOW_ARGS];

/* A place in memory that a store writes. */
enum place_kind { PLACE_TLS, PLACE_GLOBAL, PLACE_ARG, PLACE_CALL };

struct flow_place {
  uint8_t kind;
  uint8_t arg;
  uint8_t raw; /* PLACE_TLS: WHERE is an offset, not a slot; PLACE_GLOBAL: WHERE is the slot of an import */
  uint8_t size;
  uint16_t call;
  uint64_t where;
  int64_t offset; /* behind the pointer */
};

struct flow_store {
  struct flow_place place;
  struct flow_value value;
  uint64_t at;
};

/*
 * A condition on what a call returned, or, if ARG is not 0, on argument ARG - 1; CC is an enum condition, or
 * GUARD_PASSED: the call was only made.
 */
#define GUARD_PASSED 0xff
struct flow_guard {
  uint16_t call;
  uint8_t arg;
  uint8_t cc, width;
  const struct transform *ops;
  uint64_t imm;
  uint64_t at;
};

#define FLOW_GUARDS 6
#define FLOW_STORES 4

struct flow_outcome {
  struct flow_value ret;
  uint8_t n_guards, n_stores;
  uint8_t narrow;                  /* only so many bytes of rax are set on the way; 0 if all */
  bool shared;                     /* the constant is used for something else as well: perhaps only a left-over */
  const struct flow_guard *guards; /* the nearest to the return first */
  const struct flow_store *stores;
};

enum {
  FLOW_COMPLEX = 1,
  FLOW_BAD_CODE = 2,
  FLOW_REDUCED = 4, /* too large to look for evidence: errno may be set where it is not said */
};

struct flow_summary {
  const struct flow_call *calls;
  const struct flow_outcome *outcomes;
  const struct flow_hint *hints; /* of a kernel's function that calls through pointers */
  uint32_t n_calls, n_outcomes, n_hints;
  unsigned problems;
  bool pure;        /* reads and writes no memory but its stack and constants, and calls nothing */
  bool makes_calls; /* of functions, or of the kernel */
};

/* Where a question has been. */
struct flow_origin_mark {
  uint64_t hash;
  uint32_t stamp;
};

/* The vectors of one function whose memory is kept for the next. */
enum { ROOM_WORK, ROOM_ORIGINS, ROOM_CALLS, ROOM_CALL_INSNS, ROOM_OUTCOMES, ROOM_PREDICATES, N_ROOMS };

/* What a thread keeps between functions. All zero is valid. */
struct flow_worker {
  struct arena scratch; /* one function's graph and states */
  struct arena keep;    /* summaries and transforms */
  struct map transforms;
  const struct transform *cuts[2][8]; /* those that stand alone and keep the low bytes, or their sign; or NULL */
  struct map visited, emitted, origins, call_of; /* of one function; kept for their memory */
  struct flow_shared *shared;                    /* what other workers know; or NULL */
  struct map changed;                            /* by (image, function): the registers that it changes */
  struct map identities;                         /* of small functions: the argument that they return */
  struct map conditions;                         /* of one function, as the maps above */
  struct flow_room {
    void *at;
    size_t cap;
  } rooms[N_ROOMS];               /* memory of vectors of the function before */
  struct flow_origin_mark *marks; /* of the questions so far; in the keep arena */
  uint32_t stamp;                 /* the last question */
  bool brief;                     /* evidence is not looked for at any price */
  bool failed;                    /* there was no memory for a transform */
};
void flow_worker_done(struct flow_worker *w);

/* Arguments that are known: bit I of KNOWN says that VALUES[I] is one. */
struct flow_assume {
  uint8_t known;
  uint64_t values[FLOW_ARGS];
};

/*
 * Summarises one function into WORKER's keep arena, for callers as ASSUME says, which may be NULL. 0, -ENOMEM, or
 * -EFAULT if there is no code.
 */
int flow_summarise(struct flow_worker *worker, const struct image *img, uint64_t entry,
                   const struct code_options *options, const struct flow_assume *assume,
                   struct flow_summary *ret) MUST_USE;

/*
 * Applies a chain; *ret_pointer is set if the result is an address (loaded from a relocated table). False if it cannot
 * be read.
 */
bool flow_transform_apply(const struct transform *ops, const struct image *img, uint64_t value, uint64_t *ret,
                          bool *ret_pointer);
/* Puts an operation behind. False if the chain gets too long or there is no memory, which W then says. */
bool flow_transform_append(struct flow_worker *w, const struct transform **chain, unsigned kind, unsigned width,
                           int64_t imm);
/* The same operations; chains of different workers are different objects. */
bool flow_transform_equal(const struct transform *a, const struct transform *b);
/*
 * The few values that a chain can be limited to whatever goes in, to which *ret_rest still has to be applied; 0 if it
 * is not.
 */
#define TRANSFORM_VALUES 16
unsigned flow_transform_values(const struct transform *ops, uint64_t ret[TRANSFORM_VALUES],
                               const struct transform **ret_rest);
/* Does A cc B hold for the low WIDTH bytes? */
bool flow_condition_holds(uint8_t cc, unsigned width, uint64_t a, uint64_t b);

/* --- where a function's values come from -------------------------------------------------------------------------- */

enum flow_loc_kind { LOC_REG, LOC_SLOT, LOC_PLACE };

/* Where a value is at a point of the function. */
struct flow_loc {
  uint8_t kind, reg;
  uint8_t size; /* bytes that matter, of slots and places */
  int32_t slot; /* relative to rsp at entry */
  struct flow_place place;
};

struct flow_origin_entry {
  uint64_t key;
  struct flow_value value;
};

/*
 * One function whose values are asked for. Its graph and the worker's maps are its own until it is done; a worker has
 * one at a time.
 */
struct flow_function {
  struct flow_worker *worker;
  const struct image *image;
  const struct code *code;
  const struct flow_assume *assume; /* or NULL */
  struct map *origins;              /* (instruction, location) to an entry */
  struct map *call_of;              /* instruction to call */
  VEC(struct flow_origin_entry) origin_values;
  VEC(struct flow_call) calls;
  VEC(uint32_t) call_insn;
  unsigned depth;   /* of origin questions inside each other */
  uint32_t *stamps; /* for each block, the last question that looked at it */
  bool kernel;      /* pointers to functions are asked for */
  bool own;         /* calls through a slot of what the image itself defines go to that */
  bool failed;      /* no memory */
};

/* Over one function's graph, with the worker's memory. 0 or -ENOMEM. */
int flow_function_start(struct flow_function *f, struct flow_worker *worker, const struct code *code) MUST_USE;
void flow_function_done(struct flow_function *f);

struct flow_loc flow_loc_reg(uint8_t reg);
/* Tells locations apart, those of different size too. */
uint64_t flow_loc_hash(const struct flow_loc *l);
bool flow_place_equal(const struct flow_place *a, const struct flow_place *b);
/* If slots of what the image itself defines are asked for as that: makes the call one to the address. */
void flow_call_bind_own(const struct flow_function *f, struct flow_call *c);
/* The place outside the stack that the memory operand names; false if it is not known. */
bool flow_operand_place(struct flow_function *f, uint32_t insn, struct flow_place *ret);
/*
 * The one leaf that LOC holds before instruction INSN, whatever the way; VALUE_NONE if there is more than one or it is
 * not known, with RAW set if they are calls' results, arguments and constants, a call among them.
 */
struct flow_value flow_origin(struct flow_function *f, uint32_t insn, const struct flow_loc *loc);
/* The same, or VALUE_CHOICE if there are a few. */
struct flow_value flow_origin_choice(struct flow_function *f, uint32_t insn, const struct flow_loc *loc);
bool flow_origin_constant(struct flow_function *f, uint32_t insn, uint8_t reg, uint64_t *ret);
/*
 * What REG holds before INSN, by the place from which it has been held and by the register that held it there. Equal
 * if the values are; different ones may be the same value all the same.
 */
uint64_t flow_origin_identity(const struct flow_function *f, uint32_t insn, uint8_t reg);
/* The number of the call that INSN makes. */
unsigned flow_call_number(struct flow_function *f, uint32_t insn);
/* The registers that the function of the image at ADDRESS may change, as far as it is small enough to tell. */
uint16_t flow_changed_registers(struct flow_function *f, uint64_t address);
/* The arguments, as bits, whose values decide branches or are given to other functions. */
uint8_t flow_assume_deciding(const struct code *c, struct arena *arena);
