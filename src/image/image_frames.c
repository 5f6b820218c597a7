/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entries of the unwinding tables: in a stripped library the one complete list of its functions.
 *
 * .eh_frame_hdr has a sorted table of all entries; where it lacks one, .eh_frame is walked from its start. An entry
 * that cannot be read is passed over, and a walk always moves forward, so any bytes are safe.
 */
#include "image/image_frames.h"

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

/* The letters of the augmentation say what its data holds, in their order. */
static bool take_augmentation(struct cursor *c, const char *letters, struct cie *cie) {
  for (; *letters; letters++) {
    uint8_t encoding;
    switch (*letters) {
    case 'R':
      cie->encoding = (uint8_t)cursor_number(c, 1);
      break;
    case 'L':
      (void)cursor_number(c, 1);
      break;
    case 'P':
      encoding = (uint8_t)cursor_number(c, 1);
      if (encoding != PE_OMIT) (void)cursor_pointer(c, encoding & ~PE_INDIRECT & 0xff, 0);
      break;
    case 'S':
      cie->signal = true;
      break;
    case 'B':
    case 'G':
      break;
    default:
      return true; /* what an unknown letter means is unknown, and so is all behind it */
    }
  }
  return !c->failed;
}

/* What stands between the letters and the instructions. */
static bool take_cie_fields(struct cursor *c, uint64_t version, const char *letters, struct cie *cie) {
  if (version == 4) (void)cursor_take(c, 2);
  if (strncmp(letters, "eh", 2) == 0) {
    (void)cursor_take(c, 8); /* a pointer of g++ 2 */
    letters += 2;
  }
  cie->code_align = cursor_leb128(c, false);
  cie->data_align = (int64_t)cursor_leb128(c, true);
  cie->return_register = version == 1 ? cursor_number(c, 1) : cursor_leb128(c, false);
  cie->encoding = PE_ABSPTR;
  cie->sized = *letters == 'z';
  if (!cie->sized) {
    cie->understood = *letters == 0;
    return !c->failed;
  }
  uint64_t size = cursor_leb128(c, false);
  struct cursor data = *c;
  cie->understood = cursor_take(c, size) != NULL;
  return take_augmentation(&data, letters + 1, cie) && !data.failed;
}

static bool cie_read(const struct image *img, uint64_t address, struct cie *ret) {
  struct cursor c = cursor_at(img, address), body;
  struct cie cie = {.address = address, .known = true};
  bool wide;
  if (!take_entry(&c, &body, &wide) || cursor_number(&body, 4) != 0) return false;
  /* A wide entry may have a wide identifier; no version is zero, so the other half shows. */
  if (wide && body.left >= 4 && read_u32(body.at) == 0) (void)cursor_take(&body, 4);
  uint64_t version = cursor_number(&body, 1);
  if (body.failed || (version != 1 && version != 3 && version != 4)) return false;
  const uint8_t *end = memchr(body.at, 0, body.left < AUGMENTATION_MAX ? body.left : AUGMENTATION_MAX);
  if (!end) return false;
  const char *letters = (const char *)cursor_take(&body, (size_t)(end - body.at) + 1);
  if (!take_cie_fields(&body, version, letters, &cie)) return false;
  cie.program = body;
  *ret = cie;
  return true;
}

/* Nearly all entries share very few CIEs: the last one is kept. */
static bool cie_known(const struct image *img, uint64_t address, struct cie *m) {
  return (m->known && m->address == address) || cie_read(img, address, m);
}

/* An FDE of the CIE that it leaves in M; false if BODY is a CIE, or cannot be read. */
static bool fde_read(const struct image *img, struct cursor body, bool wide, struct cie *m, struct fde *ret) {
  uint64_t here = body.address;
  uint64_t back = cursor_number(&body, 4);
  if (body.failed || (back == 0 && !wide)) return false;
  if (!cie_known(img, here - back, m)) {
    /* Entries with 64-bit lengths have a 4-byte pointer by the LSB, and an 8-byte one by the habit of some tools. */
    if (!wide) return false;
    back |= cursor_number(&body, 4) << 32;
    if (body.failed || back == 0 || !cie_known(img, here - back, m)) return false;
  }
  uint64_t start, size, end;
  if (m->encoding == (PE_PCREL | PE_SDATA4)) { /* as compilers write it */
    start = body.address;
    start += (uint64_t)(int64_t)(int32_t)cursor_number(&body, 4);
    size = (uint64_t)(int64_t)(int32_t)cursor_number(&body, 4);
  } else {
    start = cursor_pointer(&body, m->encoding, img->dynamic.pltgot);
    size = cursor_raw(&body, m->encoding);
  }
  if (body.failed || size == 0 || __builtin_add_overflow(start, size, &end)) return false;
  if (m->sized) (void)cursor_take(&body, cursor_leb128(&body, false));
  *ret = (struct fde){start, end, m, body};
  return true;
}

/* The segments that were asked for last: the next entry is in the same one. */
struct nearby {
  const struct segment *code, *entries;
};

static const struct segment *segment_near(const struct image *img, uint64_t address, const struct segment **last) {
  if (!*last || address < (*last)->start || address >= (*last)->end) *last = segment_at(img, address);
  return *last;
}

/* cursor_at */
static struct cursor cursor_near(const struct image *img, uint64_t address, struct nearby *n) {
  const struct segment *s = segment_near(img, address, &n->entries);
  if (!s || address >= s->file_end) return (struct cursor){.address = address, .failed = true};
  return (struct cursor){s->at + (address - s->start), s->file_end - address, address, false};
}

/* Gives what is code of this image; zero is what the linker leaves where it has thrown a function away. */
static int fde_give(const struct image *img, const struct fde *f, struct nearby *n, frames_taker taker, void *context) {
  const struct segment *s = f->start ? segment_near(img, f->start, &n->code) : NULL;
  if (!s || !(s->flags & PF_X) || f->start >= s->file_end) return 0;
  return taker(context, f);
}

/* --- the two ways to the entries ---------------------------------------------------------------------------------- */

/* Walks .eh_frame. A zero length ends it for the unwinder, but linkers also join sections that each have one. */
static int frames_walk(const struct image *img, struct cursor c, bool stop_at_zero, frames_taker taker, void *context) {
  struct cie m = {0};
  struct nearby nearby = {0};
  while (!c.failed && c.left >= 4) {
    struct cursor body;
    struct fde f;
    bool wide;
    if (read_u32(c.at) == 0) {
      if (stop_at_zero) break;
      (void)cursor_take(&c, 4);
      continue;
    }
    if (!take_entry(&c, &body, &wide)) break;
    if (!fde_read(img, body, wide, &m, &f)) continue;
    int r = fde_give(img, &f, &nearby, taker, context);
    if (r < 0) return r;
  }
  return 0;
}

/* The sorted table: pairs of a function's start and its FDE, both relative to the header. */
static int frames_table(const struct image *img, struct cursor c, uint64_t count, frames_taker taker, void *context) {
  struct cie m = {0};
  struct nearby nearby = {0};
  for (uint64_t i = 0; i < count && c.left >= 8; i++) {
    struct fde f = {.start = img->frame_header + (uint64_t)(int64_t)(int32_t)cursor_number(&c, 4)};
    uint64_t entry = img->frame_header + (uint64_t)(int64_t)(int32_t)cursor_number(&c, 4);
    struct cursor at = cursor_near(img, entry, &nearby), body;
    struct fde read;
    bool wide;
    if (take_entry(&at, &body, &wide) && fde_read(img, body, wide, &m, &read) && read.start == f.start) f = read;
    int r = fde_give(img, &f, &nearby, taker, context);
    if (r < 0) return r;
  }
  return 0;
}

static int frames_from_section(const struct image *img, frames_taker taker, void *context) {
  Elf64_Shdr s;
  long i = section_find(img, SHT_PROGBITS, ".eh_frame");
  if (i < 0) i = section_find(img, SHT_X86_64_UNWIND, ".eh_frame");
  if (i < 0 || !section_header(img, (size_t)i, &s)) return 0;
  struct cursor c = cursor_at(img, s.sh_addr);
  c.left = c.left < s.sh_size ? c.left : s.sh_size;
  return frames_walk(img, c, false, taker, context);
}

int frames_each(const struct image *img, frames_taker taker, void *context) {
  struct cursor c = cursor_at(img, img->frame_header);
  if (img->frame_header == 0 || cursor_number(&c, 1) != 1) return frames_from_section(img, taker, context);
  uint8_t start = (uint8_t)cursor_number(&c, 1), count = (uint8_t)cursor_number(&c, 1);
  uint8_t table = (uint8_t)cursor_number(&c, 1);
  uint64_t first = start == PE_OMIT ? 0 : cursor_pointer(&c, start, img->frame_header);
  uint64_t n = count == PE_OMIT ? 0 : cursor_pointer(&c, count, img->frame_header);
  if (!c.failed && table == (PE_DATAREL | PE_SDATA4) && n > 0) return frames_table(img, c, n, taker, context);
  if (section_find(img, SHT_PROGBITS, ".eh_frame") >= 0 || first == 0 || c.failed)
    return frames_from_section(img, taker, context);
  return frames_walk(img, cursor_at(img, first), true, taker, context);
}

static int frame_keep(void *context, const struct fde *f) {
  frame_list *frames = context;
  return vec_push(frames, (struct frame){f->start, f->end});
}

int frames_list(const struct image *img, frame_list *frames) { return frames_each(img, frame_keep, frames); }
