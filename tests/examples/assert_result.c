/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An assertion stands for the handling of an error that the world can bring about.
 *
 * expect: abort
 */
#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(void) {
  int fd = open("/etc/hostname", O_RDONLY);
#ifdef FIXED
  if (fd < 0) {
    perror("/etc/hostname");
    return 1;
  }
#else
  assert(fd >= 0);
#endif
  close(fd);
  puts("ok");
  return 0;
}
