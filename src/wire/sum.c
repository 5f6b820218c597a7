/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sum over bytes: it tells a damaged file, not a forged one. Every process that starts makes it over the whole plan,
 * so there are four sums side by side, none of which waits for another's multiplication.
 */
#include "wire.h"

#define LANES 4
#define WORD sizeof(uint64_t)

static uint64_t mixed(uint64_t sum, uint64_t word) {
  sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
  return sum ^ sum >> 29;
}

static uint64_t word_at(const unsigned char *p) {
  uint64_t word;
  __builtin_memcpy(&word, p, sizeof word);
  return word;
}

uint64_t wire_sum(const void *p, size_t n) {
  const unsigned char *at = p;
  uint64_t a = n, b = 1, c = 2, d = 3, rest = 0;
  for (; n >= LANES * WORD; at += LANES * WORD, n -= LANES * WORD) {
    a = mixed(a, word_at(at));
    b = mixed(b, word_at(at + WORD));
    c = mixed(c, word_at(at + 2 * WORD));
    d = mixed(d, word_at(at + 3 * WORD));
  }
  a = mixed(mixed(mixed(a, b), c), d);
  for (; n >= WORD; at += WORD, n -= WORD)
    a = mixed(a, word_at(at));
  for (; n > 0; n--)
    rest = rest << 8 | at[n - 1];
  return mixed(a, rest);
}
