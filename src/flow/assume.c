/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A function as it is for callers that give it constants: the branches that these decide are decided.
 *
 * In a kernel one function often does several things, and an argument says which: read or write, look up or create.
 * Constants are carried forward from the entry through registers and the stack, along the edges that they leave open;
 * what is not reached is cut off, and the walk backward then sees a smaller function.
 */
#include "flow/assume.h"

#include <string.h>

#define SLOTS 12
#define LOCAL_MAX 128 /* bytes of a local variable whose address is taken: others may change them */
#define ROUNDS_MAX 40 /* for each block, of visits */

/* What is known of a value: a constant, and the arguments that it is made of. */
struct fact {
  bool known;
  uint8_t args;
  uint64_t value;
};

struct facts {
  bool reached;
  uint8_t n_slots;
  struct fact reg[REGISTERS];
  struct {
    int32_t at;
    uint8_t size;
    struct fact fact;
  } slots[SLOTS];
};

/* What the flags were made of; only what a condition can be asked about. */
struct flags {
  bool known;
  bool result; /* of an addition: only zero and sign can be asked for */
  uint8_t width;
  uint64_t a, b;
};

struct forward {
  const struct code *code;
  struct facts *at; /* before each block */
  uint16_t *visits;
  const uint32_t *first, *edges; /* the ways out of each block, as numbers of edges */
  const uint32_t *to;            /* where each edge leads */
  uint8_t deciding;              /* arguments that a branch asks for, or that are given to others */
};

static const struct fact nothing;

static uint64_t low(uint64_t v, unsigned size) { return size >= 8 ? v : v & ((1ull << (size * 8)) - 1); }

/* --- facts -------------------------------------------------------------------------------------------------------- */

static struct fact fact_meet(struct fact a, struct fact b) {
  a.known = a.known && b.known && a.value == b.value;
  a.args |= b.args;
  return a;
}

static bool fact_equal(const struct fact *a, const struct fact *b) {
  return a->known == b->known && a->args == b->args && (!a->known || a->value == b->value);
}

static struct fact slot_get(const struct facts *f, int32_t at, unsigned size) {
  for (unsigned i = 0; i < f->n_slots; i++)
    if (f->slots[i].at == at && f->slots[i].size >= size) return f->slots[i].fact;
  return nothing;
}

/* SIZE 0: it is not known, and large. What the store overlaps is forgotten. */
static void slot_set(struct facts *f, int32_t at, unsigned size, struct fact fact) {
  int32_t end = at + (int32_t)(size ? size : 64);
  unsigned kept = 0;
  for (unsigned i = 0; i < f->n_slots; i++)
    if (f->slots[i].at >= end || f->slots[i].at + f->slots[i].size <= at) f->slots[kept++] = f->slots[i];
  f->n_slots = (uint8_t)kept;
  if (f->n_slots == SLOTS || size == 0 || (!fact.known && !fact.args)) return;
  f->slots[f->n_slots].at = at;
  f->slots[f->n_slots].size = (uint8_t)size;
  f->slots[f->n_slots++].fact = fact;
}

/* Changes TO to what holds on both ways; true if it changed. */
static bool facts_meet(struct facts *to, const struct facts *from) {
  bool changed = false;
  if (!to->reached) {
    *to = *from;
    return true;
  }
  for (unsigned i = 0; i < REGISTERS; i++) {
    struct fact m = fact_meet(to->reg[i], from->reg[i]);
    changed |= !fact_equal(&m, &to->reg[i]);
    to->reg[i] = m;
  }
  for (unsigned i = 0; i < to->n_slots; i++) {
    struct fact m = fact_meet(to->slots[i].fact, slot_get(from, to->slots[i].at, to->slots[i].size));
    changed |= !fact_equal(&m, &to->slots[i].fact);
    to->slots[i].fact = m;
  }
  return changed;
}

/* --- one instruction ---------------------------------------------------------------------------------------------- */

static struct fact operand(const struct facts *f, const struct insn *in, uint8_t kind, uint8_t reg, unsigned size) {
  int32_t slot;
  struct fact v = nothing;
  if (kind == OPERAND_IMM) v = (struct fact){.known = true, .value = (uint64_t)in->imm};
  if (kind == OPERAND_REG) v = f->reg[reg];
  if (kind == OPERAND_MEM && insn_slot(in, &slot)) v = slot_get(f, slot, size);
  v.value = low(v.value, size);
  return v;
}

static bool compute(uint8_t op, uint64_t a, uint64_t b, uint64_t *ret) {
  switch (op) {
  case OP_ADD:
    *ret = a + b;
    return true;
  case OP_SUB:
    *ret = a - b;
    return true;
  case OP_AND:
    *ret = a & b;
    return true;
  case OP_OR:
    *ret = a | b;
    return true;
  case OP_XOR:
    *ret = a ^ b;
    return true;
  case OP_SHL:
    *ret = b < 64 ? a << b : 0;
    return true;
  case OP_SHR:
    *ret = b < 64 ? a >> b : 0;
    return true;
  default:
    return false;
  }
}

/* May the slot be part of a variable whose address is known elsewhere? */
static bool exposed(const struct code *c, int32_t slot) {
  for (uint32_t i = 0; i < c->n_escaped && c->escaped[i] <= slot; i++)
    if (slot - c->escaped[i] < LOCAL_MAX) return true;
  return false;
}

static void put(const struct forward *w, struct facts *f, const struct insn *in, struct fact v) {
  int32_t slot;
  if (in->size < 4) v = nothing;
  v.value = low(v.value, in->size);
  if (in->dst_kind == OPERAND_REG && in->dst < REGISTERS) f->reg[in->dst] = v;
  if (in->dst_kind == OPERAND_MEM && insn_slot(in, &slot))
    slot_set(f, slot, in->size, exposed(w->code, slot) ? nothing : v);
}

static struct fact moved(const struct facts *f, const struct insn *in) {
  struct fact v = operand(f, in, in->src_kind, in->src, in->from_size);
  if (in->flags & INSN_SIGNED && in->from_size < 8) {
    unsigned shift = 64 - 8u * in->from_size;
    v.value = (uint64_t)((int64_t)(v.value << shift) >> shift);
  }
  return v;
}

static struct fact combined(const struct facts *f, const struct insn *in) {
  struct fact a = operand(f, in, in->dst_kind, in->dst, in->size), b = nothing, v = nothing;
  bool same = in->src_kind == OPERAND_REG && in->dst_kind == OPERAND_REG && in->src == in->dst;
  if (same && (in->op == OP_XOR || in->op == OP_SUB)) return (struct fact){.known = true};
  b = operand(f, in, in->src_kind, in->src, in->size);
  if (a.known || b.known || same) v.args = a.args | b.args;
  v.known = a.known && b.known && compute(in->op, a.value, b.value, &v.value);
  v.value = low(v.value, in->size);
  /* Whatever the other is, these are decided. */
  if (in->op == OP_AND && ((a.known && a.value == 0) || (b.known && b.value == 0)))
    return (struct fact){.known = true, .args = v.args};
  return v;
}

static void set_flags(struct forward *w, const struct facts *f, const struct insn *in, struct flags *ret) {
  *ret = (struct flags){.width = in->size};
  if (in->flags & INSN_HIGH) return;
  struct fact a = operand(f, in, in->dst_kind, in->dst, in->size), b = operand(f, in, in->src_kind, in->src, in->size);
  bool same = in->src_kind == OPERAND_REG && in->dst_kind == OPERAND_REG && in->src == in->dst;
  if (a.known || b.known || same) w->deciding |= a.args | b.args;
  switch (in->op) {
  case OP_CMP:
  case OP_SUB:
    ret->known = a.known && b.known;
    ret->a = a.value;
    ret->b = b.value;
    break;
  case OP_TEST:
    ret->known = (a.known && b.known) || (a.known && !a.value) || (b.known && !b.value);
    ret->a = a.known && b.known ? a.value & b.value : 0;
    break;
  case OP_AND:
  case OP_OR:
  case OP_XOR:
  case OP_ADD: {
    struct fact v = combined(f, in);
    ret->known = v.known;
    ret->a = v.value;
    ret->result = in->op == OP_ADD;
    break;
  }
  default:
    break;
  }
}

static void give_arguments(struct forward *w, const struct facts *f) {
  for (unsigned k = 0; k < FLOW_ARGS; k++)
    w->deciding |= f->reg[code_argument_registers[k]].args;
}

static void step(struct forward *w, struct facts *f, const struct insn *in, struct flags *flags) {
  if (in->op == OP_CALL || in->op == OP_TAIL) give_arguments(w, f);
  /* A function that is given to be called. */
  if ((in->op == OP_CALL_INDIRECT || in->op == OP_TAIL_INDIRECT) && in->dst_kind == OPERAND_REG)
    w->deciding |= f->reg[in->dst].args;
  if (in->flags & INSN_SETS_FLAGS) set_flags(w, f, in, flags);
  struct fact v = nothing;
  switch (in->op) {
  case OP_MOVE:
    put(w, f, in, moved(f, in));
    return;
  case OP_ADD:
  case OP_SUB:
  case OP_AND:
  case OP_OR:
  case OP_XOR:
  case OP_SHL:
  case OP_SHR:
    put(w, f, in, combined(f, in));
    return;
  case OP_PUSH:
    if (in->dst_kind == OPERAND_REG) v = f->reg[in->dst];
    if (in->sp != SP_UNKNOWN) slot_set(f, in->sp - 8, 8, v);
    return;
  case OP_POP:
    if (in->sp != SP_UNKNOWN) v = slot_get(f, in->sp, 8);
    if (in->dst_kind == OPERAND_REG) f->reg[in->dst] = v;
    return;
  default:
    break;
  }
  for (unsigned r = 0; r < REGISTERS; r++)
    if (in->defs & REG_BIT(r)) f->reg[r] = nothing;
  int32_t slot;
  if (in->flags & INSN_WRITES_MEM && insn_slot(in, &slot)) slot_set(f, slot, in->size, nothing);
}

/* --- branches ----------------------------------------------------------------------------------------------------- */

static bool can_ask(const struct flags *f, uint8_t cc) {
  if (!f->known || cc < CC_B || cc == CC_P || cc == CC_NP) return false;
  uint8_t pair = cc & ~1;
  return !f->result || pair == CC_E || pair == CC_S;
}

/* FACTS, before the block, become those at its end, with the flags there. */
static void leave(struct forward *w, uint32_t block, struct facts *facts, struct flags *flags) {
  const struct block *b = &w->code->blocks[block];
  *flags = (struct flags){0};
  for (uint32_t i = 0; i < b->n; i++)
    step(w, facts, &w->code->insns[b->first + i], flags);
}

/* Can control go along the edge? */
static bool open(const struct forward *w, const struct edge *e, const struct flags *flags) {
  const struct block *b = &w->code->blocks[e->from];
  const struct insn *last = &w->code->insns[b->first + b->n - 1];
  if (e->kind != EDGE_TAKEN && e->kind != EDGE_FALL) return true;
  if (!can_ask(flags, last->cc)) return true;
  return flow_condition_holds(last->cc, flags->width, flags->a, flags->b) == (e->kind == EDGE_TAKEN);
}

/* --- the function ------------------------------------------------------------------------------------------------- */

/* The ways out of blocks: edges are kept by their target. */
static int ways_out(struct forward *w, struct arena *arena) {
  const struct code *c = w->code;
  uint32_t *first = arena_zalloc(arena, (c->n_blocks + 2) * sizeof *first);
  uint32_t *edges = arena_alloc(arena, (c->n_edges + 1) * sizeof *edges);
  uint32_t *to = arena_alloc(arena, (c->n_edges + 1) * sizeof *to);
  if (!first || !edges || !to) return -1;
  for (uint32_t b = 0; b < c->n_blocks; b++)
    for (uint32_t i = 0; i < c->blocks[b].n_preds; i++) {
      to[c->blocks[b].preds + i] = b;
      first[c->edges[c->blocks[b].preds + i].from + 1]++;
    }
  for (uint32_t b = 0; b < c->n_blocks; b++)
    first[b + 1] += first[b];
  uint32_t *fill = arena_memdup(arena, first, (c->n_blocks + 1) * sizeof *fill);
  if (!fill) return -1;
  for (uint32_t e = 0; e < c->n_edges; e++)
    edges[fill[c->edges[e].from]++] = e;
  w->first = first;
  w->edges = edges;
  w->to = to;
  return 0;
}

/* Brings the facts before all blocks to a fixed point; false if it takes too long or there is no memory. */
static bool run(struct forward *w, const struct flow_assume *assume, struct arena *arena) {
  const struct code *c = w->code;
  uint32_t *work = arena_alloc(arena, (c->n_blocks + 1) * sizeof *work), n = 0;
  bool *queued = arena_zalloc(arena, c->n_blocks + 1);
  w->at = arena_zalloc(arena, (c->n_blocks + 1) * sizeof *w->at);
  w->visits = arena_zalloc(arena, (c->n_blocks + 1) * sizeof *w->visits);
  if (!work || !queued || !w->at || !w->visits || ways_out(w, arena) < 0) return false;
  struct facts *entry = &w->at[c->entry_block];
  entry->reached = true;
  for (unsigned k = 0; k < FLOW_ARGS; k++) {
    struct fact *f = &entry->reg[code_argument_registers[k]];
    f->args = (uint8_t)(1u << k);
    f->known = assume && assume->known >> k & 1;
    if (f->known) f->value = assume->values[k];
  }
  work[n++] = c->entry_block;
  while (n) {
    uint32_t b = work[--n];
    struct facts facts = w->at[b];
    struct flags flags;
    queued[b] = false;
    if (++w->visits[b] > ROUNDS_MAX) return false;
    leave(w, b, &facts, &flags);
    for (uint32_t i = w->first[b]; i < w->first[b + 1]; i++) {
      uint32_t to = w->to[w->edges[i]];
      if (!open(w, &c->edges[w->edges[i]], &flags) || !facts_meet(&w->at[to], &facts) || queued[to]) continue;
      queued[to] = true;
      work[n++] = to;
    }
  }
  return true;
}

uint8_t flow_assume_deciding(const struct code *c, struct arena *arena) {
  struct forward w = {.code = c};
  return run(&w, NULL, arena) ? w.deciding : 0;
}

int assume_prune(struct code *c, const struct flow_assume *assume, struct arena *arena) {
  struct forward w = {.code = c};
  if (!run(&w, assume, arena)) return 0;
  struct edge *edges = arena_alloc(arena, (c->n_edges + 1) * sizeof *edges);
  uint32_t n = 0;
  if (!edges) return -1;
  for (uint32_t b = 0; b < c->n_blocks; b++) {
    uint32_t first = n;
    for (uint32_t i = 0; i < c->blocks[b].n_preds; i++) {
      const struct edge *e = &c->edges[c->blocks[b].preds + i];
      struct facts facts = w.at[e->from];
      struct flags flags;
      if (!facts.reached) continue;
      leave(&w, e->from, &facts, &flags);
      if (open(&w, e, &flags)) edges[n++] = *e;
    }
    c->blocks[b].preds = first;
    c->blocks[b].n_preds = n - first;
  }
  c->edges = edges;
  c->n_edges = n;
  return 0;
}
