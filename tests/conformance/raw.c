/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls by instruction, and only ones that libc does not use for the functions under test: openat2 for open,
 * preadv2 for read, statx for stat, close_range for close. What these find is the kernel's view, whatever was injected.
 */
#include "conform.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/stat.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

long x_call(long number, long a, long b, long c, long d, long e, long f) {
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

static bool x_statx(const char *path, struct statx *ret) {
  return x_call(SYS_statx, AT_FDCWD, (long)path, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, (long)ret, 0) == 0;
}

bool x_exists(const char *path) {
  struct statx s;
  return x_statx(path, &s);
}

long x_size(const char *path) {
  struct statx s;
  return x_statx(path, &s) ? (long)s.stx_size : -1;
}

int x_mode(const char *path) {
  struct statx s;
  return x_statx(path, &s) ? s.stx_mode & 07777 : -1;
}

bool x_is_open(int fd) {
  char path[40];
  snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
  return fd >= 0 && x_exists(path);
}

unsigned x_count_open(void) {
  unsigned n = 0;
  for (int fd = 0; fd < 128; fd++)
    n += x_is_open(fd);
  return n;
}

static int x_open(const char *path) {
  struct open_how how = {.flags = O_RDONLY | O_CLOEXEC};
  return (int)x_call(SYS_openat2, AT_FDCWD, (long)path, (long)&how, sizeof(how), 0, 0);
}

static long x_read(int fd, char *p, size_t n) {
  struct iovec piece = {p, n};
  return x_call(SYS_preadv2, fd, (long)&piece, 1, -1, 0, 0);
}

long x_read_file(const char *path, char *buffer, size_t n) {
  int fd = x_open(path);
  if (fd < 0) return -1;
  size_t have = 0;
  long r;
  while (have < n - 1 && (r = x_read(fd, buffer + have, n - 1 - have)) > 0)
    have += (size_t)r;
  buffer[have] = 0;
  x_call(SYS_close_range, fd, fd, 0, 0, 0, 0);
  return (long)have;
}

bool x_file_is(const char *path, const char *text) {
  char buffer[4096];
  return x_read_file(path, buffer, sizeof(buffer)) == (long)strlen(text) && strcmp(buffer, text) == 0;
}

long x_offset(int fd) {
  char path[40], text[200];
  long offset = -1;
  snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
  if (x_read_file(path, text, sizeof(text)) <= 0 || sscanf(text, "pos: %ld", &offset) != 1) return -1;
  return offset;
}

unsigned x_count_maps(void) {
  static char text[1 << 18];
  unsigned n = 0;
  long size = x_read_file("/proc/self/maps", text, sizeof(text));
  for (long i = 0; i < size; i++)
    n += text[i] == '\n';
  return n;
}

bool x_writable(void *page) {
  int fd = x_open("/proc/self/stat");
  long r = x_read(fd, page, 1);
  x_call(SYS_close_range, fd, fd, 0, 0, 0, 0);
  return r == 1;
}

void x_write(const char *text, size_t n) {
  while (n > 0) {
    struct iovec piece = {(char *)text, n};
    long r = x_call(SYS_pwritev2, 1, (long)&piece, 1, -1, 0, 0);
    if (r <= 0) x_exit(99);
    text += r, n -= (size_t)r;
  }
}

void x_exit(int status) {
  for (;;)
    x_call(SYS_exit_group, status, 0, 0, 0, 0, 0);
}

void x_pause(void) {
  const struct timespec moment = {0, 200000};
  x_call(SYS_ppoll, 0, 0, (long)&moment, 0, 8, 0);
}

void x_mark(long what) { x_call(SYS_prctl, 0x4d555250, what, 0, 0, 0, 0); }

void make_file(const char *path, const char *text) {
  struct open_how how = {.flags = O_WRONLY | O_CREAT | O_TRUNC, .mode = 0600};
  struct iovec piece = {(char *)text, strlen(text)};
  int fd = (int)x_call(SYS_openat2, AT_FDCWD, (long)path, (long)&how, sizeof(how), 0, 0);
  if (fd < 0 || x_call(SYS_pwritev2, fd, (long)&piece, 1, -1, 0, 0) != (long)piece.iov_len) x_exit(98);
  x_call(SYS_close_range, fd, fd, 0, 0, 0, 0);
}
