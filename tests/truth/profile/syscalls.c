/* SPDX-License-Identifier: Apache-2.0 */
/* System calls: through syscall(), and through the instruction itself as small libcs do. */
#include "truth.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline long raw3(long nr, long a, long b, long c) {
  long r;
  __asm__ volatile("syscall" : "=a"(r) : "0"(nr), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return r;
}

static inline long finish(unsigned long r) {
  if (r > -4096ul) {
    errno = (int)-r;
    return -1;
  }
  return (long)r;
}

/* errors: -1[@read] */
EXPORT ssize_t sys_read_exact(int fd, void *p, size_t n) {
  return finish((unsigned long)raw3(SYS_read, fd, (long)p, (long)n));
}

/* errors: -@write */
EXPORT long sys_write_raw(int fd, const void *p, size_t n) {
  return raw3(SYS_write, fd, (long)p, (long)n);
}

/* errors: -1[@close] */
EXPORT int sys_close(int fd) {
  long r = raw3(SYS_close, fd, 0, 0);
  if (r < 0) {
    errno = (int)-r;
    return -1;
  }
  return 0;
}

/* errors: -1[@unlink] */
EXPORT int sys_unlink(const char *path) {
  return (int)syscall(SYS_unlink, path);
}

/* No failure to report. */
/* errors: none */
EXPORT int sys_thread(void) {
  return (int)raw3(SYS_gettid, 0, 0, 0);
}

/* errors: -1 */
EXPORT int sys_dup_or_minus(int fd) {
  long r = raw3(SYS_dup, fd, 0, 0);
  return r < 0 ? -1 : (int)r;
}

/* errors: -1[EINVAL,@open] */
EXPORT int sys_open_dir(const char *path, int extra) {
  if (extra & O_CREAT) {
    errno = EINVAL;
    return -1;
  }
  return (int)finish((unsigned long)raw3(SYS_open, (long)path, O_DIRECTORY | O_CLOEXEC | extra, 0));
}
