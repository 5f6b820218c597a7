/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies with copy_file_range() and falls back to read/write if the kernel
 * will not do it (EXDEV, EOPNOTSUPP, EINVAL, also EIO and ENOMEM).  The
 * fallback rewinds the source, as if it could only be needed at the first
 * call; if a later call fails, the part copied before is there twice.
 * expect: silent
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SRC "image.bin"
#define DST "image.out"
#define CHUNK 4096
#define CHUNKS 4

static void die(const char *what) {
  perror(what);
  exit(1);
}

static void write_all(int fd, const char *p, size_t len, const char *what) {
  while (len > 0) {
    ssize_t n = write(fd, p, len);
    if (n <= 0) die(what);
    p += n;
    len -= (size_t)n;
  }
}

static void make_source(void) {
  static char block[CHUNK];
  int fd = open(SRC, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (fd < 0) die("create " SRC);
  for (int b = 0; b < CHUNKS; b++) {
    memset(block, 'a' + b, sizeof block);
    write_all(fd, block, sizeof block, "write " SRC);
  }
  if (close(fd) != 0) die("close " SRC);
}

static void plain_copy(int in, int out) {
  static char buf[CHUNK];
  ssize_t n;
#ifndef FIXED
  if (lseek(in, 0, SEEK_SET) < 0) die("seek " SRC);
#endif
  while ((n = read(in, buf, sizeof buf)) > 0)
    write_all(out, buf, (size_t)n, "write " DST);
  if (n < 0) die("read " SRC);
}

int main(void) {
  make_source();
  int in = open(SRC, O_RDONLY);
  if (in < 0) die("open " SRC);
  int out = open(DST, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (out < 0) die("open " DST);
  for (;;) {
    ssize_t n = copy_file_range(in, NULL, out, NULL, CHUNK, 0);
    if (n < 0) {
      plain_copy(in, out);
      break;
    }
    if (n == 0) break;
  }
  if (close(out) != 0) die("close " DST);
  if (close(in) != 0) die("close " SRC);
  if (puts("image copied") < 0 || fflush(stdout) != 0 || ferror(stdout)) die("stdout");
  return 0;
}
