/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The build-id: the name under which profiles of a file are kept.
 *
 * It is searched in the note segments, then in the note sections. A note that does not fit ends the search in its
 * segment.
 */
#include <errno.h>

#include "image/layout.h"

/* Linkers write 8 to 20 bytes, people give up to 64 by hand; more is no build-id. */
#define BUILD_ID_MAX 64

static uint64_t pad(uint64_t n, uint64_t align) { return (n + align - 1) & ~(align - 1); }

/* The description of the GNU build-id note among these notes. */
static struct bytes notes_build_id(struct bytes notes, uint64_t align) {
  size_t at = 0;
  /* Only 8 is another padding than 4: 0 and 1 are written by some linkers and mean 4. */
  align = align == 8 ? 8 : 4;
  while (notes.n - at >= sizeof(Elf64_Nhdr)) {
    Elf64_Nhdr h;
    memcpy(&h, notes.at + at, sizeof h);
    uint64_t name = at + sizeof h, desc = pad(name + h.n_namesz, align), end = desc + h.n_descsz;
    if (end > notes.n) break;
    if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 && memcmp(notes.at + name, "GNU", 4) == 0 && h.n_descsz > 0 &&
        h.n_descsz <= BUILD_ID_MAX)
      return (struct bytes){notes.at + desc, h.n_descsz};
    at = pad(end, align);
    if (at > notes.n) break;
  }
  return (struct bytes){NULL, 0};
}

static struct bytes find_in_segments(const struct image *img) {
  const uint8_t *headers;
  size_t n = image_program_headers(img, &headers);
  for (size_t i = 0; i < n; i++) {
    Elf64_Phdr p;
    memcpy(&p, headers + i * sizeof p, sizeof p);
    if (p.p_type != PT_NOTE) continue;
    struct bytes id = notes_build_id(file_bytes(img, p.p_offset, p.p_filesz), p.p_align);
    if (id.at) return id;
  }
  return (struct bytes){NULL, 0};
}

static struct bytes find_in_sections(const struct image *img) {
  Elf64_Shdr s;
  for (size_t i = 0; section_header(img, i, &s); i++) {
    if (s.sh_type != SHT_NOTE) continue;
    struct bytes id = notes_build_id(section_bytes(img, &s), s.sh_addralign);
    if (id.at) return id;
  }
  return (struct bytes){NULL, 0};
}

static int build_id_set(struct image *img, struct bytes id) {
  static const char digits[] = "0123456789abcdef";
  char *hex = arena_alloc(&img->arena, 2 * id.n + 1);
  if (!hex) return -ENOMEM;
  for (size_t i = 0; i < id.n; i++) {
    hex[2 * i] = digits[id.at[i] >> 4];
    hex[2 * i + 1] = digits[id.at[i] & 15];
  }
  hex[2 * id.n] = 0;
  img->build_id = hex;
  return 0;
}

int build_id_load(struct image *img) {
  struct bytes id = find_in_segments(img);
  return build_id_set(img, id.at ? id : find_in_sections(img));
}

int build_id_load_sections(struct image *img) { return build_id_set(img, find_in_sections(img)); }
