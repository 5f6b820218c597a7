/* SPDX-License-Identifier: Apache-2.0 */
/* One value in different widths: int, long, size_t, pointers, and an unsigned 32-bit number in 64 bits. */
#include "truth.h"

#include <errno.h>
#include <string.h>

/* errors: -1 */
EXPORT long width_index(const char *s, char c) {
  for (long i = 0; s[i]; i++)
    if (s[i] == c)
      return i;
  return -1;
}

/* errors: -1[EILSEQ] -2 */
EXPORT size_t width_decode(unsigned *ret, const unsigned char *s, size_t n) {
  if (n == 0)
    return (size_t)-2;
  if (*s < 0x80) {
    *ret = *s;
    return 1;
  }
  if (*s < 0xc2 || *s > 0xdf) {
    errno = EILSEQ;
    return (size_t)-1;
  }
  if (n < 2)
    return (size_t)-2;
  if ((s[1] & 0xc0) != 0x80) {
    errno = EILSEQ;
    return (size_t)-1;
  }
  *ret = (*s & 31u) << 6 | (s[1] & 63u);
  return 2;
}

/* A 32-bit all-ones mark in a 64-bit result, beside other 64-bit results. */
/* errors: 4294967295~-1 */
EXPORT uint64_t width_cluster(const uint64_t *map, unsigned n, uint64_t want) {
  for (unsigned i = 0; i < n; i++)
    if (map[i] / 512 == want)
      return map[i] % 512 + ((uint64_t)i << 40);
  return 0xffffffffu;
}

/* errors: -1~4294967295 */
EXPORT uint32_t width_block(const uint32_t *map, unsigned n, uint32_t want) {
  for (uint32_t i = 0; i < n; i++)
    if (map[i] == want)
      return i;
  return UINT32_MAX;
}

/* errors: -9223372036854775808 */
EXPORT int64_t width_clock(const int64_t *parts) {
  if (parts[1] < 0 || parts[1] >= 1000000000)
    return INT64_MIN;
  return parts[0] * 1000000000 + parts[1];
}

/* errors: -2147467259~2147500037 -2147024809~2147942487 */
EXPORT uint32_t width_result(unsigned state, const void *object) {
  if (object == NULL)
    return 0x80070057u;
  if (state > 3)
    return 0x80004005u;
  return 0;
}

/* errors: -1 -3 */
EXPORT short width_nibble(int c) {
  if (c < 0)
    return -3;
  if (c >= '0' && c <= '9')
    return (short)(c - '0');
  if (c >= 'a' && c <= 'f')
    return (short)(c - 'a' + 10);
  return -1;
}

/* errors: -1 */
EXPORT signed char width_digit(int c) {
  return (unsigned)(c - '0') < 10 ? (signed char)(c - '0') : -1;
}

/* errors: -1 */
EXPORT ssize_t width_copy(char *to, size_t room, const char *from) {
  size_t n = strlen(from);
  if (n >= room)
    return -1;
  memcpy(to, from, n + 1);
  return (ssize_t)n;
}

/* errors: -4294967297 */
EXPORT long width_far(const long *v, long n) {
  long sum = 0;
  if (n <= 0)
    return -4294967297l;
  for (long i = 0; i < n; i++)
    sum += v[i] >> 1;
  return sum;
}
