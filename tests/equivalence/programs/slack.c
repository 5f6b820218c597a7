/* SPDX-License-Identifier: Apache-2.0 */
/* A child's default is what its parent has. refused: the process has namespaces or settings that no copy has. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

int main(void) {
  prctl(PR_SET_TIMERSLACK, 70000);
  char *memory = malloc(10);
  prctl(PR_SET_TIMERSLACK, 0);
  printf("%d %d\n", memory != NULL, prctl(PR_GET_TIMERSLACK));
  free(memory);
  return 0;
}
