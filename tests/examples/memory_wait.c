/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits for memory to come back, for ever. Two calls: the loop tries again from another place than the first.
 *
 * expect: hang
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *get(size_t n) {
  char *p = malloc(n);
#ifdef FIXED
  if (!p) {
    fputs("out of memory\n", stderr);
    exit(1);
  }
#else
  while (!p) {
    usleep(1000);
    p = malloc(n);
  }
#endif
  return p;
}

int main(void) {
  char *text = get(100);
  strcpy(text, "done");
  puts(text);
  free(text);
  return 0;
}
