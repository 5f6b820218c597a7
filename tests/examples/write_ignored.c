/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A result of write is not looked at, and the program says that all is well.
 *
 * expect: silent
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(void) {
  static const char text[] = "balance 100\n";
  int fd = open("ledger.txt", O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (fd < 0) {
    perror("ledger.txt");
    return 1;
  }
  ssize_t n = write(fd, text, strlen(text));
#ifdef FIXED
  if (n != (ssize_t)strlen(text)) {
    perror("ledger.txt");
    close(fd);
    return 1;
  }
#else
  (void)n;
#endif
  if (close(fd) < 0) {
    perror("ledger.txt");
    return 1;
  }
  puts("booked");
  return 0;
}
