/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LD_PRELOAD in the environment, and ASAN_OPTIONS, without which gcc's address sanitizer would not start behind the
 * shim: the target does not see what murphy put there; programs that are followed into have it when they start,
 * whatever the target did to the environment. Where they could not read the shim they are not followed, and counted.
 */
#pragma once

#include "runtime.h"

#define RT_ENV_ENTRIES 512
#define RT_ENV_BYTES 2048

/* Memory for an environment with two entries more, in the caller's frame; what is larger is mapped. */
struct rt_environment {
  char **at; /* the environment to use */
  void *mapped;
  bool kept; /* others may see it at any time: its memory is never given back */
  size_t mapped_size;
  char *entries[RT_ENV_ENTRIES];
  char strings[RT_ENV_BYTES];
};

/* The process's environment is there: what led here goes out of it. */
void rt_environment_start(char **envp) RT_HIDDEN;
/* The process's own, as libc has it; NULL if it has none. */
char **rt_environment_own(void) RT_HIDDEN;
/* Makes it ENVP, in all variables that still have OLD. */
void rt_environment_set(char **old, char **envp) RT_HIDDEN;

/*
 * Makes it BEFORE again, if it is that of E. Who has changed it meanwhile has copied what was in it: what is E's goes
 * out of that.
 */
void rt_environment_restore(const struct rt_environment *e, char **before) RT_HIDDEN;

/* Is ENVP as a new program should get it? Asked once for each that is started. */
bool rt_environment_good(char *const *envp) RT_HIDDEN;
/* e->at becomes what a new program should get in place of ENVP; ENVP itself if there is no memory. */
void rt_environment_make(struct rt_environment *e, char **envp) RT_HIDDEN;
/* The new program could not be started: gives back what was mapped. */
void rt_environment_done(struct rt_environment *e) RT_HIDDEN;
