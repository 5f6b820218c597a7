/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables of each thread. Where those of a library are, the loader has stored for the library's own code: its
 * relocations name the number of its block, or the distance from the thread pointer. The program's own need none, since
 * they lie right below the thread pointer.
 */
#include "thread_place.h"

#include "link.h"
#include "object.h"
#include "system.h"

/* Blocks by module, as libc's thread structure points to them; [-1] says how many. */
struct thread_block {
  uint64_t at, to_free;
};

static uint64_t relocations_size(const struct link_map *m) {
  for (const Elf64_Dyn *d = m->l_ld; d && d->d_tag != DT_NULL; d++)
    if (d->d_tag == DT_RELASZ) return d->d_un.d_val;
  return 0;
}

/* As the loader places the first module that has any (psABI, variant II): it ends at the thread pointer. */
static bool place_of_program(const struct link_map *m, struct rt_thread_place *ret) {
  uint64_t address, size, align;
  if (m != rt_link_first() || !rt_object_thread_block(m, &address, &size, &align)) return false;
  if (align == 0) align = 1;
  uint64_t first = -address & (align - 1);
  uint64_t distance = ((size - first + align - 1) & -align) + first;
  *ret = (struct rt_thread_place){.at = -distance};
  return true;
}

bool rt_thread_place(const struct link_map *m, struct rt_thread_place *ret) {
  const Elf64_Rela *r = (const void *)rt_link_table(m, DT_RELA);
  const Elf64_Sym *symbols = (const void *)rt_link_table(m, DT_SYMTAB);
  uint64_t n = r ? relocations_size(m) / sizeof *r : 0;
  if (place_of_program(m, ret)) return true;
  for (uint64_t i = 0; i < n; i++) {
    uint64_t type = ELF64_R_TYPE(r[i].r_info), symbol = ELF64_R_SYM(r[i].r_info);
    if (symbol != 0 && (!symbols || symbols[symbol].st_shndx == SHN_UNDEF)) continue;
    uint64_t stored = *(const uint64_t *)(m->l_addr + r[i].r_offset);
    uint64_t own = symbol != 0 ? symbols[symbol].st_value : 0;
    if (type == R_X86_64_TPOFF64) {
      *ret = (struct rt_thread_place){.at = stored - own - (uint64_t)r[i].r_addend};
      return true;
    }
    if (type == R_X86_64_DTPMOD64) {
      *ret = (struct rt_thread_place){.block = (uint32_t)stored};
      return stored != 0;
    }
  }
  return false;
}

uint64_t rt_thread_at(const struct rt_thread_place *p, uint64_t offset) {
  if (p->block == 0) return rt_thread_pointer() + p->at + offset;
  const struct thread_block *blocks = *(const struct thread_block *const *)(rt_thread_pointer() + 8);
  bool there = p->block <= blocks[-1].at && blocks[p->block].at != UINT64_MAX;
  return there ? blocks[p->block].at + offset : 0;
}
