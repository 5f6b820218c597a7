/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which constants reach the return of a function, on which conditions, and what is set on the way.
 *
 * Two steps. First each function alone: LFI's algorithm 1, backward from its returns, on demand, with the conditions of
 * the branches crossed; a call is a leaf. The result, a summary, is a list of outcomes over leaves. Then all summaries
 * together: calls are replaced by what the callee returns, filtered by the conditions, to a fixed point where functions
 * call each other in circles. The first step takes most of the time, reads every function once and runs on all
 * processors; the result does not depend on the order.
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

/* A function that a call through a pointer can reach, and the table that holds its address; 0 if none does. */
struct flow_target {
  uint64_t function, table;
};

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
bool transform_apply(const struct transform *ops, const struct image *img, uint64_t value, uint64_t *ret,
                     bool *ret_pointer);
/* Puts an operation behind. False if the chain gets too long or there is no memory, which W then says. */
bool transform_append(struct flow_worker *w, const struct transform **chain, unsigned kind, unsigned width,
                      int64_t imm);
/* The same operations; chains of different workers are different objects. */
bool transform_equal(const struct transform *a, const struct transform *b);
/*
 * The few values that a chain can be limited to whatever goes in, to which *ret_rest still has to be applied; 0 if it
 * is not.
 */
#define TRANSFORM_VALUES 16
unsigned transform_values(const struct transform *ops, uint64_t ret[TRANSFORM_VALUES],
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

/* --- all functions together --------------------------------------------------------------------------------------- */

enum result_kind {
  RESULT_CONST,
  RESULT_POINTER,
  RESULT_TLS,
  RESULT_ARG,
  RESULT_OPAQUE,
  RESULT_UNDEFINED,
  RESULT_IMPOSSIBLE
};

/* Why a result is opaque. */
enum {
  OPAQUE_INDIRECT = 1,
  OPAQUE_EXTERNAL = 2,
  OPAQUE_COMPUTED = 4,
  OPAQUE_MEMORY = 8,
  OPAQUE_COMPLEX = 16,
  OPAQUE_CODE = 32,
  OPAQUE_SYSCALL = 64,   /* a system call whose errors are not known */
  OPAQUE_POSITIVE = 128, /* what a system call returns on success: not negative */
  OPAQUE_WIDE = 256,     /* all 64 bits are meant: a pointer or a long */
  OPAQUE_POINTER = 512,  /* it is used as an address */
  OPAQUE_MORE = 4096,    /* of a constant: one of the errors of a system call that has others, which are not known */
  OPAQUE_ERRNO = 2048,   /* a call that is not known fails on the way: errno may be set */
  OPAQUE_ORDER = 1024,   /* the difference of two bytes: an order, as memcmp gives it */
};

enum side_place { PLACED_TLS, PLACED_GLOBAL, PLACED_ARG };

/* One value that one place gets. Places are resolved: PLACED_TLS and PLACED_GLOBAL by image and offset. */
struct flow_side {
  uint8_t place;
  uint8_t arg;      /* PLACED_ARG, from 0 */
  uint8_t from_arg; /* the value is argument FROM_ARG - 1, through OPS */
  bool unknown;     /* set, but the value is not known */
  bool more;        /* ... and a system call's, of which others are known */
  uint8_t width;    /* in bytes, as it is stored */
  uint16_t image;
  int64_t offset;
  int64_t value;
  const struct transform *ops;
};

enum {
  EVIDENCE_ERRNO = 1,  /* errno is set on the way */
  EVIDENCE_CALLEE = 2, /* the way is taken only if a callee fails */
  EVIDENCE_SHARED = 4, /* the constant may be a left-over */
  EVIDENCE_SYSCALL = 8,
  EVIDENCE_SIDE = 16,
  EVIDENCE_RAISED = 32, /* a function that returns nothing is called with a constant: perhaps to note the error */
};

struct flow_result {
  uint8_t kind;
  uint8_t arg;
  uint8_t evidence;
  uint16_t reasons;
  uint16_t image;                /* RESULT_TLS */
  uint64_t value;                /* the constant as in rax; RESULT_TLS: offset */
  const struct transform *ops;   /* RESULT_ARG */
  const struct flow_side *sides; /* sorted */
  uint32_t n_sides;
  /* Where it came from, for people: the outcome, and the callee's constant that it passes on or depends on. */
  const struct flow_outcome *outcome;
  uint32_t via_node, because_node; /* node + 1, or 0 */
  uint64_t via_value, because_value;
  uint8_t because_guard;
  uint8_t narrow;                     /* only so many bytes of rax are set; 0 if all */
  bool errno_partial;                 /* errno is set on some of its ways only */
  const struct flow_guard *arg_guard; /* one of its ways is taken if an argument is an error already, or NULL */
};

struct flow_results {
  const struct flow_result *at;
  uint32_t n;
};

struct flow_world;

/* What is known of a system call's arguments: bit I of KNOWN says that VALUES[I] is one. */
struct flow_syscall {
  uint64_t number;
  unsigned known;
  uint64_t values[FLOW_ARGS];
};

/* PARTLY: there are more than those that are known. */
enum flow_known { FLOW_UNKNOWN, FLOW_PARTLY, FLOW_KNOWN };

/* The errors of a system call as a bit set of errno values. */
typedef enum flow_known (*flow_syscalls)(void *context, const struct flow_syscall *call, uint64_t bits[3]);

/*
 * How many calls away from what is wanted a call may be whose function is read, by what is asked of it; all 0: any.
 * Calls that are farther away are as those of functions that are not there: what is not known for it is said to be not
 * known. Errors of a function come from near it, and so does what proves them.
 */
struct flow_reach {
  uint8_t value, condition, made;
};

struct flow_world_options {
  flow_syscalls syscalls;
  /* Which arguments of a system call decide on its errors, as a set of bits. May be NULL. */
  unsigned (*syscall_args)(void *context, uint64_t number);
  void *syscalls_context;
  /* Is a function of this name known never to return? */
  bool (*noreturn)(void *context, const char *name);
  void *noreturn_context;
  /*
   * Is a function of this name known not to fail? What it returns is then not looked for, and hands no error on to who
   * calls it. May be NULL; the context is that of noreturn.
   */
  bool (*infallible)(void *context, const char *name);
  struct flow_reach reach;
  unsigned workers;
  void (*progress)(void *context, size_t done, size_t total);
  void *progress_context;
};

int flow_world_new(const struct flow_world_options *options, struct flow_world **ret) MUST_USE;
void flow_world_free(struct flow_world *w);
/*
 * Adds an image, which is searched for imports after those added before. The world does not own it. Returns its number.
 */
int flow_world_add(struct flow_world *w, const struct image *img) MUST_USE;
/* The function at ADDRESS of image number IMAGE shall be analysed; IFUNC: it is a resolver. Returns its node. */
int flow_world_want(struct flow_world *w, unsigned image, uint64_t address, bool ifunc) MUST_USE;
/* Analyses all that is wanted and what it calls. */
int flow_world_solve(struct flow_world *w) MUST_USE;

struct flow_results flow_world_results(const struct flow_world *w, uint32_t node);
const struct flow_summary *flow_world_summary(const struct flow_world *w, uint32_t node);
void flow_world_node(const struct flow_world *w, uint32_t node, unsigned *ret_image, uint64_t *ret_address);
const struct image *flow_world_image(const struct flow_world *w, unsigned image);
/* The node that a call of NODE's summary goes to, or -ENOENT. */
int flow_world_callee(const struct flow_world *w, uint32_t node, const struct flow_call *call);
/* Image number and TLS offset of errno; false if no image defines it. */
bool flow_world_errno(const struct flow_world *w, unsigned *ret_image, uint64_t *ret_offset);

struct flow_counts {
  size_t functions, bytes;
};
struct flow_counts flow_world_counts(const struct flow_world *w);

/* --- the errors of a kernel --------------------------------------------------------------------------------------- */

/*
 * A world of one image, which is a kernel. Its functions are summarised as others are, with calls through pointers
 * followed to all that the kernel's tables hold (targets.c); then each function's errors, values from -1 to -575, are
 * found as sets. Unlike results they say nothing of conditions between functions.
 */

/* Which ways through a kernel count. All may be NULL; names are symbols. */
struct flow_ways {
  /* Does the table belong to what ordinary programs use? If any that a call can go through does, only those count. */
  bool (*table)(void *context, const char *name);
  /* Is the function one that the calls of ordinary programs do not come to? Its errors do not count. */
  bool (*beyond)(void *context, const char *name);
  /* Is the error one that the function never returns, though its code looks so? */
  bool (*never)(void *context, const char *name, unsigned error);
  /* Errors that the function also returns, from memory that others fill: a bit set of 3 words, or NULL. */
  const uint64_t *(*gives)(void *context, const char *name);
  bool incomplete; /* tables are missing: where a call through a table goes is never known fully */
  void *context;
};

int flow_world_new_kernel(const struct flow_world_options *options, const struct flow_ways *ways,
                          const struct image *img, struct flow_world **ret) MUST_USE;
int flow_world_solve_errors(struct flow_world *w) MUST_USE;

/* An error that a function can return, and how it is known on the shortest way. */
struct flow_error {
  uint16_t number;
  uint8_t place;      /* 0: it is returned; N + 1: it is stored behind argument N */
  uint8_t from_place; /* the same in the function that it comes from */
  uint32_t via; /* node + 1 of the function that it comes from, which has it as FROM; 0 if it is a constant here */
  uint16_t from;
  uint64_t at;    /* the instruction that makes the constant or the call */
  uint64_t table; /* the table through which the call goes, or 0 */
};

/* In the order in which they were found, nearest first. */
size_t flow_world_errors(const struct flow_world *w, uint32_t node, const struct flow_error **ret);

/*
 * Other ways to the error *E of NODE, through other tables that the same call can go through: *E with another table and
 * function. How many there are; at most MAX are stored.
 */
size_t flow_world_error_tables(const struct flow_world *w, uint32_t node, const struct flow_error *e,
                               struct flow_error *ret, size_t max);

/* Does the function return, perhaps through others, what a pointer's function returns that is not known? */
bool flow_world_errors_unknown(const struct flow_world *w, uint32_t node);
/* Why not all of a function's errors are known, on the shortest way. */
struct flow_gap {
  bool there;
  uint32_t via; /* node + 1 of the function that has it and that the call is of; 0 if it is here */
  uint64_t at;  /* the call, which leads where is not known if VIA is 0; 0 if the function could not be read whole */
};
struct flow_gap flow_world_errors_gap(const struct flow_world *w, uint32_t node);

struct flow_kernel_counts {
  size_t pointer_calls, resolved, targets;
};
struct flow_kernel_counts flow_world_kernel_counts(const struct flow_world *w);
