/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A filter, as cat: output goes to standard output, which may be a file on a full disk. The result of the last flush is
 * not looked at.
 *
 * setup: seq 1 3000 > in
 * args: in
 * expect: silent
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
  static char block[4096];
  if (argc != 2) return 2;
  int fd = open(argv[1], O_RDONLY);
  if (fd < 0) {
    perror(argv[1]);
    return 1;
  }
  ssize_t n;
  while ((n = read(fd, block, sizeof block)) > 0)
    for (ssize_t done = 0; done < n;) {
      ssize_t w = write(STDOUT_FILENO, block + done, n - done);
#ifdef FIXED
      if (w < 0 && errno == EINTR) continue;
      if (w < 0) {
        perror("standard output");
        return 1;
      }
#else
      if (w < 0) break;
#endif
      done += w;
    }
  if (n < 0) {
    perror(argv[1]);
    return 1;
  }
  close(fd);
#ifdef FIXED
  if (close(STDOUT_FILENO) < 0) {
    perror("standard output");
    return 1;
  }
#endif
  return 0;
}
