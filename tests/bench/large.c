/* SPDX-License-Identifier: Apache-2.0 */
/* Fills as many megabytes as it is told to, and then makes a few calls that can fail: what does a fork of it cost? */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
  size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) << 20 : 0;
  char *all = malloc(n);
  if (!all) return 1;
  memset(all, 1, n);
  for (int i = 0; i < 4; i++) {
    char *p = malloc(100);
    FILE *f = fopen("/dev/null", "r");
    if (!p || !f || fclose(f) != 0) {
      puts("no");
      return 2;
    }
    free(p);
  }
  printf("%d\n", all[n / 2]);
  return 0;
}
