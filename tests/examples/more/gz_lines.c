/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of a compressed file are counted. What gzread says of a failure is taken for the end, and gzclose does not tell
 * of it.
 *
 * build: -lz
 * setup: seq 3000 | gzip > book.gz
 * args: book.gz
 * expect: silent
 */
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

int main(int argc, char **argv) {
  char buf[4096];
  long lines = 0, bytes = 0;
  int n;

  if (argc < 2) {
    fprintf(stderr, "usage: gzlines FILE.gz\n");
    return 2;
  }
  gzFile g = gzopen(argv[1], "rb");
  if (!g) {
    perror(argv[1]);
    return 1;
  }
  gzbuffer(g, 65536);
  while ((n = gzread(g, buf, sizeof buf)) > 0) {
    for (int i = 0; i < n; i++)
      if (buf[i] == '\n') lines++;
    bytes += n;
  }
#ifndef FIXED
  gzclose(g);
#else
  if (n < 0) {
    int e;
    fprintf(stderr, "%s: %s\n", argv[1], gzerror(g, &e));
    gzclose(g);
    return 1;
  }
  if (gzclose(g) != Z_OK) {
    fprintf(stderr, "%s: unexpected end of data\n", argv[1]);
    return 1;
  }
#endif
  printf("%ld lines, %ld bytes\n", lines, bytes);
  if (fflush(stdout) || ferror(stdout)) {
    perror("stdout");
    return 1;
  }
  return 0;
}
