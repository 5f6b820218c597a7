/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From virtual addresses to the file's bytes, and what the program headers say about an address.
 *
 * Every answer is a search of the sorted segments: no address is used before it was found in one.
 */
#include "image/layout.h"

static const struct segment *segment_search(const struct image *img, uint64_t address) {
  size_t low = 0, high = img->n_segments;
  while (low < high) {
    size_t mid = low + (high - low) / 2;
    if (img->segments[mid].start <= address)
      low = mid + 1;
    else
      high = mid;
  }
  if (low == 0 || address >= img->segments[low - 1].end) return NULL;
  return &img->segments[low - 1];
}

const struct segment *segment_at(const struct image *img, uint64_t address) {
  const struct segment *code = img->code;
  if (code && address >= code->start && address < code->end) return code;
  return segment_search(img, address);
}

struct bytes bytes_at(const struct image *img, uint64_t address, uint64_t limit) {
  const struct segment *s = segment_at(img, address);
  if (!s || address >= s->file_end) return (struct bytes){NULL, 0};
  uint64_t left = s->file_end - address;
  return (struct bytes){s->at + (address - s->start), left < limit ? left : limit};
}

struct bytes bytes_of_strings(struct bytes b) {
  while (b.n > 0 && b.at[b.n - 1] != 0)
    b.n--;
  return b;
}

const void *image_bytes(const struct image *img, uint64_t address, size_t len) {
  struct bytes b = bytes_at(img, address, len);
  return b.at && b.n == len ? b.at : NULL;
}

size_t image_bytes_left(const struct image *img, uint64_t address) { return bytes_at(img, address, UINT64_MAX).n; }

bool image_is_code(const struct image *img, uint64_t address) {
  const struct segment *s = segment_at(img, address);
  return s && (s->flags & PF_X) && address < s->file_end;
}

bool image_is_only_code(const struct image *img, uint64_t address) {
  if (!image_is_code(img, address)) return false;
  /* Otherwise the file's header is in it, and constants are between header and code, or behind it. */
  const void *first = image_bytes(img, segment_at(img, address)->start, SELFMAG);
  return first && memcmp(first, ELFMAG, SELFMAG) != 0;
}

bool image_is_readonly(const struct image *img, uint64_t address) {
  const struct segment *s = segment_at(img, address);
  if (!s) return false;
  return !(s->flags & PF_W) || (address >= img->relro_start && address < img->relro_end);
}

bool image_is_mapped(const struct image *img, uint64_t address) { return segment_at(img, address) != NULL; }

uint64_t image_code_size(const struct image *img) {
  uint64_t sum = 0;
  for (size_t i = 0; i < img->n_segments; i++)
    if (img->segments[i].flags & PF_X) sum += img->segments[i].file_end - img->segments[i].start;
  return sum;
}

bool image_fixed_data(const struct image *img, size_t n, uint64_t *ret_start, uint64_t *ret_end) {
  if (img->type != ET_EXEC || image_is_kernel(img)) return false;
  for (size_t i = 0; i < img->n_segments; i++) {
    const struct segment *s = &img->segments[i];
    if (s->flags & PF_X || n-- > 0) continue;
    *ret_start = s->start;
    *ret_end = s->file_end;
    return true;
  }
  return false;
}
