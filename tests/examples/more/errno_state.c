/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A state that is not there yet is begun at 1. Why it could not be opened is asked after a clean-up, which has an errno
 * of its own.
 *
 * setup: echo 41 > state
 * expect: silent
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The number in the file, or -1. */
static long load(const char *path) {
  char text[32];
  long value = -1;
  int fd = open(path, O_RDONLY);
  if (fd < 0) {
#ifdef FIXED
    int why = errno;
    unlink("state.old"); /* belongs to a state that we do not have */
    errno = why;
#else
    unlink("state.old"); /* belongs to a state that we do not have */
#endif
    return -1;
  }
  ssize_t n = read(fd, text, sizeof text - 1);
  int why = errno;
  close(fd);
  if (n > 0) {
    text[n] = 0;
    char *end;
    value = strtol(text, &end, 10);
    if (end != text && *end == '\n') return value;
    why = EINVAL;
  } else if (n == 0) {
    why = EINVAL;
  }
  errno = why;
  return -1;
}

int main(void) {
  long n = load("state");
  if (n < 0) {
    if (errno != ENOENT) {
      perror("state");
      return 1;
    }
#ifdef FIXED
    fputs("there is no state, a first one is begun\n", stderr);
#endif
    n = 0;
  }
  FILE *f = fopen("state", "w");
  if (!f) {
    perror("state");
    return 1;
  }
  int bad = fprintf(f, "%ld\n", n + 1) < 0;
  if (fclose(f) != 0 || bad) {
    perror("state");
    return 1;
  }
  return 0;
}
