/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables of each thread. Where those of a library are, the loader has stored for the library's own code: its
 * relocations name the number of its block, or the distance from the thread pointer. The program's own need none, since
 * they lie right below the thread pointer. A variable that another library has under the same name may be that one's.
 */
#include "thread_place.h"

#include "link.h"
#include "object.h"
#include "system.h"
#include "words.h"

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

/* What is looked for among the names of an object. */
struct name {
  const char *name;
  bool found;
};

static void compare(const char *name, const char *version, uint64_t address, void *context) {
  struct name *n = context;
  (void)version;
  (void)address;
  n->found |= rt_same(name, n->name);
}

/* May a symbol of M be bound to another object's, which stands before it or is the only one that the loader took? */
static bool is_elsewhere(const struct link_map *m, const char *name) {
  struct name n = {.name = name};
  for (const struct link_map *other = rt_link_first(); other && !n.found; other = other->l_next)
    if (other != m) rt_link_each(other, compare, &n);
  return n.found;
}

/* A relocation's symbol, if it is surely the library's own variable. 0: there is none, which is as good. */
static bool is_own(const struct link_map *m, uint64_t symbol) {
  const Elf64_Sym *symbols = (const void *)rt_link_table(m, DT_SYMTAB);
  const char *strings = (const void *)rt_link_table(m, DT_STRTAB);
  if (symbol == 0) return true;
  if (!symbols || !strings || symbols[symbol].st_shndx == SHN_UNDEF) return false;
  const Elf64_Sym *s = &symbols[symbol];
  if (ELF64_ST_BIND(s->st_info) == STB_LOCAL || ELF64_ST_VISIBILITY(s->st_other) != STV_DEFAULT) return true;
  return !is_elsewhere(m, strings + s->st_name);
}

bool rt_thread_place(const struct link_map *m, struct rt_thread_place *ret) {
  const Elf64_Rela *r = (const void *)rt_link_table(m, DT_RELA);
  const Elf64_Sym *symbols = (const void *)rt_link_table(m, DT_SYMTAB);
  uint64_t n = r ? relocations_size(m) / sizeof *r : 0;
  if (place_of_program(m, ret)) return true;
  for (uint64_t i = 0; i < n; i++) {
    uint64_t type = ELF64_R_TYPE(r[i].r_info), symbol = ELF64_R_SYM(r[i].r_info);
    if ((type != R_X86_64_TPOFF64 && type != R_X86_64_DTPMOD64) || !is_own(m, symbol)) continue;
    uint64_t stored = *(const uint64_t *)(m->l_addr + r[i].r_offset);
    uint64_t own = symbol != 0 ? symbols[symbol].st_value : 0;
    if (type == R_X86_64_TPOFF64) {
      *ret = (struct rt_thread_place){.at = stored - own - (uint64_t)r[i].r_addend};
      return true;
    }
    *ret = (struct rt_thread_place){.block = (uint32_t)stored};
    return stored != 0;
  }
  return false;
}

uint64_t rt_thread_at(const struct rt_thread_place *p, uint64_t offset) {
  if (p->block == 0) return rt_thread_pointer() + p->at + offset;
  const struct thread_block *blocks = *(const struct thread_block *const *)(rt_thread_pointer() + 8);
  bool there = p->block <= blocks[-1].at && blocks[p->block].at != UINT64_MAX;
  return there ? blocks[p->block].at + offset : 0;
}
