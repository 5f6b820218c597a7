/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the room: images, nodes and what is known of them. */
#pragma once

#include "flow/flow.h"

#include <pthread.h>

struct node {
  uint16_t image;
  bool ifunc;           /* a resolver; the results are those of the functions it returns */
  bool depends_on_args; /* makes a system call whose number or errors depend on its arguments */
  bool on_stack, indexed;
  uint64_t address;
  struct flow_summary summary;
  struct flow_results results;
  uint32_t index, low; /* for finding circles */
};

struct flow_world {
  struct flow_world_options options;
  VEC(const struct image *) images;
  VEC(struct node *) nodes;
  struct map node_of;   /* key of (image, address, ifunc) */
  struct map slot_node; /* key of (image, slot): node + 1, or 0 if there is none */
  struct arena arena;
  struct flow_worker *workers;
  unsigned n_workers;
  pthread_mutex_t lock;
  pthread_cond_t more;
  size_t next, active; /* nodes taken, and being worked on */
  int error;
  bool has_errno;
  unsigned errno_image;
  uint64_t errno_offset;
  struct map syscall_results; /* hash of number and errors to struct flow_results * */
};

/* The image and symbol that NAME binds to from IMAGE; its own first. */
const struct image_symbol *world_symbol(const struct flow_world *w, unsigned image, const char *name,
                                        const char *version, unsigned *ret_image);
/* Brings all nodes' results to a fixed point. */
int world_solve(struct flow_world *w);
