/* SPDX-License-Identifier: Apache-2.0 */
/* Base library: parsing of frames, as a caller from another library sees it through the PLT or the GOT. */
#include "truth.h"

#include <string.h>

static NOINLINE unsigned checksum(const unsigned char *p, size_t n) {
  unsigned a = 1, b = 0;
  for (size_t i = 0; i < n; i++) {
    a = (a + p[i]) % 65521;
    b = (b + a) % 65521;
  }
  return b << 16 | a;
}

/* errors: -1 -2 -3 -4 */
EXPORT int base_frame_check(const unsigned char *p, size_t n) {
  unsigned stored;
  if (n < 12)
    return FRAME_SHORT;
  if (memcmp(p, "FRAM", 4) != 0)
    return FRAME_MAGIC;
  if (p[4] != 1 || p[5] > 3)
    return FRAME_VERSION;
  memcpy(&stored, p + 8, sizeof stored);
  if (checksum(p + 12, n - 12) != stored)
    return FRAME_CHECKSUM;
  return 0;
}

/* A scanner's character classes; every value is an answer. */
/* errors: none */
EXPORT const char *base_name_of(unsigned kind) {
  static const char *const names[] = {"end", "word", "number", "string", "operator"};
  return kind < sizeof names / sizeof *names ? names[kind] : "unknown";
}

/* errors: -1 */
EXPORT int base_token_kind(int c) {
  if (c >= '0' && c <= '9')
    return 2;
  if ((c | 32) >= 'a' && (c | 32) <= 'z')
    return 1;
  if (c == '"')
    return 3;
  if (c == '+' || c == '-' || c == '*' || c == '/')
    return 4;
  if (c == 0)
    return 0;
  return -1;
}

static struct {
  int depth;
  unsigned long bytes;
} stream;

/* errors: -71 -105 */
EXPORT int base_stream_step(unsigned char c) {
  stream.bytes++;
  if (c == '{') {
    if (stream.depth >= 64)
      return -105; /* ENOBUFS */
    stream.depth++;
  } else if (c == '}') {
    if (stream.depth == 0)
      return -71; /* EPROTO */
    stream.depth--;
  }
  return 0;
}
