/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A world without chance, to be loaded into a command: random numbers are always the same ones, temporary files are
 * numbered, and the time of day goes on with each look at it. What exec does not do twice is tried once more with this
 * and without random addresses; what a fast mode then shows can be compared.
 *
 * Calls of libc are replaced, with the kernel alone behind them: none is made that an experiment could be about.
 */
/* Both names of what has two are given below. */
#undef _FILE_OFFSET_BITS
#undef _FORTIFY_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { SUFFIX = 6 };                      /* the length of XXXXXX */
enum { TRIES = 1000, STEP_NS = 1000000 }; /* what the clock goes on with each look */
static const time_t begin = 1600000000;

/* --- random numbers ----------------------------------------------------------------------------------------------- */

static uint64_t drawn = 1;

static void fill(void *to, size_t n) {
  for (unsigned char *p = to; n > 0; n--) {
    drawn = drawn * 6364136223846793005u + 1442695040888963407u;
    *p++ = (unsigned char)(drawn >> 56);
  }
}

ssize_t getrandom(void *to, size_t n, unsigned flags) {
  (void)flags;
  fill(to, n);
  return (ssize_t)n;
}

int getentropy(void *to, size_t n) {
  fill(to, n);
  return 0;
}

void arc4random_buf(void *to, size_t n) { fill(to, n); }

uint32_t arc4random(void) {
  uint32_t n;
  fill(&n, sizeof n);
  return n;
}

/* Devices of random numbers have zeros. */
static int open_at(int folder, const char *path, int flags, mode_t mode) {
  if (path && (strcmp(path, "/dev/urandom") == 0 || strcmp(path, "/dev/random") == 0)) path = "/dev/zero";
  return (int)syscall(SYS_openat, folder, path, flags, mode);
}

/* A mode is there only where a file may be made. */
static mode_t mode_of(int flags, va_list list) {
  return flags & (O_CREAT | __O_TMPFILE) ? (mode_t)va_arg(list, unsigned) : 0;
}

int open(const char *path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  mode_t mode = mode_of(flags, list);
  va_end(list);
  return open_at(AT_FDCWD, path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  mode_t mode = mode_of(flags, list);
  va_end(list);
  return open_at(folder, path, flags, mode);
}

#define ALSO(other, name) extern __typeof__(name) also_##other __asm__(#other) __attribute__((alias(#name)))
ALSO(open64, open);
ALSO(openat64, openat);
/* Of programs that were built with checks: never with a mode. */
ALSO(__open_2, open);
ALSO(__open64_2, open);
ALSO(__openat_2, openat);
ALSO(__openat64_2, openat);

/* --- names -------------------------------------------------------------------------------------------------------- */

/* The XXXXXX before the last N characters becomes a number, with which MAKE makes what it names. */
static int make_named(char *name, int n, int flags, int (*make)(const char *name, int flags)) {
  size_t length = strlen(name);
  if (n < 0 || length < (size_t)n + SUFFIX || memcmp(name + length - (size_t)n - SUFFIX, "XXXXXX", SUFFIX) != 0) {
    errno = EINVAL;
    return -1;
  }
  char *to = name + length - (size_t)n - SUFFIX;
  for (int i = 0; i < TRIES; i++) {
    for (int at = SUFFIX, left = i; at > 0; left /= 10)
      to[--at] = (char)('0' + left % 10);
    int r = make(name, flags);
    if (r >= 0 || errno != EEXIST) return r;
  }
  return -1;
}

static int make_file(const char *name, int flags) {
  return open_at(AT_FDCWD, name, flags | O_RDWR | O_CREAT | O_EXCL, 0600);
}

static int make_folder(const char *name, int flags) {
  (void)flags;
  return (int)syscall(SYS_mkdir, name, 0700);
}

int mkostemps(char *name, int n, int flags) { return make_named(name, n, flags, make_file); }
int mkstemps(char *name, int n) { return make_named(name, n, 0, make_file); }
int mkostemp(char *name, int flags) { return make_named(name, 0, flags, make_file); }
int mkstemp(char *name) { return make_named(name, 0, 0, make_file); }
char *mkdtemp(char *name) { return make_named(name, 0, 0, make_folder) < 0 ? NULL : name; }
ALSO(mkostemps64, mkostemps);
ALSO(mkstemps64, mkstemps);
ALSO(mkostemp64, mkostemp);
ALSO(mkstemp64, mkstemp);

/* --- the time of day ---------------------------------------------------------------------------------------------- */

static struct timespec look(void) {
  static uint64_t looks;
  uint64_t ns = looks++ * STEP_NS;
  return (struct timespec){.tv_sec = begin + (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
}

time_t time(time_t *to) {
  time_t now = look().tv_sec;
  if (to) *to = now;
  return now;
}

int gettimeofday(struct timeval *restrict to, void *restrict zone) {
  struct timespec now = look();
  *to = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
  if (zone) memset(zone, 0, sizeof(struct timezone));
  return 0;
}

int clock_gettime(clockid_t clock, struct timespec *to) {
  if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE) return (int)syscall(SYS_clock_gettime, clock, to);
  *to = look();
  return 0;
}
