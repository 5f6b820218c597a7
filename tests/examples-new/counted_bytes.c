/* SPDX-License-Identifier: Apache-2.0 */
/*
 * -1 is added to the number of bytes, and since it is not 0 the loop goes on.
 *
 * setup: seq 1 9000 > big
 * args: big
 * expect: silent|hang
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
  static char block[8192];
  unsigned long total = 0;
  ssize_t n;
  if (argc != 2) return 2;
  int fd = open(argv[1], O_RDONLY);
  if (fd < 0) {
    perror(argv[1]);
    return 1;
  }
#ifdef FIXED
  while ((n = read(fd, block, sizeof block)) != 0) {
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      perror(argv[1]);
      return 1;
    }
    total += n;
  }
#else
  while ((n = read(fd, block, sizeof block)) != 0)
    total += n;
#endif
  close(fd);
  printf("%lu\n", total);
  return fflush(stdout) ? 1 : 0;
}
