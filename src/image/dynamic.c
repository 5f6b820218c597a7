/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dynamic section: names of the image and of what it needs, and where the loader's tables are.
 *
 * Tables without which the answers would be wrong (strings, symbols, relocations) must lie in the file, or the image is
 * refused. Those that only help (hashes, versions) are ignored if they lie.
 */
#include <errno.h>

#include "image/layout.h"

#ifndef DT_RELR
#define DT_RELRSZ 35
#define DT_RELR 36
#endif

/* Which tag's value goes where. */
static const struct {
  int64_t tag;
  size_t place;
} tags[] = {
    {DT_STRTAB, offsetof(struct dynamic, strings)},    {DT_STRSZ, offsetof(struct dynamic, strings_size)},
    {DT_SYMTAB, offsetof(struct dynamic, symbols)},    {DT_HASH, offsetof(struct dynamic, hash)},
    {DT_GNU_HASH, offsetof(struct dynamic, gnu_hash)}, {DT_VERSYM, offsetof(struct dynamic, versym)},
    {DT_VERDEF, offsetof(struct dynamic, verdef)},     {DT_VERDEFNUM, offsetof(struct dynamic, verdef_count)},
    {DT_VERNEED, offsetof(struct dynamic, verneed)},   {DT_VERNEEDNUM, offsetof(struct dynamic, verneed_count)},
    {DT_RELA, offsetof(struct dynamic, rela)},         {DT_RELASZ, offsetof(struct dynamic, rela_size)},
    {DT_JMPREL, offsetof(struct dynamic, jmprel)},     {DT_PLTRELSZ, offsetof(struct dynamic, jmprel_size)},
    {DT_RELR, offsetof(struct dynamic, relr)},         {DT_RELRSZ, offsetof(struct dynamic, relr_size)},
    {DT_PLTGOT, offsetof(struct dynamic, pltgot)},     {DT_FLAGS, offsetof(struct dynamic, flags)},
    {DT_FLAGS_1, offsetof(struct dynamic, flags_1)},   {DT_SONAME, offsetof(struct dynamic, soname)},
    {DT_RPATH, offsetof(struct dynamic, rpath)},       {DT_RUNPATH, offsetof(struct dynamic, runpath)},
};

static void tag_keep(struct dynamic *d, int64_t tag, uint64_t value) {
  for (size_t i = 0; i < COUNT(tags); i++)
    if (tags[i].tag == tag) memcpy((char *)d + tags[i].place, &value, sizeof value);
  if (tag == DT_SYMBOLIC) /* its value has no meaning */
    d->symbolic = 1;
}

/* The dynamic entries up to DT_NULL. */
static struct bytes entries_find(const struct image *img, bool *ret_found) {
  const uint8_t *headers;
  size_t n = image_program_headers(img, &headers);
  struct bytes b = {NULL, 0};
  *ret_found = false;
  for (size_t i = 0; i < n && !*ret_found; i++) {
    Elf64_Phdr p;
    memcpy(&p, headers + i * sizeof p, sizeof p);
    if (p.p_type == PT_DYNAMIC) {
      b = bytes_at(img, p.p_vaddr, p.p_memsz);
      *ret_found = true;
    }
  }
  size_t used = 0;
  while (b.n - used >= sizeof(Elf64_Dyn) && read_u64(b.at + used) != DT_NULL)
    used += sizeof(Elf64_Dyn);
  b.n = used;
  return b;
}

static int needed_load(struct image *img, struct bytes entries) {
  size_t n = 0;
  for (size_t i = 0; i < entries.n; i += sizeof(Elf64_Dyn))
    n += read_u64(entries.at + i) == DT_NEEDED;
  img->needed = arena_alloc(&img->arena, n ? n * sizeof *img->needed : 1);
  if (!img->needed) return -ENOMEM;
  for (size_t i = 0; i < entries.n; i += sizeof(Elf64_Dyn)) {
    const char *name = string_at(img->strings, read_u64(entries.at + i + 8));
    if (read_u64(entries.at + i) == DT_NEEDED && name && name[0]) img->needed[img->n_needed++] = name;
  }
  return 0;
}

static int table_missing(const struct image *img, const char *what, uint64_t address, struct err *e) {
  return err_set(e, -ENOEXEC, "%s: damaged: the %s at address 0x%llx is not in the file", img->path, what,
                 (unsigned long long)address);
}

/* --- how many symbols --------------------------------------------------------------------------------------------- */

/* Nothing but another table ends the symbols, so they reach at most to the next one. */
static struct bytes symbols_bound(const struct image *img) {
  const struct dynamic *d = &img->dynamic;
  const uint64_t others[] = {d->strings, d->hash, d->gnu_hash, d->versym, d->verdef,
                             d->verneed, d->rela, d->jmprel,   d->relr};
  struct bytes b = bytes_at(img, d->symbols, UINT64_MAX);
  for (size_t i = 0; i < COUNT(others); i++)
    if (others[i] > d->symbols && others[i] - d->symbols < b.n) b.n = others[i] - d->symbols;
  return b;
}

/* DT_GNU_HASH lists the symbols that can be found, from some index on; the last chain's end is the table's end. */
static bool gnu_hash_range(struct image *img) {
  struct bytes b = bytes_at(img, img->dynamic.gnu_hash, UINT64_MAX);
  if (b.n < 16) return false;
  uint64_t buckets = read_u32(b.at), first = read_u32(b.at + 4), bloom = read_u32(b.at + 8), last = 0;
  uint64_t start = 16 + bloom * 8, chains = start + buckets * 4;
  if (chains > b.n) return false;
  for (uint64_t i = 0; i < buckets; i++) {
    uint32_t index = read_u32(b.at + start + i * 4);
    last = index > last ? index : last;
  }
  img->gnu_hash = b;
  if (last == 0) /* nothing is exported */
    return true;
  if (last < first) return false;
  for (;; last++) {
    uint64_t at = chains + (last - first) * 4;
    if (at > b.n || b.n - at < 4) return false;
    if (read_u32(b.at + at) & 1) break;
  }
  img->first_hashed = first;
  img->last = last + 1;
  return true;
}

/* DT_HASH has a chain entry for every symbol. */
static bool hash_range(struct image *img) {
  struct bytes b = bytes_at(img, img->dynamic.hash, UINT64_MAX);
  if (b.n < 8) return false;
  uint64_t buckets = read_u32(b.at), chains = read_u32(b.at + 4);
  if ((buckets + chains) * 4 > b.n - 8) return false;
  img->first_hashed = 1;
  img->last = chains;
  return true;
}

static void symbols_range(struct image *img) {
  Elf64_Shdr s;
  uint64_t limit = img->symbols.n / sizeof(Elf64_Sym);
  bool known = img->dynamic.gnu_hash && gnu_hash_range(img);
  if (!known) img->gnu_hash = (struct bytes){NULL, 0};
  if (!known && img->dynamic.hash) known = hash_range(img);
  if (!known) {
    long i = section_find(img, SHT_DYNSYM, NULL);
    img->first_hashed = 1;
    img->last = limit;
    if (i >= 0 && section_header(img, (size_t)i, &s) && s.sh_addr == img->dynamic.symbols)
      img->last = s.sh_size / sizeof(Elf64_Sym);
  }
  if (img->last > limit) img->last = limit;
}

/* --- all ---------------------------------------------------------------------------------------------------------- */

static const char *text_tag(const struct image *img, uint64_t offset) {
  const char *s = offset ? string_at(img->strings, offset) : NULL;
  return s && s[0] ? s : NULL;
}

int dynamic_load(struct image *img, struct err *e) {
  struct dynamic *d = &img->dynamic;
  struct bytes entries = entries_find(img, &img->dynamic_found);
  if (!img->dynamic_found) return 0;
  if (!entries.at) return err_set(e, -ENOEXEC, "%s: damaged: its dynamic section is not in the file", img->path);
  for (size_t i = 0; i < entries.n; i += sizeof(Elf64_Dyn))
    tag_keep(d, (int64_t)read_u64(entries.at + i), read_u64(entries.at + i + 8));
  img->strings = bytes_of_strings(bytes_at(img, d->strings, d->strings_size ? d->strings_size : UINT64_MAX));
  if (d->strings && !img->strings.at) return table_missing(img, "string table", d->strings, e);
  img->symbols = symbols_bound(img);
  if (d->symbols && !img->symbols.at) return table_missing(img, "symbol table", d->symbols, e);
  if (d->symbols) symbols_range(img);
  const char *soname = text_tag(img, d->soname);
  img->name = soname ? soname : img->name;
  img->runpath = text_tag(img, d->runpath);
  img->rpath = img->runpath ? NULL : text_tag(img, d->rpath);
  return needed_load(img, entries);
}

/* A static PIE has a dynamic section for its own start code, but no loader ever reads it. */
bool image_is_dynamic(const struct image *img) {
  return img->dynamic_found && (img->interpreter || !(img->dynamic.flags_1 & DF_1_PIE));
}

size_t image_needed(const struct image *img, const char *const **ret) {
  *ret = (const char *const *)img->needed;
  return img->n_needed;
}

const char *image_rpath(const struct image *img) { return img->rpath; }

const char *image_runpath(const struct image *img) { return img->runpath; }
