/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of errno behind several calls, whose ways compilers put together or double. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int sink;
static int verbose;

__attribute__((noinline)) static ssize_t pull(int fd, char *to, size_t n) {
  size_t got = 0;
  while (got < n) {
    ssize_t r = read(fd, to + got, n - got); /* @read all */
    if (r < 0) {
      if (errno == EINTR) continue;
      goto fail;
    }
    if (r == 0) break;
    got += (size_t)r;
  }
  return (ssize_t)got;
fail:
  sink = errno;
  return -1;
}

/* Two calls with one end. */
__attribute__((noinline)) static int pump(int from, int to) {
  char buffer[512];
  for (;;) {
    ssize_t n = read(from, buffer, sizeof buffer); /* @read all */
    if (n < 0) {
      if (errno == EINTR || errno == EAGAIN) continue;
      goto fail;
    }
    if (n == 0) return 0;
    for (ssize_t done = 0; done < n;) {
      ssize_t w = write(to, buffer + done, (size_t)(n - done)); /* @write all */
      if (w < 0) {
        if (errno == EINTR || errno == EAGAIN) continue;
        goto fail;
      }
      done += w;
    }
  }
fail:
  if (verbose) sink++;
  return -1;
}

/* The same test behind two openings: who is not there is made, all else is passed over. */
__attribute__((noinline)) static int prepare(const char *a, const char *b) {
  int made = 0;
  if (mkdir(a, 0700) < 0 && errno == EACCES) made |= 1; /* @mkdir some missing=ENOSPC */
  if (mkdir(b, 0700) < 0 && errno == EACCES) made |= 1; /* @mkdir some missing=ENOSPC */
  return made;
}

/* Both give up with the same message, unless the file is not there. */
__attribute__((noinline)) static int drop(const char *a, const char *b) {
  if (unlink(a) < 0 && errno != ENOENT) goto bad; /* @unlink all */
  if (unlink(b) < 0 && errno != ENOENT) goto bad; /* @unlink all */
  return 0;
bad:
  puts("cannot remove"); /* @puts none ignored */
  return 1;
}

__attribute__((noinline)) static int drop_quietly(const char *a, const char *b) {
  if (rmdir(a) < 0) { /* @rmdir some missing=EIO */
    if (errno == EBUSY) goto busy;
  }
  if (rmdir(b) < 0) { /* @rmdir some missing=EIO */
    if (errno == EBUSY) goto busy;
  }
  return 0;
busy:
  sink = 1;
  return -1;
}

__attribute__((noinline)) static int link_once(const char *from, const char *to) {
  if (link(from, to) == 0) return 0; /* @link all */
  if (errno == EEXIST) return 0;
  return -errno;
}

__attribute__((noinline)) static int reap(pid_t child) {
  int status = 0;
  for (;;) {
    pid_t r = waitpid(child, &status, 0); /* @waitpid all */
    if (r == child) return status;
    if (r < 0 && errno != EINTR) return -1;
  }
}

/* Retries for ever, and nothing else is noticed. */
__attribute__((noinline)) static int reap_lazily(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) /* @waitpid some missing=ECHILD */
    sink++;
  return status;
}

__attribute__((noinline)) static int take(int fd) {
  int c;
  do
    c = accept(fd, NULL, NULL); /* @accept all */
  while (c < 0 && (errno == EINTR || errno == ECONNABORTED));
  if (c < 0) {
    if (errno != EAGAIN) perror("accept");
    return -1;
  }
  return c;
}

/* Two openings, one test of errno for both. */
__attribute__((noinline)) static int open_either(const char *a, const char *b, int first) {
  int fd;
  if (first)
    fd = open(a, O_RDONLY); /* @open? all */
  else
    fd = open(b, O_RDONLY | O_CLOEXEC); /* @open? all */
  if (fd < 0) {
    if (errno == ENOENT) return -2;
    return -1;
  }
  return fd;
}

__attribute__((noinline)) static int touch_either(const char *a, const char *b, int first) {
  int r;
  if (first)
    r = chmod(a, 0600); /* @chmod some missing=EIO */
  else
    r = chown(b, 0, 0); /* @chown some missing=EIO */
  if (r < 0 && errno == EPERM) return -1;
  return 0;
}

/* A switch over errno with a default for the rest. */
__attribute__((noinline)) static int push(int fd, const char *p, size_t n) {
  while (n > 0) {
    ssize_t w = send(fd, p, n, MSG_NOSIGNAL); /* @send all */
    if (w >= 0) {
      p += w;
      n -= (size_t)w;
      continue;
    }
    switch (errno) {
    case EINTR:
      continue;
    case EPIPE:
    case ECONNRESET:
      return 1;
    default:
      return -1;
    }
  }
  return 0;
}

/* Only a closed connection is told; others are taken for nothing read. */
__attribute__((noinline)) static size_t drain(int fd) {
  char b[256];
  size_t sum = 0;
  for (int i = 0; i < 8; i++) {
    ssize_t r = recv(fd, b, sizeof b, 0); /* @recv all */
    if (r < 0) {
      if (errno == EINTR) continue;
      if (errno == ECONNRESET) sink = 1;
      break;
    }
    if (r == 0) break;
    sum += (size_t)r;
  }
  return sum;
}

__attribute__((noinline)) static int look(const char *a, const char *b, struct stat *st) {
  if (stat(a, st) < 0) { /* @stat all */
    if (errno == ENOENT || errno == ENOTDIR) goto absent;
    goto fail;
  }
  if (lstat(b, st) < 0) { /* @lstat all */
    if (errno == ENOENT || errno == ENOTDIR) goto absent;
    goto fail;
  }
  return 1;
absent:
  return 0;
fail:
  perror("stat");
  return -1;
}

/* Two steps; a missing entry is fine in both, what else fails is told by the last one only. */
__attribute__((noinline)) static int shift(const char *a, const char *b, const char *c) {
  if (rename(a, b) < 0 && errno == EXDEV) return -1; /* @rename some missing=ENOENT */
  if (rename(b, c) < 0) { /* @rename all */
    if (errno == EXDEV) return -1;
    return -2;
  }
  return 0;
}

__attribute__((noinline)) static int sync_all(int a, int b) {
  if (fsync(a) < 0 && errno != EINVAL && errno != EROFS) return -1; /* @fsync all */
  if (fsync(b) < 0 && errno != EINVAL && errno != EROFS) return -1; /* @fsync all */
  return 0;
}

__attribute__((noinline)) static int sync_some(int a, int b) {
  if (fdatasync(a) < 0 && errno == EIO) return -1; /* @fdatasync some missing=ENOSPC */
  if (fdatasync(b) < 0 && errno == EIO) return -1; /* @fdatasync some missing=ENOSPC */
  return 0;
}

/* What was written is returned, or the error itself. */
__attribute__((noinline)) static int put_all(int fd, const char *p, size_t n) {
  int total = 0;
  while (n > 0) {
    int w = (int)write(fd, p, n); /* @write all */
    if (w < 0) {
      if (errno == EINTR) continue;
      return w;
    }
    total += w;
    p += w;
    n -= (size_t)w;
  }
  return total;
}

/* Gives up after a failure as it does when all is written, and nobody is told: the loop ends. */
__attribute__((noinline)) static void push_raw(int fd, const char *p, size_t n) {
  for (int i = 0; i < 5; i++) {
    ssize_t w = write(fd, p, n); /* @write all */
    if (w >= 0) {
      p += w;
      n -= (size_t)w;
      if (n == 0) break;
    } else if (errno != EAGAIN)
      break;
    sink++;
  }
}

/* What failed for another reason is taken away from what is left to do, as if it had been done. */
__attribute__((noinline)) static void push_on(int fd, const char *p, ssize_t n) {
  while (n > 0) {
    ssize_t w = write(fd, p, (size_t)n); /* @write some missing=EIO */
    if (w < 0 && (errno == EAGAIN || errno == EINTR)) w = 0;
    n -= w;
    p += w;
  }
}

int main(int argc, char **argv) {
  char buffer[64];
  struct stat st;
  if (argc < 4) return 2;
  verbose = argc > 5;
  int r = pull(0, buffer, sizeof buffer) < 0 ? 1 : 0;
  r |= pump(0, 1) << 1;
  r |= prepare(argv[1], argv[2]);
  r |= drop(argv[1], argv[2]);
  r |= drop_quietly(argv[1], argv[2]);
  if (link_once(argv[1], argv[2]) < 0) r |= 4;
  r |= reap(argc);
  r |= reap_lazily(argc);
  if (take(0) < 0) r |= 8;
  int fd = open_either(argv[1], argv[2], argc > 4);
  if (fd < 0) r |= fd == -2 ? 16 : 32;
  if (touch_either(argv[1], argv[2], argc > 4)) r |= 64;
  if (push(1, argv[1], strlen(argv[1])) != 0) r |= 128;
  r += (int)drain(0);
  if (look(argv[1], argv[2], &st) < 0) r |= 256;
  if (shift(argv[1], argv[2], argv[3]) < 0) r |= 512;
  if (sync_all(0, 1) < 0) r |= 1024;
  if (sync_some(0, 1) < 0) r |= 2048;
  push_raw(1, argv[1], strlen(argv[1]));
  push_on(1, argv[1], (ssize_t)strlen(argv[1]));
  if (put_all(1, argv[1], strlen(argv[1])) < 0) r |= 4096;
  return r;
}
