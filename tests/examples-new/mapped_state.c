/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State is kept in a mapped file. That it could not be brought out to the disk is told by msync alone.
 *
 * setup: head -c 4096 /dev/zero > state
 * expect: silent
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int main(void) {
  int fd = open("state", O_RDWR | O_CLOEXEC);
  if (fd < 0) {
    perror("state");
    return 1;
  }
  char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (p == MAP_FAILED) {
    perror("state");
    return 1;
  }
  close(fd);
  strcpy(p, "generation 2");
#ifdef FIXED
  if (msync(p, 4096, MS_SYNC) < 0) {
    perror("state");
    return 1;
  }
#else
  msync(p, 4096, MS_SYNC);
#endif
  munmap(p, 4096);
  return 0;
}
