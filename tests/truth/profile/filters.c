/* SPDX-License-Identifier: Apache-2.0 */
/* Tests on the way: only some of a callee's values flow on. */
#include "truth.h"

#include <errno.h>
#include <unistd.h>

struct link {
  int state, credit, tries;
  unsigned flags;
};

static NOINLINE int link_io(struct link *l) {
  if (l->flags & 1)
    return -EINTR;
  if (l->flags & 2)
    return -EAGAIN;
  if (l->flags & 4)
    return -EPIPE;
  if (l->credit == 0)
    return -ENOBUFS;
  if (l->flags & 8)
    return 1;
  return 0;
}

/* errors: -EAGAIN -EPIPE -ENOBUFS */
EXPORT int link_send(struct link *l) {
  int r = link_io(l);
  if (r == -EINTR)
    return 0;
  return r < 0 ? r : 0;
}

/* errors: -EAGAIN -EPIPE -ENOBUFS */
EXPORT int link_send_retry(struct link *l) {
  int r;
  for (;;) {
    r = link_io(l);
    if (r == -EINTR) {
      l->tries++;
      continue;
    }
    break;
  }
  if (r < 0)
    return r;
  l->credit--;
  return 0;
}

/* errors: -EPIPE */
EXPORT int link_flush(struct link *l) {
  int r = link_io(l);
  if (r == -EINTR || r == -EAGAIN || r == -ENOBUFS)
    return 0;
  if (r >= 0) {
    l->state = 3;
    return 0;
  }
  return r;
}

/* The caller learns of a timeout, whatever it was. */
/* errors: -ETIMEDOUT */
EXPORT int link_wait(struct link *l) {
  for (int i = 0; i < 10; i++) {
    if (link_io(l) >= 0)
      return 0;
  }
  return -ETIMEDOUT;
}

/* errors: -EINTR -EAGAIN -EPIPE -ENOBUFS */
EXPORT int link_poll(struct link *l) {
  int r = link_io(l);
  if (r < 0 && r != -EPIPE) {
    l->tries++;
    return r;
  }
  if (r == -EPIPE)
    l->state = 9;
  return r < 0 ? r : 0;
}

/* Positive values of the callee are answers, and one negative value becomes another. */
/* errors: -EINTR -EAGAIN -ECONNRESET -ENOBUFS */
EXPORT int link_more(struct link *l) {
  int r = link_io(l);
  switch (r) {
  case -EPIPE:
    return -ECONNRESET;
  case 0:
  case 1:
    return r;
  default:
    return r;
  }
}

/* errors: -2 -3 */
EXPORT int link_frame(const unsigned char *p, size_t n) {
  int r = base_frame_check(p, n);
  if (r == FRAME_SHORT || r == FRAME_CHECKSUM)
    return 0;
  return r;
}

/* errors: -3 -4 */
EXPORT int link_frame_late(const unsigned char *p, size_t n) {
  int r = base_frame_check(p, n);
  if (r > -3)
    return 0;
  return r;
}

/* Failure of a thing that does not matter is passed over. */
/* errors: none */
EXPORT int link_hint(struct link *l) {
  if (link_io(l) < 0)
    l->flags |= 0x100;
  return 0;
}
