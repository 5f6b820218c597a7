/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file is copied by the kernel, which need not do all at once.
 *
 * setup: seq 1 3000 > from
 * expect: silent
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

static int copy(int from, int to, off_t size) {
  ssize_t n;
#ifdef FIXED
  while (size > 0) {
    n = sendfile(to, from, NULL, size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -1;
    if (n == 0) {
      errno = EIO; /* it has become shorter */
      return -1;
    }
    size -= n;
  }
  return 0;
#else
  do
    n = sendfile(to, from, NULL, size);
  while (n < 0 && errno == EINTR);
  return n < 0 ? -1 : 0;
#endif
}

int main(void) {
  struct stat st;
  int from = open("from", O_RDONLY);
  if (from < 0 || fstat(from, &st) != 0) {
    perror("from");
    return 1;
  }
  int to = open("to", O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (to < 0) {
    perror("to");
    return 1;
  }
  if (copy(from, to, st.st_size) != 0) {
    perror("copy");
    close(to);
    unlink("to");
    return 1;
  }
  close(from);
  if (close(to) != 0) {
    perror("to");
    unlink("to");
    return 1;
  }
  return 0;
}
