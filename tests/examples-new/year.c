/* SPDX-License-Identifier: Apache-2.0 */
/*
 * localtime returns NULL for a year that does not fit.
 *
 * args: 86400 1000000000
 * expect: crash
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    time_t t = strtoll(argv[i], NULL, 10);
    struct tm *tm = gmtime(&t);
    char text[64];
#ifdef FIXED
    if (!tm) {
      perror(argv[i]);
      return 1;
    }
#endif
    if (!strftime(text, sizeof text, "%Y-%m-%d", tm)) return 1;
    puts(text);
  }
  return fflush(stdout) ? 1 : 0;
}
