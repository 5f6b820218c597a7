/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A new version takes the place of the old one, whether or not it has reached the disk.
 *
 * expect: silent
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static int failed(const char *what) {
  perror(what);
  (void)unlink("settings.new");
  return 1;
}

int main(void) {
  int fd = open("settings.new", O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (fd < 0) return failed("settings.new");
  if (write(fd, "version=2\n", 10) != 10) return failed("settings.new");
#ifdef FIXED
  if (fsync(fd) < 0) return failed("settings.new");
#else
  fsync(fd);
#endif
  if (close(fd) < 0) return failed("settings.new");
  if (rename("settings.new", "settings") < 0) return failed("settings");
  return 0;
}
