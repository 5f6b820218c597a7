/* SPDX-License-Identifier: Apache-2.0 */
/*
 * States of the walk: telling them apart, keeping them for later, and what becomes of them when a value is known.
 *
 * A state is told by a hash of all that is in it, but for the addresses of instructions, which are for people only.
 */
#include "flow/backward.h"

#include <string.h>

#define WORK_MAX (1u << 16)

static inline uint64_t mix(uint64_t h, uint64_t v) {
  h = (h ^ v) * 0x9fb21c651e98df25u;
  return h ^ h >> 29;
}

static uint64_t place_hash(uint64_t h, const struct flow_place *p) {
  h = mix(h, p->kind + p->arg * 8ull + p->raw * 2048ull + p->call * 65536ull);
  return mix(mix(h, p->where), (uint64_t)p->offset);
}

static uint64_t value_hash(uint64_t h, const struct flow_value *v) {
  h = mix(h, v->kind + v->arg * 256ull + v->call * 65536ull + ((uint64_t)v->raw << 40));
  return mix(mix(h, v->value), (uintptr_t)v->ops);
}

static uint64_t item_hash(uint64_t h, const struct item *i) {
  h = mix(h, i->role + i->index * 8ull + i->cc * 256ull + i->width * 65536ull + i->loc.kind * (1ull << 32));
  h = mix(mix(h, (uintptr_t)i->ops), i->imm);
  if (i->loc.kind == LOC_PLACE) return place_hash(h, &i->loc.place);
  return mix(h, i->loc.kind == LOC_REG ? i->loc.reg : (uint64_t)(uint32_t)i->loc.slot + 64);
}

static uint64_t outcome_hash(const struct state *s) {
  uint64_t h = value_hash(s->shared + s->narrow * 2ull, &s->ret);
  for (unsigned i = 0; i < s->n_guards; i++) {
    const struct flow_guard *g = &s->guards[i];
    h = mix(h, g->call + g->cc * 65536ull + g->width * (1ull << 32) + g->arg * (1ull << 40));
    h = mix(mix(h, (uintptr_t)g->ops), g->imm);
  }
  for (unsigned i = 0; i < s->n_stores; i++)
    h = value_hash(place_hash(h, &s->stores[i].place), &s->stores[i].value);
  return h;
}

static uint64_t state_hash(const struct state *s, uint32_t block) {
  uint64_t h = mix(outcome_hash(s),
                   block + ((uint64_t)s->n_items << 32) + ((uint64_t)s->n_passed << 40) + ((uint64_t)s->beyond << 48));
  for (unsigned i = 0; i < s->n_items; i++)
    h = item_hash(h, &s->items[i]);
  for (unsigned i = 0; i < s->n_pending; i++)
    h = mix(h, s->pending[i] + 77u);
  return mix(h, s->table_case);
}

/* There are one or two of each mostly, and to call memcpy takes longer than to copy these; an asm keeps loops loops. */
#define LISTS(name, type)                                                                                              \
  static inline void copy_##name(type *to, const type *from, unsigned n) {                                             \
    for (unsigned i = 0; i < n; i++) {                                                                                 \
      to[i] = from[i];                                                                                                 \
      __asm__("" : "+r"(i));                                                                                           \
    }                                                                                                                  \
  }
LISTS(items, struct item)
LISTS(guards, struct flow_guard)
LISTS(stores, struct flow_store)

void state_copy(struct state *to, const struct state *from) {
  memcpy(to, from, STATE_HEAD);
  copy_items(to->items, from->items, from->n_items);
  copy_guards(to->guards, from->guards, from->n_guards);
  copy_stores(to->stores, from->stores, from->n_stores);
}

#define WORDS(bytes) ((bytes) / sizeof(uint64_t))

/* What a state takes on the stack of work, in words: its lists, its head, and where it goes on. */
static size_t state_words(const struct state *s) {
  return WORDS(s->n_items * sizeof *s->items + s->n_guards * sizeof *s->guards + s->n_stores * sizeof *s->stores +
               STATE_HEAD) +
         1;
}

/* The head comes last, so that it is found from the top of the stack. */
void state_push(struct walk *w, uint32_t block, uint32_t position, const struct state *s) {
  size_t n = state_words(s);
  if (w->n_work >= WORK_MAX) { /* so many ways at once are more than the budget is meant for */
    w->steps = w->budget;
    return;
  }
  if (w->work.n + n > w->work.cap && vec_reserve(&w->work, w->work.n + n) < 0) {
    w->function.failed = true;
    return;
  }
  uint64_t *to = w->work.at + w->work.n;
  w->work.n += n;
  w->n_work++;
  copy_items((struct item *)to, s->items, s->n_items);
  to += WORDS(s->n_items * sizeof *s->items);
  copy_guards((struct flow_guard *)to, s->guards, s->n_guards);
  to += WORDS(s->n_guards * sizeof *s->guards);
  copy_stores((struct flow_store *)to, s->stores, s->n_stores);
  to += WORDS(s->n_stores * sizeof *s->stores);
  memcpy(to, s, STATE_HEAD);
  to[WORDS(STATE_HEAD)] = (uint64_t)block << 32 | position;
}

void state_pop(struct walk *w, struct work_item *ret) {
  struct state *s = &ret->state;
  const uint64_t *from = w->work.at + w->work.n - 1;
  ret->block = (uint32_t)(*from >> 32);
  ret->position = (uint32_t)*from;
  memcpy(s, from -= WORDS(STATE_HEAD), STATE_HEAD);
  copy_stores(s->stores, (const struct flow_store *)(from -= WORDS(s->n_stores * sizeof *s->stores)), s->n_stores);
  copy_guards(s->guards, (const struct flow_guard *)(from -= WORDS(s->n_guards * sizeof *s->guards)), s->n_guards);
  copy_items(s->items, (const struct item *)(from -= WORDS(s->n_items * sizeof *s->items)), s->n_items);
  w->work.n = (size_t)(from - w->work.at);
  w->n_work--;
}

void state_push_end(struct walk *w, uint32_t block, const struct state *s) {
  uint64_t h = state_hash(s, block);
  if (map_get(w->visited, h, NULL)) return;
  if (map_put(w->visited, h, 1) < 0) w->function.failed = true;
  state_push(w, block, w->function.code->blocks[block].n, s);
}

void state_add_guard(struct state *s, struct flow_guard g) {
  for (unsigned i = 0; i < s->n_guards; i++) {
    const struct flow_guard *h = &s->guards[i];
    if (h->call == g.call && h->arg == g.arg && h->cc == g.cc && h->ops == g.ops && h->imm == g.imm &&
        h->width == g.width)
      return;
  }
  if (s->n_guards < FLOW_GUARDS) s->guards[s->n_guards++] = g;
}

/* --- outcomes ----------------------------------------------------------------------------------------------------- */

void state_emit(struct walk *w, const struct state *s) {
  uint64_t h = outcome_hash(s);
  if (map_get(w->emitted, h, NULL) || w->outcomes.n >= OUTCOMES_MAX) return;
  struct flow_outcome o = {
      .ret = s->ret, .shared = s->shared, .narrow = s->narrow, .n_guards = s->n_guards, .n_stores = s->n_stores};
  struct arena *scratch = &w->function.worker->scratch; /* this walk may come to nothing */
  o.guards = s->n_guards ? arena_memdup(scratch, s->guards, s->n_guards * sizeof *s->guards) : NULL;
  o.stores = s->n_stores ? arena_memdup(scratch, s->stores, s->n_stores * sizeof *s->stores) : NULL;
  if (map_put(w->emitted, h, 1) < 0 || vec_push(&w->outcomes, o) < 0 || (s->n_guards && !o.guards) ||
      (s->n_stores && !o.stores))
    w->function.failed = true;
}

/* Is it errno? A pointer that a call gave is taken for errno's here: what it is comes out later. */
bool flow_store_is_errno(struct walk *w, const struct flow_store *s) {
  struct image_slot slot;
  if (s->place.size != 4 || s->place.offset != 0) return false;
  if (s->place.kind != PLACE_TLS || s->place.raw) return s->place.kind == PLACE_CALL;
  if (!image_slot(w->function.image, s->place.where, &slot)) return false;
  if (slot.name) return strcmp(slot.name, "errno") == 0;
  if (!w->errno_asked) w->errno_symbol = image_export(w->function.image, "errno", NULL);
  w->errno_asked = true;
  const struct image_symbol *e = w->errno_symbol;
  return e && e->kind == SYMBOL_TLS && e->address == slot.value;
}

/*
 * Is it a call whose first argument is another call's result, of which nothing is known yet? That call + 1, or
 * 0. Many functions return their first argument, as memset does, and what was asked of it before counts then.
 */
unsigned state_wanted(struct walk *w, const struct state *s) {
  if (s->ret.kind != VALUE_CALL || s->ret.call >= w->function.call_insn.n) return 0;
  struct flow_loc first = flow_loc_reg(code_argument_registers[0]);
  struct flow_value v = flow_origin(&w->function, w->function.call_insn.at[s->ret.call], &first);
  if (v.kind != VALUE_CALL || v.call == s->ret.call) return 0;
  for (unsigned i = 0; i < s->n_guards; i++)
    if (!s->guards[i].arg && s->guards[i].call == v.call && s->guards[i].cc != GUARD_PASSED) return 0;
  return v.call + 1u;
}

/* Is there nothing left to learn on this way? */
bool state_complete(struct walk *w, const struct state *s) {
  if (state_live(s)) return false;
  if (w->simple) return true;
  if (s->ret.kind == VALUE_CALL) /* what is set just before is part of it */
    return state_evidence(s) >= 1 && s->beyond && !state_wanted(w, s);
  if (s->ret.kind != VALUE_CONST) return true;
  if (state_evidence(s) >= w->guards) return true;
  for (unsigned i = 0; i < s->n_stores; i++)
    if (flow_store_is_errno(w, &s->stores[i])) return true;
  return false;
}

/* --- leaves ------------------------------------------------------------------------------------------------------- */

/* A predicate whose value is known. False if the way is impossible. */
bool state_settle_pred(struct walk *w, struct state *s, const struct item *p, struct flow_value v) {
  uint64_t x;
  bool pointer;
  switch (v.kind) {
  case VALUE_CONST:
    if (!flow_transform_apply(p->ops, w->function.image, v.value, &x, &pointer) || pointer) return true;
    return flow_condition_holds(p->cc, p->width, x, p->imm);
  case VALUE_ADDRESS:
  case VALUE_STACK:
  case VALUE_TLS:
    if (p->ops && p->ops->kind != XF_ZERO) return true;
    return !(p->cc == CC_E && p->imm == 0 && p->width == 8);
  case VALUE_CALL:
    state_add_guard(s, (struct flow_guard){v.call, 0, p->cc, p->width, p->ops, p->imm, p->at});
    return true;
  case VALUE_ARG: /* matters where the argument itself is returned */
    if (!flow_transform_loads(p->ops))
      state_add_guard(s, (struct flow_guard){UINT16_MAX, v.arg + 1, p->cc, p->width, p->ops, p->imm, p->at});
    return true;
  default:
    return true;
  }
}

/* The item's value is the leaf V. False if the way is impossible. */
bool state_settle(struct walk *w, struct state *s, const struct item *i, struct flow_value v) {
  if (i->role == ROLE_PRED) return state_settle_pred(w, s, i, v);
  if (v.kind == VALUE_IMPOSSIBLE) return false;
  v = value_finish(&w->function, v, i->ops);
  if (i->role == ROLE_RET)
    s->ret = v;
  else
    s->stores[i->index].value = v;
  return true;
}
