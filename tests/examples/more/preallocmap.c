/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ring file is preallocated and then filled through a shared mapping.
 * posix_fallocate() returns the error number instead of -1 with errno; the
 * check "< 0" misses ENOSPC, the file stays empty, and the first store into
 * the mapping raises SIGBUS.
 * expect: crash
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define RING "ring.dat"
#define SIZE 8192

/* snprintf() whose result the compiler can not assume to be good */
static int fmt(char *buf, size_t size, const char *format, ...) {
  va_list ap;
  va_start(ap, format);
  int n = vsnprintf(buf, size, format, ap);
  va_end(ap);
  return n;
}

static void die(const char *what) {
  perror(what);
  exit(1);
}

int main(void) {
  int fd = open(RING, O_RDWR | O_CREAT | O_TRUNC, 0644);
  if (fd < 0) die("open " RING);
  int rc = posix_fallocate(fd, 0, SIZE);
#ifdef FIXED
  if (rc != 0) {
    errno = rc;
    die("preallocate " RING);
  }
#else
  if (rc < 0) die("preallocate " RING);
#endif
  char *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (p == MAP_FAILED) die("mmap " RING);
  for (int i = 0; i < SIZE; i += 64)
    if (fmt(p + i, 64, "slot %04d: free", i / 64) < 0) die("format");
  if (msync(p, SIZE, MS_SYNC) != 0) die("msync " RING);
  if (munmap(p, SIZE) != 0) die("munmap " RING);
  if (close(fd) != 0) die("close " RING);
  if (printf("ring of %d slots ready\n", SIZE / 64) < 0 || fflush(stdout) != 0 || ferror(stdout)) die("stdout");
  return 0;
}
