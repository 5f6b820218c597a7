/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at the time that it has used of processors. refused: the program looks at its processor time. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(void) {
  const clock_t before = clock();
  for (volatile long i = 0; i < 10000000; i++) {
  }
  char *memory = malloc(10);
  printf("%d %d\n", memory != NULL, clock() - before > CLOCKS_PER_SEC / 1000);
  free(memory);
  return 0;
}
