/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is shown goes through a pager, if one can be started, and is shown without one if not. That the pager could not
 * show it is told by its exit status alone. It reads until the end, which it must see even if fclose fails.
 *
 * setup: seq 1 30 > text
 * args: text
 * expect: silent
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t pager = -1;

static void start_pager(void) {
  int p[2];
  if (pipe(p) < 0) return;
  pager = fork();
  if (pager < 0) {
    close(p[0]);
    close(p[1]);
    return;
  }
  if (pager == 0) {
    if (dup2(p[0], STDIN_FILENO) < 0) _exit(127);
    close(p[0]);
    close(p[1]);
    execlp("cat", "cat", (char *)NULL);
    _exit(127);
  }
  close(p[0]);
  if (dup2(p[1], STDOUT_FILENO) < 0) {
    perror("dup2");
    _exit(1);
  }
  close(p[1]);
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  signal(SIGPIPE, SIG_IGN);
  FILE *f = fopen(argv[1], "r");
  if (!f) {
    perror(argv[1]);
    return 1;
  }
  start_pager();
  char line[128];
  int status = 0, s = 0;
  while (fgets(line, sizeof line, f))
    fputs(line, stdout);
  if (ferror(f)) {
    perror(argv[1]);
    status = 1;
  }
  fclose(f);
  if (fclose(stdout)) {
    perror("output");
    status = 1;
  }
  while (pager > 0 && waitpid(pager, &s, 0) < 0)
    if (errno != EINTR) {
      perror("pager");
      return 1;
    }
#ifdef FIXED
  if (s) {
    fprintf(stderr, "the pager failed\n");
    status = 1;
  }
#endif
  return status;
}
