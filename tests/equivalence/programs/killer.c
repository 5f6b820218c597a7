/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kills all that it may, and leaves others running.
 *
 * once different: whoever is left is killed when the first process ends, and whether it came to its pause by then is chance.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(void) {
  char *memory = malloc(10);
  kill(-1, SIGKILL);
  if (fork() == 0) {
    setsid();
    for (;;)
      pause();
  }
  printf("still here: %d\n", memory != NULL);
  free(memory);
  return 0;
}
