/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A result of malloc is written to unchecked.
 *
 * expect: crash
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
  char *name = malloc(32);
#ifdef FIXED
  if (!name) {
    fputs("no memory\n", stderr);
    return 1;
  }
#endif
  strcpy(name, "world");
  printf("hello %s\n", name);
  free(name);
  return 0;
}
