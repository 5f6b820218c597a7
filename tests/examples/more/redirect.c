/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is printed goes to a file from here on, if dup2 thinks so.
 *
 * expect: silent
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static int to_file(const char *path) {
  if (fflush(stdout) != 0) {
    perror("standard output");
    return -1;
  }
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (fd < 0) {
    perror(path);
    return -1;
  }
#ifdef FIXED
  while (dup2(fd, STDOUT_FILENO) < 0)
    if (errno != EINTR) {
      perror(path);
      close(fd);
      return -1;
    }
#else
  dup2(fd, STDOUT_FILENO);
#endif
  if (close(fd) != 0) {
    perror(path);
    return -1;
  }
  return 0;
}

int main(void) {
  puts("writing squares");
  if (to_file("squares") != 0) return 1;
  for (int i = 1; i <= 10; i++)
    printf("%d %d\n", i, i * i);
  if (ferror(stdout) || fclose(stdout) != 0) {
    perror("squares");
    return 1;
  }
  return 0;
}
