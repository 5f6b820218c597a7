/* SPDX-License-Identifier: Apache-2.0 */
/* Constructors and other functions that return NULL, MAP_FAILED or another address that is none. */
#include "truth.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct buffer {
  char *data;
  size_t used, room;
  struct buffer *next;
};

/* errors: 0[@malloc] */
EXPORT struct buffer *buffer_new(size_t room) {
  struct buffer *b = malloc(sizeof *b);
  if (b == NULL)
    return NULL;
  b->data = malloc(room);
  if (b->data == NULL) {
    free(b);
    return NULL;
  }
  b->used = 0;
  b->room = room;
  b->next = NULL;
  return b;
}

/* errors: none */
EXPORT void buffer_free(struct buffer *b) {
  while (b) {
    struct buffer *next = b->next;
    free(b->data);
    free(b);
    b = next;
  }
}

/* The partly built chain is given back on failure. */
/* errors: 0[EINVAL,@malloc] */
EXPORT struct buffer *buffer_chain(unsigned n, size_t room) {
  struct buffer *first = NULL;
  if (n == 0 || n > 1024) {
    errno = EINVAL;
    return NULL;
  }
  while (n--) {
    struct buffer *b = buffer_new(room);
    if (unlikely(b == NULL)) {
      buffer_free(first);
      return NULL;
    }
    b->next = first;
    first = b;
  }
  return first;
}

/* errors: 0[EOVERFLOW,@malloc] */
EXPORT void *array_make(size_t n, size_t each) {
  size_t total;
  void *p;
  if (__builtin_mul_overflow(n, each, &total)) {
    errno = EOVERFLOW;
    return NULL;
  }
  p = malloc(total ? total : 1);
  if (p)
    memset(p, 0xa5, total ? total : 1);
  return p;
}

/* errors: -1[@mmap] */
EXPORT void *arena_map(size_t size) {
  return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* MAP_FAILED of the callee becomes NULL. */
/* errors: 0[@mmap] */
EXPORT void *arena_map_or_null(size_t size) {
  void *p = mmap(NULL, (size + 4095) & ~4095ul, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return p == MAP_FAILED ? NULL : p;
}

/* errors: -1[EINVAL] */
EXPORT void *slab_address(char *base, long index, long count) {
  if (index < 0 || index >= count) {
    errno = EINVAL;
    return (void *)-1;
  }
  return base + index * 64;
}

/* errors: 0[@malloc] */
EXPORT char *path_join(const char *dir, const char *name) {
  size_t a = strlen(dir), b = strlen(name);
  char *p = malloc(a + b + 2);
  if (!p)
    return p;
  memcpy(p, dir, a);
  p[a] = '/';
  memcpy(p + a + 1, name, b + 1);
  return p;
}

/* errors: 0[@fopen] */
EXPORT FILE *log_open(const char *name) {
  FILE *f = fopen(name, "ae");
  if (f == NULL)
    return NULL;
  setvbuf(f, NULL, _IOLBF, 0);
  return f;
}

/* errors: none */
EXPORT size_t buffer_length(const struct buffer *b) {
  return b->used;
}

/* errors: none */
EXPORT struct buffer *buffer_last(struct buffer *b) {
  while (b->next)
    b = b->next;
  return b;
}

/* errors: -1[@realloc] */
EXPORT int buffer_append(struct buffer *b, const void *p, size_t n) {
  if (b->room - b->used < n) {
    size_t room = (b->room + n) * 2;
    char *data = realloc(b->data, room);
    if (!data)
      return -1;
    b->data = data;
    b->room = room;
  }
  memcpy(b->data + b->used, p, n);
  b->used += n;
  return 0;
}
