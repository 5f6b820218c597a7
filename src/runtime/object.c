/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects that the loader has, and their program headers.
 *
 * The loader's list may change under whoever reads it, and what was unloaded cannot be read any more. So the list is
 * only walked at the start, and objects are asked for by an address later: _dl_find_object of glibc 2.35 takes no lock
 * and no vector register, since it is made for unwinders. What it finds can be looked at, because the address is in
 * code that runs.
 *
 * struct link_map as everybody knows it has no program headers, and an ELF header need not be where the object's
 * addresses start. The loader's own struct goes on behind the public part: it has a pointer to the headers, the entry
 * point and the number of headers, one after the other, in all versions of glibc. Where that is, our own object tells:
 * its headers are known. If nothing fits, there are no modules, and stacks are followed by frame pointers.
 */
#include "object.h"

#include <elf.h>

#include "link.h"

extern const ElfW(Ehdr) __ehdr_start __attribute__((weak, visibility("hidden")));

/* glibc has it at 0x2a0 to 0x2b8. */
#define SEARCHED 0x400

/* struct dl_find_object, which older headers lack. */
struct found {
  uint64_t flags, start, end;
  const struct link_map *map;
  uint64_t frames, reserved[7];
};

static uint64_t find;     /* int (*)(uint64_t address, struct found *ret) */
static size_t headers_at; /* offset in the loader's struct; 0 if it is not known */

static const void *field(const struct link_map *m, size_t at) { return (const char *)m + at; }

static const ElfW(Phdr) * headers(const struct link_map *m, unsigned *ret_n) {
  if (headers_at == 0) return NULL;
  *ret_n = *(const ElfW(Half) *)field(m, headers_at + 16);
  return *(const ElfW(Phdr) *const *)field(m, headers_at);
}

size_t rt_object_headers(void) { return headers_at; }

static void find_headers(void) {
  const struct link_map *own = rt_link_first();
  if (!&__ehdr_start) return;
  uint64_t known = (uint64_t)&__ehdr_start + __ehdr_start.e_phoff;
  while (own && own->l_ld != _DYNAMIC)
    own = own->l_next;
  if (!own) return;
  for (size_t at = sizeof(struct link_map); at < SEARCHED; at += 8)
    if (*(const uint64_t *)field(own, at) == known &&
        *(const ElfW(Half) *)field(own, at + 16) == __ehdr_start.e_phnum) {
      headers_at = at;
      return;
    }
}

void rt_object_start(void) {
  find = rt_link_any("_dl_find_object");
  find_headers();
}

bool rt_object_findable(void) { return find != 0; }

struct rt_object rt_object_at(uint64_t address) {
  struct found f = {0};
  if (!find || (int)rt_foreign(find, address, (uint64_t)&f) != 0) return (struct rt_object){0};
  return (struct rt_object){f.map, f.start, f.end, f.frames};
}

bool rt_object_extent(const struct link_map *m, uint64_t *ret_start, uint64_t *ret_end) {
  unsigned n;
  const ElfW(Phdr) *p = headers(m, &n);
  uint64_t start = UINT64_MAX, end = 0;
  for (unsigned i = 0; p && i < n; i++) {
    if (p[i].p_type != PT_LOAD) continue;
    if (p[i].p_vaddr < start) start = p[i].p_vaddr;
    if (p[i].p_vaddr + p[i].p_memsz > end) end = p[i].p_vaddr + p[i].p_memsz;
  }
  if (start >= end) return false;
  *ret_start = m->l_addr + start;
  *ret_end = m->l_addr + end;
  return true;
}

struct rt_frames rt_object_frames(const struct link_map *m) {
  unsigned n;
  const ElfW(Phdr) *p = headers(m, &n), *frames = NULL;
  for (unsigned i = 0; p && i < n; i++)
    if (p[i].p_type == PT_GNU_EH_FRAME) frames = &p[i];
  for (unsigned i = 0; frames && i < n; i++)
    if (p[i].p_type == PT_LOAD && p[i].p_flags & PF_R && frames->p_vaddr - p[i].p_vaddr < p[i].p_filesz) {
      uint64_t start = m->l_addr + p[i].p_vaddr;
      return (struct rt_frames){m->l_addr + frames->p_vaddr, start, start + p[i].p_filesz};
    }
  return (struct rt_frames){0};
}

bool rt_object_thread_block(const struct link_map *m, uint64_t *ret_address, uint64_t *ret_size, uint64_t *ret_align) {
  unsigned n;
  const ElfW(Phdr) *p = headers(m, &n);
  for (unsigned i = 0; p && i < n; i++) {
    if (p[i].p_type != PT_TLS) continue;
    *ret_address = p[i].p_vaddr;
    *ret_size = p[i].p_memsz;
    *ret_align = p[i].p_align;
    return true;
  }
  return false;
}

static bool same_bytes(const uint8_t *a, const uint8_t *b, uint32_t n) {
  while (n > 0 && a[n - 1] == b[n - 1])
    n--;
  return n == 0;
}

/* The notes from AT up to END: names and contents are padded to 4 bytes. */
static bool notes_have(uint64_t at, uint64_t end, const uint8_t *id, uint32_t n) {
  while (at < end && end - at >= sizeof(ElfW(Nhdr))) {
    const ElfW(Nhdr) *note = (const void *)at;
    uint64_t name = at + sizeof *note, content = name + ((note->n_namesz + 3ull) & ~3ull);
    at = content + ((note->n_descsz + 3ull) & ~3ull);
    if (at > end) return false;
    if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
        same_bytes((const void *)name, (const void *)"GNU", 4))
      return note->n_descsz == n && same_bytes((const void *)content, id, n);
  }
  return false;
}

bool rt_object_is(const struct link_map *m, const uint8_t *id, uint32_t n) {
  unsigned count;
  const ElfW(Phdr) *p = headers(m, &count);
  for (unsigned i = 0; p && i < count; i++) {
    uint64_t at = m->l_addr + p[i].p_vaddr;
    if (p[i].p_type == PT_NOTE && p[i].p_align <= 4 && notes_have(at, at + p[i].p_memsz, id, n)) return true;
  }
  return false;
}
