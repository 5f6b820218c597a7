/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was drawn at random decides how often memory is asked for and in which order, as in programs with hashes: exec
 * does not repeat that, and without chance each mode does the same.
 *
 * by chance alone
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

int main(void) {
  unsigned char drawn = 0;
  if (getrandom(&drawn, sizeof drawn, 0) != (ssize_t)sizeof drawn) return 2;
  for (unsigned i = 0; i < 8; i++) {
    size_t size = 10 + (drawn ^ i) % 8;
    char *p = malloc(size);
    if (!p) {
      printf("no memory for %zu bytes\n", size);
      return 1;
    }
    free(p);
  }
  puts("done");
  return 0;
}
