/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole files, and the directories they are in.
 *
 * Descriptors are close-on-exec from birth. A file is replaced by a rename, so that a reader sees the old or the new
 * one; it is not forced to disk, because everything murphy writes can be made again.
 */
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { READ_STEP = 64 << 10, NAME_TRIES = 100 };

/* The result of the call that has just failed, with a message. */
static int failed(const char *path, const char *what, struct err *e) {
  int code = -errno;
  return err_set(e, code, "%s: %s: %m", path, what);
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* How much memory to start with: the size of a regular file, so that it is read at one go. */
static size_t first_capacity(int fd, size_t limit) {
  struct stat st;
  if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size <= 0) return READ_STEP;
  return (uint64_t)st.st_size < limit ? (size_t)st.st_size + 2 : READ_STEP;
}

static int read_all(const char *path, int fd, size_t limit, struct text *to, struct err *e) {
  size_t cap = first_capacity(fd, limit);
  for (;;) {
    if (vec_grow((void **)&to->at, &to->cap, to->n + 2 > cap ? to->n + 2 : cap, 1) < 0)
      return err_set(e, -ENOMEM, "%s: cannot read: out of memory", path);
    ssize_t n = read(fd, to->at + to->n, to->cap - to->n - 1);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed(path, "cannot read", e);
    to->n += (size_t)n;
    to->at[to->n] = '\0';
    if (to->n > limit) return err_set(e, -EFBIG, "%s: larger than %zu bytes (is it the right file?)", path, limit);
    if (n == 0) return 0;
  }
}

int file_read(const char *path, size_t limit, char **ret, size_t *ret_size, struct err *e) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return failed(path, "cannot open", e);
  struct text whole = {0};
  int r = read_all(path, fd, limit, &whole, e);
  (void)close(fd); /* nothing was written, so nothing can be lost */
  if (r < 0) {
    text_done(&whole);
    return r;
  }
  *ret = whole.at;
  *ret_size = whole.n;
  return 0;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

static int write_all(int fd, const char *p, size_t n) {
  while (n > 0) {
    ssize_t done = write(fd, p, n);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return -errno;
    p += done;
    n -= (size_t)done;
  }
  return 0;
}

/* Writes and closes FD. */
static int fill(const char *path, int fd, const void *p, size_t n, struct err *e) {
  int r = write_all(fd, p, n);
  if (close(fd) < 0 && errno != EINTR && r == 0) r = -errno;
  if (r == 0) return 0;
  errno = -r;
  return failed(path, "cannot write", e);
}

/* A new file beside PATH. mkostemp would make it private, and the umask cannot be read without changing it. */
static int open_beside(const char *path, char temporary[PATH_MAX]) {
  for (unsigned i = 0; i < NAME_TRIES; i++) {
    int n = snprintf(temporary, PATH_MAX, "%s.%ld-%u.tmp", path, (long)getpid(), i);
    if (n < 0 || n >= PATH_MAX) {
      errno = ENAMETOOLONG;
      return -1;
    }
    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

static int replace(const char *path, const struct stat *old, const void *p, size_t n, struct err *e) {
  char temporary[PATH_MAX];
  int fd = open_beside(path, temporary);
  if (fd < 0) return failed(path, "cannot make a file beside it", e);
  if (old) (void)fchmod(fd, old->st_mode & 0777); /* another owner's file system may refuse; the default mode will do */
  int r = fill(path, fd, p, n, e);
  if (r == 0 && rename(temporary, path) < 0) r = failed(path, "cannot replace it", e);
  if (r < 0) (void)unlink(temporary);
  return r;
}

int file_write(const char *path, const void *p, size_t n, struct err *e) {
  /* A link stays a link: what it points to is replaced. */
  char real[PATH_MAX];
  const char *target = realpath(path, real) ? real : path;
  struct stat st;
  bool there = stat(target, &st) == 0;
  if (!there || S_ISREG(st.st_mode)) return replace(target, there ? &st : NULL, p, n, e);
  /* A terminal, a pipe, /dev/null. */
  int fd = open(target, O_WRONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return failed(path, "cannot open", e);
  return fill(path, fd, p, n, e);
}

/* --- directories -------------------------------------------------------------------------------------------------- */

static int make_one(const char *path) {
  struct stat st;
  if (mkdir(path, 0777) == 0) return 0;
  int code = -errno;
  /* A read-only or foreign parent answers EROFS or EACCES even for what is already there. */
  if (stat(path, &st) < 0) return code;
  return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
}

int dir_make(const char *path) {
  char partial[PATH_MAX];
  size_t n = strlen(path);
  if (n == 0) return -ENOENT;
  if (n >= sizeof partial) return -ENAMETOOLONG;
  memcpy(partial, path, n + 1);
  for (size_t i = 1; i < n; i++) {
    if (partial[i] != '/' || partial[i - 1] == '/') continue;
    partial[i] = '\0';
    int r = make_one(partial);
    if (r < 0) return r;
    partial[i] = '/';
  }
  return make_one(partial);
}
