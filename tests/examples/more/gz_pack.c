/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file is compressed and then deleted, as gzip does. That gzclose still has most of it to write is forgotten.
 *
 * setup: seq 1 3000 > data
 * args: data
 * build: -lz
 * expect: silent
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  char name[256], block[4096];
  snprintf(name, sizeof name, "%s.gz", argv[1]);
  FILE *in = fopen(argv[1], "rb");
  if (!in) {
    perror(argv[1]);
    return 1;
  }
  gzFile out = gzopen(name, "wb6");
  if (!out) {
    perror(name);
    fclose(in);
    return 1;
  }
  size_t n;
  int bad = 0;
  while (!bad && (n = fread(block, 1, sizeof block, in)) > 0)
    if (gzwrite(out, block, n) != (int)n) bad = 1;
  if (ferror(in)) bad = 1;
  fclose(in);
#ifdef FIXED
  if (gzclose(out) != Z_OK) bad = 1;
#else
  gzclose(out);
#endif
  if (bad) {
    fprintf(stderr, "%s: not packed\n", argv[1]);
    unlink(name);
    return 1;
  }
  if (unlink(argv[1]) < 0) {
    perror(argv[1]);
    return 1;
  }
  return 0;
}
