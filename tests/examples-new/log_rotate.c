/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A log is moved away and begun anew. If it could not be moved, it is begun anew in its place, and what was in it is lost.
 *
 * setup: seq 1 200 > app.log; seq 500 600 > app.log.1
 * expect: silent
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int rotate(void) {
#ifdef FIXED
  if (rename("app.log", "app.log.1") < 0 && errno != ENOENT) {
    fprintf(stderr, "app.log: cannot be moved: %s\n", strerror(errno));
    return -1;
  }
#else
  rename("app.log", "app.log.1");
#endif
  return open("app.log", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
}

static int put(int fd, const char *p, size_t n) {
  while (n) {
    ssize_t w = write(fd, p, n);
    if (w < 0) {
      if (errno == EINTR) continue;
      return -1;
    }
    p += w;
    n -= w;
  }
  return 0;
}

int main(void) {
  int fd = rotate();
  if (fd < 0) {
    perror("app.log");
    return 1;
  }
  const char *line = "-- log begins --\n";
  int bad = put(fd, line, strlen(line)) < 0;
  if (close(fd) < 0) bad = 1;
  if (bad) perror("app.log");
  return bad;
}
