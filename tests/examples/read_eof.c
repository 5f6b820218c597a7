/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An error of read is taken for the end of the file: a wrong result, and exit status 0.
 *
 * expect: silent
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(void) {
  int fd = open("/etc/passwd", O_RDONLY);
  if (fd < 0) {
    perror("/etc/passwd");
    return 1;
  }
  char buffer[16];
  long total = 0;
  ssize_t n;
  while ((n = read(fd, buffer, sizeof buffer)) > 0)
    total += n;
#ifdef FIXED
  if (n < 0) {
    perror("/etc/passwd");
    return 1;
  }
#endif
  close(fd);
  printf("%ld bytes\n", total);
  return 0;
}
