/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child that cannot become another program goes on as a second parent.
 *
 * setup: printf 'pear\napple\n' > fruit
 * expect: silent
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int run(char *const argv[]) {
  pid_t p = fork();
  if (p < 0) return -1;
  if (p == 0) {
    execvp(argv[0], argv);
#ifdef FIXED
    fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
    _exit(127);
#else
    return 0;
#endif
  }
  int status;
  while (waitpid(p, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

int main(void) {
  char *const argv[] = {"sort", "-o", "sorted", "fruit", NULL};
  if (run(argv) < 0) {
    fprintf(stderr, "sort failed\n");
    return 1;
  }
  /* A line for each run in the diary. */
  int fd = open("diary", O_WRONLY | O_CREAT | O_APPEND, 0644);
  if (fd < 0) {
    perror("diary");
    return 1;
  }
  const char *line = "sorted the fruit\n";
  ssize_t n = write(fd, line, strlen(line));
  if (n != (ssize_t)strlen(line) || close(fd) < 0) {
    perror("diary");
    return 1;
  }
  return 0;
}
