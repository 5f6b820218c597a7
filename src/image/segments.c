/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Program headers: what is loaded where, what becomes read-only, where the frame table is, which loader is asked for.
 *
 * A segment that is not wholly in the file makes the image unusable: whatever was read from it would be wrong.
 */
#include <errno.h>
#include <stdlib.h>

#include "image/layout.h"

#define PAGE 4096ULL

static int by_start(const void *a, const void *b) {
  const struct segment *x = a, *y = b;
  return x->start < y->start ? -1 : x->start > y->start;
}

size_t image_program_headers(const struct image *img, const uint8_t **ret) {
  Elf64_Ehdr h;
  Elf64_Shdr first;
  memcpy(&h, img->file, sizeof h);
  uint64_t n = h.e_phnum;
  struct bytes b = file_bytes(img, h.e_shoff, sizeof first);
  if (n == PN_XNUM && h.e_shoff != 0 && b.at) {
    memcpy(&first, b.at, sizeof first);
    n = first.sh_info;
  }
  *ret = h.e_phoff <= img->size ? img->file + h.e_phoff : NULL;
  return n;
}

static int headers_check(const struct image *img, struct err *e) {
  Elf64_Ehdr h;
  const uint8_t *at;
  memcpy(&h, img->file, sizeof h);
  uint64_t n = image_program_headers(img, &at), end;
  if (n == 0) return err_set(e, -ENOEXEC, "%s: has no program headers, so nothing of it can be loaded", img->path);
  if (h.e_phentsize != sizeof(Elf64_Phdr))
    return err_set(e, -ENOEXEC, "%s: damaged: its program headers are %u bytes long, not %zu", img->path, h.e_phentsize,
                   sizeof(Elf64_Phdr));
  if (__builtin_add_overflow(h.e_phoff, n * sizeof(Elf64_Phdr), &end)) end = UINT64_MAX;
  if (end > img->size)
    return err_set(e, -ENOEXEC, "%s: truncated: the program headers end at byte %llu of a file of %zu bytes", img->path,
                   (unsigned long long)end, img->size);
  return 0;
}

static int segment_add(struct image *img, size_t number, const Elf64_Phdr *p, struct err *e) {
  uint64_t end, file_end;
  uint64_t in_file = p->p_filesz < p->p_memsz ? p->p_filesz : p->p_memsz;
  if (p->p_memsz == 0) return 0;
  if (__builtin_add_overflow(p->p_vaddr, p->p_memsz, &end))
    return err_set(e, -ENOEXEC, "%s: damaged: segment %zu goes past the end of the address space", img->path, number);
  if (__builtin_add_overflow(p->p_offset, p->p_filesz, &file_end)) file_end = UINT64_MAX;
  if (p->p_filesz > 0 && file_end > img->size)
    return err_set(e, -ENOEXEC, "%s: truncated: segment %zu ends at byte %llu of a file of %zu bytes", img->path,
                   number, (unsigned long long)file_end, img->size);
  img->segments[img->n_segments++] = (struct segment){
      .start = p->p_vaddr,
      .file_end = p->p_vaddr + in_file,
      .end = end,
      .at = in_file ? img->file + p->p_offset : NULL,
      .flags = p->p_flags,
  };
  return 0;
}

/* The loader protects whole pages only: both ends are rounded down. */
static void relro_set(struct image *img, const Elf64_Phdr *p) {
  uint64_t end;
  if (__builtin_add_overflow(p->p_vaddr, p->p_memsz, &end)) return;
  img->relro_start = p->p_vaddr & ~(PAGE - 1);
  img->relro_end = end & ~(PAGE - 1);
}

static int header_use(struct image *img, size_t number, const Elf64_Phdr *p, struct err *e) {
  struct bytes b;
  switch (p->p_type) {
  case PT_LOAD:
    return segment_add(img, number, p, e);
  case PT_GNU_RELRO:
    relro_set(img, p);
    break;
  case PT_GNU_EH_FRAME:
    img->frame_header = p->p_vaddr;
    break;
  case PT_INTERP:
    b = file_bytes(img, p->p_offset, p->p_filesz);
    if (b.n > 1 && b.at[0] != 0) img->interpreter = string_at(bytes_of_strings(b), 0);
    break;
  default:
    break;
  }
  return 0;
}

/* objcopy --only-keep-debug leaves the headers of code whose bytes are in the file it was made from. */
static bool is_debug_only(const struct image *img) {
  Elf64_Shdr s;
  for (size_t i = 0; section_header(img, i, &s); i++)
    if (s.sh_type == SHT_NOBITS && (s.sh_flags & SHF_EXECINSTR) && (s.sh_flags & SHF_ALLOC) && s.sh_size > 0)
      return true;
  return false;
}

void segments_choose_code(struct image *img) {
  img->code = NULL;
  for (size_t i = 0; i < img->n_segments && !img->code; i++) {
    const struct segment *s = &img->segments[i];
    if (s->flags & PF_X && (i + 1 == img->n_segments || s->end <= s[1].start)) img->code = s;
  }
}

int segments_load(struct image *img, struct err *e) {
  const uint8_t *at;
  int r = headers_check(img, e);
  if (r < 0) return r;
  if (is_debug_only(img))
    return err_set(e, -ENOEXEC, "%s: holds debug information only (give the program or library it belongs to)",
                   img->path);
  size_t n = image_program_headers(img, &at);
  img->segments = arena_alloc(&img->arena, n * sizeof *img->segments);
  if (!img->segments) return -ENOMEM;
  for (size_t i = 0; i < n; i++) {
    Elf64_Phdr p;
    memcpy(&p, at + i * sizeof p, sizeof p);
    r = header_use(img, i, &p, e);
    if (r < 0) return r;
  }
  if (img->n_segments == 0) return err_set(e, -ENOEXEC, "%s: has no segment to load", img->path);
  qsort(img->segments, img->n_segments, sizeof *img->segments, by_start);
  segments_choose_code(img);
  return 0;
}
