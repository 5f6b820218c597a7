/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loop that tries again after every error, also after those that stay.
 *
 * expect: hang
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(void) {
  int fd = open("/etc/hostname", O_RDONLY);
  if (fd < 0) {
    perror("/etc/hostname");
    return 1;
  }
  char buffer[64];
  ssize_t n;
  while ((n = read(fd, buffer, sizeof buffer)) < 0) {
#ifdef FIXED
    if (errno != EINTR) {
      perror("/etc/hostname");
      return 1;
    }
#endif
  }
  close(fd);
  puts("read");
  return 0;
}
