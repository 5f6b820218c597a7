/* SPDX-License-Identifier: Apache-2.0 */
/* sanitized [bad]: built with the address sanitizer: close, read and malloc, and if told so a write behind a block. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
  (void)argv;
  char c;
  errno = 0;
  int closed = close(-7), close_error = errno;
  errno = 0;
  ssize_t got = read(-7, &c, 1);
  printf("%d %s %zd %s\n", closed, strerrorname_np(close_error), got, strerrorname_np(errno));
  (void)fflush(stdout);
  char *volatile p = malloc(100);
  if (!p) {
    puts("no memory");
    return 0;
  }
  if (argc > 1) p[100] = 1;
  free(p);
  return 0;
}
