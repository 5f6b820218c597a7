/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where calls through pointers can go in a kernel.
 *
 * A pointer that was loaded from a member of a structure (kernel_owner.c) can be what any table of that structure holds
 * there (kernel_tables.c). Hooks that are linked into lists at start (struct security_hook_list) are found by the
 * address of the list's head, which stands in each of them.
 */
#include "solver/kernel_targets.h"
#include "solver/kernel_owner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ENTRY_MAX 64 /* bytes of a list's entry before its function */

/* What a question was answered with. */
struct answer {
  const struct solver_target *at;
  uint32_t n;
  bool known; /* these are all; none, if no table has anything there */
};

/* A word that is an address inside a variable. */
struct mention {
  uint64_t word, at;
};

struct mentions {
  VEC(struct mention) all;
};

struct targets {
  struct tables tables;
  const struct solver_ways *ways;
  struct map answers;  /* to struct answer * */
  struct map mentions; /* variable to struct mentions * */
  struct map self;     /* for struct asker */
  VEC(struct mentions *) all_mentions;
};

int targets_new(const struct image *img, const struct types *types, const struct solver_ways *ways,
                struct targets **ret) {
  struct targets *t = calloc(1, sizeof *t);
  if (!t) return -ENOMEM;
  t->ways = ways;
  int r = tables_init(&t->tables, img, types);
  if (r < 0) {
    targets_free(t);
    return r;
  }
  *ret = t;
  return 0;
}

void targets_free(struct targets *t) {
  if (!t) return;
  for (size_t i = 0; i < t->all_mentions.n; i++)
    vec_done(&t->all_mentions.at[i]->all);
  vec_done(&t->all_mentions);
  map_done(&t->answers);
  map_done(&t->mentions);
  map_done(&t->self);
  tables_done(&t->tables);
  free(t);
}

/* --- answers ------------------------------------------------------------------------------------------------------ */

typedef VEC(struct solver_target) target_vec;

static bool is_ordinary(const struct targets *t, const struct solver_target *to) {
  const struct image_symbol *s = image_symbol_before(t->tables.image, to->table);
  return s && t->ways->table(t->ways->context, s->name);
}

/* If some go through tables that ordinary programs use, only those count. */
static void keep_ordinary(const struct targets *t, target_vec *v) {
  size_t n = 0;
  for (size_t i = 0; t->ways->table && i < v->n; i++)
    if (is_ordinary(t, &v->at[i])) v->at[n++] = v->at[i];
  if (n) v->n = n;
}

static int keep(struct targets *t, uint64_t key, target_vec *v, bool known, struct answer *ret) {
  struct answer *a = arena_zalloc(&t->tables.arena, sizeof *a);
  if (!a) return -ENOMEM;
  keep_ordinary(t, v);
  a->n = (uint32_t)v->n;
  a->known = known;
  a->at = arena_memdup(&t->tables.arena, v->at, v->n * sizeof *v->at);
  if ((!a->at && a->n) || map_put(&t->answers, key, (uintptr_t)a) < 0) return -ENOMEM;
  *ret = *a;
  return 0;
}

static bool known_answer(const struct targets *t, uint64_t key, struct answer *ret) {
  uint64_t p;
  if (!map_get(&t->answers, key, &p)) return false;
  *ret = *(struct answer *)(uintptr_t)p;
  return true;
}

static int members(struct targets *t, uint32_t type, uint32_t offset, struct answer *ret) {
  uint64_t key = hash_mix(hash_mix(type) + offset);
  target_vec v = {0};
  if (known_answer(t, key, ret)) return 0;
  const struct layout *l = tables_of_type(&t->tables, type);
  int r = l ? 0 : -ENOMEM;
  for (uint32_t i = 0; r >= 0 && i < l->n_tables; i++) {
    const struct pointer *p = tables_pointer_at(&t->tables, l->tables[i] + offset);
    if (p) r = vec_push(&v, (struct solver_target){p->function, l->tables[i]});
  }
  if (r >= 0) r = keep(t, key, &v, l->n_tables > 0 && !l->more, ret);
  vec_done(&v);
  return r;
}

/* Words of variables that are addresses inside of VARIABLE. */
static struct mentions *mentions_of(struct targets *t, const struct image_symbol *variable) {
  uint64_t known;
  if (map_get(&t->mentions, variable->address, &known)) return (struct mentions *)(uintptr_t)known;
  struct mentions *m = arena_zalloc(&t->tables.arena, sizeof *m);
  const struct image_symbol *all;
  size_t n = image_symbols(t->tables.image, &all);
  uint64_t at = 0, word;
  if (!m || vec_push(&t->all_mentions, m) < 0 || map_put(&t->mentions, variable->address, (uintptr_t)m) < 0)
    return NULL;
  for (size_t i = 0; i < n; i++) {
    if (all[i].kind != SYMBOL_OBJECT) continue;
    uint64_t end = all[i].address + all[i].size;
    if (at < all[i].address) at = (all[i].address + 7) & ~7ull;
    for (; at < end && end - at >= 8 && tables_word_at(t->tables.image, at, &word); at += 8)
      if (word - variable->address < variable->size && vec_push(&m->all, (struct mention){word, at}) < 0) return NULL;
  }
  return m;
}

/* A list's head stands in each entry, some words before or behind the function at OFFSET of the entry. */
static int hooks(struct targets *t, uint64_t head, uint32_t offset, struct answer *ret) {
  uint64_t key = hash_mix(hash_mix(head) + offset + 1);
  target_vec v = {0};
  *ret = (struct answer){0};
  if (known_answer(t, key, ret)) return 0;
  const struct image_symbol *s = image_symbol_before(t->tables.image, head);
  if (!s || s->kind != SYMBOL_OBJECT || head - s->address >= s->size) return 0;
  const struct mentions *m = mentions_of(t, s);
  int r = m ? 0 : -ENOMEM;
  for (size_t i = 0; r >= 0 && i < m->all.n; i++)
    for (uint32_t back = 0; m->all.at[i].word == head && back <= offset && back <= ENTRY_MAX && r >= 0; back += 8) {
      uint64_t entry = m->all.at[i].at - back;
      const struct pointer *p = tables_pointer_at(&t->tables, entry + offset);
      if (p) r = vec_push(&v, (struct solver_target){p->function, entry});
    }
  if (r >= 0) r = keep(t, key, &v, v.n > 0, ret);
  vec_done(&v);
  return r;
}

/* A function whose address is known, as one that is given to another. */
static int given(struct targets *t, uint64_t function, struct answer *ret) {
  uint64_t key = hash_mix(function) + 4;
  target_vec v = {0};
  if (known_answer(t, key, ret)) return 0;
  int r = vec_push(&v, (struct solver_target){.function = function});
  if (r >= 0) r = keep(t, key, &v, v.n > 0, ret);
  vec_done(&v);
  return r;
}

/* A pointer in a variable: what it holds at first. */
static int variable(struct targets *t, uint64_t at, struct answer *ret) {
  uint64_t key = hash_mix(at) + 2;
  target_vec v = {0};
  if (known_answer(t, key, ret)) return 0;
  const struct pointer *p = tables_pointer_at(&t->tables, at);
  int r = p ? vec_push(&v, (struct solver_target){p->function, at}) : 0;
  if (r >= 0) r = keep(t, key, &v, v.n > 0, ret);
  vec_done(&v);
  return r;
}

/*
 * A pointer in an element of an array: all that the array holds of its type. The first element may have none.
 */
static int elements(struct targets *t, uint64_t at, struct answer *ret) {
  uint64_t key = hash_mix(at) + 3, end;
  const struct image_symbol *s = image_symbol_before(t->tables.image, at);
  target_vec v = {0};
  if (known_answer(t, key, ret)) return 0;
  if (!s || s->kind != SYMBOL_OBJECT) return 0;
  end = s->address + s->size;
  size_t first = tables_pointers_before(&t->tables, at);
  int r = 0;
  for (size_t i = first; i < t->tables.pointers.n && t->tables.pointers.at[i].at < end && r >= 0; i++) {
    const struct pointer *p = &t->tables.pointers.at[i];
    if (p->key == t->tables.pointers.at[first].key) r = vec_push(&v, (struct solver_target){p->function, p->at});
  }
  if (r >= 0) r = keep(t, key, &v, v.n > 0, ret);
  vec_done(&v);
  return r;
}

/* --- questions ---------------------------------------------------------------------------------------------------- */

static int answer_path(struct targets *t, const struct asker *a, const struct flow_path *p, struct answer *ret) {
  *ret = (struct answer){0};
  if (p->n == 0) return p->root == PATH_GLOBAL ? given(t, p->where, ret) : 0;
  if (p->root == PATH_GLOBAL && p->n == 1)
    return (p->indexed ? elements : variable)(t, p->where + (uint64_t)(int64_t)p->offsets[0], ret);
  if (p->root == PATH_GLOBAL && p->n == 2 && p->offsets[1] >= 0) {
    int r = hooks(t, p->where + (uint64_t)(int64_t)p->offsets[0], (uint32_t)p->offsets[1], ret);
    if (r < 0 || ret->n) return r;
  }
  uint32_t owner = t->tables.types ? owner_of_last_load(a, p) : 0;
  return owner ? members(t, owner, (uint32_t)p->offsets[p->n - 1], ret) : 0;
}

static int by_target(const void *x, const void *y) {
  const struct solver_target *a = x, *b = y;
  if (a->function != b->function) return a->function < b->function ? -1 : 1;
  return (a->table > b->table) - (a->table < b->table);
}

int targets_of_call(struct targets *t, uint64_t address, const struct flow_summary *summary, uint32_t call,
                    const struct solver_target **ret, bool *ret_known) {
  const struct flow_call *c = &summary->calls[call];
  const struct asker a = {&t->tables, &t->self, address, summary, c};
  struct answer answers[8];
  size_t n = 0, at = 0;
  unsigned filled = 0;
  bool known = c->n_paths > 0 && c->n_paths <= COUNT(answers);
  for (unsigned i = 0; i < c->n_paths && i < COUNT(answers); i++) {
    int r = answer_path(t, &a, &c->paths[i], &answers[filled]);
    if (r < 0) return r;
    known &= answers[filled].known;
    n += answers[filled++].n;
  }
  *ret_known = known;
  if (n == 0) return 0;
  struct solver_target *all = arena_alloc(&t->tables.arena, n * sizeof *all);
  if (!all) return -ENOMEM;
  for (unsigned i = 0; i < filled; at += answers[i++].n)
    if (answers[i].n) memcpy(all + at, answers[i].at, answers[i].n * sizeof *all);
  qsort(all, n, sizeof *all, by_target);
  *ret = all;
  return (int)n;
}
