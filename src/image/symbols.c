/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exports: the dynamic symbols that other images can bind to.
 *
 * Names stay in the mapped file; one array holds them all, with a table of hashes to find one. Sorted they are only for
 * those who want to see them all: C++ libraries have a hundred thousand long names with common starts, so sorting looks
 * at eight bytes at a time and never twice at the same ones.
 */
#include <errno.h>
#include <stdlib.h>

#include "image/layout.h"

bool symbol_read(const struct image *img, uint64_t index, Elf64_Sym *ret) {
  if (index >= img->symbols.n / sizeof *ret) return false;
  memcpy(ret, img->symbols.at + index * sizeof *ret, sizeof *ret);
  return true;
}

static enum image_symbol_kind symbol_kind(const Elf64_Sym *s) {
  /* An absolute value is not an address of this image, whatever its type says. */
  if (s->st_shndx == SHN_ABS) return SYMBOL_OTHER;
  switch (ELF64_ST_TYPE(s->st_info)) {
  case STT_FUNC:
    return SYMBOL_FUNCTION;
  case STT_GNU_IFUNC:
    return SYMBOL_IFUNC;
  case STT_OBJECT:
    return SYMBOL_OBJECT;
  case STT_COMMON:
    return SYMBOL_OBJECT;
  case STT_TLS:
    return SYMBOL_TLS;
  default:
    return SYMBOL_OTHER;
  }
}

static bool is_export(const Elf64_Sym *s) {
  unsigned bind = ELF64_ST_BIND(s->st_info), visible = ELF64_ST_VISIBILITY(s->st_other);
  unsigned type = ELF64_ST_TYPE(s->st_info);
  return s->st_shndx != SHN_UNDEF && (bind == STB_GLOBAL || bind == STB_WEAK || bind == STB_GNU_UNIQUE) &&
         (visible == STV_DEFAULT || visible == STV_PROTECTED) && type != STT_SECTION && type != STT_FILE;
}

/* False if symbol INDEX cannot be bound to. */
static bool export_read(const struct image *img, uint64_t index, struct image_symbol *ret) {
  Elf64_Sym s;
  bool hidden;
  if (!symbol_read(img, index, &s) || !is_export(&s)) return false;
  const char *name = string_at(img->strings, s.st_name);
  const char *version = symbol_version(img, index, &hidden);
  if (!name || !name[0]) return false;
  /* Linkers put a symbol for each version itself among the others; nobody calls it. */
  if (s.st_shndx == SHN_ABS && version && strcmp(name, version) == 0) return false;
  *ret = (struct image_symbol){
      .name = name,
      .version = version,
      .address = s.st_value,
      .size = s.st_size,
      .kind = symbol_kind(&s),
      .hidden_version = hidden,
      .weak = ELF64_ST_BIND(s.st_info) == STB_WEAK,
  };
  return true;
}

/* --- sorting ------------------------------------------------------------------------------------------------------ */

struct sort_entry {
  uint64_t key; /* the next eight bytes of the name, first byte highest; zeros behind its end */
  uint32_t index;
};

static int by_key(const void *a, const void *b) {
  const struct sort_entry *x = a, *y = b;
  return x->key < y->key ? -1 : x->key > y->key;
}

static uint64_t key_at(const char *name, size_t depth) {
  uint64_t key = 0;
  bool ended = false;
  for (size_t i = 0; i < 8; i++) {
    uint8_t c = ended ? 0 : (uint8_t)name[depth + i];
    ended = ended || c == 0;
    key = key << 8 | c;
  }
  return key;
}

static int by_version(const void *a, const void *b) {
  const struct image_symbol *x = a, *y = b;
  if (x->hidden_version != y->hidden_version) return x->hidden_version ? 1 : -1;
  int order = strcmp(x->version ? x->version : "", y->version ? y->version : "");
  if (order != 0) return order;
  return x->address < y->address ? -1 : x->address > y->address;
}

/* A run of entries whose names are equal up to DEPTH. */
struct sort_run {
  uint32_t from, to;
  size_t depth;
};
typedef VEC(struct sort_run) run_list;

/* Sorts one run by its next eight bytes; runs of equal keys whose names go on are appended to RUNS. */
static int sort_run(const struct image_symbol *symbols, struct sort_entry *entries, struct sort_run run,
                    run_list *runs) {
  for (uint32_t i = run.from; i < run.to; i++)
    entries[i].key = key_at(symbols[entries[i].index].name, run.depth);
  qsort(entries + run.from, run.to - run.from, sizeof *entries, by_key);
  for (uint32_t i = run.from, next; i < run.to; i = next) {
    for (next = i + 1; next < run.to && entries[next].key == entries[i].key; next++)
      ;
    if (next - i > 1 && (entries[i].key & 0xff) != 0) {
      int r = vec_push(runs, (struct sort_run){i, next, run.depth + 8});
      if (r < 0) return r;
    }
  }
  return 0;
}

static int sort_names(const struct image_symbol *symbols, struct sort_entry *entries, uint32_t n) {
  run_list runs = {0};
  for (uint32_t i = 0; i < n; i++)
    entries[i].index = i;
  int r = vec_push(&runs, (struct sort_run){0, n, 0});
  while (r >= 0 && runs.n > 0)
    r = sort_run(symbols, entries, runs.at[--runs.n], &runs);
  vec_done(&runs);
  return r;
}

static void sort_versions(struct image_symbol *symbols, size_t n) {
  for (size_t i = 0, next; i < n; i = next) {
    for (next = i + 1; next < n && strcmp(symbols[next].name, symbols[i].name) == 0; next++)
      ;
    if (next - i > 1) qsort(symbols + i, next - i, sizeof *symbols, by_version);
  }
}

/* --- all ---------------------------------------------------------------------------------------------------------- */

static int exports_list(struct image *img) {
  size_t n = img->n_exports;
  struct sort_entry *entries = malloc((n ? n : 1) * sizeof *entries);
  struct image_symbol *listed = arena_alloc(&img->arena, (n ? n : 1) * sizeof *listed);
  int r = entries && listed ? sort_names(img->exports, entries, (uint32_t)n) : -ENOMEM;
  if (r >= 0) {
    for (size_t i = 0; i < n; i++)
      listed[i] = img->exports[entries[i].index];
    sort_versions(listed, n);
    img->exports = listed;
    img->listed = true;
  }
  free(entries);
  return r;
}

/* At most half of the places are taken. */
static int exports_index(struct image *img) {
  size_t places = 8;
  while (places < 2 * img->n_exports)
    places *= 2;
  img->export_places = arena_zalloc(&img->arena, places * sizeof *img->export_places);
  if (!img->export_places) return -ENOMEM;
  img->export_mask = places - 1;
  for (size_t i = 0; i < img->n_exports; i++) {
    size_t at = hash_mix(hash_string(img->exports[i].name)) & img->export_mask;
    while (img->export_places[at])
      at = (at + 1) & img->export_mask;
    img->export_places[at] = (uint32_t)i + 1;
  }
  return 0;
}

int exports_load(struct image *img, bool sort) {
  /* symbols_range keeps .last within the table, and a table's index within 32 bits of the hash that gave it. */
  uint64_t last = img->last < UINT32_MAX ? img->last : UINT32_MAX - 1;
  uint64_t most = img->first_hashed < last ? last - img->first_hashed : 0;
  img->exports = arena_alloc(&img->arena, (most + 1) * sizeof *img->exports);
  if (!img->exports) return -ENOMEM;
  for (uint64_t i = img->first_hashed; i < last; i++)
    img->n_exports += export_read(img, i, &img->exports[img->n_exports]);
  int r = sort ? exports_list(img) : 0;
  return r < 0 ? r : exports_index(img);
}

size_t image_exports(const struct image *img, const struct image_symbol **ret) {
  MUST(img->listed || !img->n_exports);
  *ret = img->exports;
  return img->n_exports;
}

const struct image_symbol *image_export(const struct image *img, const char *name, const char *version) {
  const struct image_symbol *best = NULL, *exact = NULL;
  if (!img->n_exports) return NULL;
  size_t at = hash_mix(hash_string(name)) & img->export_mask;
  for (; img->export_places[at]; at = (at + 1) & img->export_mask) {
    const struct image_symbol *s = &img->exports[img->export_places[at] - 1];
    if (strcmp(s->name, name) != 0) continue;
    bool asked = version && s->version && strcmp(s->version, version) == 0;
    if (asked && (!exact || by_version(s, exact) < 0)) exact = s;
    if (!best || by_version(s, best) < 0) best = s;
  }
  if (exact) return exact;
  return !best || best->hidden_version ? NULL : best;
}

const struct image_symbol *image_export_at(const struct image *img, enum image_symbol_kind kind, uint64_t address) {
  const struct image_symbol *best = NULL;
  for (size_t i = 0; i < img->n_exports; i++) {
    const struct image_symbol *s = &img->exports[i];
    if (s->address == address && s->kind == kind && (!best || strcmp(s->name, best->name) < 0)) best = s;
  }
  return best;
}
