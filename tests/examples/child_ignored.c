/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The work is done by a child, and nobody asks whether it was done.
 *
 * expect: silent
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
  pid_t child = fork();
  if (child < 0) {
    perror("fork");
    return 1;
  }
  if (child == 0) {
    int fd = open("part", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    _exit(fd < 0 || write(fd, "part\n", 5) != 5 || close(fd) < 0);
  }
  int status = 0;
  if (waitpid(child, &status, 0) < 0) {
    perror("waitpid");
    return 1;
  }
#ifdef FIXED
  if (status != 0) {
    fputs("the part is missing\n", stderr);
    return 1;
  }
#endif
  puts("all done");
  return 0;
}
