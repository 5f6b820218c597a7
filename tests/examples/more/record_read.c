/* SPDX-License-Identifier: Apache-2.0 */
/*
 * That records can be read is asserted.
 *
 * expect: abort
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct rec {
  int id;
  int hits;
  char name[24];
};

static void die(const char *s) {
  perror(s);
  exit(1);
}

static void put(int fd, int i, const struct rec *r) {
  ssize_t n = pwrite(fd, r, sizeof *r, (off_t)i * sizeof *r);
  if (n < 0) die("recdb: pwrite");
  if (n != sizeof *r) {
    fprintf(stderr, "recdb: short write of record %d\n", i);
    exit(1);
  }
}

static void get(int fd, int i, struct rec *r) {
  ssize_t n = pread(fd, r, sizeof *r, (off_t)i * sizeof *r);
#ifndef FIXED
  assert(n == sizeof *r);
#else
  if (n < 0) die("recdb: pread");
  if (n != sizeof *r) {
    fprintf(stderr, "recdb: record %d is cut short\n", i);
    exit(1);
  }
#endif
}

int main(void) {
  struct rec r;
  int fd = open("recdb.out", O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (fd < 0) die("recdb.out");
  for (int i = 0; i < 8; i++) {
    memset(&r, 0, sizeof r);
    r.id = 100 + i;
    snprintf(r.name, sizeof r.name, "item-%d", i);
    put(fd, i, &r);
  }
  for (int k = 0; k < 20; k++) {
    int i = k * k % 8;
    get(fd, i, &r);
    r.hits++;
    put(fd, i, &r);
  }
  for (int i = 0; i < 8; i++) {
    get(fd, i, &r);
    printf("%d %-10s %d\n", r.id, r.name, r.hits);
  }
  if (fsync(fd) || close(fd)) die("recdb.out");
  if (fflush(stdout) || ferror(stdout)) die("stdout");
  return 0;
}
