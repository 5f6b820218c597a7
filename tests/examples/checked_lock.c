/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lock that checks who unlocks it, and a clean-up that unlocks it once more if the last step fails. In the mended one
 * all that is checked of the lock are mistakes, which it does not make.
 *
 * expect: abort
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock;

static void must(int r, const char *what) {
  if (r == 0) return;
  fprintf(stderr, "%s: %s\n", what, strerror(r));
  abort();
}

static int create(const char *name) {
  static const char head[64] = "table 1";
  int locked = 1, fd = -1, r = -1;
  must(pthread_mutex_lock(&lock), "lock");
  fd = open(name, O_CREAT | O_TRUNC | O_WRONLY, 0644);
  if (fd < 0 || write(fd, head, sizeof head) != (ssize_t)sizeof head) goto end;
  must(pthread_mutex_unlock(&lock), "unlock");
#ifdef FIXED
  locked = 0;
#endif
  r = close(fd);
  fd = -1;
  if (r == 0) return 0;
end:
  fprintf(stderr, "%s: %s\n", name, strerror(errno));
  if (fd >= 0) close(fd);
  unlink(name);
  if (locked) must(pthread_mutex_unlock(&lock), "unlock");
  return -1;
}

int main(void) {
  pthread_mutexattr_t attr;
  must(pthread_mutexattr_init(&attr), "mutexattr");
  must(pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK), "mutexattr");
  must(pthread_mutex_init(&lock, &attr), "mutex");
  return create("table.MYI") < 0;
}
