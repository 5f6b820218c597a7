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

/* The one of DT_GNU_HASH. */
uint32_t image_name_hash(const char *name) {
  uint32_t hash = 5381;
  for (; *name; name++)
    hash = hash * 33 + (unsigned char)*name;
  return hash;
}

/* At most half of the places are taken. */
static void exports_index(struct image *img) {
  memset(img->export_places, 0, (img->export_mask + 1) * sizeof *img->export_places);
  for (size_t i = 0; i < img->n_exports; i++) {
    uint32_t hash = image_name_hash(img->exports[i].name);
    size_t at = hash_mix(hash) & img->export_mask;
    while (img->export_places[at].number)
      at = (at + 1) & img->export_mask;
    img->export_places[at] = (struct export_place){(uint32_t)i + 1, hash};
    bool code = img->exports[i].kind == SYMBOL_FUNCTION || img->exports[i].kind == SYMBOL_IFUNC;
    if (!code) img->export_data[img->n_export_data++] = (uint32_t)i;
  }
}

/* symbols_range keeps .last within the table, and a table's index within 32 bits of the hash that gave it. */
static uint64_t last_export(const struct image *img) { return img->last < UINT32_MAX ? img->last : UINT32_MAX - 1; }

static int exports_room(struct image *img) {
  uint64_t last = last_export(img), most = img->first_hashed < last ? last - img->first_hashed : 0;
  size_t places = 8;
  while (places < 2 * most)
    places *= 2;
  img->export_mask = places - 1;
  img->exports = arena_alloc(&img->arena, (most + 1) * sizeof *img->exports);
  img->export_places = arena_alloc(&img->arena, places * sizeof *img->export_places);
  img->export_data = arena_alloc(&img->arena, (most + 1) * sizeof *img->export_data);
  return img->exports && img->export_places && img->export_data ? 0 : -ENOMEM;
}

static void exports_read(struct image *img) {
  for (uint64_t i = img->first_hashed; i < last_export(img); i++)
    img->n_exports += export_read(img, i, &img->exports[img->n_exports]);
}

/* Of an outline, they are read when somebody asks; there is room for them, so that it cannot fail then. */
static inline void exports_need(const struct image *img) {
  struct image *own = (struct image *)img;
  if (__atomic_load_n(&own->indexed, __ATOMIC_ACQUIRE)) return;
  MUST(pthread_mutex_lock(&own->lock) == 0);
  if (!own->indexed && own->export_places) { /* a kernel has none */
    exports_read(own);
    exports_index(own);
  }
  __atomic_store_n(&own->indexed, true, __ATOMIC_RELEASE);
  MUST(pthread_mutex_unlock(&own->lock) == 0);
}

int exports_load(struct image *img, bool sort) {
  int r = exports_room(img);
  if (r < 0 || !sort) return r;
  exports_read(img);
  r = exports_list(img);
  if (r < 0) return r;
  exports_index(img);
  img->indexed = true;
  return 0;
}

size_t exports_all(const struct image *img, const struct image_symbol **ret) {
  exports_need(img);
  *ret = img->exports;
  return img->n_exports;
}

size_t image_exports(const struct image *img, const struct image_symbol **ret) {
  MUST(img->listed || !img->n_exports);
  *ret = img->exports;
  return img->n_exports;
}

/*
 * Does the loader's own table have a symbol with this hash? It tells where nothing is to be found, which is true of
 * most libraries for most names: theirs need not be read.
 */
static bool loader_may_find(const struct image *img, uint32_t hash) {
  struct bytes b = img->gnu_hash;
  if (!b.at) return true;
  uint64_t buckets = read_u32(b.at), first = read_u32(b.at + 4), bloom = read_u32(b.at + 8);
  uint64_t start = 16 + bloom * 8, chains = start + buckets * 4;
  uint32_t i = buckets ? read_u32(b.at + start + hash % buckets * 4) : 0;
  for (; i >= first && i < img->last && i != 0; i++) { /* the range was read from this table: the chain is in it */
    uint32_t entry = read_u32(b.at + chains + (i - first) * 4);
    if ((entry ^ hash) >> 1 == 0) return true;
    if (entry & 1) break;
  }
  return false;
}

const struct image_symbol *image_export_hashed(const struct image *img, const char *name, uint32_t hash,
                                               const char *version) {
  const struct image_symbol *best = NULL, *exact = NULL;
  if (!__atomic_load_n(&img->indexed, __ATOMIC_ACQUIRE)) {
    if (!loader_may_find(img, hash)) return NULL;
    exports_need(img);
  }
  if (!img->n_exports) return NULL;
  const struct export_place *p;
  for (size_t at = hash_mix(hash) & img->export_mask; (p = &img->export_places[at])->number;
       at = (at + 1) & img->export_mask) {
    const struct image_symbol *s = &img->exports[p->number - 1];
    if (p->tag != hash || strcmp(s->name, name) != 0) continue;
    bool asked = version && s->version && strcmp(s->version, version) == 0;
    if (asked && (!exact || by_version(s, exact) < 0)) exact = s;
    if (!best || by_version(s, best) < 0) best = s;
  }
  if (exact) return exact;
  return !best || best->hidden_version ? NULL : best;
}

const struct image_symbol *image_export(const struct image *img, const char *name, const char *version) {
  return image_export_hashed(img, name, image_name_hash(name), version);
}

const struct image_symbol *image_export_data_at(const struct image *img, enum image_symbol_kind kind,
                                                uint64_t address) {
  const struct image_symbol *best = NULL;
  exports_need(img);
  for (size_t i = 0; i < img->n_export_data; i++) {
    const struct image_symbol *s = &img->exports[img->export_data[i]];
    if (s->address == address && s->kind == kind && (!best || strcmp(s->name, best->name) < 0)) best = s;
  }
  return best;
}
