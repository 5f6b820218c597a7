/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the room: a kernel under study, and how an error of a system call came about. */
#pragma once

#include "profile/ways.h"

#define KERNEL_CHAIN_MAX 64

struct kernel_call {
  const char *name;
  uint32_t number, node;
};

typedef VEC(char *) path_list; /* of what malloc gave */

struct study {
  struct ways ways;
  struct knowledge knowledge;
  struct image *image;
  struct solver *solver;
  path_list modules;
  const char *analysed, *missing; /* names of modules, as kernel_modules_tell has them */
  VEC(struct kernel_call) calls;  /* by number */
};

/* --- profile_kernel.c --------------------------------------------------------------------------------------------- */

/*
 * Reads the data, the kernel and its modules, and finds the system calls; nothing is analysed yet. *s is all zero
 * before, and study_done is called behind, also on failure.
 */
int study_open(const struct profile_request *request, struct study *s, struct err *e) MUST_USE;
void study_done(struct study *s);

/* --- kernel_modules.c --------------------------------------------------------------------------------------------- */

/*
 * The paths of the modules of data/kernel/ways, in order; none if there is no folder. kernel_modules_done also on
 * failure.
 */
int kernel_modules_find(const struct profile_request *request, const struct ways *w, path_list *ret,
                        struct err *e) MUST_USE;
void kernel_modules_done(path_list *l);
/* Names with spaces between them: what was analysed, and what should have been but is neither built in nor found. */
void kernel_modules_tell(const struct image *img, const struct ways *w, struct text *analysed, struct text *missing);

/* --- kernel_why.c ------------------------------------------------------------------------------------------------- */

/* What a program sees of the kernel's error NUMBER; 0 if it never does. */
int kernel_visible(unsigned number);
/* "ENOSPC from shmem_get_folio_gfp through shmem_file_operations" */
void kernel_tell_shortly(const struct study *s, const struct kernel_call *call, unsigned number, struct text *to);
