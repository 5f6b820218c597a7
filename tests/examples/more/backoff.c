/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child does the work. If there is no room for one more process, it is tried again: for ever, or with longer and
 * longer pauses until it is clear that nothing will change, as shells do.
 *
 * expect: hang
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t start(void) {
  pid_t pid;
#ifdef FIXED
  unsigned pause = 1;
  while ((pid = fork()) < 0 && pause <= 8) {
    sleep(pause);
    pause *= 2;
  }
#else
  while ((pid = fork()) < 0)
    usleep(1000);
#endif
  return pid;
}

int main(void) {
  int status;
  pid_t pid = start();
  if (pid == 0) _exit(3);
  if (pid < 0) {
    perror("no more processes");
    return 1;
  }
  if (waitpid(pid, &status, 0) < 0) {
    perror("the child is lost");
    return 1;
  }
  printf("the child said %d\n", WEXITSTATUS(status));
  if (fclose(stdout) != 0) {
    perror("standard output");
    return 1;
  }
  return 0;
}
