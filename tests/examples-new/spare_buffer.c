/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorting goes through a temporary file. The mended one sorts what fits in memory if there is no room for one, and
 * neither minds a buffer that is smaller than hoped.
 *
 * setup: seq 40 -1 1 > in
 * stdin: in
 * expect: crash
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_number(const void *a, const void *b) {
  long x = *(const long *)a, y = *(const long *)b;
  return (x > y) - (x < y);
}

int main(void) {
  char line[64];
  size_t room = 1 << 16, n = 0;
  long *all = NULL;
  while (room >= 64 && !(all = malloc(room * sizeof *all)))
    room /= 2;
  if (!all) {
    fprintf(stderr, "no memory\n");
    return 1;
  }
  FILE *spool = tmpfile();
#ifdef FIXED
  if (!spool) fprintf(stderr, "note: no temporary file (%s), sorting in memory\n", strerror(errno));
#endif
  while (fgets(line, sizeof line, stdin)) {
#ifdef FIXED
    if (!spool) {
      if (n == room) {
        fprintf(stderr, "too much to sort\n");
        return 1;
      }
      all[n++] = atol(line);
      continue;
    }
#endif
    if (fputs(line, spool) == EOF) {
      perror("temporary file");
      return 1;
    }
  }
  if (ferror(stdin)) {
    perror("standard input");
    return 1;
  }
#ifdef FIXED
  if (spool)
#endif
  {
    if (fflush(spool) || fseek(spool, 0, SEEK_SET) < 0) {
      perror("temporary file");
      return 1;
    }
    while (n < room && fgets(line, sizeof line, spool))
      all[n++] = atol(line);
    if (ferror(spool)) {
      perror("temporary file");
      return 1;
    }
    fclose(spool);
  }
  qsort(all, n, sizeof *all, by_number);
  for (size_t i = 0; i < n; i++)
    printf("%ld\n", all[i]);
  free(all);
  if (fflush(stdout) || ferror(stdout)) {
    perror("standard output");
    return 1;
  }
  return 0;
}
