/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All functions together: what each can return, and what is set along with it.
 *
 * Two steps. First each function is summarised (room flow), on all processors, which takes most of the time and reads
 * every function once. Then calls are replaced by what the callee returns, filtered by the conditions, to a fixed point
 * where functions call each other in circles. The result does not depend on the order. Of a kernel's functions, errors
 * are found as sets.
 */
#pragma once

#include "flow/flow.h"

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
struct solver_side {
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

struct solver_result {
  uint8_t kind;
  uint8_t arg;
  uint8_t evidence;
  uint16_t reasons;
  uint16_t image;                  /* RESULT_TLS */
  uint64_t value;                  /* the constant as in rax; RESULT_TLS: offset */
  const struct transform *ops;     /* RESULT_ARG */
  const struct solver_side *sides; /* sorted */
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

struct solver_results {
  const struct solver_result *at;
  uint32_t n;
};

struct solver;

/* What is known of a system call's arguments: bit I of KNOWN says that VALUES[I] is one. */
struct solver_syscall {
  uint64_t number;
  unsigned known;
  uint64_t values[FLOW_ARGS];
};

/* PARTLY: there are more than those that are known. */
enum solver_known { SOLVER_UNKNOWN, SOLVER_PARTLY, SOLVER_KNOWN };

/* The errors of a system call as a bit set of errno values. */
typedef enum solver_known (*solver_syscalls)(void *context, const struct solver_syscall *call, uint64_t bits[3]);

/*
 * How many calls away from what is wanted a call may be whose function is read, by what is asked of it; all 0: any.
 * Calls that are farther away are as those of functions that are not there: what is not known for it is said to be not
 * known. Errors of a function come from near it, and so does what proves them.
 */
struct solver_reach {
  uint8_t value, condition, made;
};

struct solver_options {
  solver_syscalls syscalls;
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
  struct solver_reach reach;
  unsigned workers;
  void (*progress)(void *context, size_t done, size_t total);
  void *progress_context;
};

int solver_new(const struct solver_options *options, struct solver **ret) MUST_USE;
void solver_free(struct solver *solver);
/*
 * Adds an image, which is searched for imports after those added before. The solver does not own it. Returns its
 * number.
 */
int solver_add(struct solver *solver, const struct image *img) MUST_USE;
/* The function at ADDRESS of image number IMAGE shall be analysed; IFUNC: it is a resolver. Returns its node. */
int solver_want(struct solver *solver, unsigned image, uint64_t address, bool ifunc) MUST_USE;
/* Analyses all that is wanted and what it calls. */
int solver_run(struct solver *solver) MUST_USE;

struct solver_results solver_results_of(const struct solver *solver, uint32_t node);
const struct flow_summary *solver_summary(const struct solver *solver, uint32_t node);
void solver_node(const struct solver *solver, uint32_t node, unsigned *ret_image, uint64_t *ret_address);
const struct image *solver_image(const struct solver *solver, unsigned image);
/* The node that a call of NODE's summary goes to, or -ENOENT. */
int solver_callee(const struct solver *solver, uint32_t node, const struct flow_call *call);
/* Image number and TLS offset of errno; false if no image defines it. */
bool solver_errno(const struct solver *solver, unsigned *ret_image, uint64_t *ret_offset);

struct solver_counts {
  size_t functions, bytes;
};
struct solver_counts solver_count(const struct solver *solver);

/* --- the errors of a kernel --------------------------------------------------------------------------------------- */

/*
 * A solver of one image, which is a kernel. Its functions are summarised as others are, with calls through pointers
 * followed to all that the kernel's tables hold (kernel_targets.c); then each function's errors, values from -1 to
 * -575, are found as sets. Unlike results they say nothing of conditions between functions.
 */

/* Which ways through a kernel count. All may be NULL; names are symbols. */
struct solver_ways {
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

int solver_new_kernel(const struct solver_options *options, const struct solver_ways *ways, const struct image *img,
                      struct solver **ret) MUST_USE;
int solver_run_errors(struct solver *solver) MUST_USE;

/* An error that a function can return, and how it is known on the shortest way. */
struct solver_error {
  uint16_t number;
  uint8_t place;      /* 0: it is returned; N + 1: it is stored behind argument N */
  uint8_t from_place; /* the same in the function that it comes from */
  uint32_t via; /* node + 1 of the function that it comes from, which has it as FROM; 0 if it is a constant here */
  uint16_t from;
  uint64_t at;    /* the instruction that makes the constant or the call */
  uint64_t table; /* the table through which the call goes, or 0 */
};

/* In the order in which they were found, nearest first. */
size_t solver_errors(const struct solver *solver, uint32_t node, const struct solver_error **ret);

/*
 * Other ways to the error *E of NODE, through other tables that the same call can go through: *E with another table and
 * function. How many there are; at most MAX are stored.
 */
size_t solver_error_tables(const struct solver *solver, uint32_t node, const struct solver_error *e,
                           struct solver_error *ret, size_t max);

/* Does the function return, perhaps through others, what a pointer's function returns that is not known? */
bool solver_errors_unknown(const struct solver *solver, uint32_t node);
/* Why not all of a function's errors are known, on the shortest way. */
struct solver_gap {
  bool there;
  uint32_t via; /* node + 1 of the function that has it and that the call is of; 0 if it is here */
  uint64_t at;  /* the call, which leads where is not known if VIA is 0; 0 if the function could not be read whole */
};
struct solver_gap solver_errors_gap(const struct solver *solver, uint32_t node);

struct solver_kernel_counts {
  size_t pointer_calls, resolved, targets;
};
struct solver_kernel_counts solver_count_kernel(const struct solver *solver);
