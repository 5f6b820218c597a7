/* SPDX-License-Identifier: Apache-2.0 */
/* Error paths that compilers move away from the function: .cold parts, cold helpers, and calls that never come back. */
#include "truth.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static COLD NOINLINE void complain(const char *what, unsigned long n) {
  fprintf(stderr, "queue: %s (%lu)\n", what, n);
}

struct queue {
  unsigned long head, tail, mask;
  void **items;
};

/* errors: -28 -34 */
EXPORT int queue_push(struct queue *q, void *item) {
  if (unlikely(q->head - q->tail > q->mask)) {
    complain("full", q->mask + 1);
    return -28;
  }
  if (unlikely(q->items == NULL)) {
    complain("no room was given", 0);
    complain("push is refused", q->head);
    return -34;
  }
  q->items[q->head++ & q->mask] = item;
  return 0;
}

static COLD NOINLINE int refuse(const char *what, int code) {
  complain(what, 0);
  return code;
}

/* errors: -75 -76 */
EXPORT int queue_init(struct queue *q, void **items, unsigned long size) {
  if (unlikely(size & (size - 1)))
    return refuse("size is no power of two", -75);
  if (unlikely(size > 1ul << 32))
    return refuse("size is too large", -76);
  q->head = q->tail = 0;
  q->mask = size - 1;
  q->items = items;
  return 0;
}

static COLD __attribute__((noreturn)) NOINLINE void die(const char *why) {
  fprintf(stderr, "queue: %s\n", why);
  abort();
}

/* The paths through die() return nothing. */
/* errors: -11 */
EXPORT int queue_drain(struct queue *q, void (*each)(void *)) {
  if (q->items == NULL)
    die("drained before init");
  if (q->head == q->tail)
    return -11;
  while (q->tail != q->head) {
    void *item = q->items[q->tail++ & q->mask];
    if (item == NULL)
      base_die("empty item");
    each(item);
  }
  return 0;
}

/* errors: none */
EXPORT void *queue_alloc(size_t n) {
  void *p = malloc(n);
  if (unlikely(p == NULL))
    die("out of memory");
  return p;
}

/* errors: 0[EAGAIN] */
EXPORT void *queue_pop(struct queue *q) {
  if (unlikely(q->tail == q->head)) {
    complain("empty", q->head);
    errno = EAGAIN;
    return NULL;
  }
  return q->items[q->tail++ & q->mask];
}

/* errors: -1[EMSGSIZE,EINVAL] */
EXPORT int queue_text(const struct queue *q, char *to, size_t size) {
  char small[24];
  int n;
  if (unlikely(to == NULL)) {
    complain("nowhere to write", size);
    errno = EINVAL;
    return -1;
  }
  n = snprintf(small, sizeof small, "%lu", q->head - q->tail);
  if (unlikely((size_t)n >= size)) {
    complain("text is cut", size);
    errno = EMSGSIZE;
    return -1;
  }
  memcpy(to, small, (size_t)n + 1);
  return n;
}
