/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the room: images, nodes and what is known of them. */
#pragma once

#include "solver/solver.h"
#include "solver/kernel_targets.h"

#include <pthread.h>

/* Errors are numbers from 1; those above 133 are the kernel's own. */
#define ERRORS_MAX 575

struct error_set {
  uint64_t bits[ERRORS_MAX / 64 + 1];
};

/* Where the call through a pointer can go. */
struct pointer_call {
  uint32_t call, n;
  bool known; /* these are all */
  const struct solver_target *targets;
};

/* Of a kernel's function. */
struct node_errors {
  struct error_set sets[1 + FLOW_ARGS]; /* returned, and stored behind its arguments */
  uint64_t passes;                      /* the arguments that it may return, as bits; then those that it negates */
  struct solver_gap gap;                /* it returns what a call through a pointer returns that leads nowhere */
  VEC(struct solver_error) found;
  struct pointer_call *pointers;
  uint32_t n_pointers;
  int32_t *callees; /* for each call, the node of its function; -1 if there is none */
};

struct node {
  uint16_t image;
  bool ifunc;           /* a resolver; the results are those of the functions it returns */
  bool depends_on_args; /* makes a system call whose number or errors depend on its arguments */
  bool on_stack, indexed;
  bool read;     /* there is a summary */
  uint8_t depth; /* calls between what is wanted and it, the shortest way; only if there is a limit */
  uint64_t address;
  struct flow_summary summary;
  struct solver_results results;
  uint32_t index, low; /* for finding circles */
  uint32_t circle;     /* the circle that it is in */
  struct node_errors *errors;
  const struct flow_assume *assume; /* of a kernel's function: for callers that give these constants; or NULL */
};

struct solver {
  struct solver_options options;
  VEC(const struct image *) images;
  VEC(struct node *) nodes;
  struct map node_of;   /* key of (image, address, ifunc) */
  struct map slot_node; /* key of (image, slot): node + 1, or 0 if there is none */
  struct arena arena;
  struct flow_worker *workers;
  struct flow_shared shared;
  unsigned n_workers;
  pthread_mutex_t lock;
  pthread_cond_t more;
  size_t next, active; /* nodes taken, and being worked on */
  int error;
  bool has_errno;
  unsigned errno_image;
  uint64_t errno_offset;
  struct code_kernel *kernel; /* NULL if the images are not kernels */
  struct solver_ways ways;
  struct types *types;
  struct targets *targets;
  struct map deciding; /* of a function: the arguments that matter to it */
};

/* The image and symbol that NAME binds to from IMAGE; its own first. */
const struct image_symbol *solver_symbol(const struct solver *solver, unsigned image, const char *name,
                                         const char *version, unsigned *ret_image);
/* Brings all nodes' results to a fixed point. */
int solver_solve_results(struct solver *solver);
/* Brings all nodes' errors to a fixed point. */
int solver_solve_errors(struct solver *solver);
