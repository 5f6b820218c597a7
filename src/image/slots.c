/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slots: the words that the loader writes, by address, from DT_RELA, DT_JMPREL and DT_RELR.
 *
 * A big C++ library has hundreds of thousands, nearly all of them relative and sorted by the linker. So the tables stay
 * in the file and are searched there; only what is not in order gets an index of four bytes an entry.
 */
#include <errno.h>
#include <stdlib.h>

#include "image/layout.h"

static uint64_t rela_offset(const struct rela_table *t, uint32_t i) {
  return read_u64(t->at + (size_t)i * sizeof(Elf64_Rela));
}

/* --- DT_RELA, DT_JMPREL ------------------------------------------------------------------------------------------- */

struct order_entry {
  uint64_t offset;
  uint32_t index;
};

static int by_offset(const void *a, const void *b) {
  const struct order_entry *x = a, *y = b;
  if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

/* Whether an entry does something. Without the last address, "one behind the last one found" never wraps. */
static bool rela_counts(const struct rela_table *t, uint32_t i) {
  uint64_t info = read_u64(t->at + (size_t)i * sizeof(Elf64_Rela) + offsetof(Elf64_Rela, r_info));
  return ELF64_R_TYPE(info) != R_X86_64_NONE && rela_offset(t, i) != UINT64_MAX;
}

static int rela_order(struct image *img, struct rela_table *t, uint32_t all) {
  uint32_t rest = all - t->ascending;
  if (rest == 0) return 0;
  struct order_entry *entries = malloc(rest * sizeof *entries);
  t->order = arena_alloc(&img->arena, rest * sizeof *t->order);
  bool done = entries && t->order;
  if (done) {
    for (uint32_t i = t->ascending; i < all; i++)
      if (rela_counts(t, i)) entries[t->n_order++] = (struct order_entry){rela_offset(t, i), i};
    qsort(entries, t->n_order, sizeof *entries, by_offset);
    for (uint32_t i = 0; i < t->n_order; i++)
      t->order[i] = entries[i].index;
  }
  free(entries);
  return done ? 0 : -ENOMEM;
}

static int rela_load(struct image *img, struct rela_table *t, struct bytes b) {
  uint64_t n = b.n / sizeof(Elf64_Rela), before = 0;
  uint32_t all = n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
  t->at = b.at;
  for (; t->ascending < all && rela_counts(t, t->ascending); t->ascending++) {
    uint64_t offset = rela_offset(t, t->ascending);
    if (offset < before) break;
    before = offset;
  }
  return rela_order(img, t, all);
}

/* The first entry at or behind ADDRESS, in one of the two parts of a table. */
static bool rela_after(const struct rela_table *t, bool ordered, uint64_t address, Elf64_Rela *ret) {
  uint32_t low = 0, end = ordered ? t->n_order : t->ascending, high = end;
  if (end == 0) return false;
  /* The words of a PLT follow each other, so that of ADDRESS is found at once. */
  uint64_t first = rela_offset(t, ordered ? t->order[0] : 0), guess = (address - first) / sizeof(uint64_t);
  if (address >= first && guess < end && rela_offset(t, ordered ? t->order[guess] : (uint32_t)guess) == address &&
      (guess == 0 || rela_offset(t, ordered ? t->order[guess - 1] : (uint32_t)guess - 1) < address)) {
    low = high = (uint32_t)guess;
  }
  while (low < high) {
    uint32_t mid = low + (high - low) / 2;
    if (rela_offset(t, ordered ? t->order[mid] : mid) < address)
      low = mid + 1;
    else
      high = mid;
  }
  if (low == end) return false;
  memcpy(ret, t->at + (size_t)(ordered ? t->order[low] : low) * sizeof *ret, sizeof *ret);
  return true;
}

/* --- DT_RELR ------------------------------------------------------------------------------------------------------ */

static int by_group_start(const void *a, const void *b) {
  const struct relr_group *x = a, *y = b;
  return x->start < y->start ? -1 : x->start > y->start;
}

/* An even word is an address; an odd one is a bitmap of the 63 words behind what was described before. */
static int relr_load(struct image *img, struct bytes b, struct err *e) {
  size_t n = b.n / 8;
  uint64_t next = 0, end = 0;
  img->relr = arena_alloc(&img->arena, n * sizeof *img->relr);
  if (!img->relr) return -ENOMEM;
  for (size_t i = 0; i < n; i++) {
    uint64_t word = read_u64(b.at + i * 8);
    struct relr_group g = word & 1 ? (struct relr_group){next, word >> 1} : (struct relr_group){word, 1};
    next = g.start + (word & 1 ? 63 * 8 : 8);
    if (g.bits != 0) img->relr[img->n_relr++] = g;
  }
  qsort(img->relr, img->n_relr, sizeof *img->relr, by_group_start);
  /* A place that is named twice would be moved twice: no linker writes that, and the search relies on it. */
  for (size_t i = 0; i < img->n_relr; i++) {
    const struct relr_group *g = &img->relr[i];
    uint64_t size = (64 - (uint64_t)__builtin_clzll(g->bits)) * 8;
    if (g->start < end || __builtin_add_overflow(g->start, size, &end))
      return err_set(e, -ENOEXEC, "%s: damaged: its relative relocations overlap at address 0x%llx", img->path,
                     (unsigned long long)g->start);
  }
  return 0;
}

static bool relr_after(const struct image *img, uint64_t address, uint64_t *ret) {
  size_t low = 0, high = img->n_relr;
  while (low < high) {
    size_t mid = low + (high - low) / 2;
    if (img->relr[mid].start <= address)
      low = mid + 1;
    else
      high = mid;
  }
  if (low > 0) {
    const struct relr_group *g = &img->relr[low - 1];
    uint64_t skip = (address - g->start) / 8 + ((address - g->start) % 8 != 0);
    uint64_t bits = skip < 64 ? g->bits >> skip : 0;
    if (bits) {
      *ret = g->start + (skip + (uint64_t)__builtin_ctzll(bits)) * 8;
      return true;
    }
  }
  if (low == img->n_relr) return false;
  *ret = img->relr[low].start + (uint64_t)__builtin_ctzll(img->relr[low].bits) * 8;
  return true;
}

/* --- what a relocation means -------------------------------------------------------------------------------------- */

/* Whether a symbol that is defined here cannot be taken over by another image. */
static bool is_own(const struct image *img, const Elf64_Sym *s) {
  return s->st_shndx != SHN_UNDEF && (ELF64_ST_BIND(s->st_info) == STB_LOCAL || s->st_other & 3 ||
                                      img->dynamic.symbolic || img->dynamic.flags & DF_SYMBOLIC);
}

static uint64_t word_at(const struct image *img, uint64_t address) {
  const uint8_t *p = image_bytes(img, address, 8);
  return p ? read_u64(p) : 0;
}

/* The kind, for a relocation that has a symbol; SLOT_OTHER for those that only old or strange images have. */
static enum image_slot_kind rela_kind(uint32_t type) {
  switch (type) {
  case R_X86_64_64:
  case R_X86_64_GLOB_DAT:
  case R_X86_64_JUMP_SLOT:
    return SLOT_IMPORT;
  case R_X86_64_RELATIVE:
  case R_X86_64_RELATIVE64:
    return SLOT_LOCAL;
  case R_X86_64_IRELATIVE:
    return SLOT_IFUNC;
  case R_X86_64_TPOFF64:
    return SLOT_TLS;
  case R_X86_64_DTPMOD64:
    return SLOT_TLS_PAIR;
  case R_X86_64_TLSDESC:
    return SLOT_TLS_DESC;
  default:
    return SLOT_OTHER;
  }
}

/* With a symbol that only this image can mean, the slot holds a value that is known now. */
static void slot_of_own(const Elf64_Sym *s, struct image_slot *slot) {
  slot->value += s->st_value;
  if (slot->kind == SLOT_IMPORT) slot->kind = ELF64_ST_TYPE(s->st_info) == STT_GNU_IFUNC ? SLOT_IFUNC : SLOT_LOCAL;
}

static void slot_from_rela(const struct image *img, const Elf64_Rela *r, struct image_slot *ret) {
  uint64_t index = ELF64_R_SYM(r->r_info);
  Elf64_Sym s;
  bool hidden;
  *ret = (struct image_slot){
      .at = r->r_offset,
      .kind = rela_kind(ELF64_R_TYPE(r->r_info)),
      .value = (uint64_t)r->r_addend,
  };
  /* GLOB_DAT and JUMP_SLOT have no addend in the ABI; linkers leave what they like there. */
  uint32_t type = ELF64_R_TYPE(r->r_info);
  if (type == R_X86_64_GLOB_DAT || type == R_X86_64_JUMP_SLOT) ret->value = 0;
  if (ret->kind == SLOT_LOCAL || ret->kind == SLOT_IFUNC) return;
  if (index == 0) {
    /* The linker knows the offset of a variable of its own and has written it into the second word. */
    if (ret->kind == SLOT_TLS_PAIR)
      ret->value = word_at(img, r->r_offset + 8);
    else if (ret->kind == SLOT_IMPORT)
      ret->kind = SLOT_LOCAL;
    return;
  }
  if (!symbol_read(img, index, &s)) {
    ret->kind = SLOT_OTHER;
    return;
  }
  if (is_own(img, &s)) {
    slot_of_own(&s, ret);
    return;
  }
  const char *name = string_at(img->strings, s.st_name);
  ret->name = name && name[0] ? name : NULL;
  ret->version = symbol_version(img, index, &hidden);
  if (!ret->name) ret->kind = SLOT_OTHER;
}

/* --- all ---------------------------------------------------------------------------------------------------------- */

static int table_get(const struct image *img, const char *what, uint64_t address, uint64_t size, struct bytes *ret,
                     struct err *e) {
  *ret = (struct bytes){NULL, 0};
  if (size == 0 || address == 0) return 0;
  struct bytes b = bytes_at(img, address, size);
  if (b.n != size)
    return err_set(e, -ENOEXEC, "%s: damaged: the %s, %llu bytes at address 0x%llx, is not in the file", img->path,
                   what, (unsigned long long)size, (unsigned long long)address);
  *ret = b;
  return 0;
}

/* A static program has no dynamic section: its start code finds the IRELATIVE entries by symbols around them. */
static struct bytes static_rela(const struct image *img) {
  Elf64_Shdr s;
  for (size_t i = 0; section_header(img, i, &s); i++)
    if (s.sh_type == SHT_RELA && (s.sh_flags & SHF_ALLOC)) return section_bytes(img, &s);
  return (struct bytes){NULL, 0};
}

static void widen(struct image *img, uint64_t first, uint64_t last) {
  if (first < img->slots_low) img->slots_low = first;
  if (last > img->slots_high) img->slots_high = last;
}

/* Most addresses that are asked about are far from any slot. Every table is sorted by now, in two parts. */
static void find_bounds(struct image *img) {
  const struct rela_table *tables[] = {&img->jmprel, &img->rela};
  img->slots_low = UINT64_MAX;
  img->slots_high = 0;
  for (size_t i = 0; i < COUNT(tables); i++) {
    const struct rela_table *t = tables[i];
    if (t->ascending) widen(img, rela_offset(t, 0), rela_offset(t, t->ascending - 1));
    if (t->n_order) widen(img, rela_offset(t, t->order[0]), rela_offset(t, t->order[t->n_order - 1]));
  }
  uint64_t last = img->n_relr ? img->relr[img->n_relr - 1].start : 0;
  if (img->n_relr) widen(img, img->relr[0].start, last > UINT64_MAX - 64 * 8 ? UINT64_MAX : last + 64 * 8);
}

static int tables_load(struct image *img, struct err *e) {
  const struct dynamic *d = &img->dynamic;
  struct bytes b;
  if (!img->dynamic_found) return rela_load(img, &img->rela, static_rela(img));
  int r = table_get(img, "relocation table", d->rela, d->rela_size, &b, e);
  if (r >= 0) r = rela_load(img, &img->rela, b);
  if (r >= 0) r = table_get(img, "table of PLT relocations", d->jmprel, d->jmprel_size, &b, e);
  if (r >= 0) r = rela_load(img, &img->jmprel, b);
  if (r >= 0) r = table_get(img, "table of relative relocations", d->relr, d->relr_size, &b, e);
  return r < 0 ? r : relr_load(img, b, e);
}

int slots_load(struct image *img, struct err *e) {
  int r = tables_load(img, e);
  if (r >= 0) find_bounds(img);
  return r;
}

bool image_slot_after(const struct image *img, uint64_t address, struct image_slot *ret) {
  const struct rela_table *tables[] = {&img->jmprel, &img->rela};
  Elf64_Rela r, best = {0};
  uint64_t relr;
  bool found = false;
  for (size_t i = 0; i < 2 * COUNT(tables); i++)
    if (rela_after(tables[i / 2], i % 2 == 1, address, &r) && (!found || r.r_offset < best.r_offset)) {
      best = r;
      found = true;
    }
  if (relr_after(img, address, &relr) && (!found || relr < best.r_offset)) {
    *ret = (struct image_slot){.at = relr, .kind = SLOT_LOCAL, .value = word_at(img, relr)};
    return true;
  }
  if (found) slot_from_rela(img, &best, ret);
  return found;
}

bool image_slot(const struct image *img, uint64_t address, struct image_slot *ret) {
  if (address < img->slots_low || address > img->slots_high) return false;
  const struct rela_table *tables[] = {&img->jmprel, &img->rela};
  Elf64_Rela r;
  uint64_t relr;
  for (size_t i = 0; i < 2 * COUNT(tables); i++)
    if (rela_after(tables[i / 2], i % 2 == 1, address, &r) && r.r_offset == address) {
      slot_from_rela(img, &r, ret);
      return true;
    }
  if (!relr_after(img, address, &relr) || relr != address) return false;
  *ret = (struct image_slot){.at = relr, .kind = SLOT_LOCAL, .value = word_at(img, relr)};
  return true;
}
