/* SPDX-License-Identifier: Apache-2.0 */
/* Handles where 0 is failure, small structures in registers, and objects with several stages of clean-up. */
#include "truth.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
  unsigned generation;
  void *object;
} handles[64];

/* errors: 0 */
EXPORT unsigned handle_make(void *object) {
  for (unsigned i = 0; i < 64; i++)
    if (handles[i].object == NULL) {
      handles[i].object = object;
      return ++handles[i].generation << 8 | (i + 1);
    }
  return 0;
}

/* errors: 0 */
EXPORT void *handle_object(unsigned handle) {
  unsigned i = (handle & 0xff) - 1;
  if (i >= 64 || handles[i].generation != handle >> 8)
    return NULL;
  return handles[i].object;
}

/* errors: -1 */
EXPORT int handle_drop(unsigned handle) {
  unsigned i = (handle & 0xff) - 1;
  if (i >= 64)
    return -1;
  if (handles[i].generation != handle >> 8)
    return -1;
  handles[i].object = NULL;
  return 0;
}

struct store {
  int fd;
  char *index;
  struct stat st;
};

/* errors: 0[@malloc,@open,EISDIR,*] */
EXPORT struct store *store_open(const char *path) {
  struct store *s = calloc(1, sizeof *s);
  int saved;
  if (s == NULL)
    return NULL;
  s->fd = open(path, O_RDWR | O_CLOEXEC);
  if (s->fd < 0)
    goto fail_free;
  if (fstat(s->fd, &s->st) < 0)
    goto fail_close;
  if (S_ISDIR(s->st.st_mode)) {
    errno = EISDIR;
    goto fail_close;
  }
  s->index = malloc((size_t)s->st.st_size + 1);
  if (s->index == NULL)
    goto fail_close;
  return s;
fail_close:
  saved = errno;
  close(s->fd);
  errno = saved;
fail_free:
  free(s);
  return NULL;
}

/* errors: -1[@fsync] */
EXPORT int store_sync(struct store *s, int really) {
  if (!really)
    return 0;
  return fsync(s->fd);
}

/* errors: none */
EXPORT int store_descriptor(const struct store *s) {
  return s->fd;
}

/* errors: -1[@pipe] */
EXPORT int store_channel(int fds[2]) {
  int both[2];
  if (pipe(both) < 0)
    return -1;
  fds[0] = both[1];
  fds[1] = both[0];
  return 0;
}

/* errors: -1[@socket] -2 */
EXPORT int store_version(const struct store *s, const char *want, int (*connect_to)(const char *)) {
  extern int socket(int, int, int);
  int fd;
  if (strcmp(s->index, want) != 0)
    return -2;
  fd = socket(1, 1, 0);
  if (fd == -1)
    return -1;
  connect_to(want);
  return fd;
}
