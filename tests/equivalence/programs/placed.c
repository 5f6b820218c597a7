/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the heap begins decides what is said and how often memory is asked for, as in programs that sort by address.
 * All children of a fork server have one such place, which exec may not come upon in many runs.
 *
 * by chance alone
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 16, PAGE = 4096 };

int main(void) {
  char *first = malloc(10);
  if (!first) return 1;
  unsigned n = 1 + (unsigned)((uintptr_t)first / PAGE % MOST);
  for (unsigned i = 0; i < n; i++) {
    char *p = malloc(100);
    if (!p) {
      fprintf(stderr, "no memory after %u of %u\n", i, n);
      return 1;
    }
    free(p);
  }
  puts("done");
  free(first);
  return 0;
}
