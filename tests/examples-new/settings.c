/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Without settings there are default settings; with settings that cannot be opened there should not be. A cache beside
 * them is a convenience, and a terminal's width a guess.
 *
 * setup: printf 'limit 7\n' > app.conf; seq 1 40 > numbers
 * stdin: numbers
 * expect: silent
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

static int limit_from(const char *path) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
#ifdef FIXED
    if (errno != ENOENT) {
      fprintf(stderr, "%s: %s\n", path, strerror(errno));
      exit(1);
    }
#endif
    return 20;
  }
  char text[64];
  ssize_t n;
  do
    n = read(fd, text, sizeof text - 1);
  while (n < 0 && errno == EINTR);
  if (n < 0) {
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
    exit(1);
  }
  close(fd);
  text[n] = '\0';
  int limit;
  if (sscanf(text, "limit %d", &limit) != 1) {
    fprintf(stderr, "%s: no limit\n", path);
    exit(1);
  }
  return limit;
}

static int columns(void) {
  struct winsize w;
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col ? w.ws_col : 80;
}

int main(void) {
  int limit = limit_from("app.conf"), width = columns(), line = 0, c;
  while (line < limit && (c = getchar()) != EOF) {
    putchar(c);
    if (c == '\n') line++;
  }
  if (ferror(stdin)) {
    perror("standard input");
    return 1;
  }
  printf("%.*s\n", width < 20 ? width : 20, "--------------------");
  if (fflush(stdout) || ferror(stdout)) {
    perror("standard output");
    return 1;
  }
  return 0;
}
