/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child tells how many lines there are by its exit status. A signal ends the wait for it, and nobody looks.
 *
 * setup: seq 1 42 > lines
 * args: lines
 * expect: silent
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t hurried;

static void on_usr1(int s) { hurried = s; }

static int count(const char *path) {
  FILE *f = fopen(path, "r");
  if (!f) {
    perror(path);
    return 255;
  }
  int n = 0, c;
  while ((c = getc(f)) != EOF)
    n += c == '\n';
  if (ferror(f)) {
    perror(path);
    n = 255;
  }
  fclose(f);
  return n;
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  struct sigaction a = {.sa_handler = on_usr1};
  sigemptyset(&a.sa_mask);
  if (sigaction(SIGUSR1, &a, NULL) < 0) {
    perror("sigaction");
    return 1;
  }
  pid_t p = fork();
  if (p < 0) {
    perror("fork");
    return 1;
  }
  if (p == 0) _exit(count(argv[1]));
  int status = 0;
#ifdef FIXED
  while (waitpid(p, &status, 0) < 0)
    if (errno != EINTR) {
      perror("waitpid");
      return 1;
    }
#else
  if (waitpid(p, &status, 0) < 0 && errno != EINTR) {
    perror("waitpid");
    return 1;
  }
#endif
  if (!WIFEXITED(status) || WEXITSTATUS(status) == 255) return 1;
  printf("%d lines\n", WEXITSTATUS(status));
  return fflush(stdout) ? 1 : 0;
}
