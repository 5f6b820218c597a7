/* SPDX-License-Identifier: Apache-2.0 */
/*
 * readlink's -1 is used as a length.
 *
 * expect: abort
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(void) {
  char *target = malloc(256);
  if (!target) {
    fputs("no memory\n", stderr);
    return 1;
  }
  long n = readlink("/proc/self/exe", target, 255);
#ifdef FIXED
  if (n < 0) {
    perror("/proc/self/exe");
    return 1;
  }
#endif
  char *copy = calloc(1, (size_t)n + 1);
  if (!copy) {
    fputs("no memory\n", stderr);
    return 1;
  }
  memcpy(copy, target, (size_t)n);
  printf("%d\n", copy[0] == '/');
  free(copy);
  free(target);
  return 0;
}
