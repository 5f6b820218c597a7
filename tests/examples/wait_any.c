/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of three children one is not started, and nobody is told. That there is no child any more is how waiting for any of
 * them ends.
 *
 * expect: silent
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static int work(int i) {
  char name[] = "part0";
  name[4] = (char)('0' + i);
  int fd = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0644);
  return fd < 0 || write(fd, name, 5) != 5 || close(fd) < 0;
}

int main(void) {
  int bad = 0, status;
  for (int i = 0; i < 3 && !bad; i++) {
    pid_t pid = fork();
#ifdef FIXED
    if (pid < 0) {
      perror("fork");
      bad = 1;
    }
#endif
    if (pid == 0) _exit(work(i));
  }
  for (;;) {
    pid_t pid = wait(&status);
    if (pid < 0 && errno == EINTR) continue;
    if (pid < 0) break;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      fprintf(stderr, "a part failed\n");
      bad = 1;
    }
  }
  return bad;
}
