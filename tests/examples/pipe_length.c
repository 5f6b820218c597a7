/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LFI, table III: in Pidgin, a write to a pipe fails unseen, and the reader takes the text for its length.
 *
 * expect: abort
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int put(int fd, const void *p, size_t n) { return write(fd, p, n) == (ssize_t)n ? 0 : -1; }

static int resolve(int fd) {
  unsigned length = 5;
#ifdef FIXED
  return put(fd, &length, sizeof length) < 0 || put(fd, "hello", 5) < 0 ? 1 : 0;
#else
  put(fd, &length, sizeof length);
  put(fd, "hello", 5);
  return 0;
#endif
}

int main(void) {
  int ends[2];
  if (pipe(ends) < 0) return 2;
  pid_t pid = fork();
  if (pid < 0) return 2;
  if (pid == 0) {
    close(ends[0]);
    _exit(resolve(ends[1]));
  }
  close(ends[1]);
  unsigned length = 0;
  char answer[16] = "";
  ssize_t n = read(ends[0], &length, sizeof length);
#ifdef FIXED
  if (n != sizeof length || length > sizeof answer || read(ends[0], answer, length) != (ssize_t)length) {
    fputs("no answer\n", stderr);
    return 1;
  }
#else
  if (n != sizeof length) return 1;
  char *copy = malloc(length);
  if (length > 1000 || !copy) abort();
  n = read(ends[0], copy, length);
  if (n < 0) return 1;
  memcpy(answer, copy, 5);
  free(copy);
#endif
  int status;
  waitpid(pid, &status, 0);
  printf("%.5s\n", answer);
  return 0;
}
