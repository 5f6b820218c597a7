/* SPDX-License-Identifier: Apache-2.0 */
/* Codes that compilers make by arithmetic on flags and signs: sbb, setcc, neg, cmov, sar, or, lea, not. */
#include "truth.h"

#include <errno.h>
#include <string.h>

struct stamp {
  unsigned size, limit;
  int state;
  long sequence;
};

/* errors: -1 */
EXPORT int stamp_equal_or_fail(const struct stamp *a, const struct stamp *b) {
  return -(a->sequence != b->sequence);
}

/* errors: -1 */
EXPORT int stamp_fits(const struct stamp *s) {
  return s->size > s->limit ? -1 : 0;
}

/* errors: -EINVAL */
EXPORT int stamp_valid(const struct stamp *s) {
  return s->state != 3 ? -EINVAL : 0;
}

/* errors: -ENOSPC */
EXPORT int stamp_room(const struct stamp *s, unsigned more) {
  return s->limit - s->size < more ? -ENOSPC : 0;
}

/* Overdrawn accounts are refused: the sign itself is the code. */
/* errors: -1 */
EXPORT int stamp_charge(int *balance, int price) {
  int left = *balance - price;
  if (left >= 0)
    *balance = left;
  return left >> 31;
}

/* errors: -EBUSY -EAGAIN */
EXPORT int stamp_wait(const struct stamp *s) {
  if (s->state == 0)
    return 0;
  return s->state == 1 ? -EBUSY : -EAGAIN;
}

static NOINLINE int probe(const struct stamp *s) {
  if (s->size == 0)
    return 4;
  if (s->limit == 0)
    return 9;
  return 0;
}

/* errors: -5 -10 */
EXPORT int stamp_probe(const struct stamp *s) {
  int r = probe(s);
  if (r > 0)
    return ~r;
  return 0;
}

/* errors: -4 -9 */
EXPORT int stamp_probe_negated(const struct stamp *s) {
  return -probe(s);
}

/* errors: 104 109 */
EXPORT int stamp_probe_shifted(const struct stamp *s) {
  int r = probe(s);
  return r ? r + 100 : 0;
}

/* errors: -1 */
EXPORT int stamp_touch(struct stamp *s, long sequence) {
  int ok = s->sequence < sequence;
  if (ok)
    s->sequence = sequence;
  return ok - 1;
}

/* errors: -1 -2 */
EXPORT int stamp_order(const struct stamp *s, unsigned at) {
  if (at == 0)
    return -2;
  return at <= s->size ? 0 : -1;
}

/* errors: -EPERM -ENOENT */
EXPORT int stamp_delete(struct stamp *s, bool privileged) {
  int r;
  if (s->sequence)
    r = privileged ? 0 : -EPERM;
  else
    r = -ENOENT;
  if (r == 0)
    memset(s, 0, sizeof *s);
  return r;
}

/* errors: -1 */
EXPORT long stamp_next(const struct stamp *s) {
  return s->sequence < 0 ? -1L : s->sequence + 1;
}

/* errors: -8 -16 */
EXPORT int stamp_align(unsigned long address, const struct stamp *s) {
  if (address & 7)
    return -8;
  if (s->limit & 15)
    return -16;
  return 0;
}
