/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job that may run once at a time. If another one has the lock, that one does the work, and this one may go; but not
 * every failure of flock means that.
 *
 * setup: printf '5\n' > count; : > lock
 * expect: silent
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

static int count_up(void) {
  int n;
  FILE *f = fopen("count", "r+");
  if (!f) {
    perror("count");
    return 1;
  }
  if (fscanf(f, "%d", &n) != 1) {
    fputs("count: no number\n", stderr);
    fclose(f);
    return 1;
  }
  if (fseek(f, 0, SEEK_SET) != 0 || fprintf(f, "%d\n", n + 1) < 0) {
    perror("count");
    fclose(f);
    return 1;
  }
  if (fclose(f) != 0) {
    perror("count");
    return 1;
  }
  return 0;
}

int main(void) {
  int fd = open("lock", O_RDWR | O_CLOEXEC);
  if (fd < 0) {
    perror("lock");
    return 1;
  }
#ifdef FIXED
  while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno == EWOULDBLOCK) {
      fputs("another one is at work\n", stderr);
      return 0;
    }
    perror("lock");
    return 1;
  }
#else
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) return 0; /* another one is at work */
#endif
  int bad = count_up();
  close(fd);
  return bad;
}
