/* SPDX-License-Identifier: Apache-2.0 */
/* Files for which the kernel was told how long they will live. by branches: 100 of 100 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(void) {
  uint64_t hint = RWH_WRITE_LIFE_LONG, got = 0;
  int fd = open("hinted.out", O_RDWR | O_CREAT, 0666);
  if (fd < 0) return 2;
  int set = fcntl(fd, F_SET_RW_HINT, &hint);
  char *memory = malloc(10);
  int r = fcntl(fd, F_GET_RW_HINT, &got);
  printf("%d %d %d %d\n", set, r, (int)got, memory != NULL);
  free(memory);
  close(fd);
  return 0;
}
