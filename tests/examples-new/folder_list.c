/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The example of scandir's manual page, without its error: while (n--) from -1.
 *
 * setup: mkdir d; touch d/a d/b d/c
 * args: d
 * expect: crash
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  struct dirent **names = NULL;
  if (argc != 2) return 2;
  int n = scandir(argv[1], &names, NULL, alphasort);
#ifdef FIXED
  if (n < 0) {
    perror(argv[1]);
    return 1;
  }
#endif
  while (n--) {
    printf("%s\n", names[n]->d_name);
    free(names[n]);
  }
  free(names);
  return fflush(stdout) ? 1 : 0;
}
