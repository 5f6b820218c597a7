/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Standard output becomes a file for a child, unless dup2 fails: then the child's output is somewhere else.
 *
 * setup: printf 'b\na\n' > in
 * expect: silent
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
  int out = open("result", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (out < 0) {
    perror("result");
    return 1;
  }
  pid_t p = fork();
  if (p < 0) {
    perror("fork");
    return 1;
  }
  if (p == 0) {
#ifdef FIXED
    if (dup2(out, STDOUT_FILENO) < 0) {
      perror("dup2");
      _exit(126);
    }
#else
    dup2(out, STDOUT_FILENO);
#endif
    execlp("sort", "sort", "in", (char *)NULL);
    perror("sort");
    _exit(127);
  }
  close(out);
  int status;
  while (waitpid(p, &status, 0) < 0)
    if (errno != EINTR) {
      perror("waitpid");
      return 1;
    }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
