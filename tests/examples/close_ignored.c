/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a server or a quota refused after write had taken it is told by close alone. Of the lock, which is empty, and of
 * the log, which is brought out before, there is nothing to tell.
 *
 * expect: silent
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int put(int fd, const char *text) {
  for (size_t n = strlen(text); n > 0;) {
    ssize_t r = write(fd, text, n);
    if (r < 0 && errno == EINTR) continue;
    if (r < 0) return -1;
    text += r;
    n -= (size_t)r;
  }
  return 0;
}

static int fail(const char *what) {
  perror(what);
  return 1;
}

int main(void) {
  int lock = open("lock", O_CREAT | O_EXCL | O_WRONLY, 0600), log = open("log", O_CREAT | O_WRONLY, 0644);
  if (lock < 0 || log < 0) return fail("lock or log");
  int out = open("out", O_CREAT | O_WRONLY | O_TRUNC, 0644);
  if (out < 0) return fail("out");
  if (put(log, "begun\n") < 0 || fsync(log) < 0) return fail("log");
  if (put(out, "all of it\n") < 0) return fail("out");
#ifdef FIXED
  if (close(out) < 0) return fail("out");
#else
  close(out);
#endif
  close(log);
  close(lock);
  return 0;
}
