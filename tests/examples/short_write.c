/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A disk that is nearly full takes a part of a block, which write tells by its result and not by an error.
 *
 * expect: silent
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int put(int fd, const char *block, size_t n) {
#ifdef FIXED
  for (size_t done = 0; done < n;) {
    ssize_t r = write(fd, block + done, n - done);
    if (r < 0 && errno == EINTR) continue;
    if (r < 0) return -1;
    done += (size_t)r;
  }
  return 0;
#else
  return write(fd, block, n) < 0 ? -1 : 0;
#endif
}

int main(void) {
  char block[512];
  int fd = open("blocks", O_CREAT | O_WRONLY | O_TRUNC, 0644);
  if (fd < 0) {
    perror("blocks");
    return 1;
  }
  for (int i = 0; i < 3; i++) {
    memset(block, 'a' + i, sizeof block);
    if (put(fd, block, sizeof block) < 0) {
      perror("blocks");
      return 1;
    }
  }
  if (close(fd) < 0) {
    perror("blocks");
    return 1;
  }
  return 0;
}
