/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Function starts: exports, .symtab and unwinding entries, merged into one sorted list.
 *
 * Symbols and frames are sorted apart, which for frames is usually done already, and merged in one pass.
 */
#include <errno.h>
#include <stdlib.h>

#include "image/layout.h"

/* A symbol that may name a function; the lower RANK wins among those at one address. */
struct candidate {
  uint64_t address, end;
  const char *name;
  unsigned rank;
};
typedef VEC(struct candidate) candidate_list;

enum { RANK_DEFAULT = 0, RANK_OLD = 64, RANK_INTERNAL = 128 };

/* Of write, __write and __GI___write the first is what people know. */
static unsigned underscores(const char *name) {
  unsigned n = 0;
  while (n < 8 && name[n] == '_')
    n++;
  return n;
}

static int candidate_add(const struct image *img, candidate_list *list, uint64_t address, uint64_t size,
                         const char *name, unsigned rank) {
  uint64_t end;
  if (!image_is_code(img, address)) return 0;
  if (__builtin_add_overflow(address, size, &end) || size == 0) end = 0;
  return vec_push(list, (struct candidate){address, end, name, rank + underscores(name)});
}

static int add_exports(const struct image *img, candidate_list *list) {
  int r = 0;
  const struct image_symbol *all;
  size_t n = exports_all(img, &all);
  for (size_t i = 0; i < n && r >= 0; i++) {
    const struct image_symbol *s = &all[i];
    if (s->kind == SYMBOL_FUNCTION || s->kind == SYMBOL_IFUNC)
      r = candidate_add(img, list, s->address, s->size, s->name, s->hidden_version ? RANK_OLD : RANK_DEFAULT);
  }
  return r;
}

static int add_symtab(const struct image *img, candidate_list *list) {
  Elf64_Shdr table, names;
  long i = section_find(img, SHT_SYMTAB, NULL);
  if (i < 0 || !section_header(img, (size_t)i, &table) || !section_header(img, table.sh_link, &names)) return 0;
  struct bytes b = section_bytes(img, &table), strings = bytes_of_strings(section_bytes(img, &names));
  int r = 0;
  for (size_t at = 0; b.n - at >= sizeof(Elf64_Sym) && r >= 0; at += sizeof(Elf64_Sym)) {
    Elf64_Sym s;
    memcpy(&s, b.at + at, sizeof s);
    unsigned type = ELF64_ST_TYPE(s.st_info);
    const char *name = string_at(strings, s.st_name);
    if ((type == STT_FUNC || type == STT_GNU_IFUNC) && s.st_shndx != SHN_UNDEF && s.st_shndx != SHN_ABS && name &&
        name[0])
      r = candidate_add(img, list, s.st_value, s.st_size, name, RANK_INTERNAL);
  }
  return r;
}

static int by_address_and_rank(const void *a, const void *b) {
  const struct candidate *x = a, *y = b;
  if (x->address != y->address) return x->address < y->address ? -1 : 1;
  if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
  size_t n = strlen(x->name), m = strlen(y->name);
  return n != m ? (n < m ? -1 : 1) : strcmp(x->name, y->name);
}

#define NEAR 16 /* candidates that are sorted without further parting */

static void sort_few(struct candidate *at, size_t n) {
  if (n > NEAR) qsort(at, n, sizeof *at, by_address_and_rank);
  for (size_t i = 1; i < n && n <= NEAR; i++) {
    struct candidate c = at[i];
    size_t k = i;
    for (; k > 0 && by_address_and_rank(&at[k - 1], &c) > 0; k--)
      at[k] = at[k - 1];
    at[k] = c;
  }
}

/* Functions lie one after the other: by their place in the whole they are nearly in order, and the rest is little. */
static int candidates_sort(candidate_list *list) {
  uint64_t low = UINT64_MAX, high = 0;
  unsigned shift = 0;
  for (size_t i = 0; i < list->n; i++) {
    if (list->at[i].address < low) low = list->at[i].address;
    if (list->at[i].address > high) high = list->at[i].address;
  }
  while (list->n && (high - low) >> shift > list->n)
    shift++;
  if (list->n <= NEAR) {
    sort_few(list->at, list->n);
    return 0;
  }
  size_t n = (size_t)((high - low) >> shift) + 1;
  uint32_t *first = calloc(n + 2, sizeof *first);
  struct candidate *sorted = reallocarray(NULL, list->n, sizeof *sorted);
  if (!first || !sorted || list->n > UINT32_MAX) {
    free(first);
    free(sorted);
    return -ENOMEM;
  }
  for (size_t i = 0; i < list->n; i++)
    first[((list->at[i].address - low) >> shift) + 2]++;
  for (size_t k = 2; k < n + 2; k++)
    first[k] += first[k - 1];
  for (size_t i = 0; i < list->n; i++)
    sorted[first[((list->at[i].address - low) >> shift) + 1]++] = list->at[i];
  for (size_t k = 0; k < n; k++)
    if (first[k + 1] - first[k] > 1) sort_few(sorted + first[k], first[k + 1] - first[k]);
  free(first);
  vec_free((void **)&list->at);
  list->at = sorted;
  list->cap = list->n;
  return 0;
}

static int by_frame_start(const void *a, const void *b) {
  const struct frame *x = a, *y = b;
  return x->start < y->start ? -1 : x->start > y->start;
}

static void frames_sort(frame_list *frames) {
  for (size_t i = 1; i < frames->n; i++)
    if (frames->at[i - 1].start > frames->at[i].start) {
      qsort(frames->at, frames->n, sizeof *frames->at, by_frame_start);
      return;
    }
}

/* Takes all symbols and frames that start at the lowest address that is left. */
static struct image_function take_lowest(const candidate_list *list, size_t *s, const frame_list *frames, size_t *f) {
  uint64_t symbol = *s < list->n ? list->at[*s].address : UINT64_MAX;
  uint64_t frame = *f < frames->n ? frames->at[*f].start : UINT64_MAX;
  struct image_function fn = {.address = symbol < frame ? symbol : frame};
  for (; *s < list->n && list->at[*s].address == fn.address; ++*s) {
    fn.name = fn.name ? fn.name : list->at[*s].name;
    fn.end = fn.end ? fn.end : list->at[*s].end;
  }
  for (; *f < frames->n && frames->at[*f].start == fn.address; ++*f) {
    fn.framed = true;
    fn.end = fn.end ? fn.end : frames->at[*f].end;
  }
  return fn;
}

static int merge(struct image *img, const candidate_list *list, const frame_list *frames) {
  size_t s = 0, f = 0, n = 0;
  img->functions = arena_alloc(&img->arena, (list->n + frames->n + 1) * sizeof *img->functions);
  if (!img->functions) return -ENOMEM;
  while (s < list->n || f < frames->n)
    img->functions[n++] = take_lowest(list, &s, frames, &f);
  img->n_functions = n;
  return 0;
}

int functions_number(struct image *img) {
  if (!img->n_functions) return 0;
  const struct image_function *f = img->functions;
  uint64_t span = f[img->n_functions - 1].address - f[0].address;
  img->function_shift = 0;
  while (span >> img->function_shift > img->n_functions)
    img->function_shift++;
  size_t n = (size_t)(span >> img->function_shift) + 2, k = 0;
  img->function_index = arena_alloc(&img->arena, n * sizeof *img->function_index);
  if (!img->function_index) return -ENOMEM;
  for (size_t i = 0; i < n; i++) {
    while (k < img->n_functions && (f[k].address - f[0].address) >> img->function_shift < i)
      k++;
    img->function_index[i] = (uint32_t)k;
  }
  return 0;
}

int functions_load(struct image *img) {
  candidate_list list = {0};
  frame_list frames = {0};
  int r = add_exports(img, &list);
  if (r >= 0) r = add_symtab(img, &list);
  if (r >= 0) r = frames_list(img, &frames);
  if (r >= 0) r = candidates_sort(&list);
  if (r >= 0) {
    frames_sort(&frames);
    r = merge(img, &list, &frames);
  }
  if (r >= 0) r = functions_number(img);
  vec_done(&list);
  vec_done(&frames);
  return r;
}

int image_complete(const struct image *img) {
  struct image *own = (struct image *)img; /* to others, an outline and the whole are the same image */
  const struct image_symbol *exports;
  if (__atomic_load_n(&own->complete, __ATOMIC_ACQUIRE)) return 0;
  (void)exports_all(img, &exports); /* which takes the lock as well */
  MUST(pthread_mutex_lock(&own->lock) == 0);
  int r = own->complete ? 0 : functions_load(own);
  if (r >= 0) __atomic_store_n(&own->complete, true, __ATOMIC_RELEASE);
  MUST(pthread_mutex_unlock(&own->lock) == 0);
  return r;
}

size_t image_functions(const struct image *img, const struct image_function **ret) {
  MUST(img->complete);
  *ret = img->functions;
  return img->n_functions;
}

const struct image_function *image_function_before(const struct image *img, uint64_t address) {
  MUST(img->complete);
  size_t n = img->n_functions;
  if (!n || address < img->functions[0].address) return NULL;
  if (address >= img->functions[n - 1].address) return &img->functions[n - 1];
  uint64_t step = (address - img->functions[0].address) >> img->function_shift;
  size_t low = img->function_index[step], high = img->function_index[step + 1];
  while (low < high) {
    size_t mid = low + (high - low) / 2;
    if (img->functions[mid].address <= address)
      low = mid + 1;
    else
      high = mid;
  }
  return &img->functions[low - 1];
}

const struct image_function *image_function_at(const struct image *img, uint64_t address) {
  const struct image_function *f = image_function_before(img, address);
  return f && f->address == address ? f : NULL;
}
