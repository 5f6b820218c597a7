/* SPDX-License-Identifier: Apache-2.0 */
/*
 * posix_fallocate returns the number of its error, which is never less than 0. The mended one does without where the
 * file system cannot do it.
 *
 * expect: crash
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int main(void) {
  enum { SIZE = 64 * 1024 };
  int fd = open("ring", O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (fd < 0) {
    perror("ring");
    return 1;
  }
#ifdef FIXED
  int r = posix_fallocate(fd, 0, SIZE);
  if (r == EOPNOTSUPP || r == EINVAL || r == ENOSYS) r = ftruncate(fd, SIZE) < 0 ? errno : 0;
  if (r) {
    fprintf(stderr, "ring: %s\n", strerror(r));
    unlink("ring");
    return 1;
  }
#else
  if (posix_fallocate(fd, 0, SIZE) < 0) {
    perror("ring");
    return 1;
  }
#endif
  char *ring = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (ring == MAP_FAILED) {
    perror("ring");
    return 1;
  }
  for (int i = 0; i < SIZE; i += 4096)
    snprintf(ring + i, 32, "slot %d", i / 4096);
  if (msync(ring, SIZE, MS_SYNC) < 0) {
    perror("ring");
    return 1;
  }
  munmap(ring, SIZE);
  if (close(fd) < 0) {
    perror("ring");
    return 1;
  }
  return 0;
}
