/* SPDX-License-Identifier: Apache-2.0 */
/* Sees in memory what it writes to a file. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(void) {
  int fd = open("mapped.out", O_RDWR | O_CREAT | O_TRUNC, 0666);
  if (fd < 0 || write(fd, "before", 6) != 6) return 2;
  const char *seen = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
  if (seen == MAP_FAILED) return 3;
  char *memory = malloc(10);
  if (pwrite(fd, memory ? "after." : "memory", 6, 0) != 6) return 4;
  char *more = malloc(20);
  printf("%.6s %d\n", seen, more != NULL);
  free(memory);
  free(more);
  return 0;
}
