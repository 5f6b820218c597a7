/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The old file is deleted first, and whether the new one takes its place is not looked at.
 *
 * expect: silent
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static int save(const char *path) {
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (fd < 0) return -1;
  if (write(fd, "settings\n", 9) != 9) {
    close(fd);
    return -1;
  }
  return close(fd);
}

int main(void) {
  if (save("settings.new") < 0) {
    perror("settings.new");
    return 1;
  }
#ifdef FIXED
  if (rename("settings.new", "settings") < 0) {
    perror("settings");
    return 1;
  }
#else
  unlink("settings");
  rename("settings.new", "settings");
#endif
  puts("saved");
  return 0;
}
