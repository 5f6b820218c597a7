/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers that people write: decimal or hexadecimal, with a sign, and nothing else around them.
 *
 * strtoll is not used: it takes leading space, octal and the locale's ideas.
 */
#include "base/base.h"

#include <errno.h>

static int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 16;
}

/* All of S in BASE; -ERANGE only if the rest of S is well-formed. */
static int parse_digits(const char *s, unsigned base, uint64_t *ret) {
  uint64_t value = 0;
  bool overflow = false;
  if (!*s) return -EINVAL;
  for (; *s; s++) {
    unsigned digit = (unsigned)digit_of(*s);
    if (digit >= base) return -EINVAL;
    overflow |= __builtin_mul_overflow(value, base, &value);
    overflow |= __builtin_add_overflow(value, digit, &value);
  }
  if (overflow) return -ERANGE;
  *ret = value;
  return 0;
}

int number_parse(const char *s, int64_t *ret) {
  bool sign = *s == '-' || *s == '+', negative = *s == '-';
  s += sign;
  bool hex = s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
  uint64_t value;
  int r = parse_digits(hex ? s + 2 : s, hex ? 16 : 10, &value);
  if (r < 0) return r;
  /* Without a sign, hexadecimal is a pattern of 64 bits: 0xffffffffffffffff is -1, as a register holds it. */
  if (value > (uint64_t)INT64_MAX + negative && (!hex || sign)) return -ERANGE;
  *ret = (int64_t)(negative ? 0 - value : value);
  return 0;
}
