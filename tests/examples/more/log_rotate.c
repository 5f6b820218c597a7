/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A log is rotated: the old ones move up, and a new one is begun. If the newest did not move, it is begun anew as well.
 *
 * setup: echo 'monday: all well' > app.log.1; echo 'tuesday: fire' > app.log
 * expect: silent
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int move_up(const char *from, const char *to) {
#ifdef FIXED
  if (rename(from, to) != 0) {
    fprintf(stderr, "%s: %s\n", from, strerror(errno));
    return -1;
  }
#else
  rename(from, to);
#endif
  return 0;
}

int main(void) {
  const char text[] = "wednesday: log begun\n";
  size_t done = 0;
  if (move_up("app.log.1", "app.log.2") != 0 || move_up("app.log", "app.log.1") != 0) return 1;
  int fd = open("app.log", O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (fd < 0) {
    perror("app.log");
    return 1;
  }
  while (done < sizeof text - 1) {
    ssize_t n = write(fd, text + done, sizeof text - 1 - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      perror("app.log");
      close(fd);
      return 1;
    }
    done += n;
  }
  if (close(fd) != 0) {
    perror("app.log");
    return 1;
  }
  puts("rotated");
  if (ferror(stdout) || fclose(stdout) != 0) {
    perror("standard output");
    return 1;
  }
  return 0;
}
