/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers and pointers of the unwinding tables, read one after another.
 *
 * A cursor never leaves the bytes it was made for: what is not there makes it fail, which sticks, and reads as 0.
 */
#include "image/image_frames.h"

struct cursor cursor_at(const struct image *img, uint64_t address) {
  struct bytes b = bytes_at(img, address, UINT64_MAX);
  return (struct cursor){b.at, b.n, address, b.at == NULL};
}

uint64_t cursor_leb128(struct cursor *c, bool is_signed) {
  uint64_t v = 0;
  for (unsigned shift = 0;; shift += 7) {
    const uint8_t *p = cursor_take(c, 1);
    if (!p || shift > 70) {
      c->failed = true;
      return 0;
    }
    if (shift < 64) v |= (uint64_t)(*p & 0x7f) << shift;
    if (*p & 0x80) continue;
    if (is_signed && (*p & 0x40) && shift + 7 < 64) v |= ~0ULL << (shift + 7);
    return v;
  }
}

uint64_t cursor_raw(struct cursor *c, uint8_t format) {
  switch (format & PE_FORMAT) {
  case PE_ABSPTR:
  case PE_SIGNED:
  case PE_UDATA8:
  case PE_SDATA8:
    return cursor_number(c, 8);
  case PE_ULEB128:
    return cursor_leb128(c, false);
  case PE_SLEB128:
    return cursor_leb128(c, true);
  case PE_UDATA2:
    return cursor_number(c, 2);
  case PE_SDATA2:
    return (uint64_t)(int64_t)(int16_t)cursor_number(c, 2);
  case PE_UDATA4:
    return cursor_number(c, 4);
  case PE_SDATA4:
    return (uint64_t)(int64_t)(int32_t)cursor_number(c, 4);
  default:
    c->failed = true;
    return 0;
  }
}

uint64_t cursor_pointer(struct cursor *c, uint8_t encoding, uint64_t data) {
  if (encoding == PE_OMIT || (encoding & PE_INDIRECT)) {
    c->failed = true;
    return 0;
  }
  if (encoding == PE_ALIGNED) (void)cursor_take(c, -c->address & 7);
  uint64_t here = c->address, raw = cursor_raw(c, encoding);
  switch (encoding & PE_BASE) {
  case PE_ABSPTR:
  case PE_ALIGNED:
    return raw;
  case PE_PCREL:
    return here + raw;
  case PE_DATAREL:
    return data + raw;
  default:
    c->failed = true;
    return 0;
  }
}
