/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All functions of the program: read on all processors, then put together in an order that does not depend on who read
 * what; who calls whom, and what can be reached.
 */
#include "site/site_program.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define PROGRESS_EVERY 256
#define ARRAY_MAX 16         /* elements that a loop is unrolled for */
#define POINTER_CALLS_MAX 64 /* of a program, for which each is thought to be a call of any function in a table */

/* --- workers ------------------------------------------------------------------------------------------------------ */

struct crew {
  struct program *p;
  size_t n;
  int (*work)(struct program *, struct worker *, size_t);
};

static void crew_work(void *context, unsigned number) {
  struct crew *c = context;
  struct program *p = c->p;
  for (;;) {
    size_t i = __atomic_fetch_add(&p->next, 1, __ATOMIC_RELAXED);
    if (i >= c->n || __atomic_load_n(&p->error, __ATOMIC_RELAXED) < 0) return;
    int r = c->work(p, &p->workers[number], i);
    if (r < 0) __atomic_store_n(&p->error, r, __ATOMIC_RELAXED);
    if (number == 0 && i % PROGRESS_EVERY == 0 && p->request->progress)
      p->request->progress(p->request->context, i, c->n);
  }
}

int functions_each(struct program *p, size_t n, int (*work)(struct program *, struct worker *, size_t)) {
  struct crew crew = {.p = p, .n = n, .work = work};
  p->next = 0;
  worker_run(p->n_workers, crew_work, &crew);
  return p->error;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static int add_function(struct program *p, uint64_t entry) {
  if (map_get(&p->function_set, entry, NULL) || !image_is_code(p->image, entry)) return 0;
  int r = map_put(&p->function_set, entry, 1);
  return r < 0 ? r : vec_push(&p->functions, entry);
}

/* The Ith of those that are not yet read. */
static int read_one(struct program *p, struct worker *w, size_t i) {
  return gather_function(p, w, p->functions.at[p->n_read + i]);
}

/* Functions that are not in any table, and that calls and references have told of. */
static int add_fresh(struct program *p) {
  for (unsigned i = 0; i < p->n_workers; i++) {
    struct worker *w = &p->workers[i];
    for (size_t k = 0; k < w->fresh.n; k++) {
      int r = add_function(p, w->fresh.at[k]);
      if (r < 0) return r;
    }
    w->fresh.n = 0;
  }
  return 0;
}

static int by_address(const void *x, const void *y) {
  uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
  return (a > b) - (a < b);
}

static uint64_t size_of(const struct image *img, uint64_t entry) {
  const struct image_function *f = image_function_at(img, entry);
  return f && f->end > entry ? f->end - entry : 0;
}

/* Large ones first, so that no worker is still at one when the others have nothing left. */
static int by_size(const void *x, const void *y, void *image) {
  uint64_t a = size_of(image, *(const uint64_t *)x), b = size_of(image, *(const uint64_t *)y);
  return a != b ? (a > b ? -1 : 1) : by_address(x, y);
}

static int by_site(const void *x, const void *y) {
  const struct found *a = x, *b = y;
  if (a->at != b->at) return a->at < b->at ? -1 : 1;
  return (a->entry > b->entry) - (a->entry < b->entry);
}

static int by_callee(const void *x, const void *y) {
  const struct inner_call *a = x, *b = y;
  if (a->to != b->to) return a->to < b->to ? -1 : 1;
  if (a->at != b->at) return a->at < b->at ? -1 : 1;
  return (a->entry > b->entry) - (a->entry < b->entry);
}

static int by_started(const void *x, const void *y) {
  const struct started *a = x, *b = y;
  if (a->to != b->to) return a->to < b->to ? -1 : 1;
  if (a->at != b->at) return a->at < b->at ? -1 : 1;
  return (a->entry > b->entry) - (a->entry < b->entry);
}

static int by_variable(const void *x, const void *y) {
  const struct reader *a = x, *b = y;
  if (a->variable != b->variable) return a->variable < b->variable ? -1 : 1;
  if (a->at != b->at) return a->at < b->at ? -1 : 1;
  return (a->entry > b->entry) - (a->entry < b->entry);
}

/* One more place has the function's address. */
static int refer_to(struct program *p, uint64_t entry) {
  uint64_t n = 0;
  (void)map_get(&p->referenced_set, entry, &n);
  return map_put(&p->referenced_set, entry, n + 1);
}

static int merge_worker(struct program *p, const struct worker *w) {
  int r = 0;
  for (size_t i = 0; i < w->parts.n && r >= 0; i++)
    r = map_put(&p->part_set, w->parts.at[i], 1);
  for (size_t i = 0; i < w->referenced.n && r >= 0; i++)
    r = refer_to(p, w->referenced.at[i]);
  for (size_t i = 0; i < w->found.n && r >= 0; i++)
    r = vec_push(&p->found, w->found.at[i]);
  for (size_t i = 0; i < w->calls.n && r >= 0; i++)
    r = vec_push(&p->calls, w->calls.at[i]);
  for (size_t i = 0; i < w->readers.n && r >= 0; i++)
    r = vec_push(&p->readers, w->readers.at[i]);
  for (size_t i = 0; i < w->tables.n && r >= 0; i++)
    r = map_put(&p->table_set, w->tables.at[i], 1);
  for (size_t i = 0; i < w->given.n && r >= 0; i++)
    r = map_put(&p->given_set, w->given.at[i], 1);
  for (size_t i = 0; i < w->pointer_calls.n && r >= 0; i++)
    r = vec_push(&p->pointer_calls, w->pointer_calls.at[i]);
  for (size_t i = 0; i < w->started.n && r >= 0; i++)
    r = vec_push(&p->started, w->started.at[i]);
  for (size_t i = 0; i < w->handed.n && r >= 0; i++)
    r = vec_push(&p->handed, w->handed.at[i]);
  return r;
}

static bool is_part(const struct program *p, uint64_t entry) { return map_get(&p->part_set, entry, NULL); }

/* Of calls that stand behind each other, one that was read twice counts once. */
static size_t drop_twin_calls(const struct program *p, struct inner_call *calls, size_t n_calls) {
  size_t n = 0;
  for (size_t i = 0; i < n_calls; i++) {
    const struct inner_call *c = &calls[i];
    if (n && calls[n - 1].at == c->at && calls[n - 1].to == c->to) {
      if (is_part(p, calls[n - 1].entry) && !is_part(p, c->entry)) calls[n - 1] = *c;
      continue;
    }
    calls[n++] = *c;
  }
  return n;
}

/* A site that is read as part of a function and of its split-off part counts once, in the function. */
static void drop_twins(struct program *p) {
  size_t n = 0;
  for (size_t i = 0; i < p->found.n; i++) {
    const struct found *f = &p->found.at[i];
    if (n && p->found.at[n - 1].at == f->at) {
      if (is_part(p, p->found.at[n - 1].entry) && !is_part(p, f->entry)) p->found.at[n - 1] = *f;
      continue;
    }
    p->found.at[n++] = *f;
  }
  p->found.n = n;
  p->calls.n = drop_twin_calls(p, p->calls.at, p->calls.n);
  p->pointer_calls.n = drop_twin_calls(p, p->pointer_calls.at, p->pointer_calls.n);
}

/* Tables of functions in a program that is linked to a fixed address need no slots. USE gets what may be one. */
static int each_in_data(struct program *p, int (*use)(struct program *, uint64_t)) {
  uint64_t start, end, word;
  int r = 0;
  for (size_t n = 0; image_fixed_data(p->image, n, &start, &end); n++)
    for (uint64_t at = (start + 7) & ~7ull; at < end && end - at >= sizeof word && r >= 0; at += sizeof word) {
      const void *bytes = image_bytes(p->image, at, sizeof word);
      if (!bytes) break;
      memcpy(&word, bytes, sizeof word);
      if (image_is_code(p->image, word)) r = use(p, word);
    }
  return r;
}

static int refer(struct program *p, uint64_t to) {
  bool known = image_function_at(p->image, to) || map_get(&p->function_set, to, NULL);
  return known ? refer_to(p, to) : 0;
}

static int add_untold(struct program *p, uint64_t at) {
  return gather_is_untold(p->image, at) ? add_function(p, at) : 0;
}

/* Functions that are in no table, and whose address is in memory. */
static int add_from_memory(struct program *p) {
  struct image_slot slot;
  int r = each_in_data(p, add_untold);
  for (uint64_t at = 0; r >= 0 && image_slot_after(p->image, at, &slot); at = slot.at + 1)
    if (slot.kind == SLOT_LOCAL || slot.kind == SLOT_IFUNC) r = add_untold(p, slot.value);
  return r;
}

bool functions_in_slot(const struct image *img, const struct image_slot *s) {
  return s->kind == SLOT_IMPORT || (s->kind == SLOT_LOCAL && image_is_code(img, s->value));
}

/*
 * Does a table of virtual functions begin at AT? Before it are the offset to the top and the type's description, which
 * begins with a pointer itself; a name, as in tables of commands, does not.
 */
static bool starts_virtual(const struct program *p, uint64_t at) {
  struct image_slot slot;
  const void *bytes = at >= 16 ? image_bytes(p->image, at - 16, 16) : NULL;
  int64_t words[2];
  if (!bytes || image_slot(p->image, at - 16, &slot)) return false;
  memcpy(words, bytes, sizeof words);
  if (words[0] > 0 || words[0] < -(1 << 20)) return false;
  if (!image_slot(p->image, at - 8, &slot)) return words[1] == 0;
  return slot.kind != SLOT_LOCAL || image_slot(p->image, slot.value, &slot);
}

/* Tables that pointers in memory point to. */
static int find_tables(struct program *p) {
  struct image_slot slot, first;
  int r = 0;
  for (uint64_t at = 0; r >= 0 && image_slot_after(p->image, at, &slot); at = slot.at + 1)
    if (slot.kind == SLOT_LOCAL && image_slot(p->image, slot.value, &first) && functions_in_slot(p->image, &first))
      r = map_put(&p->table_set, slot.value, 1);
  return r;
}

static int put_offset(struct map *to, uint64_t function, uint64_t offset) {
  uint64_t known;
  bool several = map_get(to, function, &known) && known != 1 + offset;
  return map_put(to, function, several ? 0 : 1 + offset);
}

/* Which functions are virtual or in other tables, and where in these. */
static int find_virtual(struct program *p) {
  struct image_slot slot;
  uint64_t start = 0, next = 0;
  bool is_virtual = false, is_table = false;
  int r = find_tables(p);
  for (uint64_t at = 0; r >= 0 && image_slot_after(p->image, at, &slot); at = slot.at + 1) {
    if (!functions_in_slot(p->image, &slot)) continue;
    bool begins = map_get(&p->table_set, slot.at, NULL);
    if (slot.at != next || (begins && !is_virtual)) {
      start = slot.at;
      is_virtual = starts_virtual(p, start);
      is_table = begins;
    }
    next = slot.at + 8;
    if (slot.kind == SLOT_LOCAL && is_virtual) r = put_offset(&p->virtual_of, slot.value, slot.at - start);
    if (slot.kind == SLOT_LOCAL && !is_virtual && is_table) r = put_offset(&p->table_of, slot.value, slot.at - start);
  }
  return r;
}

static int merge(struct program *p) {
  int r = 0;
  struct image_slot slot;
  for (unsigned i = 0; i < p->n_workers && r >= 0; i++)
    r = merge_worker(p, &p->workers[i]);
  for (uint64_t at = 0; r >= 0 && image_slot_after(p->image, at, &slot); at = slot.at + 1)
    if (slot.kind == SLOT_LOCAL || slot.kind == SLOT_IFUNC) r = refer_to(p, slot.value);
  if (r >= 0) r = each_in_data(p, refer);
  if (r >= 0) r = find_virtual(p);
  if (r < 0) return r;
  if (p->found.n) qsort(p->found.at, p->found.n, sizeof *p->found.at, by_site);
  if (p->calls.n) qsort(p->calls.at, p->calls.n, sizeof *p->calls.at, by_callee);
  if (p->pointer_calls.n) qsort(p->pointer_calls.at, p->pointer_calls.n, sizeof *p->pointer_calls.at, by_callee);
  if (p->started.n) qsort(p->started.at, p->started.n, sizeof *p->started.at, by_started);
  if (p->handed.n) qsort(p->handed.at, p->handed.n, sizeof *p->handed.at, by_callee);
  if (p->readers.n) qsort(p->readers.at, p->readers.n, sizeof *p->readers.at, by_variable);
  drop_twins(p);
  return 0;
}

int functions_read(struct program *p) {
  const struct image_function *f;
  size_t n = image_functions(p->image, &f);
  int r = 0;
  for (size_t i = 0; i < n && r >= 0; i++)
    r = add_function(p, f[i].address);
  if (r >= 0 && image_entry(p->image)) r = add_function(p, image_entry(p->image));
  if (r >= 0) r = add_from_memory(p);
  while (r >= 0 && p->n_read < p->functions.n) {
    size_t more = p->functions.n - p->n_read;
    qsort_r(p->functions.at + p->n_read, more, sizeof *p->functions.at, by_size, (void *)p->image);
    r = functions_each(p, more, read_one);
    p->n_read += more;
    if (r >= 0) r = add_fresh(p);
  }
  return r < 0 ? r : merge(p);
}

/* --- who calls whom ----------------------------------------------------------------------------------------------- */

/* The index of the first of N elements, sorted by the number at OFFSET in each, in which it is not below KEY. */
static size_t first_from(const void *at, size_t n, size_t size, size_t offset, uint64_t key) {
  size_t low = 0, high = n;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    uint64_t found;
    memcpy(&found, (const char *)at + middle * size + offset, sizeof found);
    if (found < key)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

#define FIRST_FROM(array, count, field, key)                                                                           \
  first_from(array, count, sizeof *(array), offsetof(__typeof__(*(array)), field), key)

size_t functions_callers(const struct program *p, uint64_t entry, const struct inner_call **ret) {
  size_t low = FIRST_FROM(p->calls.at, p->calls.n, to, entry), n = low;
  while (n < p->calls.n && p->calls.at[n].to == entry)
    n++;
  *ret = n > low ? p->calls.at + low : NULL;
  return n - low;
}

static bool exported(const struct program *p, uint64_t entry) {
  const struct image_function *f = image_function_at(p->image, entry);
  if (!f || !f->name) return false;
  const struct image_symbol *s = image_export(p->image, f->name, NULL);
  return s && s->address == entry;
}

size_t functions_handed(const struct program *p, uint64_t entry, const struct inner_call **ret) {
  size_t low = FIRST_FROM(p->handed.at, p->handed.n, to, entry), n = low;
  uint64_t references = 0;
  while (n < p->handed.n && p->handed.at[n].to == entry)
    n++;
  (void)map_get(&p->referenced_set, entry, &references);
  bool others = references > n - low || exported(p, entry);
  *ret = n > low && !others ? p->handed.at + low : NULL;
  return *ret ? n - low : 0;
}

size_t functions_starters(const struct program *p, uint64_t entry, const struct started **ret) {
  size_t low = FIRST_FROM(p->started.at, p->started.n, to, entry), n = low;
  while (n < p->started.n && p->started.at[n].to == entry)
    n++;
  *ret = n > low ? p->started.at + low : NULL;
  return n - low;
}

size_t functions_readers(const struct program *p, uint64_t variable, const struct reader **ret) {
  size_t low = FIRST_FROM(p->readers.at, p->readers.n, variable, variable), n = low;
  while (n < p->readers.n && p->readers.at[n].variable == variable)
    n++;
  *ret = n > low ? p->readers.at + low : NULL;
  return n - low;
}

/*
 * Where a loop that fills an array was unrolled, its elements are written as variables of their own. What lies behind
 * an array may as well be another member of its structure, so that nobody knows whether its readers are meant.
 */
bool functions_maybe_element(const struct program *p, uint64_t variable, unsigned size) {
  size_t low = FIRST_FROM(p->readers.at, p->readers.n, variable, variable);
  if (!low || (low < p->readers.n && p->readers.at[low].variable == variable)) return false;
  const struct reader *last = &p->readers.at[low - 1];
  uint64_t distance = variable - last->variable;
  return last->array && size && distance % size == 0 && distance / size <= ARRAY_MAX;
}

bool functions_visible(const struct program *p, uint64_t entry) {
  return map_get(&p->referenced_set, entry, NULL) || exported(p, entry) || entry == image_entry(p->image);
}

/* Those whose TO is from FROM to TO. */
static size_t pointer_calls_at(const struct program *p, uint64_t from, uint64_t to, size_t *ret_first) {
  size_t n = FIRST_FROM(p->pointer_calls.at, p->pointer_calls.n, to, from);
  *ret_first = n;
  while (n < p->pointer_calls.n && p->pointer_calls.at[n].to <= to)
    n++;
  return n;
}

size_t functions_pointer_callers(const struct program *p, uint64_t entry, const struct inner_call **ret) {
  bool inside = map_get(&p->referenced_set, entry, NULL) && !map_get(&p->given_set, entry, NULL);
  size_t low = 0, n = p->pointer_calls.n;
  uint64_t offset;
  if (!inside || exported(p, entry) || entry == image_entry(p->image)) return 0;
  bool seen = n && p->pointer_calls.at[0].to;
  if (map_get(&p->virtual_of, entry, &offset) && offset)
    n = pointer_calls_at(p, POINTER_AT(offset - 1, true), POINTER_AT(offset - 1, true), &low);
  else if (seen && map_get(&p->table_of, entry, &offset) && offset)
    n = pointer_calls_at(p, POINTER_AT(offset - 1, false), POINTER_AT(offset - 1, true), &low);
  if (n == low && !map_get(&p->virtual_of, entry, NULL)) { /* an array perhaps, of which one is chosen */
    low = 0;
    n = p->pointer_calls.n;
  }
  *ret = n > low ? p->pointer_calls.at + low : NULL;
  return n - low <= POINTER_CALLS_MAX ? n - low : 0;
}

struct call_from {
  uint64_t entry, to;
};

static int by_caller(const void *x, const void *y) {
  const struct call_from *a = x, *b = y;
  if (a->entry != b->entry) return a->entry < b->entry ? -1 : 1;
  return (a->to > b->to) - (a->to < b->to);
}

static int reach_from(const struct call_from *calls, size_t n, uint64_t start, struct map *reached) {
  VEC(uint64_t) todo = {0};
  int r = map_get(reached, start, NULL) ? 0 : vec_push(&todo, start);
  if (r >= 0) r = map_put(reached, start, 1);
  while (todo.n && r >= 0) {
    uint64_t entry = todo.at[--todo.n];
    for (size_t i = FIRST_FROM(calls, n, entry, entry); i < n && calls[i].entry == entry && r >= 0; i++) {
      if (map_get(reached, calls[i].to, NULL)) continue;
      r = map_put(reached, calls[i].to, 1);
      if (r >= 0) r = vec_push(&todo, calls[i].to);
    }
  }
  vec_done(&todo);
  return r;
}

int functions_reach(struct program *p, struct map *reached) {
  struct call_from *calls = calloc(p->calls.n + 1, sizeof *calls);
  int r = calls ? 0 : -ENOMEM;
  for (size_t i = 0; calls && i < p->calls.n; i++)
    calls[i] = (struct call_from){p->calls.at[i].entry, p->calls.at[i].to};
  if (calls && p->calls.n) qsort(calls, p->calls.n, sizeof *calls, by_caller);
  for (size_t i = 0; i < p->functions.n && r >= 0; i++)
    if (functions_visible(p, p->functions.at[i])) r = reach_from(calls, p->calls.n, p->functions.at[i], reached);
  free(calls);
  return r;
}

#define FRAMES 16

bool functions_no_result(struct program *p, uint64_t entry) {
  struct image_frame frames[FRAMES];
  uint64_t known;
  if (!p->debug) return false;
  if (map_get(&p->no_result, entry, &known)) return known;
  size_t n = image_debug_at(p->debug, entry, frames, FRAMES);
  known = n > 0 && n < FRAMES && frames[n - 1].no_result;
  if (map_put(&p->no_result, entry, known) < 0) p->error = -ENOMEM;
  return known;
}
