/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input goes to standard output and to files. A file that takes no more is left behind, without a word; the others go on.
 *
 * setup: seq 1 2000 > in
 * stdin: in
 * args: one two
 * expect: silent
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>

int main(int argc, char **argv) {
  FILE **f = calloc(argc, sizeof *f);
  int status = 0;
  if (!f) {
    perror("tee");
    return 1;
  }
  for (int i = 0; i < argc; i++) {
    f[i] = i ? fopen(argv[i], "w") : stdout;
    if (!f[i]) {
      perror(argv[i]);
      status = 1;
    }
  }
  char block[1024];
  size_t n;
  while ((n = fread(block, 1, sizeof block, stdin)) > 0)
    for (int i = 0; i < argc; i++) {
      if (!f[i] || fwrite(block, 1, n, f[i]) == n) continue;
#ifdef FIXED
      fprintf(stderr, "%s: %s\n", i ? argv[i] : "standard output", strerror(errno));
      status = 1;
#endif
      fclose(f[i]);
      f[i] = NULL;
    }
  if (ferror(stdin)) {
    perror("standard input");
    status = 1;
  }
  for (int i = 0; i < argc; i++)
    if (f[i] && fclose(f[i])) {
      fprintf(stderr, "%s: %s\n", i ? argv[i] : "standard output", strerror(errno));
      status = 1;
    }
  free(f);
  return status;
}
