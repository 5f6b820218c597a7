/* SPDX-License-Identifier: Apache-2.0 */
/* Collects results before it looks at them: sums, arrays, structures, out-parameters, globals, narrow and wide types. */
/* link: -pthread */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static inline long min(long a, long b) { return a < b ? a : b; }

static inline bool is_error(long v) { return v < 0; }
static inline long or_zero(long v) { return v > 0 ? v : 0; }

/* --- sums --- */

int close_three(const int *fd) {
  int rc = 0;
  rc |= close(fd[0]); /* @close all */
  rc |= close(fd[1]); /* @close all */
  rc |= fsync(fd[2]); /* @fsync all */
  return rc ? -1 : 0;
}

unsigned remove_all(char **names, unsigned n) {
  unsigned bad = 0;
  for (unsigned i = 0; i < n; i++)
    bad += unlink(names[i]) != 0; /* @unlink all */
  return bad;
}

bool save(int fd, const char *p, size_t n) {
  bool ok = write(fd, p, n) == (ssize_t)n; /* @write all */
  ok = ok && fdatasync(fd) == 0; /* @fdatasync all */
  ok &= !fchmod(fd, 0400); /* @fchmod all */
  return ok;
}

int worst_of(const int *fd, int n) {
  int worst = 0;
  for (int i = 0; i < n; i++)
    worst = (int)min(worst, fsync(fd[i])); /* @fsync all */
  return worst < 0;
}

long sum_of(const int *fd, const char *p) {
  long sum = 0;
  for (int i = 0; i < 4; i++)
    sum += write(fd[i], p, 10); /* @write none used */
  return sum;
}

int dropped(int a, int b) {
  int rc = 0;
  rc |= close(a); /* @close none ignored/used */
  rc |= close(b); /* @close none ignored/used */
  rc = 0;
  return rc;
}

long some_bytes(int fd, char *p, long limit) {
  long n = min(read(fd, p, 4096), limit); /* @read all */
  if (n <= 0) return -1;
  return p[n - 1];
}

int both(FILE *f) {
  if (fflush(f) | fsync(fileno(f))) return -1; /* @fflush all; @fsync all; @fileno any */
  return -(fclose(f) != 0); /* @fclose all */
}

/* --- arrays --- */

int open_all(char **names, int *fd) {
  for (int i = 0; i < 4; i++)
    fd[i] = open(names[i], O_RDONLY); /* @open all */
  for (int i = 0; i < 4; i++)
    if (fd[i] < 0) return -1;
  return 0;
}

int link_all(char **names) {
  int results[3], bad = 0;
  results[0] = link(names[0], names[1]); /* @link all */
  results[1] = symlink(names[0], names[2]); /* @symlink all */
  results[2] = chmod(names[0], 0600); /* @chmod none ignored/used */
  for (int i = 0; i < 2; i++)
    bad |= results[i] == -1;
  return bad;
}

/* --- structures --- */

struct opened {
  int fd, error;
};

static struct opened open_it(const char *path) {
  struct opened o = {open(path, O_RDONLY), 0}; /* @open all */
  if (o.fd < 0) o.error = errno;
  return o;
}

struct pair {
  void *data;
  long length;
};

static __attribute__((noinline)) struct pair load(int fd, size_t n) {
  struct pair p;
  p.data = malloc(n); /* @malloc all */
  p.length = read(fd, p.data, n); /* @read all */
  return p;
}

int show(const char *path) {
  struct opened o = open_it(path);
  if (o.error) return o.error;
  struct pair p = load(o.fd, 100);
  if (!p.data || p.length < 0) return -1;
  return ((char *)p.data)[0];
}

/* --- out-parameters --- */

static __attribute__((noinline)) void try_open(const char *path, int *ret) { *ret = open(path, O_WRONLY); } /* @open all */

static __attribute__((noinline)) bool slurp(int fd, char **ret, ssize_t *ret_n) {
  *ret = malloc(4096); /* @malloc all */
  if (!*ret) return false;
  *ret_n = read(fd, *ret, 4096); /* @read all */
  return true;
}

int through_pointers(const char *path) {
  int fd;
  char *p;
  ssize_t n;
  try_open(path, &fd);
  if (fd == -1) return 1;
  if (!slurp(fd, &p, &n)) return 2;
  if (n == -1) return 3;
  return p[0];
}

/* --- globals --- */

static long last_write;
static int log_fd = -1;

void emit(const char *p, size_t n) { last_write = write(log_fd, p, n); } /* @write all */
int emitted(void) { return last_write >= 0; }

static int log_once(void) {
  if (log_fd == -1) log_fd = open("log", O_WRONLY | O_APPEND); /* @open all */
  return log_fd;
}

int log_line(const char *s) {
  if (log_once() < 0) return -1;
  emit(s, strlen(s));
  return emitted() ? 0 : -1;
}

/* --- widths --- */

int narrow(int fd, char *p) {
  int n = read(fd, p, 1 << 20); /* @read all */
  if (n < 0) return -1;
  int at = lseek(fd, 0, SEEK_CUR); /* @lseek all */
  if (at == -1) return -2;
  unsigned done = write(fd, p, 100); /* @write all */
  if (done != 100) return -3;
  return p[0];
}

int wide(int fd, char *p, size_t size) {
  size_t n = read(fd, p, size); /* @read all */
  if (n == (size_t)-1) return -1;
  size_t m = pread(fd, p, size, 10); /* @pread all */
  if (m > size) return -1;
  return p[m] + p[n];
}

int never_true(int fd, char *p, size_t size) {
  size_t n = read(fd, p, size); /* @read none used/dereferenced */
  if (n < 0) return -1;
  return p[n];
}

char *end_of(const char *path, char *p, size_t size) {
  ssize_t n = readlink(path, p, size - 1); /* @readlink none used/dereferenced */
  p[n] = 0;
  return p;
}

char *end_of_checked(const char *path, char *p, size_t size) {
  ssize_t n = readlink(path, p, size - 1); /* @readlink all */
  p[n > 0 ? n : 0] = 0;
  return p;
}

int at_end(const char *path, char *p, size_t size) {
  p[or_zero(readlink(path, p, size - 1))] = 0; /* @readlink all */
  return is_error(access(path, R_OK)); /* @access any */
}

int as_word(size_t n) {
  uintptr_t p = (uintptr_t)mmap(0, n, PROT_READ, MAP_ANONYMOUS | MAP_PRIVATE, -1, 0); /* @mmap all */
  return p > -4096UL;
}

int as_null(size_t n) {
  char *p = mmap(0, n, PROT_READ, MAP_ANONYMOUS | MAP_PRIVATE, -1, 0); /* @mmap none used/dereferenced */
  if (!p) return -1;
  return *p;
}

int differs(int fd, const char *p, ssize_t n) {
  if (write(fd, p, (size_t)n) - n) return 1; /* @write all */
  if (pwrite(fd, p, (size_t)n, 0) ^ n) return 2; /* @pwrite all */
  return 0;
}

int sign(const char *a, const char *b) { return rename(a, b) >> 31; } /* @rename all */

/* --- numbers in text --- */

long number(const char *s) {
  char *end;
  errno = 0;
  long v = strtol(s, &end, 10); /* @strtol all */
  if (errno || *end) return -1;
  return v;
}

long number_loose(const char *s) {
  char *end;
  long v = strtol(s, &end, 10); /* @strtol none used/returned */
  if (end == s) return -1;
  return v * 2;
}

int fits(char *p, size_t size, const char *s) {
  if ((size_t)snprintf(p, size, "<%s>", s) >= size) return -1; /* @snprintf all */
  return sscanf(s, "%d", &(int){0}) != 1; /* @sscanf all */
}

/* --- threads --- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t gate;
static void *work(void *p) { return p; }

int threads(void) {
  pthread_t t;
  if ((errno = pthread_create(&t, NULL, work, NULL))) return -1; /* @pthread_create all */
  errno = pthread_mutex_lock(&mutex); /* @pthread_mutex_lock all */
  if (errno != 0) return -1;
  pthread_mutex_unlock(&mutex); /* @pthread_mutex_unlock none ignored */
  while (sem_wait(&gate) == -1 && errno == EINTR) continue; /* @sem_wait some */
  return pthread_join(t, NULL) == 0 ? 0 : -1; /* @pthread_join all */
}

/* --- variable arguments, tails and callbacks --- */

static __attribute__((noinline)) int say(FILE *f, const char *format, ...) {
  va_list ap;
  va_start(ap, format);
  int n = vfprintf(f, format, ap); /* @vfprintf some */
  va_end(ap);
  return n;
}

static __attribute__((noinline)) int sync_it(int fd) { return fsync(fd); } /* @fsync all */
static __attribute__((noinline)) void flush_it(int fd) { fsync(fd); } /* @fsync none ignored */

static int close_one(int fd) { return close(fd); } /* @close all */
static int sync_one(int fd) { return fdatasync(fd); } /* @fdatasync all */

static __attribute__((noinline)) int each(const int *fd, int n, int (*f)(int)) {
  for (int i = 0; i < n; i++) {
    int r = f(fd[i]);
    if (r != 0) return r;
  }
  return 0;
}

int columns(void) {
  struct winsize w;
  return ioctl(1, TIOCGWINSZ, &w) < 0 ? 80 : w.ws_col; /* @ioctl all */
}

/* The last of several tries counts. */
int first_of(char **names, int n) {
  int fd = -1;
  for (int i = 0; i < n && fd < 0; i++)
    fd = open(names[i], O_RDONLY); /* @open all */
  return fd;
}

void *shrink(size_t *size) {
  void *p;
  while (!(p = malloc(*size)) && *size > 16) /* @malloc all */
    *size /= 2;
  return p;
}

void *grow(char *p, size_t n) {
  p = realloc(p, n); /* @realloc none dereferenced */
  p[n - 1] = 0;
  return p;
}

int main(int argc, char **argv) {
  int fd[4];
  char b[128];
  size_t size = 1 << 20;
  int r = open_all(argv, fd);
  r += close_three(fd) + (int)remove_all(argv, (unsigned)argc) + save(1, b, 3) + worst_of(fd, 4) + (int)sum_of(fd, b);
  r += dropped(1, 2) + (int)some_bytes(0, b, 10) + both(stdout) + link_all(argv) + show(argv[1]);
  r += through_pointers(argv[1]) + log_line(argv[1]) + narrow(0, b) + wide(0, b, 3) + never_true(0, b, 10);
  r += *end_of(argv[1], b, 100) + *end_of_checked(argv[1], b, 100) + at_end(argv[1], b, 10) + as_word(10) + as_null(1);
  r += differs(1, b, 10) + (int)number(argv[1]) + (int)number_loose(argv[1]) + fits(b, 10, argv[1]);
  if (sign(argv[0], argv[1])) return 1;
  if (say(stdout, "%d\n", threads()) < 0) return 2;
  say(stderr, "%d\n", r);
  if (sync_it(1)) return 3;
  flush_it(2);
  if (each(fd, 4, argc > 4 ? sync_one : close_one)) return 4;
  if (first_of(argv, argc) < 0) return 5;
  char *p = shrink(&size);
  if (p == NULL) return 6;
  return r + columns() + *(char *)grow(p, 10);
}
