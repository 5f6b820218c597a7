/* SPDX-License-Identifier: Apache-2.0 */
/* errno set by hand, through libc callees, and from negative-errno internals. */
#include "truth.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct table {
  size_t used, room;
  int *keys;
};

/* errors: -1[EINVAL,ENOSPC,EEXIST] */
EXPORT int table_insert(struct table *t, int key) {
  if (t == NULL || key < 0) {
    errno = EINVAL;
    return -1;
  }
  for (size_t i = 0; i < t->used; i++)
    if (t->keys[i] == key) {
      errno = EEXIST;
      return -1;
    }
  if (t->used == t->room) {
    errno = ENOSPC;
    return -1;
  }
  t->keys[t->used++] = key;
  return 0;
}

/* errors: -1[ERANGE] -2[ENOENT] */
EXPORT int table_remove(struct table *t, int key) {
  if (key > 0xffff) {
    errno = ERANGE;
    return -1;
  }
  for (size_t i = 0; i < t->used; i++)
    if (t->keys[i] == key) {
      memmove(t->keys + i, t->keys + i + 1, (t->used - i - 1) * sizeof *t->keys);
      t->used--;
      return 0;
    }
  errno = ENOENT;
  return -2;
}

/* open's errno is kept over the clean-up. */
/* errors: -1[@open,@read,ENODATA] */
EXPORT int config_slurp(const char *path, char *buf, size_t size) {
  int fd = open(path, O_RDONLY | O_CLOEXEC), saved;
  ssize_t n;
  if (fd < 0)
    return -1;
  n = read(fd, buf, size - 1);
  if (n <= 0) {
    saved = n == 0 ? ENODATA : errno;
    close(fd);
    errno = saved;
    return -1;
  }
  buf[n] = 0;
  close(fd);
  return (int)n;
}

static NOINLINE int pick_slot(const char *name, unsigned limit) {
  size_t n = strlen(name);
  if (n == 0)
    return -EINVAL;
  if (n > 255)
    return -ENAMETOOLONG;
  if (n > limit)
    return -E2BIG;
  return (int)(n % 7);
}

/* errors: -1[EINVAL,ENAMETOOLONG,E2BIG] */
EXPORT int slot_for(const char *name, unsigned limit) {
  int r = pick_slot(name, limit);
  if (r < 0) {
    errno = -r;
    return -1;
  }
  return r;
}

/* errors: 0[EINVAL,ENOTSUP] */
EXPORT bool mode_select(const char *mode, unsigned *ret) {
  if (mode == NULL) {
    errno = EINVAL;
    return false;
  }
  if (*mode == 'r')
    *ret = 4;
  else if (*mode == 'w')
    *ret = 2;
  else {
    errno = ENOTSUP;
    return false;
  }
  return true;
}

/* errors: -1[@write] */
EXPORT ssize_t write_all(int fd, const char *p, size_t n) {
  size_t done = 0;
  while (done < n) {
    ssize_t r = write(fd, p + done, n - done);
    if (r < 0) {
      if (errno == EINTR)
        continue;
      return -1;
    }
    done += (size_t)r;
  }
  return (ssize_t)done;
}

/* errors: -1[@close] */
EXPORT int handle_release(int *fd) {
  int was = *fd;
  *fd = -1;
  return close(was);
}

static NOINLINE int fail_with(int code) {
  errno = code;
  return -1;
}

/* errors: -1[EPERM,EBUSY,ETIMEDOUT] */
EXPORT int door_open(unsigned state, long now, long deadline) {
  if (state & 1)
    return fail_with(EPERM);
  if (state & 2)
    return fail_with(EBUSY);
  if (now > deadline)
    return fail_with(ETIMEDOUT);
  return 0;
}

/* Clears errno on success only; no failure. */
/* errors: none */
EXPORT void errno_forget(void) {
  errno = 0;
}

/* errors: -1[EDOM,ERANGE] */
EXPORT int parse_percent(const char *text) {
  char *end;
  long v;
  int saved = errno;
  errno = 0;
  v = strtol(text, &end, 10);
  if (end == text || *end != '%') {
    errno = EDOM;
    return -1;
  }
  if (v < 0 || v > 100) {
    errno = ERANGE;
    return -1;
  }
  errno = saved;
  return (int)v;
}
