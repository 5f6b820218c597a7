/* SPDX-License-Identifier: Apache-2.0 */
/* Opens its standard output once more, at a place of its own; the two write over each other. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int out;

static void say(int fd, const char *what) {
  char line[80];
  int n = snprintf(line, sizeof line, "%s at %lld and %lld\n", what, (long long)lseek(1, 0, SEEK_CUR),
                   (long long)lseek(out, 0, SEEK_CUR));
  if (write(fd, line, (size_t)n) != n) _exit(3);
}

int main(void) {
  say(1, "first, so that there is something to write over");
  out = open("/dev/stdout", O_WRONLY);
  int copy = dup(out);
  char *memory = malloc(10);
  say(out, memory ? "second" : "no memory");
  char *more = malloc(20);
  say(1, more ? "third" : "no memory");
  close(1);
  if (open("/dev/stdout", O_WRONLY) >= 0) _exit(4);
  char *last = malloc(30);
  say(copy, last ? "fourth" : "no memory");
  free(memory);
  free(more);
  free(last);
  return 0;
}
