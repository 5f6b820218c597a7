/* SPDX-License-Identifier: Apache-2.0 */
/* Constants that reach the return register through registers, callee-saved registers and stack slots. */
#include "truth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ring {
  unsigned head, tail, size;
  unsigned char *data;
};

/* errors: -1 -2 */
EXPORT int ring_put(struct ring *r, unsigned char c) {
  unsigned next;
  if (r == NULL || r->data == NULL)
    return -2;
  next = (r->head + 1) % r->size;
  if (next == r->tail)
    return -1;
  r->data[r->head] = c;
  r->head = next;
  return 0;
}

/* The value waits in a callee-saved register while the cleanup calls run. */
/* errors: -5 -6 -7 */
EXPORT int ring_replay(struct ring *r, const char *log, void (*say)(const char *)) {
  int ret = 0;
  say("begin");
  if (r->size < 2) {
    ret = -5;
    goto out;
  }
  for (const char *p = log; *p; p++) {
    if (*p == '!') {
      ret = -6;
      goto out;
    }
    if (ring_put(r, (unsigned char)*p) < 0) {
      ret = -7;
      goto out;
    }
  }
  say("replayed");
out:
  say("end");
  say(log);
  return ret;
}

/* A volatile local pins the value to the stack. */
/* errors: -11 -12 */
EXPORT int ring_reset(struct ring *r, unsigned size) {
  volatile int result = 0;
  if (size < 2)
    result = -11;
  else if ((size & (size - 1)) != 0)
    result = -12;
  if (result == 0) {
    r->head = r->tail = 0;
    r->size = size;
  }
  return result;
}

/* Many live values force spills around the calls. */
/* errors: -20 -21 -22 */
EXPORT int ring_merge(struct ring *a, struct ring *b, struct ring *to, int (*get)(struct ring *, int)) {
  int status = 0, x = get(a, 0), y = get(b, 0), z = get(to, 0), u = get(a, 1), v = get(b, 1), w = get(to, 1);
  int s = get(a, 2), t = get(b, 2);
  if (x > y)
    status = -20;
  else if (z > u + get(a, 3))
    status = -21;
  else if (v * w > get(b, 3) + s)
    status = -22;
  get(to, x + y + z + u + v + w + s + t);
  get(a, 9);
  get(b, 9);
  return status;
}

/* errors: -1 */
EXPORT int ring_peek(const struct ring *r) {
  if (r->head == r->tail)
    return -1;
  return r->data[r->tail];
}

/* Always succeeds. */
/* errors: none */
EXPORT int ring_clear(struct ring *r) {
  r->head = r->tail = 0;
  memset(r->data, 0, r->size);
  return 0;
}

/* errors: -100 -200 -300 -400 */
EXPORT int version_require(const char *text, int major, int minor) {
  int a = 0, b = 0, rc = -100;
  char tail;
  if (text != NULL) {
    int n = sscanf(text, "%d.%d%c", &a, &b, &tail);
    rc = -200;
    if (n == 2) {
      rc = 0;
      if (a < major)
        rc = -300;
      else if (a == major && b < minor)
        rc = -400;
    }
  }
  return rc;
}
