/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many bytes a call is about. Lengths behind pointers are the target's: they are read only where the kernel says
 * that something is there.
 */
#include "length.h"

#include "real.h"
#include "system.h"

#define PAGE 4096ull
#define PARTS_MAX 1024 /* UIO_MAXIOV: the kernel refuses more */
#define PARTS 16       /* of a vector that is cut */
#define MOST INT64_MAX

struct part {
  uint64_t base, size;
};

/* The kernel's struct msghdr in words: name, its length, parts, their number, control data, its length, flags. */
enum { MESSAGE_PARTS = 2, MESSAGE_N = 3, MESSAGE_WORDS = 7 };

/* The kernel reads 8 bytes to look at a request that it must refuse: EFAULT if they are not there. */
bool rt_readable(uint64_t at, uint64_t n) {
  uint64_t last = at + n - 1;
  if (n == 0 || last < at) return n == 0;
  for (uint64_t page = at & -PAGE; page <= last; page += PAGE) {
    if (rt_system(SYS_rt_sigprocmask, -1, (long)page, 0, 8, 0, 0) != -22 /* EINVAL */) return false;
    if (page > UINT64_MAX - PAGE) return true;
  }
  return true;
}

static int64_t parts_length(uint64_t at, uint64_t n) {
  uint64_t sum = 0;
  if (n > PARTS_MAX || !rt_readable(at, n * sizeof(struct part))) return -1;
  const struct part *parts = (const struct part *)at;
  for (uint64_t i = 0; i < n; i++)
    if (__builtin_add_overflow(sum, parts[i].size, &sum) || sum > MOST) return -1;
  return (int64_t)sum;
}

int64_t rt_call_length(const struct rt_call *c, enum wire_length how, uint32_t argument) {
  uint64_t value = c->args[argument], product;
  switch (how) {
  case WIRE_LENGTH_BYTES:
    return value > MOST ? MOST : (int64_t)value;
  case WIRE_LENGTH_ITEMS:
    return __builtin_mul_overflow(value, c->args[argument - 1], &product) || product > MOST ? MOST : (int64_t)product;
  case WIRE_LENGTH_VECTOR:
    return parts_length(value, (uint32_t)c->args[argument + 1]);
  case WIRE_LENGTH_MESSAGE: {
    const uint64_t *words = (const uint64_t *)value;
    return rt_readable(value, MESSAGE_WORDS * 8) ? parts_length(words[MESSAGE_PARTS], words[MESSAGE_N]) : -1;
  }
  default:
    return -1;
  }
}

/* The first BYTES of N parts; how many parts these are. Of very many parts there may be fewer bytes. */
static uint64_t cut(const struct part *from, uint64_t n, uint64_t bytes, struct part to[PARTS]) {
  uint64_t used = 0;
  for (uint64_t i = 0; i < n && used < PARTS && bytes > 0; i++) {
    if (from[i].size == 0) continue;
    to[used] = from[i];
    if (to[used].size > bytes) to[used].size = bytes;
    bytes -= to[used++].size;
  }
  return used;
}

static uint64_t call_vector(const struct rt_call *c, uint64_t *args, uint32_t argument, uint64_t bytes) {
  struct part parts[PARTS];
  args[argument + 1] = cut((const struct part *)args[argument], (uint32_t)args[argument + 1], bytes, parts);
  args[argument] = (uint64_t)parts;
  return rt_real_call(c, args);
}

/* What the kernel has written to the message goes to the caller's, which may be constant where it wrote nothing. */
static uint64_t call_message(const struct rt_call *c, uint64_t *args, uint32_t argument, uint64_t bytes) {
  struct part parts[PARTS];
  uint64_t *own = (uint64_t *)args[argument], copy[MESSAGE_WORDS];
  for (unsigned i = 0; i < MESSAGE_WORDS; i++)
    copy[i] = own[i];
  copy[MESSAGE_N] = cut((const struct part *)own[MESSAGE_PARTS], own[MESSAGE_N], bytes, parts);
  copy[MESSAGE_PARTS] = (uint64_t)parts;
  args[argument] = (uint64_t)copy;
  uint64_t result = rt_real_call(c, args);
  for (unsigned i = 0; i < MESSAGE_WORDS; i++)
    if (i != MESSAGE_N && i != MESSAGE_PARTS && copy[i] != own[i]) own[i] = copy[i];
  return result;
}

uint64_t rt_call_shortened(const struct rt_call *c, enum wire_length how, uint32_t argument, uint64_t bytes) {
  uint64_t args[6];
  for (unsigned i = 0; i < 6; i++)
    args[i] = c->args[i];
  switch (how) {
  case WIRE_LENGTH_ITEMS: /* there is more than BYTES, so the size is not 0 */
    args[argument] = bytes / args[argument - 1];
    return rt_real_call(c, args);
  case WIRE_LENGTH_VECTOR:
    return call_vector(c, args, argument, bytes);
  case WIRE_LENGTH_MESSAGE:
    return call_message(c, args, argument, bytes);
  default:
    args[argument] = bytes;
    return rt_real_call(c, args);
  }
}
