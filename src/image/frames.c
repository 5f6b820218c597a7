/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Function ranges from the unwinding tables: in a stripped library the one complete list of its functions.
 *
 * .eh_frame_hdr has a sorted table of all entries; where it lacks one, .eh_frame is walked from its start. An entry
 * that cannot be read is passed over, and a walk always moves forward, so any bytes are safe.
 */
#include <errno.h>

#include "image/frames.h"

/* Real ones have up to six letters. */
#define AUGMENTATION_MAX 32

/* --- entries ------------------------------------------------------------------------------------------------------ */

/* Cuts the entry at C: C is left behind it, *ret_body holds it without its length. False at the end or if it lies. */
static bool take_entry(struct cursor *c, struct cursor *ret_body, bool *ret_wide) {
  uint64_t length = cursor_number(c, 4);
  *ret_wide = length == 0xffffffff;
  if (*ret_wide) length = cursor_number(c, 8);
  if (c->failed || length == 0 || length > c->left) return false;
  *ret_body = *c;
  ret_body->left = length;
  (void)cursor_take(c, length);
  return true;
}

/* The letters of the augmentation say what its data holds, in their order; 'R' is how the FDEs store addresses. */
static bool augmentation_encoding(struct cursor *c, const char *letters, uint8_t *ret) {
  for (; *letters; letters++) {
    uint8_t encoding;
    switch (*letters) {
    case 'R':
      *ret = (uint8_t)cursor_number(c, 1);
      break;
    case 'L':
      (void)cursor_number(c, 1);
      break;
    case 'P':
      encoding = (uint8_t)cursor_number(c, 1);
      if (encoding != PE_OMIT) (void)cursor_pointer(c, encoding & ~PE_INDIRECT & 0xff, 0);
      break;
    case 'S':
    case 'B':
    case 'G':
      break;
    default:
      return true; /* what an unknown letter means is unknown, and so is all behind it */
    }
  }
  return !c->failed;
}

/* How the FDEs of the CIE at ADDRESS store their addresses. */
static bool cie_encoding(const struct image *img, uint64_t address, uint8_t *ret) {
  struct cursor c = cursor_at(img, address), body;
  bool wide;
  if (!take_entry(&c, &body, &wide) || cursor_number(&body, 4) != 0) return false;
  /* A wide entry may have a wide identifier; no version is zero, so the other half shows. */
  if (wide && body.left >= 4 && read_u32(body.at) == 0) (void)cursor_take(&body, 4);
  uint64_t version = cursor_number(&body, 1);
  if (body.failed || (version != 1 && version != 3 && version != 4)) return false;
  const uint8_t *end = memchr(body.at, 0, body.left < AUGMENTATION_MAX ? body.left : AUGMENTATION_MAX);
  if (!end) return false;
  const char *letters = (const char *)cursor_take(&body, (size_t)(end - body.at) + 1);
  if (version == 4) (void)cursor_take(&body, 2);
  if (strncmp(letters, "eh", 2) == 0) {
    (void)cursor_take(&body, 8); /* a pointer of g++ 2 */
    letters += 2;
  }
  (void)cursor_leb128(&body, false);
  (void)cursor_leb128(&body, true);
  (void)(version == 1 ? cursor_number(&body, 1) : cursor_leb128(&body, false));
  *ret = PE_ABSPTR;
  if (*letters != 'z') return !body.failed;
  (void)cursor_leb128(&body, false);
  return augmentation_encoding(&body, letters + 1, ret) && !body.failed;
}

/* The CIE that was read last: nearly all entries share very few. */
struct cie_memory {
  uint64_t address;
  bool known;
  uint8_t encoding;
};

static bool cie_known(const struct image *img, uint64_t address, struct cie_memory *m) {
  if (m->known && m->address == address) return true;
  uint8_t encoding;
  if (!cie_encoding(img, address, &encoding)) return false;
  *m = (struct cie_memory){address, true, encoding};
  return true;
}

/* The range of an FDE; false if BODY is a CIE, or cannot be read. */
static bool fde_range(const struct image *img, struct cursor body, bool wide, struct cie_memory *m, struct frame *ret) {
  uint64_t here = body.address;
  uint64_t back = cursor_number(&body, 4);
  if (body.failed || (back == 0 && !wide)) return false;
  if (!cie_known(img, here - back, m)) {
    /* Entries with 64-bit lengths have a 4-byte pointer by the LSB, and an 8-byte one by the habit of some tools. */
    if (!wide) return false;
    back |= cursor_number(&body, 4) << 32;
    if (body.failed || back == 0 || !cie_known(img, here - back, m)) return false;
  }
  uint64_t start = cursor_pointer(&body, m->encoding, img->dynamic.pltgot);
  uint64_t size = cursor_raw(&body, m->encoding), end;
  if (body.failed || size == 0 || __builtin_add_overflow(start, size, &end)) return false;
  *ret = (struct frame){start, end};
  return true;
}

/* Keeps what is code of this image; zero is what the linker leaves where it has thrown a function away. */
static int frame_keep(const struct image *img, struct frame f, frame_list *frames) {
  if (f.start == 0 || !image_is_code(img, f.start)) return 0;
  return vec_push(frames, f);
}

/* --- the two ways to the entries ---------------------------------------------------------------------------------- */

/* Walks .eh_frame. A zero length ends it for the unwinder, but linkers also join sections that each have one. */
static int frames_walk(const struct image *img, struct cursor c, bool stop_at_zero, frame_list *frames) {
  struct cie_memory m = {0};
  while (!c.failed && c.left >= 4) {
    struct cursor body;
    struct frame f;
    bool wide;
    if (read_u32(c.at) == 0) {
      if (stop_at_zero) break;
      (void)cursor_take(&c, 4);
      continue;
    }
    if (!take_entry(&c, &body, &wide)) break;
    if (!fde_range(img, body, wide, &m, &f)) continue;
    int r = frame_keep(img, f, frames);
    if (r < 0) return r;
  }
  return 0;
}

/* The sorted table: pairs of a function's start and its FDE, both relative to the header. */
static int frames_table(const struct image *img, struct cursor c, uint64_t count, frame_list *frames) {
  struct cie_memory m = {0};
  for (uint64_t i = 0; i < count && c.left >= 8; i++) {
    struct frame f = {.start = img->frame_header + (uint64_t)(int64_t)(int32_t)cursor_number(&c, 4)};
    uint64_t entry = img->frame_header + (uint64_t)(int64_t)(int32_t)cursor_number(&c, 4);
    struct cursor at = cursor_at(img, entry), body;
    struct frame read;
    bool wide;
    if (take_entry(&at, &body, &wide) && fde_range(img, body, wide, &m, &read) && read.start == f.start)
      f.end = read.end;
    int r = frame_keep(img, f, frames);
    if (r < 0) return r;
  }
  return 0;
}

static int frames_from_section(const struct image *img, frame_list *frames) {
  Elf64_Shdr s;
  long i = section_find(img, SHT_PROGBITS, ".eh_frame");
  if (i < 0) i = section_find(img, SHT_X86_64_UNWIND, ".eh_frame");
  if (i < 0 || !section_header(img, (size_t)i, &s)) return 0;
  struct cursor c = cursor_at(img, s.sh_addr);
  c.left = c.left < s.sh_size ? c.left : s.sh_size;
  return frames_walk(img, c, false, frames);
}

int frames_list(const struct image *img, frame_list *frames) {
  struct cursor c = cursor_at(img, img->frame_header);
  if (img->frame_header == 0 || cursor_number(&c, 1) != 1) return frames_from_section(img, frames);
  uint8_t start = (uint8_t)cursor_number(&c, 1), count = (uint8_t)cursor_number(&c, 1);
  uint8_t table = (uint8_t)cursor_number(&c, 1);
  uint64_t first = start == PE_OMIT ? 0 : cursor_pointer(&c, start, img->frame_header);
  uint64_t n = count == PE_OMIT ? 0 : cursor_pointer(&c, count, img->frame_header);
  if (!c.failed && table == (PE_DATAREL | PE_SDATA4) && n > 0) return frames_table(img, c, n, frames);
  if (section_find(img, SHT_PROGBITS, ".eh_frame") >= 0 || first == 0 || c.failed)
    return frames_from_section(img, frames);
  return frames_walk(img, cursor_at(img, first), true, frames);
}
