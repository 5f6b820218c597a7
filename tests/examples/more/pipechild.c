/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child computes and sends its lines, ended by "END", over a pipe.  The
 * parent keeps its own copy of the write end open while it reads.  As long
 * as the child is well, END comes; if the child gives up (malloc -> NULL in
 * the child, write error), the parent never sees an end of file.
 * expect: hang
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static void die(const char *what) {
  perror(what);
  exit(1);
}

static void child(int fd) {
  size_t size = 512, len = 0, off = 0;
  char *buf = malloc(size);
  if (buf == NULL) {
    perror("child: malloc");
    _exit(1);
  }
  for (int i = 1; i <= 10; i++) {
    int n = snprintf(buf + len, size - len, "square %d = %d\n", i, i * i);
    if (n < 0 || (size_t)n >= size - len) _exit(1);
    len += (size_t)n;
  }
  memcpy(buf + len, "END\n", 4);
  len += 4;
  while (off < len) {
    ssize_t n = write(fd, buf + off, len - off);
    if (n <= 0) {
      perror("child: write");
      _exit(1);
    }
    off += (size_t)n;
  }
  free(buf);
  _exit(0);
}

int main(void) {
  char buf[1024];
  size_t got = 0;
  int p[2], st;

  if (signal(SIGPIPE, SIG_IGN) == SIG_ERR) die("signal");
  if (pipe(p) != 0) die("pipe");
  pid_t pid = fork();
  if (pid < 0) die("fork");
  if (pid == 0) child(p[1]);
#ifdef FIXED
  if (close(p[1]) != 0) die("close");
#endif
  while (got < 4 || memcmp(buf + got - 4, "END\n", 4) != 0) {
    if (got == sizeof buf) {
      fputs("answer too long\n", stderr);
      return 1;
    }
    ssize_t n = read(p[0], buf + got, sizeof buf - got);
    if (n < 0) die("read");
    if (n == 0) {
      fputs("child gave up\n", stderr);
      return 1;
    }
    got += (size_t)n;
  }
#ifndef FIXED
  if (close(p[1]) != 0) die("close");
#endif
  if (close(p[0]) != 0) die("close");
  if (waitpid(pid, &st, 0) < 0) die("waitpid");
  if (!WIFEXITED(st) || WEXITSTATUS(st) != 0) {
    fputs("child failed\n", stderr);
    return 1;
  }
  if (fwrite(buf, 1, got - 4, stdout) != got - 4 || fflush(stdout) != 0 || ferror(stdout)) die("stdout");
  return 0;
}
