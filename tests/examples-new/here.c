/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder that one is in may be gone, or its name too long: getcwd returns NULL. And names in output are best made
 * short where that is possible, which it need not be.
 *
 * setup: mkdir -p sub; echo x > sub/file
 * args: sub/file
 * expect: crash
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  char *full = realpath(argv[1], NULL);
  if (!full) {
    perror(argv[1]);
    return 1;
  }
  char *here = getcwd(NULL, 0);
  const char *shown = full;
#ifdef FIXED
  if (here)
#endif
  {
    size_t n = strlen(here);
    if (!strncmp(full, here, n) && full[n] == '/') shown = full + n + 1;
  }
#ifdef FIXED
  else
    fprintf(stderr, "warning: names are not made short: %s\n", strerror(errno));
#endif
  puts(shown);
  free(here);
  free(full);
  return fflush(stdout) ? 1 : 0;
}
