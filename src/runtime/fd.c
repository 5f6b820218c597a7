/* SPDX-License-Identifier: Apache-2.0 */
/* What a descriptor is. */
#include "fd.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "system.h"

static int kind_of_mode(unsigned mode) {
  switch (mode & S_IFMT) {
  case S_IFREG:
    return WIRE_FD_FILE;
  case S_IFDIR:
    return WIRE_FD_DIR;
  case S_IFIFO:
    return WIRE_FD_PIPE;
  case S_IFSOCK:
    return WIRE_FD_SOCKET;
  case S_IFBLK:
    return WIRE_FD_BLOCK;
  case S_IFCHR:
    return WIRE_FD_CHAR;
  default:
    return WIRE_FD_OTHER;
  }
}

int rt_fd_kind(int fd) {
  struct stat s;
  if (rt_system(SYS_fstat, fd, (long)&s, 0, 0, 0, 0) < 0) return WIRE_FD_NONE;
  int kind = kind_of_mode(s.st_mode);
  char terminal[64]; /* struct termios of the kernel is shorter */
  if (kind == WIRE_FD_CHAR && rt_system(SYS_ioctl, fd, 0x5401 /* TCGETS */, (long)terminal, 0, 0, 0) == 0)
    return WIRE_FD_TTY;
  return kind;
}

int rt_fd_blocks(int fd) {
  long flags = rt_system(SYS_fcntl, fd, F_GETFL, 0, 0, 0, 0);
  return flags < 0 ? -1 : !(flags & O_NONBLOCK);
}

bool rt_fd_local(int fd) {
  int domain = AF_UNSPEC;
  uint32_t size = sizeof domain;
  long r = rt_system(SYS_getsockopt, fd, SOL_SOCKET, SO_DOMAIN, (long)&domain, (long)&size, 0);
  return r == 0 && domain == AF_UNIX;
}

/* How long the piece at P of a set is that stands for one character, *RET: itself, \x, [.x.] or [=x=]. */
static size_t element(const char *p, unsigned char *ret) {
  bool named = p[0] == '[' && (p[1] == '.' || p[1] == '=') && p[2] && p[3] == p[1] && p[4] == ']';
  bool escaped = p[0] == '\\' && p[1];
  *ret = (unsigned char)p[named ? 2 : escaped];
  return named ? 5 : 1 + escaped;
}

/* A range of a set, or a class, at P: how long it is; *IN is set if C is in it. */
static size_t range(const char *p, unsigned char c, bool *in) {
  unsigned char low, high;
  size_t n;
  const char *class = wire_class(p, &n);
  for (const char *s = class; s && *s; s += 2)
    *in |= (unsigned char)s[0] <= c && c <= (unsigned char)s[1];
  if (class) return n;
  n = element(p, &low);
  high = low;
  if (p[n] == '-' && p[n + 1] && p[n + 1] != ']') n += 1 + element(p + n + 1, &high);
  *in |= low <= c && c <= high;
  return n;
}

/* One character of PATTERN against C: how long the piece of the pattern is, 0 if it does not match. */
static size_t matched(const char *pattern, char c) {
  if (*pattern == '?') return 1;
  if (*pattern == '\\' && pattern[1]) return pattern[1] == c ? 2 : 0;
  if (*pattern != '[') return *pattern == c;
  bool not = pattern[1] == '!' || pattern[1] == '^', in = false;
  size_t i = 1 + not ;
  for (size_t first = i; pattern[i] && (pattern[i] != ']' || i == first);)
    i += range(pattern + i, (unsigned char)c, &in);
  if (!pattern[i]) /* no ]: the bracket stands for itself */
    return c == '[';
  return in != not ? i + 1 : 0;
}

bool rt_glob(const char *pattern, const char *s, size_t n) {
  const char *star = NULL;
  size_t at = 0, from = 0;
  while (at < n) {
    size_t piece = *pattern && *pattern != '*' ? matched(pattern, s[at]) : 0;
    if (*pattern == '*') {
      star = ++pattern;
      from = at;
    } else if (piece > 0) {
      pattern += piece;
      at++;
    } else if (star) {
      pattern = star;
      at = ++from;
    } else {
      return false;
    }
  }
  while (*pattern == '*')
    pattern++;
  return !*pattern;
}

/*
 * The kernel says " (deleted)" behind the path of a file whose name is gone, which is no part of that; but a name may
 * also end so by itself.
 */
static long cut_deleted(int fd, const char *path, long n) {
  static const char mark[] = " (deleted)";
  const long length = sizeof mark - 1;
  struct stat opened, named;
  for (long i = 0; i < length; i++)
    if (n <= length || path[n - length + i] != mark[i]) return n;
  bool itself = rt_system(SYS_fstat, fd, (long)&opened, 0, 0, 0, 0) == 0 &&
                rt_system(SYS_lstat, (long)path, (long)&named, 0, 0, 0, 0) == 0 && opened.st_ino == named.st_ino &&
                opened.st_dev == named.st_dev;
  return itself ? n : n - length;
}

long rt_fd_name(int fd, char *ret, size_t size) {
  char link[32] = "/proc/self/fd/", digits[12];
  if (fd < 0) return -1;
  unsigned n = 0, at = 14;
  for (unsigned rest = (unsigned)fd; rest > 0 || n == 0; rest /= 10)
    digits[n++] = (char)('0' + rest % 10);
  while (n > 0)
    link[at++] = digits[--n];
  link[at] = 0;
  long length = rt_system(SYS_readlink, (long)link, (long)ret, (long)size, 0, 0, 0);
  if (length < 0 || (size_t)length >= size) return -1;
  ret[length] = 0;
  return cut_deleted(fd, ret, length);
}

bool rt_fd_path(int fd, const char *pattern) {
  char path[1024];
  long length = rt_fd_name(fd, path, sizeof path);
  return length > 0 && rt_glob(pattern, path, (size_t)length);
}
