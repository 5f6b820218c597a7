/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the unwind rows of an image, for unwind.py, which compares them with what readelf says: a line for each row,
 * "start kind add rbp offset". With --time, how long it takes instead.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "image/image.h"

static const char *const kinds[] = {"end", "rsp", "rbp", "at_rsp", "at_rbp", "plt", "signal", "none"};

static double now(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
  struct image *img = NULL;
  struct image_row *rows = NULL;
  struct err e = {0};
  size_t n = 0;
  bool timed = argc == 3 && strcmp(argv[1], "--time") == 0;
  if (argc != 2 && !timed) return 2;
  if (image_open(argv[argc - 1], &img, &e) < 0) {
    (void)fprintf(stderr, "%s\n", e.text);
    return 2;
  }
  double before = now();
  int r = image_unwind(img, &rows, &n);
  double seconds = now() - before;
  for (size_t i = 0; i < n && !timed; i++)
    printf("%" PRIx32 " %s %d %d %" PRId32 "\n", rows[i].start, kinds[rows[i].cfa], rows[i].add, rows[i].rbp,
           rows[i].offset);
  if (timed) printf("%zu rows, %.1f ms\n", n, seconds * 1e3);
  free(rows);
  image_free(img);
  return r < 0 ? 1 : 0;
}
