/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is written to a stream goes out when it is closed; whether that worked is not looked at.
 *
 * expect: silent
 */
#include <stdio.h>

int main(void) {
  FILE *f = fopen("report.txt", "w");
  if (!f) {
    perror("report.txt");
    return 1;
  }
  fputs("line\n", f);
#ifdef FIXED
  if (ferror(f) | fclose(f)) {
    perror("report.txt");
    return 1;
  }
#else
  fclose(f);
#endif
  puts("written");
  return 0;
}
