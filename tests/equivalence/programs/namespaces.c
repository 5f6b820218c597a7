/* SPDX-License-Identifier: Apache-2.0 */
/* Another mount namespace has not what the keeper lays over files. refused: the process has namespaces or settings that
 * no copy has. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  int r = unshare(CLONE_NEWUSER | CLONE_NEWNS);
  char *memory = malloc(10);
  printf("%d %d\n", r, memory != NULL);
  free(memory);
  return 0;
}
