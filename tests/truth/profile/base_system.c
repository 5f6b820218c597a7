/* SPDX-License-Identifier: Apache-2.0 */
/* Base library: thin layers over libc, errno preserved or translated, and an exported TLS error variable. */
#include "truth.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

EXPORT __thread int base_last_error;

/* errors: -1[EINVAL,@open] */
EXPORT int base_open_ro(const char *path) {
  if (path == NULL || *path == 0) {
    errno = EINVAL;
    return -1;
  }
  return open(path, O_RDONLY | O_CLOEXEC);
}

/* errors: 0[@malloc] | side: tls:base_last_error=12,22 */
EXPORT void *base_alloc(size_t n) {
  void *p;
  if (n == 0 || n > SIZE_MAX / 4) {
    base_last_error = EINVAL;
    return NULL;
  }
  p = malloc(n);
  if (p == NULL)
    base_last_error = ENOMEM;
  return p;
}

/* errors: EBUSY */
EXPORT int base_lock_try(int *word) {
  int expected = 0;
  if (!__atomic_compare_exchange_n(word, &expected, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
    return EBUSY;
  return 0;
}

/* errors: -1[EINVAL,@lseek] */
EXPORT long base_seek_to(int fd, long where) {
  if (where < 0) {
    errno = EINVAL;
    return -1L;
  }
  return lseek(fd, where, SEEK_SET);
}

/* Translates a public code to errno; 0 is success, everything unknown is EIO. */
/* errors: EPERM ENOENT EIO ENOMEM EACCES ENOSPC */
EXPORT int base_errno_from_code(int code) {
  switch (code) {
  case 0:
    return 0;
  case 1:
    return EPERM;
  case 2:
    return ENOMEM;
  case 3:
    return EACCES;
  case 4:
    return ENOENT;
  case 5:
    return ENOSPC;
  default:
    return EIO;
  }
}

/* errors: -1[@mkdir] */
EXPORT int base_dir_make(const char *path) {
  if (mkdir(path, 0755) == 0)
    return 0;
  if (errno == EEXIST)
    return 0;
  return -1;
}

/* errors: none */
EXPORT void base_log(const char *message) {
  fputs(message, stderr);
  fputc('\n', stderr);
}

/* errors: none */
EXPORT __attribute__((noreturn)) void base_die(const char *message) {
  base_log(message);
  abort();
}
