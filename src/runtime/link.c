/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols by the loader's list of objects. */
#include "link.h"

#include <elf.h>

#include "words.h"

#define SHIM_REACH 4096

#pragma weak _r_debug
/* What musl has in its place: there is nothing to test with it, but its programs must go on. */
extern const struct r_debug *_dl_debug_addr __attribute__((weak));

static const struct r_debug *loader(void) {
  if (&_r_debug) return &_r_debug;
  return &_dl_debug_addr ? _dl_debug_addr : NULL;
}

const struct link_map *rt_link_first(void) { return loader() ? loader()->r_map : NULL; }

/* The loader adds the load address in place, but not where the section cannot be written, as in the vDSO. */
static uint64_t address_in(const struct link_map *m, const ElfW(Dyn) * d) {
  return d->d_un.d_ptr < m->l_addr ? d->d_un.d_ptr + m->l_addr : d->d_un.d_ptr;
}

uint64_t rt_link_table(const struct link_map *m, int64_t tag) {
  for (const ElfW(Dyn) *d = m->l_ld; d && d->d_tag != DT_NULL; d++)
    if (d->d_tag == tag) return address_in(m, d);
  return 0;
}

/* The tables of one object that a search needs. */
struct tables {
  const struct link_map *map;
  const Elf64_Sym *symbols;
  const char *strings;
  const uint32_t *gnu_hash, *hash;
  const uint16_t *versym;
  const Elf64_Verdef *verdef;
};

/* One pass: with many functions and many libraries this is what the start takes its time for. */
static struct tables tables_of(const struct link_map *m) {
  struct tables t = {.map = m};
  for (const ElfW(Dyn) *d = m->l_ld; d && d->d_tag != DT_NULL; d++) {
    const void *at = (const void *)address_in(m, d);
    switch (d->d_tag) {
    case DT_SYMTAB:
      t.symbols = at;
      break;
    case DT_STRTAB:
      t.strings = at;
      break;
    case DT_GNU_HASH:
      t.gnu_hash = at;
      break;
    case DT_HASH:
      t.hash = at;
      break;
    case DT_VERSYM:
      t.versym = at;
      break;
    case DT_VERDEF:
      t.verdef = at;
      break;
    default:
      break;
    }
  }
  return t;
}

static const char *version_name(const struct tables *t, uint16_t index) {
  const Elf64_Verdef *d = t->verdef;
  while (d && (d->vd_ndx & 0x7fff) != index)
    d = d->vd_next ? (const void *)((const char *)d + d->vd_next) : NULL;
  if (!d) return "";
  const Elf64_Verdaux *aux = (const void *)((const char *)d + d->vd_aux);
  return t->strings + aux->vda_name;
}

/* Who has no versions of its own, as most libraries that are preloaded, is good for any: so does the loader have it. */
static bool version_fits(const struct tables *t, uint32_t symbol, const char *version) {
  if (!t->versym) return true;
  uint16_t index = t->versym[symbol];
  if (!version || (index & 0x7fff) <= VER_NDX_GLOBAL) return !(index & 0x8000);
  return rt_same(version_name(t, index & 0x7fff), version);
}

static bool symbol_fits(const struct tables *t, uint32_t symbol, const char *name, const char *version) {
  const Elf64_Sym *s = &t->symbols[symbol];
  unsigned type = ELF64_ST_TYPE(s->st_info), bind = ELF64_ST_BIND(s->st_info);
  bool good = type == STT_NOTYPE || type == STT_OBJECT || type == STT_FUNC || type == STT_GNU_IFUNC;
  bool global = bind == STB_GLOBAL || bind == STB_WEAK || bind == STB_GNU_UNIQUE;
  return good && global && s->st_shndx != SHN_UNDEF && s->st_value != 0 && rt_same(t->strings + s->st_name, name) &&
         version_fits(t, symbol, version);
}

/* Index of the symbol, 0 if there is none. */
static uint32_t find_gnu(const struct tables *t, const char *name, const char *version) {
  uint32_t h = 5381;
  for (const char *s = name; *s; s++)
    h = h * 33 + (unsigned char)*s;
  uint32_t n = t->gnu_hash[0], first = t->gnu_hash[1], words = t->gnu_hash[2], shift = t->gnu_hash[3];
  const uint64_t *bloom = (const void *)(t->gnu_hash + 4);
  uint64_t word = bloom[h / 64 & (words - 1)];
  if (n == 0 || !(word >> h % 64 & word >> (h >> shift) % 64 & 1)) return 0;
  const uint32_t *buckets = (const void *)(bloom + words), *chains = buckets + n;
  uint32_t i = buckets[h % n];
  if (i < first) return 0;
  for (;; i++) {
    uint32_t chain = chains[i - first];
    if ((chain | 1) == (h | 1) && symbol_fits(t, i, name, version)) return i;
    if (chain & 1) return 0;
  }
}

static uint32_t find_old(const struct tables *t, const char *name, const char *version) {
  uint32_t h = 0;
  for (const char *s = name; *s; s++) {
    h = (h << 4) + (unsigned char)*s;
    h = (h ^ (h >> 24 & 0xf0)) & 0x0fffffff;
  }
  uint32_t n = t->hash[0];
  const uint32_t *buckets = t->hash + 2, *chains = buckets + n;
  if (n == 0) return 0;
  for (uint32_t i = buckets[h % n]; i != 0; i = chains[i])
    if (symbol_fits(t, i, name, version)) return i;
  return 0;
}

struct rt_symbol rt_link_find(const struct link_map *m, const char *name, const char *version) {
  struct tables t = tables_of(m);
  if (!t.symbols || !t.strings || (!t.gnu_hash && !t.hash)) return (struct rt_symbol){0};
  uint32_t i = t.gnu_hash ? find_gnu(&t, name, version) : find_old(&t, name, version);
  if (i == 0) return (struct rt_symbol){0};
  return (struct rt_symbol){m->l_addr + t.symbols[i].st_value, ELF64_ST_TYPE(t.symbols[i].st_info) == STT_GNU_IFUNC};
}

uint64_t rt_link_resolved(struct rt_symbol s) { return s.indirect ? rt_foreign(s.address, 0, 0) : s.address; }

uint64_t rt_link_symbol(const struct link_map *m, const char *name, const char *version) {
  return rt_link_resolved(rt_link_find(m, name, version));
}

/* Its table stands right behind its dynamic section. */
const struct link_map *rt_link_shim(void) {
  const struct link_map *m = rt_link_first();
  while (m && (uint64_t)rt.shim - (uint64_t)m->l_ld >= SHIM_REACH)
    m = m->l_next;
  return rt.shim ? m : NULL;
}

const char *rt_link_runtime(void) {
  const struct link_map *m = rt_link_first();
  while (m && m->l_ld != _DYNAMIC)
    m = m->l_next;
  return m ? m->l_name : NULL;
}

uint64_t rt_link_real(const char *name, const char *version) {
  const struct link_map *shim = rt_link_shim();
  if (!shim) return 0;
  for (const struct link_map *m = shim->l_next; m; m = m->l_next) {
    uint64_t address = m->l_ld == _DYNAMIC ? 0 : rt_link_symbol(m, name, version);
    if (address != 0) return address;
  }
  return 0;
}

uint64_t rt_link_before(const char *name) {
  const struct link_map *shim = rt_link_shim(), *program = rt_link_first();
  for (const struct link_map *m = program ? program->l_next : NULL; m && m != shim; m = m->l_next) {
    uint64_t address = m->l_ld == _DYNAMIC ? 0 : rt_link_symbol(m, name, NULL);
    if (address != 0) return address;
  }
  return 0;
}

uint64_t rt_link_any(const char *name) {
  for (const struct link_map *m = rt_link_first(); m; m = m->l_next) {
    uint64_t address = rt_link_symbol(m, name, NULL);
    if (address != 0) return address;
  }
  return 0;
}

void rt_link_each(const struct link_map *m, rt_link_work *work, void *context) {
  struct tables t = tables_of(m);
  if (!t.symbols || !t.strings || !t.gnu_hash) return;
  uint32_t n = t.gnu_hash[0], first = t.gnu_hash[1], words = t.gnu_hash[2], last = 0;
  const uint32_t *buckets = t.gnu_hash + 4 + words * 2, *chains = buckets + n;
  for (uint32_t b = 0; b < n; b++)
    last = buckets[b] > last ? buckets[b] : last;
  if (last < first) return;
  /* The last bucket's chain ends the table. */
  while (!(chains[last - first] & 1))
    last++;
  for (uint32_t i = first; i <= last; i++) {
    uint16_t index = t.versym ? t.versym[i] & 0x7fff : 0;
    work(t.strings + t.symbols[i].st_name, index > VER_NDX_GLOBAL ? version_name(&t, index) : "",
         m->l_addr + t.symbols[i].st_value, context);
  }
}
bool rt_link_settled(void) { return loader() && *(const volatile int *)&loader()->r_state == RT_CONSISTENT; }
