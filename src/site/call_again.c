/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls whose question was asked before: the same function with the same arguments, whose answer was looked at, and
 * the way to the second call leads through the success of the first. "if (getenv(x)) use(getenv(x))" is one, unless
 * what the argument points to is set in between, or a call there ends what was answered, as unsetenv does.
 */
#include "site/site_program.h"

#include <errno.h>
#include <string.h>

#define ARGUMENTS 2 /* of the functions that data/relevance names */

struct asking {
  const struct program *p;
  struct worker *w;
  struct follow_graph *g;
  const struct code *code;
  uint8_t *seen;
  uint32_t *todo;
};

/* --- the same arguments ------------------------------------------------------------------------------------------- */

static bool value_of(const struct asking *a, uint32_t insn, unsigned arg, struct flow_value *ret) {
  return follow_graph_argument(a->g, insn, arg, ret) || follow_graph_sources(a->g, insn, arg, ret, 1) == 1;
}

/* Is the argument known, and the same, at both calls? */
static bool same_argument(const struct asking *a, uint32_t x, uint32_t y, unsigned arg) {
  struct flow_value v = {0}, w = {0};
  int64_t slot, other;
  if (follow_graph_same_argument(a->g, x, arg, y, arg)) return true;
  if (!value_of(a, x, arg, &v) || !value_of(a, y, arg, &w) || v.kind != w.kind) return false;
  if (v.kind == VALUE_STACK)
    return clock_given_slot(a->g, x, arg, &slot) && clock_given_slot(a->g, y, arg, &other) && slot == other;
  if (v.kind == VALUE_MEMORY || v.kind == VALUE_COMPUTED || v.kind == VALUE_UNDEFINED) return false; /* any one */
  return v.value == w.value && v.raw == w.raw && v.arg == w.arg && v.call == w.call && v.ops == w.ops;
}

static bool same_arguments(const struct asking *a, const struct import *m, uint32_t x, uint32_t y) {
  int n = profile_facts_roles(a->p->facts, m->written).arguments;
  if (n < 1 || n > ARGUMENTS) return false;
  for (unsigned i = 0; i < (unsigned)n; i++)
    if (!same_argument(a, x, y, i)) return false;
  return true;
}

/* --- the way ------------------------------------------------------------------------------------------------------ */

/* Does a way lead from the entry to block TO that takes no edge out of E's block but the failing one? */
static bool leads_past(const struct asking *a, const struct failing *e, uint32_t to) {
  uint32_t n_todo = 0, start = a->code->entry_block;
  memset(a->seen, 0, a->code->n_blocks);
  a->seen[start] = 1;
  for (a->todo[n_todo++] = start; n_todo > 0 && !a->seen[to];) {
    uint32_t block = a->todo[--n_todo];
    const uint32_t *next;
    const uint8_t *kinds;
    uint32_t n = follow_graph_next(a->g, block, &next, &kinds);
    for (uint32_t i = 0; i < n; i++) {
      if (a->seen[next[i]] || (block == e->block && kinds[i] != e->kind)) continue;
      a->seen[next[i]] = 1;
      a->todo[n_todo++] = next[i];
    }
  }
  return a->seen[to];
}

/* --- what happens in between -------------------------------------------------------------------------------------- */

/* Where INSN is in the block, from FROM on; past its end if it is not. */
static uint32_t position(uint32_t insn, uint32_t from, uint32_t end) { return insn >= from && insn < end ? insn : end; }

/* Does a way lead from behind FROM to the call TO that does not pass the call ASKED? */
static bool leads_without(const struct asking *a, uint32_t from, uint32_t to, uint32_t asked) {
  uint32_t n_todo = 0, block = follow_graph_block(a->g, from), at = from + 1;
  memset(a->seen, 0, a->code->n_blocks);
  for (;;) {
    const struct block *b = &a->code->blocks[block];
    uint32_t end = b->first + b->n, here = position(to, at, end), stop = position(asked, at, end);
    if (here < stop) return true;
    const uint32_t *next;
    uint32_t n = stop < end ? 0 : follow_graph_next(a->g, block, &next, NULL);
    for (uint32_t i = 0; i < n; i++) {
      if (a->seen[next[i]]) continue;
      a->seen[next[i]] = 1;
      a->todo[n_todo++] = next[i];
    }
    if (!n_todo) return false;
    block = a->todo[--n_todo];
    at = a->code->blocks[block].first;
  }
}

/* What an argument points to, as far as it can be seen that it is set. */
struct pointee {
  struct flow_value value;
  int64_t slot;
  bool on_stack;
  uint32_t insn; /* the call that it is argument ARG of */
  unsigned arg;
};

#define LOOKED_AT 8 /* bytes behind the pointer */

static bool overlaps(int64_t at, unsigned size, int64_t start) { return at < start + LOOKED_AT && at + size > start; }

static bool is_stored_to(const struct asking *a, uint32_t insn, const struct pointee *p) {
  const struct insn *in = &a->code->insns[insn];
  int32_t slot;
  if (!(in->flags & INSN_WRITES_MEM)) return false;
  if (p->on_stack) return insn_slot(in, &slot) && overlaps(slot, in->size, p->slot);
  if (p->value.kind == VALUE_ADDRESS)
    return in->base == NO_REG && in->index == NO_REG && overlaps(in->disp, in->size, (int64_t)p->value.value);
  return follow_graph_is_behind(a->g, insn, &p->value) && overlaps(in->disp, in->size, 0);
}

/* Does the call get the address of the variable? Names in other memory are given to many who only read them. */
static bool is_given(const struct asking *a, uint32_t insn, const struct pointee *p) {
  for (unsigned i = 0; i < FLOW_ARGS; i++) {
    struct flow_value v;
    int64_t slot;
    if (p->on_stack && clock_given_slot(a->g, insn, i, &slot) && slot == p->slot) return true;
    if (p->on_stack && follow_graph_same_argument(a->g, p->insn, p->arg, insn, i)) return true;
    bool fixed = p->value.kind == VALUE_ADDRESS && follow_graph_argument(a->g, insn, i, &v);
    if (fixed && v.kind == VALUE_ADDRESS && v.raw == p->value.raw && v.value == p->value.value) return true;
  }
  return false;
}

#define NAME_LONG 256 /* names that are alike so far are the same */

/* Is the name that the call ends another one than that which is asked for? */
static bool is_other_name(const struct asking *a, uint32_t insn, const struct import *ends, uint32_t asked) {
  struct flow_value v, w;
  if (profile_facts_roles(a->p->facts, ends->written).arguments < 1) return false; /* it ends all */
  if (!follow_graph_argument(a->g, insn, 0, &v) || !follow_graph_argument(a->g, asked, 0, &w)) return false;
  if (v.kind != VALUE_ADDRESS || w.kind != VALUE_ADDRESS || v.raw || w.raw) return false;
  for (unsigned i = 0; i < NAME_LONG; i++) {
    const uint8_t *x = image_bytes(a->code->image, v.value + i, 1), *y = image_bytes(a->code->image, w.value + i, 1);
    if (!x || !y) return false;
    if (*x != *y) return true;
    if (!*x) return false;
  }
  return false;
}

static bool is_ended_by(const struct asking *a, uint32_t insn, const struct import *m, uint32_t asked) {
  struct flow_call c = follow_graph_call(a->g, insn);
  const struct import *other = c.kind == CALL_SLOT ? site_program_import(a->p, c.target) : NULL;
  return other && relevance_ends_again(a->p->relevance, m->written, other->written) &&
         !is_other_name(a, insn, other, asked);
}

/* Is something done between the calls ASKED and INSN that may change the answer? */
static bool is_changed(const struct asking *a, const struct import *m, uint32_t asked, uint32_t insn) {
  struct pointee p[ARGUMENTS];
  unsigned n = 0;
  for (unsigned i = 0; i < (unsigned)profile_facts_roles(a->p->facts, m->written).arguments; i++) {
    p[n] = (struct pointee){.insn = asked, .arg = i};
    p[n].on_stack = clock_given_slot(a->g, asked, i, &p[n].slot);
    if (!value_of(a, asked, i, &p[n].value)) p[n].value.kind = VALUE_NONE;
    bool fixed = p[n].value.kind == VALUE_ADDRESS && image_is_readonly(a->code->image, p[n].value.value);
    if (p[n].value.kind == VALUE_STACK && !p[n].on_stack) return true; /* which variable it is, is not known */
    if (!fixed && p[n].value.kind != VALUE_CONST) n++;
  }
  for (uint32_t i = 0; i < a->code->n_insns; i++) {
    bool calls = insn_calls(&a->code->insns[i]), changes = calls && is_ended_by(a, i, m, insn);
    if (i == asked || i == insn) continue;
    for (unsigned k = 0; k < n && !changes; k++)
      changes = calls ? is_given(a, i, &p[k]) : is_stored_to(a, i, &p[k]);
    if (changes && leads_without(a, i, insn, asked)) return true;
  }
  return false;
}

static bool was_asked(const struct asking *a, const struct found *f, const failing_vec *edges, size_t first) {
  const struct import *m = &a->p->imports.at[f->import];
  uint32_t here, there;
  if (!code_find(a->code, f->at, &here)) return false;
  for (size_t i = 0; i < edges->n; i++) {
    const struct failing *e = &edges->at[i];
    const struct found *other = e->site >= first && e->site < a->w->found.n ? &a->w->found.at[e->site] : NULL;
    if (!other || other == f || other->import != f->import || !code_find(a->code, other->at, &there)) continue;
    if (!same_arguments(a, m, here, there) || leads_past(a, e, follow_graph_block(a->g, here))) continue;
    if (!is_changed(a, m, there, here)) return true;
  }
  return false;
}

int again_find(const struct program *p, struct worker *w, struct follow_graph *g, const failing_vec *edges,
               size_t first) {
  struct asking a = {.p = p, .w = w, .g = g, .code = follow_graph_code(g)};
  for (size_t i = first; i < w->found.n && edges->n; i++) {
    struct found *f = &w->found.at[i];
    if (!relevance_again(p->relevance, p->imports.at[f->import].written)) continue;
    if (!a.seen) a.seen = arena_alloc(&w->flow.scratch, a.code->n_blocks + 1);
    if (!a.todo) a.todo = arena_alloc(&w->flow.scratch, (a.code->n_blocks + 1) * sizeof *a.todo);
    if (!a.seen || !a.todo) return -ENOMEM;
    f->again = was_asked(&a, f, edges, first);
  }
  return 0;
}
