/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of operations of a kernel, found by their types.
 *
 * A kernel keeps its operations in constant tables: arrays of function addresses that are a structure to the compiler.
 * A place in the image is taken for a table of a structure if all of its pointers to functions are null or functions of
 * the right type, at least one of them. Where no function of a variable has a type, as in modules before 5.11, it is
 * taken for one if it has the size and the shape of the structure, and its name ends with the structure's.
 */
#include "solver/kernel_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define POINTERS_MAX 96 /* members of a structure that point to functions */
#define SHAPE_MIN 3     /* functions from which on a shape tells something */
#define NEST_MAX 4
#define MEMBERS_MAX 20000 /* of a structure and those inside of it */

/* A member that points to a function. */
struct slot {
  uint32_t offset;
  uint64_t key;
};

bool tables_word_at(const struct image *img, uint64_t at, uint64_t *ret) {
  const void *p = image_bytes(img, at, sizeof *ret);
  if (p) memcpy(ret, p, sizeof *ret);
  return p != NULL;
}

uint32_t tables_function_type(const struct types *ts, const char *name, bool copies) {
  char plain[128];
  size_t n = strcspn(name, ".");
  if (!ts || n >= sizeof plain || (name[n] && !copies)) return 0;
  memcpy(plain, name, n);
  plain[n] = 0;
  return types_function(ts, plain);
}

/* --- words that are functions ------------------------------------------------------------------------------------- */

static int note_word(struct tables *t, uint64_t at, uint64_t word) {
  const struct image_function *f = image_is_code(t->image, word) ? image_function_at(t->image, word) : NULL;
  if (!f || !f->name) return 0;
  struct pointer p = {.at = at, .function = word};
  uint32_t type = tables_function_type(t->types, f->name, false);
  if (type) p.key = types_key(t->types, type);
  return vec_push(&t->pointers, p);
}

static int scan_symbol(struct tables *t, const struct image_symbol *s, uint64_t *behind) {
  uint64_t at = (s->address > *behind ? s->address : *behind) + 7, end = s->address + s->size, word;
  for (at &= ~7ull; at < end && end - at >= 8 && tables_word_at(t->image, at, &word); at += 8) {
    int r = note_word(t, at, word);
    if (r < 0) return r;
  }
  if (end > *behind) *behind = end;
  return 0;
}

static int by_key(const void *x, const void *y, void *context) {
  const struct pointer *all = context, *a = &all[*(const uint32_t *)x], *b = &all[*(const uint32_t *)y];
  if (a->key != b->key) return a->key < b->key ? -1 : 1;
  return a->at < b->at ? -1 : 1;
}

static int scan(struct tables *t) {
  const struct image_symbol *all;
  size_t n = image_symbols(t->image, &all);
  uint64_t behind = 0;
  int r = 0;
  for (size_t i = 0; i < n && r >= 0; i++)
    if (all[i].kind == SYMBOL_OBJECT) r = scan_symbol(t, &all[i], &behind);
  if (r < 0) return r;
  t->order = arena_alloc(&t->arena, (t->pointers.n + 1) * sizeof *t->order);
  if (!t->order) return -ENOMEM;
  for (size_t i = 0; i < t->pointers.n; i++)
    t->order[i] = (uint32_t)i;
  qsort_r(t->order, t->pointers.n, sizeof *t->order, by_key, t->pointers.at);
  for (size_t i = t->pointers.n; i-- > 0 && r >= 0;)
    r = map_put(&t->by_key, t->pointers.at[t->order[i]].key, i);
  return r;
}

int tables_init(struct tables *t, const struct image *img, const struct types *types) {
  *t = (struct tables){.image = img, .types = types};
  int r = scan(t);
  for (uint32_t i = 1; types && r >= 0 && i < types_count(types); i++)
    if (types_member_count(types, i)) r = map_put(&t->structures, hash_string(types_name(types, i)), 1);
  return r;
}

void tables_done(struct tables *t) {
  vec_done(&t->pointers);
  map_done(&t->by_key);
  map_done(&t->layouts);
  map_done(&t->structures);
  arena_done(&t->arena);
}

size_t tables_pointers_before(const struct tables *t, uint64_t at) {
  size_t lo = 0, hi = t->pointers.n;
  while (lo < hi) {
    size_t mid = lo + (hi - lo) / 2;
    if (t->pointers.at[mid].at < at)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}

const struct pointer *tables_pointer_at(const struct tables *t, uint64_t at) {
  size_t i = tables_pointers_before(t, at);
  return i < t->pointers.n && t->pointers.at[i].at == at ? &t->pointers.at[i] : NULL;
}

/* --- structures and their tables ---------------------------------------------------------------------------------- */

/* LEFT bounds the work: what says that it contains itself would multiply. */
static void collect_slots(const struct types *ts, uint32_t type, uint32_t base, unsigned depth, struct layout *l,
                          unsigned *left) {
  size_t n = types_member_count(ts, type);
  for (size_t i = 0; i < n && l->n_slots < POINTERS_MAX && *left; i++) {
    struct type_member m;
    --*left;
    types_member_at(ts, type, i, &m);
    uint32_t to = types_pointee(ts, m.type);
    if (to && types_is_function(ts, to))
      l->slots[l->n_slots++] = (struct slot){base + m.offset, types_key(ts, to)};
    else if (depth < NEST_MAX)
      collect_slots(ts, m.type, base + m.offset, depth + 1, l, left);
  }
}

/* Are all its pointers to functions null or functions of the right type? How many are surely right; -1 if not. */
static int fits(const struct tables *t, const struct layout *l, uint64_t base) {
  int right = 0;
  for (uint32_t i = 0; i < l->n_slots; i++) {
    uint64_t word;
    if (!tables_word_at(t->image, base + l->slots[i].offset, &word)) return -1;
    if (word == 0) continue;
    const struct pointer *p = tables_pointer_at(t, base + l->slots[i].offset);
    if (!p || (p->key && p->key != l->slots[i].key)) return -1;
    right += p->key != 0;
  }
  return right;
}

/* A table stands at the start of a variable, in an array of its like, or inside of something larger. */
static bool is_table(const struct tables *t, const struct layout *l, uint64_t base) {
  const struct image_symbol *s = image_symbol_before(t->image, base);
  if (!s || base < s->address || base + l->size > s->address + s->size || l->size == 0) return false;
  int right = fits(t, l, base), first = base == s->address ? right : fits(t, l, s->address);
  if ((base - s->address) % l->size == 0) return right >= 1 && first >= 0;
  if (first >= 1) return false; /* the variable is one itself, and this is a part of it */
  return right >= 2 && l->n_slots >= 3;
}

static int by_value(const void *x, const void *y) {
  uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
  return (a > b) - (a < b);
}

typedef VEC(uint64_t) place_list;

static int find_typed(const struct tables *t, const struct layout *l, place_list *found) {
  struct map seen = {0};
  int r = 0;
  for (uint32_t i = 0; i < l->n_slots && r >= 0; i++) {
    uint64_t first;
    if (!map_get(&t->by_key, l->slots[i].key, &first)) continue;
    for (size_t k = first; k < t->pointers.n && r >= 0; k++) {
      const struct pointer *p = &t->pointers.at[t->order[k]];
      uint64_t base = p->at - l->slots[i].offset, known;
      if (p->key != l->slots[i].key) break;
      if (map_get(&seen, base, &known)) continue;
      r = map_put(&seen, base, 1);
      if (r >= 0 && is_table(t, l, base)) r = vec_push(found, base);
    }
  }
  map_done(&seen);
  return r;
}

/* --- tables without types ----------------------------------------------------------------------------------------- */

/* Are there functions, of unknown types, where the structure has its pointers to functions, and nowhere else? */
static bool has_shape(const struct tables *t, const struct layout *l, const struct image_symbol *s) {
  size_t first = tables_pointers_before(t, s->address), all = tables_pointers_before(t, s->address + s->size) - first;
  size_t inside = 0;
  if (all < SHAPE_MIN || fits(t, l, s->address) != 0) return false;
  for (uint32_t i = 0; i < l->n_slots; i++)
    inside += tables_pointer_at(t, s->address + l->slots[i].offset) != NULL;
  return inside == all;
}

/* The structure that a variable is named after, as ext4_dir_inode_operations after inode_operations; or "". */
static const char *structure_in(const struct tables *t, const char *variable) {
  for (const char *p = variable; *p; p += strspn(p, "_")) {
    uint64_t known;
    if (map_get(&t->structures, hash_string(p), &known)) return p;
    p += strcspn(p, "_");
  }
  return "";
}

static int find_untyped(const struct tables *t, struct layout *l, const char *name, place_list *found) {
  const struct image_symbol *all;
  size_t n = image_symbols(t->image, &all);
  int r = 0;
  for (size_t i = 0; i < n && l->n_slots >= SHAPE_MIN && r >= 0; i++) {
    const struct image_symbol *s = &all[i];
    if (s->kind != SYMBOL_OBJECT || s->size != l->size || !has_shape(t, l, s)) continue;
    const char *after = structure_in(t, s->name);
    if (*after && strcmp(after, name) == 0)
      r = vec_push(found, s->address);
    else if (!*after && image_module_of(t->image, s->address)) /* elsewhere, sizes are guessed */
      l->more = true;
  }
  return r;
}

static int find_tables(struct tables *t, struct layout *l, const char *name) {
  place_list found = {0};
  int r = find_typed(t, l, &found);
  if (r >= 0) r = find_untyped(t, l, name, &found);
  if (r >= 0 && found.n) {
    qsort(found.at, found.n, sizeof *found.at, by_value);
    l->tables = arena_memdup(&t->arena, found.at, found.n * sizeof *found.at);
    l->n_tables = (uint32_t)found.n;
    if (!l->tables) r = -ENOMEM;
  }
  vec_done(&found);
  return r;
}

const struct layout *tables_of_type(struct tables *t, uint32_t type) {
  uint64_t p;
  if (map_get(&t->layouts, type, &p)) return (struct layout *)(uintptr_t)p;
  struct layout *l = arena_zalloc(&t->arena, sizeof *l);
  if (!l) return NULL;
  l->slots = arena_alloc(&t->arena, POINTERS_MAX * sizeof *l->slots);
  if (!l->slots) return NULL;
  l->size = types_size(t->types, type);
  collect_slots(t->types, type, 0, 0, l, &(unsigned){MEMBERS_MAX});
  if (find_tables(t, l, types_name(t->types, type)) < 0 || map_put(&t->layouts, type, (uintptr_t)l) < 0) return NULL;
  return l;
}
