/* SPDX-License-Identifier: Apache-2.0 */
/* Corners that were wrong once: flags of sbb, imported variables, many stores, bytes, private functions that never return. */
#include "truth.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* errors: -1[@close] */
EXPORT int corner_close(int fd) { return close(fd) ? -1 : 0; }

/* errors: -1[@close] */
EXPORT int corner_close_all(const int *fds, size_t n) {
  int bad = 0;
  for (size_t i = 0; i < n; i++)
    if (close(fds[i])) bad = -1;
  return bad;
}

struct corner_form {
  int a, b, c, d, e, f, g;
};

/* errors: -1[EINVAL] */
EXPORT int corner_reset(struct corner_form *f, int mode) {
  if (mode < 0) {
    errno = EINVAL;
    f->a = 3;
    f->b = mode;
    f->c = 5;
    f->d = 7;
    f->e = mode + 1;
    f->f = 9;
    return -1;
  }
  f->g = mode;
  return 0;
}

/* A byte, or 255 for a mark: no failure. */
/* errors: none */
EXPORT int corner_byte(const unsigned char *p) {
  if (*p == 0xff) return *p;
  return *p ^ 0x80;
}

/* errors: none */
EXPORT int corner_argument_index(void) {
  extern int optind;
  return optind;
}

static __attribute__((noinline, noreturn)) void corner_stop(const char *why) {
  fputs(why, stderr);
  exit(3);
}

/* errors: -1[EINVAL] */
EXPORT int corner_level(int level) {
  if (level > 100) corner_stop("level\n");
  if (level < 0) {
    errno = EINVAL;
    return -1;
  }
  return 0;
}

/* errors: -1[@open,@close] */
EXPORT int corner_keep_errno(const char *path) {
  int fd = open(path, O_RDONLY);
  if (fd < 0) return -1;
  if (close(fd) < 0) {
    int saved = errno;
    puts("close");
    errno = saved;
    return -1;
  }
  return 0;
}
