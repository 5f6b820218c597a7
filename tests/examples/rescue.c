/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What cannot be saved in its place is saved in another one; and there, for once, nobody looks whether there is memory.
 * No single failure shows it.
 *
 * expect: crash
 * depth: 2
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int save(const char *path, const char *text) {
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  size_t n = strlen(text);
  if (fd < 0) return -1;
  bool good = write(fd, text, n) == (ssize_t)n;
  if (close(fd) < 0) good = false;
  return good ? 0 : -1;
}

static int rescue(const char *path, const char *text) {
  fprintf(stderr, "%s: %s, so it is saved beside it\n", path, strerror(errno));
  char *other = malloc(strlen(path) + sizeof ".rescued");
#ifdef FIXED
  if (!other) {
    fprintf(stderr, "%s: not even that is possible\n", path);
    return -1;
  }
#endif
  strcpy(other, path);
  strcat(other, ".rescued");
  int r = save(other, text);
  if (r < 0) fprintf(stderr, "%s: not even that is possible\n", other);
  free(other);
  return r;
}

int main(void) {
  const char *text = "what must not be lost\n";
  if (save("notes", text) == 0) return puts("saved") < 0 || fflush(stdout) < 0;
  (void)rescue("notes", text);
  return 1;
}
