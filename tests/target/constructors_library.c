/* SPDX-License-Identifier: Apache-2.0 */
/* A library that calls before main, for constructors.c. */
#include <errno.h>
#include <unistd.h>

int in_library(void);
static int early;

__attribute__((constructor(101))) static void start(void) {
  errno = 0;
  early = dup(0) == -1 && errno == EMFILE;
}

int in_library(void) { return early; }
