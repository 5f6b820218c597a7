/* SPDX-License-Identifier: Apache-2.0 */
/* More ends that several tests of errno share: one variable for the result, cleaning up, helpers that are inlined. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct job {
  int fd, error, tries;
  size_t done;
  char *buffer;
};

static int complain(const char *what) {
  fprintf(stderr, "%s: %s\n", what, strerror(errno)); /* @fprintf none ignored */
  return -1;
}

/* A result in one variable, one way out. */
int store(struct job *j, const char *path) {
  int rc = 0, fd = -1;
  fd = open(path, O_WRONLY | O_CREAT, 0600); /* @open all */
  if (fd < 0) {
    rc = errno == EACCES ? 1 : 2;
    goto out;
  }
  if (ftruncate(fd, 100) < 0 && errno != EINVAL) { /* @ftruncate all */
    rc = 3;
    goto out;
  }
  if (fchmod(fd, 0644) < 0 && errno == EROFS) { /* @fchmod some missing=EIO */
    rc = 3;
    goto out;
  }
  if (write(fd, j->buffer, j->done) != (ssize_t)j->done) { /* @write all */
    rc = errno == ENOSPC ? 4 : 5;
    goto out;
  }
out:
  if (fd >= 0 && close(fd) < 0 && rc == 0) rc = 6; /* @close all */
  return rc;
}

/* Retry macros. */
ssize_t fill(struct job *j, size_t n) {
  ssize_t r = TEMP_FAILURE_RETRY(read(j->fd, j->buffer, n)); /* @read all */
  if (r == -1) return complain("read");
  j->done += (size_t)r;
  return r;
}

void fill_quietly(struct job *j, size_t n) {
  ssize_t r = TEMP_FAILURE_RETRY(pread(j->fd, j->buffer, n, 0)); /* @pread some missing=EIO */
  j->done = (size_t)r;
}

/* A helper that asks errno for its callers. */
static inline int again(void) { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

int chat(struct job *j) {
  ssize_t n = recv(j->fd, j->buffer, 64, 0); /* @recv all */
  if (n < 0 && again()) return 0;
  if (n < 0) return complain("recv");
  n = send(j->fd, j->buffer, (size_t)n, 0); /* @send all */
  if (n < 0 && again()) return 0;
  if (n < 0) return complain("send");
  j->done += (size_t)n;
  return 1;
}

/* The error goes into a structure, the way is shared. */
int advance(struct job *j) {
  switch (j->tries++) {
  case 0:
    if (fsync(j->fd) < 0) goto fail; /* @fsync all */
    break;
  case 1:
    if (lseek(j->fd, 0, SEEK_SET) < 0) goto fail; /* @lseek all */
    break;
  case 2:
    if (flock(j->fd, 2) < 0) { /* @flock all */
      if (errno == EWOULDBLOCK) break;
      goto fail;
    }
    break;
  default:
    if (ftruncate(j->fd, 0) < 0) { /* @ftruncate all */
      if (errno == EINVAL) return 2;
      goto fail;
    }
  }
  return 0;
fail:
  j->error = errno;
  return -1;
}

/* Waits for either of two; a signal is no failure, everything else is taken for a timeout. */
int wait_both(int a, int b) {
  struct pollfd p[2] = {{a, POLLIN, 0}, {b, POLLIN, 0}};
  int n;
  do
    n = poll(p, 2, 1000); /* @poll all */
  while (n < 0 && errno == EINTR);
  return n > 0 ? p[0].revents | p[1].revents : 0;
}

int make_path(char *path) {
  for (char *s = strchr(path + 1, '/'); s; s = strchr(s + 1, '/')) {
    *s = 0;
    int r = mkdir(path, 0777); /* @mkdir all */
    *s = '/';
    if (r < 0 && errno != EEXIST) return -1;
  }
  if (mkdir(path, 0777) < 0 && errno != EEXIST) return -1; /* @mkdir all */
  return 0;
}

void make_quietly(const char *a, const char *b, const char *c) {
  if (mkdir(a, 0777) < 0 && errno != EEXIST) complain(a); /* @mkdir all */
  if (mkdir(b, 0777) < 0 && errno != EEXIST) complain(b); /* @mkdir all */
  if (symlink(a, c) < 0 && errno == ENOSPC) complain(c); /* @symlink some missing=EEXIST */
}

/* The same message for two files, one of which may be missing. */
FILE *configure(const char *first, const char *second) {
  FILE *f = fopen(first, "r"); /* @fopen all */
  if (!f && errno == ENOENT) f = fopen(second, "r"); /* @fopen all */
  if (!f) {
    perror("configuration");
    exit(1);
  }
  return f;
}

FILE *configure_lazily(const char *first, const char *second) {
  FILE *f = fopen(first, "r"); /* @fopen all */
  if (!f) {
    if (errno != ENOENT) return NULL;
    f = fopen(second, "r"); /* @fopen all */
    if (!f && errno != ENOENT) return NULL;
    if (!f) return stdin;
  }
  return f;
}

int settle(pid_t a, pid_t b) {
  int x = 0, y = 0;
  if (waitpid(a, &x, 0) < 0 && errno != ECHILD) return -1; /* @waitpid all */
  if (waitpid(b, &y, 0) < 0 && errno != ECHILD) return -1; /* @waitpid all */
  return x | y;
}

/* Flags set for one errno each. */
unsigned probe(const char *a, const char *b) {
  unsigned flags = 0;
  if (access(a, R_OK) < 0) { /* @access some missing=EIO */
    if (errno == EACCES) flags |= 1;
    if (errno == ENOENT) flags |= 2;
  }
  if (access(b, R_OK) < 0) { /* @access all */
    if (errno == EACCES)
      flags |= 4;
    else if (errno == ENOENT)
      flags |= 8;
    else
      flags |= 16;
  }
  return flags;
}

/* Two allocations with one end. */
int grow(struct job *j) {
  char *p = malloc(100); /* @malloc all */
  if (!p) goto nomem;
  char *q = realloc(j->buffer, 200); /* @realloc all */
  if (!q) {
    free(p);
    goto nomem;
  }
  j->buffer = q;
  memcpy(q, p, 100);
  free(p);
  return 0;
nomem:
  errno = ENOMEM;
  return -1;
}

int lock_pages(void *p, size_t n) {
  if (mlock(p, n) < 0) { /* @mlock all */
    if (errno == EPERM || errno == ENOMEM) return 0;
    return complain("mlock");
  }
  if (madvise(p, n, MADV_DONTDUMP) < 0 && errno != EINVAL) return complain("madvise"); /* @madvise all */
  return 0;
}

int listen_on(int fd) {
  int one = 1, rc = -1;
  if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) < 0) goto done; /* @setsockopt all */
  if (listen(fd, 5) < 0) { /* @listen all */
    if (errno == EADDRINUSE) rc = -2;
    goto done;
  }
  rc = 0;
done:
  if (rc < 0) close(fd); /* @close none ignored */
  return rc;
}

/* Two questions that lead to the same two places are still two. */
int remove_strictly(const char *path, int strict, int verbose) {
  if (unlink(path) < 0) { /* @unlink all */
    if (errno == EACCES) return -2;
    if (strict) goto bad;
  } else {
    if (verbose < 0) goto bad;
  }
  puts("done"); /* @puts? none ignored */
  return 0;
bad:
  puts("bad"); /* @puts? none ignored */
  return -1;
}

__attribute__((noinline)) int cut_until(int fd, const int *stop, const int *done) {
  for (;;) {
    if (ftruncate(fd, 0) < 0) { /* @ftruncate all */
      if (errno == EINTR) continue;
      if (*stop) return -1;
    } else if (*done) {
      return -1;
    }
    usleep(1); /* @usleep none ignored */
  }
}

int main(int argc, char **argv) {
  struct job j = {.fd = argc, .buffer = malloc(64)}; /* @malloc all */
  if (!j.buffer || argc < 4) return 2;
  int r = store(&j, argv[1]);
  if (fill(&j, 64) < 0) r |= 1;
  fill_quietly(&j, 64);
  if (chat(&j) < 0) r |= 2;
  if (advance(&j) < 0) r |= 4;
  r |= wait_both(0, 1) << 4;
  if (make_path(argv[1]) < 0) r |= 8;
  make_quietly(argv[1], argv[2], argv[3]);
  fclose(configure(argv[1], argv[2])); /* @fclose none ignored */
  FILE *f = configure_lazily(argv[1], argv[2]);
  if (!f) return 3;
  fclose(f); /* @fclose none ignored */
  if (settle(argc, argc + 1) < 0) r |= 16;
  r |= (int)probe(argv[1], argv[2]) << 8;
  if (grow(&j) < 0) r |= 32;
  if (lock_pages(j.buffer, 64) < 0) r |= 64;
  if (listen_on(0) < 0) r |= 128;
  r |= remove_strictly(argv[3], argc > 5, argc - 7);
  if (argc > 6) r |= cut_until(0, &j.fd, &j.tries);
  return r;
}
