/* SPDX-License-Identifier: Apache-2.0 */
/* Functions whose code is chosen at load time. */
#include "truth.h"

static int text_check_plain(const unsigned char *p, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (p[i] == 0)
      return -1;
    if (p[i] >= 0x80)
      return -2;
  }
  return 0;
}

static int text_check_words(const unsigned char *p, size_t n) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    unsigned long w;
    __builtin_memcpy(&w, p + i, 8);
    if (w & 0x8080808080808080ul)
      return -2;
  }
  for (; i < n; i++) {
    if (p[i] == 0)
      return -1;
    if (p[i] >= 0x80)
      return -2;
  }
  return 0;
}

static int (*choose_check(void))(const unsigned char *, size_t) {
  __builtin_cpu_init();
  return __builtin_cpu_supports("sse4.2") ? text_check_words : text_check_plain;
}

/* errors: -1 -2 */
EXPORT int text_check(const unsigned char *p, size_t n) __attribute__((ifunc("choose_check")));

static long sum_plain(const int *v, long n) {
  long s = 0;
  if (n < 0)
    return -22;
  for (long i = 0; i < n; i++)
    s += v[i] & 0xffff;
  return s;
}

static long (*choose_sum(void))(const int *, long) {
  return sum_plain;
}

/* errors: -22 */
EXPORT long text_sum(const int *v, long n) __attribute__((ifunc("choose_sum")));

/* errors: -1 -2 -5 */
EXPORT int text_check_line(const unsigned char *p, size_t n) {
  if (n == 0 || p[n - 1] != '\n')
    return -5;
  return text_check(p, n - 1);
}
