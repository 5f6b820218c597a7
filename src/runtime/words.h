/* SPDX-License-Identifier: Apache-2.0 */
/* Strings without libc. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

static inline bool rt_same(const char *a, const char *b) {
  while (*a && *a == *b)
    a++, b++;
  return *a == *b;
}

static inline size_t rt_length(const char *s) {
  size_t n = 0;
  while (s[n])
    n++;
  return n;
}

/* S behind PREFIX; NULL if it does not start with it. */
static inline const char *rt_behind(const char *s, const char *prefix) {
  while (*prefix && *s == *prefix)
    s++, prefix++;
  return *prefix ? NULL : s;
}
