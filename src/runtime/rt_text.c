/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that conditions look at: strings of the program, paths, names. */
#include "fd.h"
#include "length.h"
#include "operand.h"
#include "system.h"
#include "words.h"

#define PAGE 4096ull
#define TEXT_MAX 65536u /* a string that is longer is not known */
#define GET_NAME 16     /* prctl */

/* The last part of argv[0], as it was at the start: programs write over it. Empty before that. */
static char typed[256];

void rt_text_start(const char *command) { rt_copy_text(typed, sizeof typed, command ? rt_last_part(command) : NULL); }

bool rt_regex(const uint16_t *table, const char *s, size_t n) {
  uint32_t classes = table[1], state = 0;
  const uint16_t *states = table + WIRE_TABLE_HEAD;
  for (size_t i = 0; i < n && !(states[state * (classes + 1)] & WIRE_STATE_SETTLED); i++)
    state = states[state * (classes + 1) + 1 + table[2 + (unsigned char)s[i]]];
  return states[state * (classes + 1)] & WIRE_STATE_MATCHES;
}

/* How long the string at S is; -1 if it does not end where it can be read. A page is asked for before it is read. */
static long string_length(const char *s) {
  for (uint64_t at = (uint64_t)s, end = at + TEXT_MAX; at < end; at++) {
    if ((at == (uint64_t)s || at % PAGE == 0) && !rt_readable(at, 1)) return -1;
    if (!*(const volatile char *)at) return (long)(at - (uint64_t)s);
  }
  return -1;
}

static bool matches(const int64_t numbers[3], const char *s, size_t n) {
  switch (numbers[1] & ~(int64_t)WIRE_MATCH_NOT) {
  case WIRE_MATCH_GLOB:
    return rt_glob(rt_text((uint32_t)numbers[2]), s, n);
  case WIRE_MATCH_REGEX:
    return rt_regex(rt_array(tables, uint16_t) + numbers[2], s, n);
  default: {
    const char *same = rt_text((uint32_t)numbers[2]);
    for (size_t i = 0; i < n; i++)
      if (same[i] != s[i]) return false; /* also where it ends */
    return !same[n];
  }
  }
}

/* The last part of a path; *N becomes its length. */
static const char *last_part(const char *path, long *n) {
  long from = *n;
  while (from > 0 && path[from - 1] != '/')
    from--;
  *n -= from;
  return path + from;
}

/* A text that the kernel has: its length, -1 if there is none. */
static long ask_kernel(enum wire_text what, int64_t value, char *buffer, size_t size) {
  if (what == WIRE_TEXT_FD) return rt_fd_name((int)value, buffer, size);
  if (what == WIRE_TEXT_PROGRAM) {
    long n = rt_system(SYS_readlink, (long)"/proc/self/exe", (long)buffer, (long)size, 0, 0, 0);
    return (size_t)n < size ? n : -1;
  }
  if (rt_system(SYS_prctl, GET_NAME, (long)buffer, 0, 0, 0, 0) < 0) return -1;
  return (long)rt_length(buffer);
}

bool rt_text_matches(const int64_t numbers[3], int64_t value) {
  char buffer[1024];
  const char *s = (const char *)value;
  bool kernel = numbers[0] != WIRE_TEXT_AT;
  long n = kernel ? ask_kernel((enum wire_text)numbers[0], value, buffer, sizeof buffer) : string_length(s);
  if (n < 0) return false;
  bool program = numbers[0] == WIRE_TEXT_PROGRAM;
  if (kernel) s = program ? last_part(buffer, &n) : buffer;
  bool same = matches(numbers, s, (size_t)n) || (program && *typed && matches(numbers, typed, rt_length(typed)));
  return same != (bool)(numbers[1] & WIRE_MATCH_NOT);
}
