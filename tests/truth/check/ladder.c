/* SPDX-License-Identifier: Apache-2.0 */
/* Packs files: checks in macros, ladders of goto, commas, ternaries, assertions and jumps. */
/* link: -pthread */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int failed_at;
#define TRY(x)                                                                                                         \
  do {                                                                                                                 \
    if ((x) < 0) {                                                                                                     \
      failed_at = __LINE__;                                                                                            \
      goto fail;                                                                                                       \
    }                                                                                                                  \
  } while (0)
#define CHECKED(x)                                                                                                     \
  ({                                                                                                                   \
    __typeof__(x) v_ = (x);                                                                                            \
    if (v_ == (__typeof__(x)) - 1) die(#x);                                                                            \
    v_;                                                                                                                \
  })
#define UNWIND_IF(c, l)                                                                                                \
  if (__builtin_expect(!!(c), 0)) goto l
#define OR_RETURN(e, r)                                                                                                \
  do {                                                                                                                 \
    int rc_ = (e);                                                                                                     \
    if (rc_) return (r);                                                                                               \
  } while (0)
#define RETRY(e)                                                                                                       \
  ({                                                                                                                   \
    long r_;                                                                                                           \
    do r_ = (e);                                                                                                       \
    while (r_ == -1 && errno == EINTR);                                                                                \
    r_;                                                                                                                \
  })
#define CLOSE_ALL(a, b) (close(a), close(b))

static __attribute__((noreturn)) void die(const char *what) {
  perror(what);
  _exit(3);
}

/* A ladder: each step undoes what came before. */
int pack(const char *from, const char *to, size_t size) {
  struct stat st;
  int in = -1, out = -1, r = -1;
  char *buffer;
  TRY(in = open(from, O_RDONLY)); /* @open all */
  TRY(fstat(in, &st)); /* @fstat all */
  UNWIND_IF(!(buffer = malloc(size)), fail); /* @malloc all */
  UNWIND_IF((out = open(to, O_WRONLY | O_CREAT, 0644)) == -1, fail_free); /* @open all */
  for (;;) {
    long n = RETRY(read(in, buffer, size)); /* @read all */
    UNWIND_IF(n < 0, fail_out);
    if (!n) break;
    long done = RETRY(write(out, buffer, (size_t)n)); /* @write all */
    UNWIND_IF(done - n, fail_out);
  }
  if (fsync(out)) goto fail_out; /* @fsync all */
  r = close(out) ? -2 : 0; /* @close all */
  out = -1;
fail_out:
  if (out >= 0) close(out); /* @close none ignored */
fail_free:
  free(buffer);
fail:
  if (in >= 0) close(in); /* @close none ignored */
  return r;
}

/* Tries again after a signal, and takes any other error for data. */
size_t drink(int fd, char *p, size_t size) {
  size_t total = 0;
  while (total < size) {
    long n = RETRY(read(fd, p + total, size - total)); /* @read some */
    if (n == 0) break;
    total += (size_t)n;
  }
  return total;
}

off_t rewind_all(int fd) { return CHECKED(lseek(fd, 0, SEEK_SET)); } /* @lseek all */

char *hole(size_t n) { return CHECKED(mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)); } /* @mmap all */

/* Commas. */
int list(const char *path) {
  DIR *d;
  struct dirent *e;
  int n = 0;
  if (errno = 0, (d = opendir(path)) == NULL) return -errno; /* @opendir all */
  while (errno = 0, e = readdir(d), e) /* @readdir all */
    n += e->d_name[0] != '.';
  return closedir(d), n; /* @closedir none ignored */
}

/* Ternaries. */
int open_or_errno(const char *path) {
  int fd;
  return (fd = open(path, O_RDWR)) < 0 ? -errno : fd; /* @open all */
}

const char *home(void) { return getenv("HOME") ?: "/"; } /* @getenv all */

char *copy(const char *s) {
  char *p = strdup(s); /* @strdup all */
  return p ? p : (die("strdup"), NULL);
}

/* The complement of -1 is 0. */
int lock_file(const char *path) {
  int fd = open(path, O_CREAT | O_EXCL, 0600); /* @open all */
  if (!~fd) return -2;
  return fd;
}

int touch(const char *path) {
  int fd = creat(path, 0600); /* @creat all */
  if (!(fd + 1)) return -1;
  return close(fd) < 0 ? -1 : 0; /* @close all */
}

/* Either dies or goes on. */
int must_open(const char *path) {
  int fd = open(path, O_RDONLY); /* @open all */
  fd >= 0 || (die(path), 0);
  return fd;
}

/* Assertions. */
void *arena(size_t n) {
  void *p = aligned_alloc(64, n); /* @aligned_alloc all */
  assert(p);
  assert(mprotect(p, n, PROT_READ) == 0); /* @mprotect all */
  return p;
}

#undef assert
#define assert(x) ((void)0)
void *loose_arena(size_t n) {
  char *p = malloc(n); /* @malloc none dereferenced */
  assert(p);
  p[0] = 1;
  return p;
}

/* Jumps out of the middle. */
static jmp_buf out_of_memory;
static void *get(size_t n) {
  void *p = calloc(1, n); /* @calloc? all */
  if (p == NULL) longjmp(out_of_memory, 1);
  return p;
}

int build(size_t n) {
  if (setjmp(out_of_memory)) return -1;
  char *a = get(n), *b = get(n * 2);
  a[0] = b[0] = 1;
  return a[0] + b[0];
}

/* Codes that are handed on by return at once. */
int prepare(const char *dir) {
  OR_RETURN(mkdir(dir, 0700), -1); /* @mkdir all */
  OR_RETURN(chdir(dir), -2); /* @chdir all */
  OR_RETURN(rename("a", "b") == -1, -3); /* @rename all */
  return 0;
}

/* Falls through to the default. */
int settle(const char *path) {
  if (unlink(path) < 0) /* @unlink all */
    switch (errno) {
    case ENOENT:
    case ENOTDIR:
      break;
    case EPERM:
      fputs("not mine\n", stderr); /* @fputs/fwrite none ignored */
      /* fall through */
    default:
      return -1;
    }
  return 0;
}

/* Knows one errno, and goes on with the others as if it were done. */
int settle_one(const char *path) {
  if (rmdir(path) < 0) /* @rmdir some */
    switch (errno) {
    case ENOTEMPTY:
      return 1;
    }
  return 0;
}

/* The same, inlined where something else is done with the answer. */
static inline __attribute__((always_inline)) int cleared(const char *path) {
  if (rmdir(path) < 0) /* @rmdir some */
    switch (errno) {
    case ENOTEMPTY:
      return 1;
    }
  return 0;
}

__attribute__((noinline)) int other(int n) { return n ? getpid() : 0; }

int cleared_kept(const char *path) {
  int r = cleared(path);
  other(3);
  return r;
}

int cleared_added(const char *path, int r) {
  r += cleared(path);
  return r + other(3);
}

int cleared_tail(const char *path) {
  if (cleared(path)) abort();
  return other(3);
}

/* Children. */
int spawn(void) {
  int status;
  pid_t pid, got;
  switch (pid = fork()) { /* @fork all */
  case -1:
    return -1;
  case 0:
    _exit(0);
  }
  do got = waitpid(pid, &status, 0); /* @waitpid some */
  while (got < 0 && errno == EINTR);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int spawn_loose(void) {
  switch (fork()) { /* @fork none used/ignored */
  case 0:
    _exit(0);
  default:
    break;
  }
  return wait(NULL) > 0 ? 0 : 1; /* @wait all */
}

int main(int argc, char **argv) {
  char b[64];
  char *name = argv[argc > 1];
  int r = pack(name, "out", sizeof b);
  r += (int)drink(0, b, sizeof b) + (int)rewind_all(0) + *hole(4096) + list(name) + open_or_errno(home());
  int fd = lock_file(copy(name)), fd2 = must_open(name);
  if (fd < 0) r++;
  CLOSE_ALL(fd, fd2); /* @close none ignored */
  r += touch(name) + (arena(4096) != NULL) + *(char *)loose_arena(10) + build(10) + prepare(name) + settle(name);
  r += cleared_kept(name) + cleared_added(name, r) + cleared_tail(name);
  return r + settle_one(name) + spawn() + spawn_loose() + failed_at;
}
