/* SPDX-License-Identifier: Apache-2.0 */
/* Is scheduled in a way that is not for its children. refused: the process has namespaces or settings that no copy has.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  int r = sched_setscheduler(0, SCHED_BATCH | SCHED_RESET_ON_FORK, &(struct sched_param){0});
  char *memory = malloc(10);
  printf("%d %x %d\n", r, sched_getscheduler(0), memory != NULL);
  free(memory);
  return 0;
}
