/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mmap is tested against NULL, which it never returns.
 *
 * expect: crash
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int main(void) {
  int fd = open("/etc/passwd", O_RDONLY);
  if (fd < 0) {
    perror("/etc/passwd");
    return 1;
  }
  const char *text = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
#ifdef FIXED
  if (text == MAP_FAILED) {
#else
  if (text == NULL) {
#endif
    perror("/etc/passwd");
    return 1;
  }
  printf("%c\n", text[0]);
  close(fd);
  return 0;
}
