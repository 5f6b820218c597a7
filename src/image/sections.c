/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Section headers: a help for .symtab, .eh_frame and notes, in files that still have them.
 *
 * A table that does not fit into the file counts as not there; nothing here can fail.
 */
#include "image/layout.h"

void sections_load(struct image *img) {
  Elf64_Ehdr h;
  Elf64_Shdr first, names;
  if (img->size < sizeof h) return;
  memcpy(&h, img->file, sizeof h);
  struct bytes b = file_bytes(img, h.e_shoff, sizeof first);
  if (h.e_shoff == 0 || h.e_shentsize != sizeof first || !b.at) return;
  /* The first header holds what does not fit into the ELF header's 16-bit fields. */
  memcpy(&first, b.at, sizeof first);
  uint64_t n = h.e_shnum ? h.e_shnum : first.sh_size;
  if (n > (img->size - h.e_shoff) / sizeof first) return;
  img->sections = b.at;
  img->n_sections = n;
  uint32_t index = h.e_shstrndx == SHN_XINDEX ? first.sh_link : h.e_shstrndx;
  if (section_header(img, index, &names)) img->section_names = bytes_of_strings(section_bytes(img, &names));
}

bool section_header(const struct image *img, size_t i, Elf64_Shdr *ret) {
  if (i >= img->n_sections) return false;
  memcpy(ret, img->sections + i * sizeof *ret, sizeof *ret);
  return true;
}

long section_find(const struct image *img, uint32_t type, const char *name) {
  Elf64_Shdr s;
  for (size_t i = 0; section_header(img, i, &s); i++) {
    const char *own = string_at(img->section_names, s.sh_name);
    if (s.sh_type == type && (!name || (own && strcmp(own, name) == 0))) return (long)i;
  }
  return -1;
}

bool image_made_by(const struct image *img, const char *compiler) {
  Elf64_Shdr s;
  size_t n = strlen(compiler);
  long at = section_find(img, SHT_PROGBITS, ".comment");
  if (at < 0 || !section_header(img, (size_t)at, &s)) return false;
  struct bytes said = bytes_of_strings(section_bytes(img, &s));
  for (size_t i = 0; i < said.n;) {
    const char *line = (const char *)said.at + i;
    if (strncmp(line, compiler, n) == 0 && (line[n] == ' ' || line[n] == '\0')) return true;
    i += strlen(line) + 1;
  }
  return false;
}

struct bytes section_bytes(const struct image *img, const Elf64_Shdr *s) {
  if (s->sh_type == SHT_NOBITS || s->sh_type == SHT_NULL) return (struct bytes){NULL, 0};
  return file_bytes(img, s->sh_offset, s->sh_size);
}
