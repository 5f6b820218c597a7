/* SPDX-License-Identifier: Apache-2.0 */
/* Sees in memory what it writes to a file that it has closed in between. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(void) {
  int fd = open("shown.out", O_RDWR | O_CREAT | O_TRUNC, 0666);
  if (fd < 0 || write(fd, "before", 6) != 6 || close(fd) < 0) return 2;
  fd = open("shown.out", O_RDONLY);
  const char *seen = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
  if (seen == MAP_FAILED || close(fd) < 0) return 3;
  char *memory = malloc(10);
  fd = open("shown.out", O_WRONLY);
  if (pwrite(fd, memory ? "after." : "memory", 6, 0) != 6) return 4;
  printf("%.6s\n", seen);
  free(memory);
  return 0;
}
