/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The symbols of a kernel and its modules in one list by address, a hash table over their names, and the functions
 * among them.
 */
#include <errno.h>
#include <stdlib.h>

#include "image/image_kernel.h"

/* --- .symtab ------------------------------------------------------------------------------------------------------ */

static bool symbol_wanted(const Elf64_Sym *s, const char *name) {
  unsigned type = ELF64_ST_TYPE(s->st_info);
  /* .L… are marks that the assembler should not have kept. */
  return name && name[0] && s->st_shndx != SHN_UNDEF &&
         (type == STT_FUNC || type == STT_OBJECT || type == STT_NOTYPE) && !(name[0] == '.' && name[1] == 'L');
}

int symtab_list(struct image *img, const struct image *file, const uint64_t *bases, symbol_list *list) {
  Elf64_Shdr table, names;
  long i = section_find(file, SHT_SYMTAB, NULL);
  if (i < 0 || !section_header(file, (size_t)i, &table) || !section_header(file, table.sh_link, &names)) return 0;
  struct bytes b = section_bytes(file, &table), strings = bytes_of_strings(section_bytes(file, &names));
  for (size_t at = 0; b.n - at >= sizeof(Elf64_Sym); at += sizeof(Elf64_Sym)) {
    Elf64_Sym s;
    memcpy(&s, b.at + at, sizeof s);
    const char *name = string_at(strings, s.st_name);
    bool absolute = s.st_shndx == SHN_ABS, placed = s.st_shndx < file->n_sections;
    if (!symbol_wanted(&s, name) || (bases && !absolute && (!placed || !bases[s.st_shndx]))) continue;
    if (bases) name = arena_strdup(&img->arena, name);
    struct image_symbol *to = name ? vec_more(list) : NULL;
    if (!to) return -ENOMEM;
    *to = (struct image_symbol){
        .name = name,
        .address = s.st_value + (bases && !absolute ? bases[s.st_shndx] : 0),
        .size = s.st_size,
        .kind = absolute ? SYMBOL_OTHER : SYMBOL_OBJECT,
        .weak = ELF64_ST_BIND(s.st_info) == STB_WEAK,
        .local = ELF64_ST_BIND(s.st_info) == STB_LOCAL,
    };
  }
  return 0;
}

/* --- order -------------------------------------------------------------------------------------------------------- */

static unsigned underscores(const char *name) {
  unsigned n = 0;
  while (n < 8 && name[n] == '_')
    n++;
  return n;
}

static int by_address_and_name(const void *a, const void *b) {
  const struct image_symbol *x = a, *y = b;
  if (x->address != y->address) return x->address < y->address ? -1 : 1;
  if (x->local != y->local) return x->local ? 1 : -1;
  if (x->weak != y->weak) return x->weak ? 1 : -1;
  unsigned u = underscores(x->name), v = underscores(y->name);
  if (u != v) return u < v ? -1 : 1;
  size_t n = strlen(x->name), m = strlen(y->name);
  return n != m ? (n < m ? -1 : 1) : strcmp(x->name, y->name);
}

/* Up to the next address that has a symbol, or the end of the section, where the file does not say it. */
static void sizes_set(struct image *img, struct image_symbol *s, size_t n) {
  uint64_t next = 0;
  for (size_t i = n; i-- > 0;) {
    uint64_t at = s[i].address;
    if (i + 1 < n && s[i + 1].address != at) next = s[i + 1].address;
    if (s[i].size) continue;
    const struct segment *segment = segment_at(img, at);
    if (segment)
      s[i].size = (next > at && next < segment->end ? next : segment->end) - at;
    else if (next > at && next < KERNEL_HALF)
      s[i].size = next - at; /* a variable of one processor */
  }
}

static void kinds_set(const struct image *img, struct image_symbol *s, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (s[i].kind != SYMBOL_OTHER) s[i].kind = image_is_code(img, s[i].address) ? SYMBOL_FUNCTION : SYMBOL_OBJECT;
}

/* --- names -------------------------------------------------------------------------------------------------------- */

/* Where the symbol NAME is in the table, or the free place where it belongs. */
static uint32_t *name_place(const struct kernel *k, const char *name) {
  size_t i = hash_mix(hash_string(name)) & (k->n_names - 1);
  while (k->names[i] && strcmp(k->symbols[k->names[i] - 1].name, name) != 0)
    i = (i + 1) & (k->n_names - 1);
  return &k->names[i];
}

static int names_index(struct image *img) {
  struct kernel *k = img->kernel;
  k->n_names = 16;
  while (k->n_names < 2 * k->n_symbols)
    k->n_names *= 2;
  k->names = arena_zalloc(&img->arena, k->n_names * sizeof *k->names);
  if (!k->names) return -ENOMEM;
  for (size_t i = 0; i < k->n_symbols; i++) {
    uint32_t *place = name_place(k, k->symbols[i].name);
    if (!*place || (k->symbols[*place - 1].local && !k->symbols[i].local)) *place = (uint32_t)i + 1;
  }
  return 0;
}

/* --- functions ---------------------------------------------------------------------------------------------------- */

/* What the build puts before a function for call depth tracking and kCFI: nops that run into it. */
static bool is_padding(const char *name) { return strncmp(name, "__pfx_", 6) == 0 || strncmp(name, "__cfi_", 6) == 0; }

static int functions_index(struct image *img) {
  const struct kernel *k = img->kernel;
  img->functions = arena_alloc(&img->arena, (k->n_symbols ? k->n_symbols : 1) * sizeof *img->functions);
  if (!img->functions) return -ENOMEM;
  for (size_t i = 0; i < k->n_symbols; i++) {
    const struct image_symbol *s = &k->symbols[i];
    if (s->kind != SYMBOL_FUNCTION || is_padding(s->name)) continue;
    struct image_function *last = img->n_functions ? &img->functions[img->n_functions - 1] : NULL;
    uint64_t end;
    if (__builtin_add_overflow(s->address, s->size, &end) || s->size == 0) end = 0;
    if (!last || last->address != s->address)
      img->functions[img->n_functions++] = (struct image_function){.address = s->address, .end = end, .name = s->name};
    else if (!last->end)
      last->end = end;
  }
  img->complete = true;
  return functions_number(img);
}

int symbols_index(struct image *img, const symbol_list *list) {
  struct kernel *k = img->kernel;
  if (list->n >= UINT32_MAX / 2) return -ENOMEM;
  k->symbols = arena_memdup(&img->arena, list->at, list->n * sizeof *list->at);
  if (!k->symbols) return -ENOMEM;
  k->n_symbols = list->n;
  if (list->n) qsort(k->symbols, k->n_symbols, sizeof *k->symbols, by_address_and_name);
  sizes_set(img, k->symbols, k->n_symbols);
  kinds_set(img, k->symbols, k->n_symbols);
  int r = names_index(img);
  return r < 0 ? r : functions_index(img);
}

/* --- questions ---------------------------------------------------------------------------------------------------- */

size_t image_symbols(const struct image *img, const struct image_symbol **ret) {
  *ret = img->kernel ? img->kernel->symbols : NULL;
  return img->kernel ? img->kernel->n_symbols : 0;
}

bool image_names_data(const struct image *img) {
  const struct kernel *k = img->kernel;
  size_t data = 0;
  for (size_t i = 0; k && i < k->n_symbols; i++)
    data += k->symbols[i].kind == SYMBOL_OBJECT && !image_module_of(img, k->symbols[i].address);
  return k && data > k->n_symbols / 50;
}

/* How many symbols are below ADDRESS. */
static size_t symbols_below(const struct kernel *k, uint64_t address) {
  size_t low = 0, high = k->n_symbols;
  while (low < high) {
    size_t mid = low + (high - low) / 2;
    if (k->symbols[mid].address < address)
      low = mid + 1;
    else
      high = mid;
  }
  return low;
}

const struct image_symbol *image_symbol_before(const struct image *img, uint64_t address) {
  const struct kernel *k = img->kernel;
  if (!k) return NULL;
  size_t i = symbols_below(k, address);
  if (i < k->n_symbols && k->symbols[i].address == address) return &k->symbols[i];
  return i ? &k->symbols[symbols_below(k, k->symbols[i - 1].address)] : NULL;
}

const struct image_symbol *image_symbol_named(const struct image *img, const char *name) {
  const struct kernel *k = img->kernel;
  if (!k || !k->n_symbols) return NULL;
  uint32_t index = *name_place(k, name);
  return index ? &k->symbols[index - 1] : NULL;
}
