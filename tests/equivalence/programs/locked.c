/* SPDX-License-Identifier: Apache-2.0 */
/* No fork's child has its memory locked. refused: the process has namespaces or settings that no copy has. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

int main(void) {
  int r = mlockall(MCL_CURRENT | MCL_FUTURE);
  char *memory = malloc(10);
  printf("%d %d\n", r == 0, memory != NULL);
  free(memory);
  return 0;
}
