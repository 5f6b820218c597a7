/* SPDX-License-Identifier: Apache-2.0 */
/* Who has locked its input keeps it to itself. refused: files are locked. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>

int main(void) {
  printf("%d %d %d\n", flock(0, LOCK_EX | LOCK_NB), flock(1, LOCK_EX | LOCK_NB), flock(2, LOCK_SH | LOCK_NB));
  char *memory = malloc(10);
  printf("%d %d\n", memory != NULL, flock(0, LOCK_SH | LOCK_NB));
  free(memory);
  return 0;
}
