/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a pointer to a function came from: which argument, call or variable, through which members of which objects.
 *
 * This is asked for calls through pointers in kernels, where types tell what the members are. Backward from the call,
 * through copies and the stack, each load from memory adds its offset; where ways meet, all are followed, and the first
 * few different answers are kept.
 */
#include "flow/backward.h"

#include <string.h>

#define TRACES 24
#define PATHS_MAX 3
#define BLOCKS_MAX 120
#define HINTS_MAX 400
#define HINT_ARGS 3

struct trace {
  uint32_t block, position;
  struct flow_loc loc;
  uint8_t n;
  bool indexed;               /* something that is not known was added to the address of the newest load */
  int32_t offsets[FLOW_PATH]; /* the last load first */
};

struct search {
  struct flow_function *f;
  struct trace todo[TRACES];
  uint64_t seen[BLOCKS_MAX];
  unsigned n_todo, n_seen, n_paths;
  bool objects; /* not only functions are looked for */
  struct flow_path paths[PATHS_MAX];
};

static bool path_equal(const struct flow_path *a, const struct flow_path *b) {
  return a->root == b->root && a->arg == b->arg && a->call == b->call && a->where == b->where && a->n == b->n &&
         a->indexed == b->indexed && memcmp(a->offsets, b->offsets, a->n * sizeof *a->offsets) == 0;
}

static void found(struct search *s, const struct trace *t, struct flow_path p) {
  bool fixed = p.root == PATH_GLOBAL && !image_is_mapped(s->f->image, p.where);
  bool function = p.root == PATH_GLOBAL && image_function_at(s->f->image, p.where);
  if (fixed || (t->n == 0 && p.root != PATH_ARG && !function && !s->objects)) return;
  p.n = t->n;
  p.indexed = t->indexed;
  for (unsigned i = 0; i < t->n; i++)
    p.offsets[i] = t->offsets[t->n - 1 - i];
  for (unsigned i = 0; i < s->n_paths; i++)
    if (path_equal(&s->paths[i], &p)) return;
  if (s->n_paths < PATHS_MAX) s->paths[s->n_paths++] = p;
}

static void push(struct search *s, const struct trace *t) {
  /* Going round a loop once more would only follow a list's links. */
  uint64_t key = hash_mix(hash_mix(flow_loc_hash(&t->loc) ^ t->block) + t->position);
  for (unsigned i = 0; i < s->n_seen; i++)
    if (s->seen[i] == key) return;
  if (s->n_seen == BLOCKS_MAX || s->n_todo == TRACES) return;
  s->seen[s->n_seen++] = key;
  s->todo[s->n_todo++] = *t;
}

static bool add_offset(struct trace *t, int64_t by) {
  if (t->n == 0 || by > INT32_MAX / 4 || by < INT32_MIN / 4) return false;
  int64_t sum = t->offsets[t->n - 1] + by;
  if (sum > INT32_MAX || sum < INT32_MIN) return false;
  t->offsets[t->n - 1] = (int32_t)sum;
  return true;
}

/* Is the memory operand at a fixed address, but for an index? In kernels that may be in the base as well. */
static bool is_absolute(const struct search *s, const struct insn *in) {
  return in->base == NO_REG || image_is_mapped(s->f->image, (uint64_t)in->disp);
}

static bool load(struct search *s, struct trace *t, const struct insn *in) {
  int32_t slot;
  if (insn_slot(in, &slot)) {
    t->loc = (struct flow_loc){.kind = LOC_SLOT, .slot = slot, .size = 8};
    return true;
  }
  if (t->n == FLOW_PATH) return false;
  t->indexed = in->index != NO_REG;
  if (is_absolute(s, in)) {
    t->indexed |= in->base != NO_REG;
    struct flow_path p = {.root = in->flags & INSN_FS ? PATH_PERCPU : PATH_GLOBAL, .where = (uint64_t)in->disp};
    t->offsets[t->n++] = 0;
    found(s, t, p);
    return false;
  }
  if (in->disp > INT32_MAX || in->disp < INT32_MIN) return false;
  t->offsets[t->n++] = (int32_t)in->disp;
  t->loc = flow_loc_reg(in->base);
  return true;
}

static bool step_move(struct search *s, struct trace *t, const struct insn *in) {
  if (in->src_kind == OPERAND_IMM) {
    found(s, t, (struct flow_path){.root = PATH_GLOBAL, .where = (uint64_t)in->imm});
    return false;
  }
  if (in->size != 8 || in->from_size != 8) return false;
  if (in->src_kind == OPERAND_MEM) return load(s, t, in);
  t->loc = flow_loc_reg(in->src);
  return true;
}

static bool step_lea(struct search *s, struct trace *t, const struct insn *in) {
  if (in->index != NO_REG) t->indexed = true;
  if (is_absolute(s, in)) {
    t->indexed |= in->base != NO_REG;
    found(s, t, (struct flow_path){.root = PATH_GLOBAL, .where = (uint64_t)in->disp});
    return false;
  }
  if (in->size != 8) return false;
  t->loc = flow_loc_reg(in->base);
  return add_offset(t, in->disp);
}

/* In kernels the address of an array is a number that is added to an index. */
static bool step_add(struct search *s, struct trace *t, const struct insn *in) {
  if (in->src_kind != OPERAND_IMM) {
    t->indexed = true;
    return t->n > 0;
  }
  if (in->op == OP_SUB) return add_offset(t, -in->imm);
  if (in->size != 8 || !image_is_mapped(s->f->image, (uint64_t)in->imm)) return add_offset(t, in->imm);
  t->indexed = true;
  found(s, t, (struct flow_path){.root = PATH_GLOBAL, .where = (uint64_t)in->imm});
  return false;
}

/* One instruction that changes where the value is. False if the trace ends. */
static bool step(struct search *s, struct trace *t, uint32_t insn) {
  const struct insn *in = &s->f->code->insns[insn];
  switch (in->op) {
  case OP_MOVE:
    return step_move(s, t, in);
  case OP_LEA:
    return step_lea(s, t, in);
  case OP_ADD:
  case OP_SUB:
    return step_add(s, t, in);
  case OP_AND: /* flags in the low bits of a pointer */
    return in->src_kind == OPERAND_IMM && in->imm < 0;
  case OP_CMOV:
    if (in->src_kind == OPERAND_REG) {
      struct trace other = *t;
      other.loc = flow_loc_reg(in->src);
      other.position = insn - s->f->code->blocks[t->block].first;
      push(s, &other);
    }
    return true;
  case OP_POP:
    if (in->sp == SP_UNKNOWN) return false;
    t->loc = (struct flow_loc){.kind = LOC_SLOT, .slot = in->sp, .size = 8};
    return true;
  case OP_PUSH:
    if (in->dst_kind != OPERAND_REG) return false;
    t->loc = flow_loc_reg(in->dst);
    return true;
  case OP_CALL:
  case OP_CALL_SLOT:
  case OP_CALL_INDIRECT:
    if (t->loc.reg == RAX)
      found(s, t, (struct flow_path){.root = PATH_CALL, .call = (uint16_t)flow_call_number(s->f, insn)});
    return false;
  default:
    return false;
  }
}

static bool concerns(const struct trace *t, const struct insn *in) {
  int32_t slot;
  if (t->loc.kind == LOC_REG) {
    if (in->op == OP_PUSH) return false;
    if (in->op == OP_POP) return in->dst_kind == OPERAND_REG && in->dst == t->loc.reg;
    return in->defs & REG_BIT(t->loc.reg);
  }
  if (in->op == OP_PUSH) return in->sp != SP_UNKNOWN && in->sp - 8 == t->loc.slot;
  return in->flags & INSN_WRITES_MEM && insn_slot(in, &slot) && slot == t->loc.slot;
}

static void at_entry(struct search *s, const struct trace *t) {
  struct flow_value v = value_at_entry(s->f, &t->loc);
  if (v.kind == VALUE_ARG) found(s, t, (struct flow_path){.root = PATH_ARG, .arg = v.arg});
  if (v.kind == VALUE_CONST) found(s, t, (struct flow_path){.root = PATH_GLOBAL, .where = v.value});
}

static void follow(struct search *s, struct trace t) {
  const struct code *c = s->f->code;
  const struct block *b = &c->blocks[t.block];
  for (uint32_t i = t.position; i-- > 0;)
    if (concerns(&t, &c->insns[b->first + i]) && !step(s, &t, b->first + i)) return;
  if (t.block == c->entry_block) at_entry(s, &t);
  for (uint32_t i = 0; i < b->n_preds; i++) {
    struct trace next = t;
    next.block = c->edges[b->preds + i].from;
    next.position = c->blocks[next.block].n;
    push(s, &next);
  }
}

static void run(struct search *s, struct trace t) {
  for (follow(s, t); s->n_todo && s->n_paths < PATHS_MAX;)
    follow(s, s->todo[--s->n_todo]);
}

unsigned path_find(struct flow_function *f, uint32_t insn, const struct flow_path **ret) {
  const struct insn *in = &f->code->insns[insn];
  struct search s = {.f = f};
  uint32_t block = code_block_of(f->code, insn);
  struct trace t = {.block = block, .position = insn - f->code->blocks[block].first};
  bool known = in->dst_kind == OPERAND_REG;
  if (known)
    t.loc = flow_loc_reg(in->dst);
  else
    known = in->dst_kind == OPERAND_MEM && load(&s, &t, in);
  if (known) run(&s, t);
  if (s.n_paths == 0) return 0;
  *ret = arena_memdup(&f->worker->keep, s.paths, s.n_paths * sizeof *s.paths);
  if (*ret) return s.n_paths;
  f->failed = true;
  return 0;
}

/* --- objects that are given to functions -------------------------------------------------------------------------- */

static bool object_path(struct flow_function *f, uint32_t insn, uint8_t reg, struct flow_path *ret) {
  struct search s = {.f = f, .objects = true};
  uint32_t block = code_block_of(f->code, insn);
  run(&s, (struct trace){.block = block, .position = insn - f->code->blocks[block].first, .loc = flow_loc_reg(reg)});
  if (s.n_paths) *ret = s.paths[0];
  return s.n_paths > 0;
}

unsigned path_hints(struct flow_function *f, const struct flow_hint **ret) {
  VEC(struct flow_hint) hints = {0};
  for (uint32_t i = 0; i < f->code->n_insns && hints.n < HINTS_MAX && !f->failed; i++) {
    const struct insn *in = &f->code->insns[i];
    if (in->op != OP_CALL && in->op != OP_CALL_INDIRECT && in->op != OP_TAIL_INDIRECT) continue;
    for (unsigned k = 0; k < HINT_ARGS; k++) {
      struct flow_hint h = {.at = in->address, .target = in->op == OP_CALL ? (uint64_t)in->imm : 0, .arg = (uint8_t)k};
      if (object_path(f, i, code_argument_registers[k], &h.path) && vec_push(&hints, h) < 0) f->failed = true;
    }
  }
  unsigned n = (unsigned)hints.n;
  if (n) *ret = arena_memdup(&f->worker->keep, hints.at, n * sizeof *hints.at);
  if (n && !*ret) f->failed = true;
  vec_done(&hints);
  return f->failed ? 0 : n;
}
