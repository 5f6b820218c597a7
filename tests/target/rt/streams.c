/* SPDX-License-Identifier: Apache-2.0 */
/*
 * streams: fgetc and fprintf on streams, write with %f, and what ferror says; reads of a pipe, a file and a directory.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void one(int fd) {
  char c;
  errno = 0;
  ssize_t r = read(fd, &c, 0);
  printf(" %s", r < 0 ? strerrorname_np(errno) : "-");
}

int main(void) {
  FILE *f = fopen("/dev/null", "r");
  if (!f) return 1;
  errno = 0;
  int c = fgetc(f);
  printf("%d %s %d %d", c, c == EOF && errno ? strerrorname_np(errno) : "-", ferror(f) != 0, feof(f) != 0);
  int ends[2], file = open("/proc/self/exe", O_RDONLY), folder = open("/", O_RDONLY | O_DIRECTORY);
  if (pipe2(ends, O_NONBLOCK) != 0 || file < 0 || folder < 0) return 1;
  one(ends[0]);
  one(file);
  one(fileno(f));
  printf("\n");
  return 0;
}
