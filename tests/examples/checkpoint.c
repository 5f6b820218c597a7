/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LFI, table III: a replica writes its checkpoint to a stream that fopen did not open.
 *
 * expect: crash
 */
#include <stdio.h>

int main(void) {
  FILE *f = fopen("checkpoint.tmp", "w");
#ifdef FIXED
  if (!f) {
    perror("checkpoint.tmp");
    return 1;
  }
#endif
  fprintf(f, "view %d\n", 7);
  if (fclose(f) != 0) {
    perror("checkpoint.tmp");
    return 1;
  }
  puts("saved");
  return 0;
}
