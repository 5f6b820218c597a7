/* SPDX-License-Identifier: Apache-2.0 */
/* Strings without libc. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/wire.h"

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

/* What stands behind the last slash. */
static inline const char *rt_last_part(const char *path) {
  const char *last = path;
  for (; *path; path++)
    last = *path == '/' ? path + 1 : last;
  return last;
}

/* The hash of a text, one character after another, from RT_HASH on. */
#define RT_HASH WIRE_HASH
static inline uint64_t rt_hash(uint64_t hash, char c) { return wire_hash(hash, c); }

/* FROM, as far as it fits, and zeros behind it; NULL is the empty string. */
static inline void rt_copy_text(char *to, size_t size, const char *from) {
  size_t i = 0;
  for (; from && from[i] && i + 1 < size; i++)
    to[i] = from[i];
  for (; i < size; i++)
    to[i] = 0;
}
