/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is in the buffer of a stream is gone when fflush fails: there is nothing left that fclose could fail to write, and
 * that it is looked at does not help.
 *
 * expect: silent
 */
#include <stdio.h>

int main(void) {
  FILE *f = fopen("list.txt", "w");
  if (!f) {
    perror("list.txt");
    return 1;
  }
  fprintf(f, "one\ntwo\n");
#ifdef FIXED
  if (fflush(f) | fclose(f)) {
#else
  fflush(f);
  if (fclose(f)) {
#endif
    perror("list.txt");
    return 1;
  }
  return 0;
}
