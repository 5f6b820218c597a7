/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file is rewritten in its place and then cut. If it cannot be cut, the end of the old text follows the new one.
 *
 * setup: seq 1 100 > todo
 * expect: silent
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(void) {
  const char text[] = "nothing left to do\n";
  int fd = open("todo", O_RDWR | O_CLOEXEC);
  if (fd < 0) {
    perror("todo");
    return 1;
  }
  size_t done = 0, n = sizeof text - 1;
  while (done < n) {
    ssize_t w = pwrite(fd, text + done, n - done, done);
    if (w < 0 && errno == EINTR) continue;
    if (w < 0) {
      perror("todo");
      return 1;
    }
    done += w;
  }
#ifdef FIXED
  if (ftruncate(fd, n) < 0) {
    perror("todo");
    return 1;
  }
#else
  ftruncate(fd, n);
#endif
  if (fsync(fd) < 0) {
    perror("todo");
    return 1;
  }
  close(fd);
  return 0;
}
