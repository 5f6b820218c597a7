/* SPDX-License-Identifier: Apache-2.0 */
/*
 * posix_spawn returns the number of its error. Whoever waits for -1 waits for nothing, and a step of the build is missing.
 *
 * setup: echo source > a; echo source > b
 * expect: silent
 */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;

int main(void) {
  char *steps[][4] = {{"cp", "a", "a.o", NULL}, {"cp", "b", "b.o", NULL}};
  int status = 0;
  for (int i = 0; i < 2; i++) {
    pid_t p = 0;
#ifdef FIXED
    int r = posix_spawnp(&p, steps[i][0], NULL, NULL, steps[i], environ);
    if (r) {
      fprintf(stderr, "%s: %s\n", steps[i][0], strerror(r));
      return 1;
    }
#else
    if (posix_spawnp(&p, steps[i][0], NULL, NULL, steps[i], environ) == -1) {
      perror(steps[i][0]);
      return 1;
    }
    if (!p) continue;
#endif
    int s;
    while (waitpid(p, &s, 0) < 0)
      if (errno != EINTR) {
        perror("waitpid");
        return 1;
      }
    if (s) status = 1;
  }
  return status;
}
