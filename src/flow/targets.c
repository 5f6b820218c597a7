/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where calls through pointers can go in a kernel.
 *
 * A kernel keeps its operations in constant tables: arrays of function addresses that are a structure to the compiler.
 * The types that it carries say what a function's arguments point to, so that the loads on the way to a pointer name a
 * member of a structure (path.c gives the loads). A place in the image is taken for a table of that structure if all of
 * its pointers to functions are null or functions of the right type, at least one of them; what a table holds in the
 * member is where the call can go. Hooks that are linked into lists at start (struct security_hook_list) are found by
 * the address of the list's head, which stands in each of them.
 */
#include "flow/targets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define POINTERS_MAX 96 /* members of a structure that point to functions */
#define NEST_MAX 4
#define ENTRY_MAX 64      /* bytes of a list's entry before its function */
#define MEMBERS_MAX 20000 /* of a structure and those inside of it */

/* A word of the image that is a function's address. */
struct pointer {
  uint64_t at, function;
  uint64_t key; /* of the function's type; 0 if it is not known */
};

/* A member that points to a function. */
struct slot {
  uint32_t offset;
  uint64_t key;
};

/* A structure of which tables are known. */
struct layout {
  uint32_t size;
  uint32_t n_slots, n_tables;
  struct slot *slots;
  uint64_t *tables;
};

/* What a question was answered with. */
struct answer {
  const struct flow_target *at;
  uint32_t n;
};

/* A word that is an address inside a variable. */
struct mention {
  uint64_t word, at;
};

struct mentions {
  VEC(struct mention) all;
};

struct targets {
  const struct image *image;
  const struct types *types;
  const struct flow_ways *ways;
  struct arena arena;
  VEC(struct pointer) pointers; /* by place */
  struct map by_key;            /* type to the first in ORDER */
  uint32_t *order;              /* pointers by type */
  struct map layouts;           /* structure to struct layout * */
  struct map answers;           /* to struct answer * */
  struct map mentions;          /* variable to struct mentions * */
  struct map self;              /* of self_typed */
  VEC(struct mentions *) all_mentions;
};

static bool word_at(const struct image *img, uint64_t at, uint64_t *ret) {
  const void *p = image_bytes(img, at, sizeof *ret);
  if (p) memcpy(ret, p, sizeof *ret);
  return p != NULL;
}

/* A function of the name without what the compiler adds to copies of it. */
static uint32_t function_type(const struct types *ts, const char *name, bool copies) {
  char plain[128];
  size_t n = strcspn(name, ".");
  if (!ts || n >= sizeof plain || (name[n] && !copies)) return 0;
  memcpy(plain, name, n);
  plain[n] = 0;
  return types_function(ts, plain);
}

/* --- words that are functions -------------------------------------------------------------------------------------- */

static int note_word(struct targets *t, uint64_t at, uint64_t word) {
  const struct image_function *f = image_is_code(t->image, word) ? image_function_at(t->image, word) : NULL;
  if (!f || !f->name) return 0;
  struct pointer p = {.at = at, .function = word};
  uint32_t type = function_type(t->types, f->name, false);
  if (type) p.key = types_key(t->types, type);
  return vec_push(&t->pointers, p);
}

static int scan_symbol(struct targets *t, const struct image_symbol *s, uint64_t *behind) {
  uint64_t at = (s->address > *behind ? s->address : *behind) + 7, end = s->address + s->size, word;
  for (at &= ~7ull; at < end && end - at >= 8 && word_at(t->image, at, &word); at += 8) {
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

static int scan(struct targets *t) {
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

int targets_new(const struct image *img, const struct types *types, const struct flow_ways *ways,
                struct targets **ret) {
  struct targets *t = calloc(1, sizeof *t);
  if (!t) return -ENOMEM;
  t->image = img;
  t->types = types;
  t->ways = ways;
  int r = scan(t);
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
  vec_done(&t->pointers);
  map_done(&t->by_key);
  map_done(&t->layouts);
  map_done(&t->answers);
  map_done(&t->mentions);
  map_done(&t->self);
  arena_done(&t->arena);
  free(t);
}

/* How many pointers are before AT. */
static size_t pointers_before(const struct targets *t, uint64_t at) {
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

static const struct pointer *pointer_at(const struct targets *t, uint64_t at) {
  size_t i = pointers_before(t, at);
  return i < t->pointers.n && t->pointers.at[i].at == at ? &t->pointers.at[i] : NULL;
}

/* --- structures and their tables ------------------------------------------------------------------------------------ */

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
static int fits(const struct targets *t, const struct layout *l, uint64_t base) {
  int right = 0;
  for (uint32_t i = 0; i < l->n_slots; i++) {
    uint64_t word;
    if (!word_at(t->image, base + l->slots[i].offset, &word)) return -1;
    if (word == 0) continue;
    const struct pointer *p = pointer_at(t, base + l->slots[i].offset);
    if (!p || (p->key && p->key != l->slots[i].key)) return -1;
    right += p->key != 0;
  }
  return right;
}

/* A table stands at the start of a variable, in an array of its like, or inside of something larger. */
static bool is_table(const struct targets *t, const struct layout *l, uint64_t base) {
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

static int find_tables(struct targets *t, struct layout *l) {
  struct map seen = {0};
  VEC(uint64_t) found = {0};
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
      if (r >= 0 && is_table(t, l, base)) r = vec_push(&found, base);
    }
  }
  if (r >= 0 && found.n) {
    qsort(found.at, found.n, sizeof *found.at, by_value);
    l->tables = arena_memdup(&t->arena, found.at, found.n * sizeof *found.at);
    l->n_tables = (uint32_t)found.n;
    if (!l->tables) r = -ENOMEM;
  }
  map_done(&seen);
  vec_done(&found);
  return r;
}

static struct layout *layout_of(struct targets *t, uint32_t type) {
  uint64_t p;
  if (map_get(&t->layouts, type, &p)) return (struct layout *)(uintptr_t)p;
  struct layout *l = arena_zalloc(&t->arena, sizeof *l);
  if (!l) return NULL;
  l->slots = arena_alloc(&t->arena, POINTERS_MAX * sizeof *l->slots);
  if (!l->slots) return NULL;
  l->size = types_size(t->types, type);
  collect_slots(t->types, type, 0, 0, l, &(unsigned){MEMBERS_MAX});
  if (find_tables(t, l) < 0 || map_put(&t->layouts, type, (uintptr_t)l) < 0) return NULL;
  return l;
}

/* --- answers -------------------------------------------------------------------------------------------------------- */

typedef VEC(struct flow_target) target_vec;

static bool is_ordinary(const struct targets *t, const struct flow_target *to) {
  const struct image_symbol *s = image_symbol_before(t->image, to->table);
  return s && t->ways->table(t->ways->context, s->name);
}

/* If some go through tables that ordinary programs use, only those count. */
static void keep_ordinary(const struct targets *t, target_vec *v) {
  size_t n = 0;
  for (size_t i = 0; t->ways->table && i < v->n; i++)
    if (is_ordinary(t, &v->at[i])) v->at[n++] = v->at[i];
  if (n) v->n = n;
}

static int keep(struct targets *t, uint64_t key, target_vec *v, struct answer *ret) {
  struct answer *a = arena_zalloc(&t->arena, sizeof *a);
  if (!a) return -ENOMEM;
  keep_ordinary(t, v);
  a->n = (uint32_t)v->n;
  a->at = arena_memdup(&t->arena, v->at, v->n * sizeof *v->at);
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
  struct layout *l = layout_of(t, type);
  int r = l ? 0 : -ENOMEM;
  for (uint32_t i = 0; r >= 0 && i < l->n_tables; i++) {
    const struct pointer *p = pointer_at(t, l->tables[i] + offset);
    if (p) r = vec_push(&v, (struct flow_target){p->function, l->tables[i]});
  }
  if (r >= 0) r = keep(t, key, &v, ret);
  vec_done(&v);
  return r;
}

/* Words of variables that are addresses inside of VARIABLE. */
static struct mentions *mentions_of(struct targets *t, const struct image_symbol *variable) {
  uint64_t known;
  if (map_get(&t->mentions, variable->address, &known)) return (struct mentions *)(uintptr_t)known;
  struct mentions *m = arena_zalloc(&t->arena, sizeof *m);
  const struct image_symbol *all;
  size_t n = image_symbols(t->image, &all);
  uint64_t at = 0, word;
  if (!m || vec_push(&t->all_mentions, m) < 0 || map_put(&t->mentions, variable->address, (uintptr_t)m) < 0)
    return NULL;
  for (size_t i = 0; i < n; i++) {
    if (all[i].kind != SYMBOL_OBJECT) continue;
    uint64_t end = all[i].address + all[i].size;
    if (at < all[i].address) at = (all[i].address + 7) & ~7ull;
    for (; at < end && end - at >= 8 && word_at(t->image, at, &word); at += 8)
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
  const struct image_symbol *s = image_symbol_before(t->image, head);
  if (!s || s->kind != SYMBOL_OBJECT || head - s->address >= s->size) return 0;
  const struct mentions *m = mentions_of(t, s);
  int r = m ? 0 : -ENOMEM;
  for (size_t i = 0; r >= 0 && i < m->all.n; i++)
    for (uint32_t back = 0; m->all.at[i].word == head && back <= offset && back <= ENTRY_MAX && r >= 0; back += 8) {
      uint64_t entry = m->all.at[i].at - back;
      const struct pointer *p = pointer_at(t, entry + offset);
      if (p) r = vec_push(&v, (struct flow_target){p->function, entry});
    }
  if (r >= 0) r = keep(t, key, &v, ret);
  vec_done(&v);
  return r;
}

/* A function whose address is known, as one that is given to another. */
static int given(struct targets *t, uint64_t function, struct answer *ret) {
  uint64_t key = hash_mix(function) + 4;
  target_vec v = {0};
  if (known_answer(t, key, ret)) return 0;
  int r = vec_push(&v, (struct flow_target){.function = function});
  if (r >= 0) r = keep(t, key, &v, ret);
  vec_done(&v);
  return r;
}

/* A pointer in a variable: what it holds at first. */
static int variable(struct targets *t, uint64_t at, struct answer *ret) {
  uint64_t key = hash_mix(at) + 2;
  target_vec v = {0};
  if (known_answer(t, key, ret)) return 0;
  const struct pointer *p = pointer_at(t, at);
  int r = p ? vec_push(&v, (struct flow_target){p->function, at}) : 0;
  if (r >= 0) r = keep(t, key, &v, ret);
  vec_done(&v);
  return r;
}

/*
 * A pointer in an element of an array: all that the array holds of its type. The first element may have none.
 */
static int elements(struct targets *t, uint64_t at, struct answer *ret) {
  uint64_t key = hash_mix(at) + 3, end;
  const struct image_symbol *s = image_symbol_before(t->image, at);
  target_vec v = {0};
  if (known_answer(t, key, ret)) return 0;
  if (!s || s->kind != SYMBOL_OBJECT) return 0;
  end = s->address + s->size;
  size_t first = pointers_before(t, at);
  int r = 0;
  for (size_t i = first; i < t->pointers.n && t->pointers.at[i].at < end && r >= 0; i++) {
    const struct pointer *p = &t->pointers.at[i];
    if (p->key == t->pointers.at[first].key) r = vec_push(&v, (struct flow_target){p->function, p->at});
  }
  if (r >= 0) r = keep(t, key, &v, ret);
  vec_done(&v);
  return r;
}

/* --- questions ------------------------------------------------------------------------------------------------------ */

static const char *name_at(const struct targets *t, uint64_t address) {
  const struct image_function *f = image_function_at(t->image, address);
  return f && f->name ? f->name : "";
}

/* The function at hand. */
struct asker {
  struct targets *t;
  uint64_t address;
  const struct flow_summary *s;
  const struct flow_call *call;
};

/* What parameter ARG of the function at ADDRESS points to. */
static uint32_t parameter_type(const struct targets *t, uint64_t address, unsigned arg) {
  uint32_t type = function_type(t->types, name_at(t, address), false);
  return types_pointee(t->types, types_parameter(t->types, type, arg));
}

static bool is_structure(const struct targets *t, uint32_t type) { return types_member_count(t->types, type) > 0; }

/* Is the object of the hint what the first N loads of the path lead to? */
static bool same_object(const struct flow_path *hint, const struct flow_path *p, unsigned n) {
  return hint->root == p->root && hint->arg == p->arg && hint->call == p->call && hint->where == p->where &&
         hint->n == n && memcmp(hint->offsets, p->offsets, n * sizeof *p->offsets) == 0;
}

/* The type that functions which are given the object take. */
static uint32_t hinted_type(const struct asker *a, const struct flow_path *p, unsigned n) {
  for (uint32_t i = 0; i < a->s->n_hints; i++) {
    const struct flow_hint *h = &a->s->hints[i];
    if (!h->target || !same_object(&h->path, p, n)) continue;
    uint32_t type = parameter_type(a->t, h->target, h->arg);
    if (is_structure(a->t, type)) return type;
  }
  return 0;
}

/* What the root of a path points to. */
static uint32_t root_type(const struct asker *a, const struct flow_path *p) {
  const struct targets *t = a->t;
  const struct flow_call *from = &a->s->calls[p->call];
  uint32_t type = 0;
  if (p->root == PATH_ARG) type = parameter_type(t, a->address, p->arg);
  if (p->root == PATH_CALL && from->kind == CALL_ADDRESS)
    type = types_pointee(t->types, types_return(t->types, function_type(t->types, name_at(t, from->target), true)));
  if (p->root == PATH_PERCPU) type = types_percpu(t->types, p->where);
  return type;
}

/* The call gives the object to the function that it finds through it: object->operations->function(object, ...). */
static bool gives_object(const struct asker *a, const struct flow_path *p, unsigned n, unsigned *ret_arg) {
  for (uint32_t i = 0; i < a->s->n_hints; i++) {
    const struct flow_hint *h = &a->s->hints[i];
    if (h->at != a->call->at || !same_object(&h->path, p, n)) continue;
    *ret_arg = h->arg;
    return true;
  }
  return false;
}

/* Follows the path from an object of TYPE that its first N loads lead to. */
static int follow_types(struct targets *t, uint32_t type, const struct flow_path *p, unsigned n, uint32_t *ret_owner,
                        unsigned *ret_stuck) {
  for (unsigned i = n; type && i < p->n; i++) {
    struct type_member m;
    *ret_stuck = i;
    if (p->offsets[i] < 0 || !types_member(t->types, type, (uint32_t)p->offsets[i], &m)) return 0;
    uint32_t to = types_pointee(t->types, m.type);
    if (i + 1 == p->n) {
      *ret_owner = type;
      return to && types_is_function(t->types, to);
    }
    type = is_structure(t, to) ? to : 0;
    *ret_stuck = i + 1;
  }
  return 0;
}

/*
 * Where no type is known: the structure whose function at the last offset takes, as argument ARG, an object that has a
 * pointer to that structure where the path says. 0 if there is none, or more than one.
 */
static uint32_t self_typed(struct targets *t, const struct flow_path *p, unsigned n, unsigned arg) {
  uint32_t found = 0, owner;
  unsigned stuck;
  size_t all = types_count(t->types);
  for (uint32_t u = 1; u < all; u++) {
    struct type_member m;
    if (!is_structure(t, u) || !types_member(t->types, u, (uint32_t)p->offsets[p->n - 1], &m)) continue;
    uint32_t function = types_pointee(t->types, m.type);
    if (!function || !types_is_function(t->types, function)) continue;
    uint32_t object = types_pointee(t->types, types_parameter(t->types, function, arg));
    if (!is_structure(t, object) || !follow_types(t, object, p, n, &owner, &stuck)) continue;
    if (types_key(t->types, owner) != types_key(t->types, u)) continue;
    if (found && types_key(t->types, found) != types_key(t->types, u)) return 0;
    found = u;
  }
  return found;
}

/* The structure that the path's last load is from; 0 if it is not known. */
static uint32_t last_owner(const struct asker *a, const struct flow_path *p) {
  uint32_t type = root_type(a, p), owner = 0;
  unsigned stuck = 0, arg;
  /* A variable of a processor, or what an argument points to, may be a pointer itself. */
  bool known = is_structure(a->t, type) || types_pointee(a->t->types, type);
  if (known && follow_types(a->t, type, p, 0, &owner, &stuck)) return owner;
  for (unsigned n = stuck; n < p->n; n++) {
    type = hinted_type(a, p, n);
    if (type && follow_types(a->t, type, p, n, &owner, &stuck)) return owner;
  }
  for (unsigned n = 0; n < p->n; n++) {
    if (p->n - n > 2 || p->offsets[p->n - 1] < 0 || !gives_object(a, p, n, &arg)) continue;
    uint64_t key = hash_mix(hash_mix((uint64_t)p->offsets[p->n - 1] * 8 + arg) + (uint64_t)p->offsets[n] * 2 +
                            (p->n - n)),
             u;
    if (!map_get(&a->t->self, key, &u)) {
      u = self_typed(a->t, p, n, arg);
      (void)map_put(&a->t->self, key, u);
    }
    if (u) return (uint32_t)u;
  }
  return 0;
}

static int answer_path(const struct asker *a, const struct flow_path *p, struct answer *ret) {
  *ret = (struct answer){0};
  struct targets *t = a->t;
  if (p->n == 0) return p->root == PATH_GLOBAL ? given(t, p->where, ret) : 0;
  if (p->root == PATH_GLOBAL && p->n == 1)
    return (p->indexed ? elements : variable)(t, p->where + (uint64_t)(int64_t)p->offsets[0], ret);
  if (p->root == PATH_GLOBAL && p->n == 2 && p->offsets[1] >= 0) {
    int r = hooks(t, p->where + (uint64_t)(int64_t)p->offsets[0], (uint32_t)p->offsets[1], ret);
    if (r < 0 || ret->n) return r;
  }
  uint32_t owner = t->types ? last_owner(a, p) : 0;
  return owner ? members(t, owner, (uint32_t)p->offsets[p->n - 1], ret) : 0;
}

static int by_target(const void *x, const void *y) {
  const struct flow_target *a = x, *b = y;
  if (a->function != b->function) return a->function < b->function ? -1 : 1;
  return (a->table > b->table) - (a->table < b->table);
}

int targets_of_call(struct targets *t, uint64_t address, const struct flow_summary *summary, uint32_t call,
                    const struct flow_target **ret) {
  const struct flow_call *c = &summary->calls[call];
  const struct asker a = {t, address, summary, c};
  struct answer answers[8];
  size_t n = 0, at = 0;
  unsigned filled = 0;
  for (unsigned i = 0; i < c->n_paths && i < COUNT(answers); i++) {
    int r = answer_path(&a, &c->paths[i], &answers[filled]);
    if (r < 0) return r;
    n += answers[filled++].n;
  }
  if (n == 0) return 0;
  struct flow_target *all = arena_alloc(&t->arena, n * sizeof *all);
  if (!all) return -ENOMEM;
  for (unsigned i = 0; i < filled; at += answers[i++].n)
    if (answers[i].n) memcpy(all + at, answers[i].at, answers[i].n * sizeof *all);
  qsort(all, n, sizeof *all, by_target);
  *ret = all;
  return (int)n;
}
