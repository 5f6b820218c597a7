/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A few instructions behind a call are carried out with a given result and errno, as far as that decides where control
 * goes.
 *
 * Registers and stack slots hold known values or none. Of what is not known, a number tells where it was first and what
 * was done to it: adding 1 to it on one way only is a difference. Calls (but for errno's address), jumps that are not
 * decided and returns are where a run ends.
 */
#include "follow/carry.h"

#include <string.h>

#define RUN_INSNS 160

static uint64_t widen(uint64_t v, unsigned size) {
  if (size >= 8) return v;
  unsigned shift = 64 - size * 8;
  return (uint64_t)((int64_t)(v << shift) >> shift);
}

struct run_slot *carry_slot_at(struct run *r, int32_t at) {
  for (unsigned i = 0; i < r->n_slots; i++)
    if (r->slots[i].at == at) return &r->slots[i];
  return NULL;
}

/*
 * A number for what the memory operand names: a stack slot, a variable of the image, or a member behind a pointer that
 * a slot or register holds.
 */
static bool memory_key(struct run *r, uint32_t insn, int32_t *ret) {
  const struct insn *in = &r->g->code.insns[insn];
  int32_t slot;
  if (insn_slot(in, ret)) return true;
  if (in->index != NO_REG || in->flags & INSN_FS) return false;
  uint32_t block = follow_graph_block(r->g, insn);
  bool global = in->base == NO_REG;
  bool behind = !global && follow_base_slot(r->g, block, insn - r->g->code.blocks[block].first, &slot);
  if (!global && !behind && !(CALL_KEEPS >> in->base & 1)) return false;
  uint64_t where = behind ? 0x100000000u + (uint32_t)slot : in->base;
  *ret = INT32_MIN / 2 - (int32_t)(hash_mix(where ^ hash_mix((uint64_t)in->disp)) >> 34);
  return true;
}

/* A number for what a register of an address holds, which the value itself may be in both runs. */
static uint64_t address_part(const struct run *r, uint8_t reg) {
  if (reg == NO_REG || r->derived >> reg & 1) return reg != NO_REG;
  if (r->pinned && r->known >> reg & 1 && r->regs[reg] && r->regs[reg] == r->value) return 1;
  return r->known >> reg & 1 ? hash_mix(r->regs[reg] + 2) : r->done[reg];
}

static void note_store(struct run *r, const struct insn *in) {
  uint64_t h = hash_mix((uint64_t)in->disp + in->base * 256u + in->index);
  h ^= hash_mix(address_part(r, in->index) + 1) ^ hash_mix(address_part(r, in->base) + 2);
  for (unsigned i = 0; i < r->n_stores; i++)
    if (r->stores[i] == h) return;
  if (r->n_stores < RUN_STORES) r->stores[r->n_stores++] = h;
}

/* The memory operand is an element of a table that cannot be written to. */
static bool read_table(const struct run *r, const struct insn *in, unsigned size, uint64_t *ret) {
  uint64_t at = (uint64_t)in->disp;
  if (in->index == NO_REG || !(r->known >> in->index & 1) || in->flags & INSN_FS || size > sizeof *ret) return false;
  if (in->base != NO_REG && !(r->addressed >> in->base & 1)) return false;
  if (in->base != NO_REG) at += r->addresses[in->base];
  at += r->regs[in->index] * in->scale;
  const struct image *img = r->g->code.image;
  struct image_slot slot; /* what the loader writes there is not in the file */
  if (image_slot(img, at & ~7ull, &slot) || image_slot(img, (at + size - 1) & ~7ull, &slot)) return false;
  const void *bytes = image_is_readonly(img, at) ? image_bytes(img, at, size) : NULL;
  if (!bytes) return false;
  *ret = 0;
  memcpy(ret, bytes, size);
  return true;
}

/* What a slot was set to before the call, as "rc = 0" is in unoptimised code, if nobody else has its address. */
static bool read_kept(struct run *r, int32_t at, unsigned size, uint64_t *ret) {
  const struct code *c = &r->g->code;
  for (uint32_t i = 0; i < c->n_escaped; i++)
    if (c->escaped[i] <= at && at - c->escaped[i] < STRUCTURE_MAX) return false;
  struct flow_loc loc = {.kind = LOC_SLOT, .slot = at, .size = (uint8_t)size};
  struct flow_value v = flow_origin(&r->g->function, r->call, &loc);
  *ret = carry_narrow(v.value, size);
  return v.kind == VALUE_CONST;
}

static bool read_operand(struct run *r, uint32_t insn, uint8_t kind, uint8_t reg, unsigned size, uint64_t *ret) {
  const struct insn *in = &r->g->code.insns[insn];
  int32_t at;
  switch (kind) {
  case OPERAND_IMM:
    *ret = (uint64_t)in->imm;
    return true;
  case OPERAND_REG:
    *ret = carry_narrow(r->regs[reg], size);
    return r->known >> reg & 1;
  case OPERAND_MEM:
    *ret = r->error;
    if (follow_is_errno(r->g, insn)) return !r->errno_gone;
    if (read_table(r, in, size, ret)) return true;
    if (memory_key(r, insn, &at)) {
      struct run_slot *s = carry_slot_at(r, at);
      if (s) *ret = carry_narrow(s->value, size);
      if (s) s->loaded |= in->op == OP_MOVE && s->size == size;
      return s ? s->known : insn_slot(in, &at) && read_kept(r, at, size, ret);
    }
    return false;
  default:
    return false;
  }
}

/* What was done to an operand that is not known, and where it came from. */
static uint64_t operand_done(struct run *r, uint32_t insn, uint8_t kind, uint8_t reg) {
  int32_t at;
  if (kind == OPERAND_REG) return r->done[reg];
  if (kind != OPERAND_MEM || !memory_key(r, insn, &at)) return 0;
  const struct run_slot *s = carry_slot_at(r, at);
  return s ? s->done : hash_mix((uint32_t)at) | 1;
}

static bool operand_derived(struct run *r, uint32_t insn, uint8_t kind, uint8_t reg) {
  int32_t at;
  if (kind == OPERAND_REG) return r->derived >> reg & 1;
  const struct run_slot *s = kind == OPERAND_MEM && memory_key(r, insn, &at) ? carry_slot_at(r, at) : NULL;
  return s && s->derived;
}

/* Behind "n == -1", n is written as -1, or computed from flags: "n = errno == EINTR ? 0 : n" as a negated bit. */
static bool operand_is_value(struct run *r, uint32_t insn, uint8_t kind, uint8_t reg) {
  const struct insn *in = &r->g->code.insns[insn];
  uint64_t v;
  if (operand_derived(r, insn, kind, reg)) return true;
  if (!r->pinned || in->size < 4 || kind != OPERAND_REG || !read_operand(r, insn, kind, reg, in->size, &v))
    return false;
  return v && v == carry_narrow(r->value, in->size);
}

/* Is what the instruction writes made of the value? Flags and constants are not. */
static bool makes_derived(struct run *r, uint32_t insn) {
  const struct insn *in = &r->g->code.insns[insn];
  if (in->op == OP_SET || insn_zeroes(in) || insn_sets_constant(in)) return false;
  if (in->op == OP_LEA)
    return (in->base != NO_REG && r->derived >> in->base & 1) || (in->index != NO_REG && r->derived >> in->index & 1);
  bool src = operand_derived(r, insn, in->src_kind, in->src), dst = operand_derived(r, insn, in->dst_kind, in->dst);
  if (in->op == OP_ADD || in->op == OP_SUB) {
    src |= operand_is_value(r, insn, in->src_kind, in->src);
    dst |= operand_is_value(r, insn, in->dst_kind, in->dst);
  }
  return in->op == OP_MOVE ? src : src || dst;
}

static void write_register(struct run *r, uint8_t reg, unsigned size, bool known, uint64_t v) {
  if (size < 4) known &= (r->known >> reg & 1) != 0 || size == 1; /* the low byte is all that a flag needs */
  if (size < 4 && r->known >> reg & 1) v = (r->regs[reg] & ~carry_narrow(~0ull, size)) | carry_narrow(v, size);
  r->regs[reg] = carry_narrow(v, size < 4 ? 8 : size);
  r->known = (uint16_t)(known ? r->known | REG_BIT(reg) : r->known & ~REG_BIT(reg));
}

/* DONE: if it is not KNOWN. */
static void write_dst(struct run *r, uint32_t insn, bool known, uint64_t v, uint64_t done) {
  const struct insn *in = &r->g->code.insns[insn];
  int32_t at;
  bool derived = makes_derived(r, insn);
  if (in->dst_kind == OPERAND_REG) {
    write_register(r, in->dst, in->size, known, v);
    r->done[in->dst] = done;
    r->of_errno &= (uint16_t)~REG_BIT(in->dst);
    r->guard &= (uint16_t)~REG_BIT(in->dst);
    r->derived = (uint16_t)(derived ? r->derived | REG_BIT(in->dst) : r->derived & ~REG_BIT(in->dst));
    return;
  }
  if (in->dst_kind != OPERAND_MEM) return;
  bool on_stack = insn_slot(in, &at);
  if (!on_stack) note_store(r, in);
  if (!memory_key(r, insn, &at)) return;
  struct run_slot *s = carry_slot_at(r, at);
  if (!s && r->n_slots < RUN_SLOTS) s = &r->slots[r->n_slots++];
  if (!s) return;
  *s =
      (struct run_slot){.at = at, .value = carry_narrow(v, in->size), .done = done, .known = known, .derived = derived};
  /* Others may be arguments of calls, but for the value that is put aside while errno is looked at. */
  s->size = on_stack && (in->base == RBP || (derived && known)) ? in->size : 0;
  s->outside = !on_stack;
  s->of_errno = in->op == OP_MOVE && in->src_kind == OPERAND_REG && r->of_errno >> in->src & 1;
}

static bool operand_errno(struct run *r, uint32_t insn, uint8_t kind, uint8_t reg) {
  int32_t at;
  if (kind == OPERAND_REG) return r->of_errno >> reg & 1;
  if (kind != OPERAND_MEM) return false;
  if (follow_is_errno(r->g, insn)) return true;
  const struct run_slot *s = memory_key(r, insn, &at) ? carry_slot_at(r, at) : NULL;
  return s && s->of_errno;
}

static bool operand_guard(const struct run *r, const struct insn *in, uint8_t kind, uint8_t reg) {
  return kind == OPERAND_MEM ? insn_names_guard(in) : kind == OPERAND_REG && r->guard >> reg & 1;
}

/* The stack protector's question at the end of a function. A run is one of a program whose stack is whole. */
static bool asks_guard(struct run *r, const struct insn *in) {
  bool differs = in->op == OP_CMP || in->op == OP_SUB || in->op == OP_XOR;
  if (!differs || insn_zeroes(in) || in->size != 8) return false;
  return operand_guard(r, in, in->dst_kind, in->dst) || operand_guard(r, in, in->src_kind, in->src);
}

static bool compute(const struct insn *in, uint64_t a, uint64_t b, uint64_t *ret) {
  switch (in->op) {
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
    *ret = a << (b & (in->size * 8 - 1));
    return true;
  case OP_SHR:
    *ret = carry_narrow(a, in->size) >> (b & (in->size * 8 - 1));
    return true;
  case OP_SAR:
    *ret = (uint64_t)((int64_t)widen(a, in->size) >> (b & (in->size * 8 - 1)));
    return true;
  case OP_NEG:
    *ret = -a;
    return true;
  case OP_NOT:
    *ret = ~a;
    return true;
  default:
    return false;
  }
}

/* The value is compared for equality: what would it have to be? */
static void note_expected(struct run *r) {
  if (r->flags.op != OP_CMP || !r->flags_of_value) return;
  unsigned width = r->flags.width;
  r->unclear |= !r->flags_known && !r->flags_of_sum;
  r->sum_asked |= !r->flags_known && r->flags_of_sum;
  if (!r->flags_known || carry_narrow(r->left, width) != carry_narrow(r->value, width)) return;
  int64_t expected = (int64_t)widen(r->right, width);
  if (expected > 0 && carry_narrow(r->right, width) != carry_narrow(r->left, width)) r->expected = (uint64_t)expected;
}

static bool condition(struct run *r, uint8_t cc, bool *ret) {
  struct follow_event e = r->flags;
  bool equality = cc == CC_E || cc == CC_NE;
  if (equality) note_expected(r);
  e.imm = r->right;
  e.cc = CC_E;
  r->pinned |= equality && r->flags_known && r->flags_of_value && follow_event_holds(&e, NULL, r->left, 0);
  e.cc = cc;
  if (r->flags_known) *ret = follow_event_holds(&e, NULL, r->left, 0);
  return r->flags_known;
}

/* What is done to something that is not known by adding B, which is known or on which OTHER was done. */
static uint64_t done_by(const struct insn *in, uint64_t done, bool known, uint64_t b, uint64_t other) {
  bool neutral = known && !carry_narrow(b, in->size) && (in->op == OP_ADD || in->op == OP_SUB || in->op == OP_OR);
  if (neutral || (!known && !other)) return done;
  return hash_mix(done ^ hash_mix((known ? carry_narrow(b, in->size) : other) + in->op)) | 1;
}

/* A number for an operand: its value, or where it came from and what was done to it; 0 if nobody knows. */
static uint64_t operand_identity(struct run *r, uint32_t insn, uint8_t kind, uint8_t reg) {
  const struct insn *in = &r->g->code.insns[insn];
  uint64_t v;
  if (read_operand(r, insn, kind, reg, in->size, &v)) return hash_mix(carry_narrow(v, in->size)) | 1;
  uint64_t done = operand_done(r, insn, kind, reg);
  return done ? hash_mix(done + 1) | 1 : 0;
}

static uint64_t question(struct run *r, uint32_t insn) {
  const struct insn *in = &r->g->code.insns[insn];
  bool one = in->op == OP_NEG || in->op == OP_NOT;
  uint64_t a = operand_identity(r, insn, in->dst_kind, in->dst);
  uint64_t b = one ? 1 : operand_identity(r, insn, in->src_kind, in->src);
  return a && b ? hash_mix(a ^ hash_mix(b + in->op * 16u + in->size)) | 1 : 0;
}

/* Is the operand made of the value, and known? Of a sum with something else it is not. */
static bool is_value_itself(struct run *r, uint32_t insn, uint8_t kind, uint8_t reg) {
  uint64_t v;
  const struct insn *in = &r->g->code.insns[insn];
  return operand_derived(r, insn, kind, reg) && read_operand(r, insn, kind, reg, in->size, &v);
}

static void arithmetic(struct run *r, uint32_t insn) {
  const struct insn *in = &r->g->code.insns[insn];
  uint64_t a = 0, b = 0, v = 0, done = operand_done(r, insn, in->dst_kind, in->dst);
  bool known = read_operand(r, insn, in->dst_kind, in->dst, in->size, &a), zero = insn_zeroes(in);
  if (in->op != OP_NEG && in->op != OP_NOT) {
    bool other = read_operand(r, insn, in->src_kind, in->src, in->size, &b);
    if (!known) done = done_by(in, done, other, b, operand_done(r, insn, in->src_kind, in->src));
    if (known && !other) done = done_by(in, operand_done(r, insn, in->src_kind, in->src), true, a, 0);
    known &= other;
  }
  if (asks_guard(r, in)) zero = true;
  if (zero) a = b = 0;
  known |= zero || insn_sets_constant(in);
  bool compares = in->op == OP_CMP || in->op == OP_TEST;
  if (in->flags & INSN_SETS_FLAGS) {
    r->flags_known = known;
    r->flags_of_value =
        operand_derived(r, insn, in->dst_kind, in->dst) || operand_derived(r, insn, in->src_kind, in->src);
    r->flags_of_sum = r->flags_of_value && !is_value_itself(r, insn, in->dst_kind, in->dst) &&
                      !is_value_itself(r, insn, in->src_kind, in->src);
    r->flags_of_errno = operand_errno(r, insn, in->dst_kind, in->dst) || operand_errno(r, insn, in->src_kind, in->src);
    r->asked = question(r, insn);
    r->flags = (struct follow_event){.op = in->op, .width = in->size};
    r->left = a;
    r->right = b;
  }
  if (!compares) known &= compute(in, a, b, &v);
  if (in->flags & INSN_SETS_FLAGS && (in->op == OP_SHR || in->op == OP_SAR)) {
    r->flags.op = OP_TEST;
    r->left = v;
    r->right = ~0ull;
  }
  bool of_errno = operand_errno(r, insn, in->dst_kind, in->dst);
  if (!compares) write_dst(r, insn, known, v, done);
  if (of_errno && !compares && !zero && in->dst_kind == OPERAND_REG) r->of_errno |= REG_BIT(in->dst);
}

static void forget(struct run *r, uint32_t insn) {
  const struct insn *in = &r->g->code.insns[insn];
  r->known &= (uint16_t)~in->defs;
  r->derived &= (uint16_t)~in->defs;
  r->guard &= (uint16_t)~in->defs;
  if (in->flags & INSN_SETS_FLAGS) {
    r->flags_known = false;
    r->asked = 0;
  }
  for (unsigned i = 0; i < REGISTERS; i++)
    if (in->defs & REG_BIT(i)) r->done[i] = 0;
  if (in->flags & INSN_WRITES_MEM) write_dst(r, insn, false, 0, 0);
}

/* What LEA makes of numbers that are known: compilers multiply by it. */
static bool compute_address(const struct run *r, const struct insn *in, uint64_t *ret) {
  if (in->base == NO_REG && in->index == NO_REG) return false; /* an address of the image */
  uint64_t v = (uint64_t)in->disp;
  if (in->base != NO_REG) v += r->regs[in->base];
  if (in->index != NO_REG) v += r->regs[in->index] * in->scale;
  *ret = carry_narrow(v, in->size);
  return (in->base == NO_REG || r->known >> in->base & 1) && (in->index == NO_REG || r->known >> in->index & 1);
}

/* cmov whose condition holds, if that is KNOWN: what was there before is then gone. */
static void move_if(struct run *r, uint32_t insn, bool known) {
  const struct insn *in = &r->g->code.insns[insn];
  uint64_t v = 0;
  bool derived = operand_derived(r, insn, in->src_kind, in->src), holds = known;
  known &= read_operand(r, insn, in->src_kind, in->src, in->size, &v);
  write_dst(r, insn, known, v, operand_done(r, insn, in->src_kind, in->src));
  if (holds && !derived && in->dst_kind == OPERAND_REG) r->derived &= (uint16_t)~REG_BIT(in->dst);
}

static void step(struct run *r, uint32_t insn) {
  const struct insn *in = &r->g->code.insns[insn];
  uint64_t v = 0;
  bool holds = false, guard, known;
  switch (in->op) {
  case OP_NOP:
  case OP_PUSH:
    return;
  case OP_MOVE:
    known = read_operand(r, insn, in->src_kind, in->src, in->from_size, &v);
    holds = operand_errno(r, insn, in->src_kind, in->src);
    guard = operand_guard(r, in, in->src_kind, in->src);
    write_dst(r, insn, known, in->flags & INSN_SIGNED ? widen(v, in->from_size) : v,
              operand_done(r, insn, in->src_kind, in->src));
    if (in->dst_kind == OPERAND_REG && holds) r->of_errno |= REG_BIT(in->dst);
    if (in->dst_kind == OPERAND_REG && guard) r->guard |= REG_BIT(in->dst);
    return;
  case OP_SET:
    known = condition(r, in->cc, &holds);
    r->decided_by_value |= known && r->flags_of_value;
    r->decided_by_errno |= known && r->flags_of_errno;
    write_dst(r, insn, known, holds, 0);
    return;
  case OP_CMOV:
    known = condition(r, in->cc, &holds);
    r->decided_by_value |= known && r->flags_of_value;
    r->decided_by_errno |= known && r->flags_of_errno;
    if (known && !holds) return;
    move_if(r, insn, known);
    return;
  case OP_ADD:
  case OP_SUB:
  case OP_AND:
  case OP_OR:
  case OP_XOR:
  case OP_SHL:
  case OP_SHR:
  case OP_SAR:
  case OP_NEG:
  case OP_NOT:
  case OP_CMP:
  case OP_TEST:
    arithmetic(r, insn);
    return;
  case OP_LEA:
    if (!compute_address(r, in, &v)) break;
    write_dst(r, insn, true, v, 0);
    return;
  default:
    break;
  }
  forget(r, insn);
}

/* Addresses of tables, and what is read from them added to them: where a switch goes on. */
static void note_address(struct run *r, const struct insn *in) {
  uint64_t at = (uint64_t)in->disp;
  bool lea = in->op == OP_LEA && in->base == NO_REG && in->index == NO_REG, found = lea;
  bool registers = in->dst_kind == OPERAND_REG && in->src_kind == OPERAND_REG && in->size == 8;
  if (registers && in->op == OP_MOVE) {
    at = r->addresses[in->src];
    found = r->addressed >> in->src & 1;
  } else if (registers && in->op == OP_ADD) {
    bool to_address = r->addressed >> in->dst & 1;
    uint8_t address = to_address ? in->dst : in->src, other = to_address ? in->src : in->dst;
    at = r->addresses[address] + r->regs[other];
    found = r->addressed >> address & 1 && r->known >> other & 1;
  }
  r->addressed &= (uint16_t)~in->defs;
  if (!found || in->dst_kind != OPERAND_REG) return;
  r->addressed |= REG_BIT(in->dst);
  r->addresses[in->dst] = at;
}

/* The block that a jump through a table goes to. */
static bool case_block(const struct run *r, const struct insn *in, uint32_t *ret) {
  uint64_t to;
  uint32_t insn;
  if (in->dst_kind == OPERAND_REG && r->addressed >> in->dst & 1)
    to = r->addresses[in->dst];
  else if (in->dst_kind != OPERAND_MEM || !read_table(r, in, sizeof to, &to))
    return false;
  if (!code_find(&r->g->code, to, &insn)) return false;
  *ret = follow_graph_block(r->g, insn);
  return r->g->code.blocks[*ret].first == insn;
}

uint32_t carry_next_block(const struct follow_graph *g, uint32_t block, uint8_t kind) {
  const uint32_t *next;
  const uint8_t *kinds;
  uint32_t n = follow_graph_next(g, block, &next, &kinds);
  for (uint32_t i = 0; i < n; i++)
    if (kinds[i] == kind || (kind == EDGE_PLAIN && n == 1)) return next[i];
  return UINT32_MAX;
}

/* Carries on to the end of the run: the instruction where it ends. */
uint32_t carry_go(struct run *r, uint32_t block, uint32_t position) {
  struct follow_graph *g = r->g;
  for (unsigned n = 0; n < RUN_INSNS; n++) {
    const struct block *b = &g->code.blocks[block];
    uint32_t insn = b->first + position;
    bool taken = false;
    if (position == b->n) {
      block = carry_next_block(g, block, EDGE_PLAIN);
      position = 0;
      if (block == UINT32_MAX) return insn - 1;
      continue;
    }
    const struct insn *in = &g->code.insns[insn];
    if (in->defs & REG_BIT(RAX)) r->result_by = insn;
    if (!insn_calls(in)) r->written |= in->defs;
    note_address(r, in);
    switch (in->op) {
    case OP_CALL:
    case OP_CALL_SLOT:
    case OP_CALL_INDIRECT:
      if (!follow_is_errno_call(g, insn)) return insn;
      forget(r, insn);
      r->written = 0;
      break;
    case OP_JUMP:
      position = b->n - 1;
      break;
    case OP_BRANCH:
      if (!condition(r, in->cc, &taken)) return insn;
      r->decided_by_value |= r->flags_of_value;
      r->decided_by_errno |= r->flags_of_errno;
      block = carry_next_block(g, block, taken ? EDGE_TAKEN : EDGE_FALL);
      position = UINT32_MAX;
      if (block == UINT32_MAX) return insn;
      break;
    case OP_JUMP_TABLE:
      if (!case_block(r, in, &block)) return insn;
      position = UINT32_MAX;
      break;
    case OP_RETURN:
    case OP_STOP:
    case OP_JUMP_UNKNOWN:
    case OP_TAIL:
    case OP_TAIL_SLOT:
    case OP_TAIL_INDIRECT:
      return insn;
    default:
      step(r, insn);
    }
    position++;
  }
  return UINT32_MAX;
}

/* What was set before the call, as "rc = 0" is, and is there behind it. */
static void look_at_kept(struct follow_graph *g, uint32_t insn) {
  if (g->kept_by == insn + 1) return;
  g->kept_by = insn + 1;
  g->kept_known = g->kept_addressed = 0;
  for (unsigned i = 0; i < REGISTERS; i++) {
    if (i == RSP || !(CALL_KEEPS >> i & 1)) continue;
    struct flow_loc loc = flow_loc_reg((uint8_t)i);
    struct flow_value v = flow_origin(&g->function, insn, &loc);
    if (v.kind == VALUE_ADDRESS && !v.raw && !v.ops) {
      g->kept_addresses[i] = v.value;
      g->kept_addressed |= REG_BIT(i);
    }
    if (flow_origin_constant(&g->function, insn, (uint8_t)i, &g->kept[i])) g->kept_known |= REG_BIT(i);
  }
}

uint32_t carry_start(struct follow_graph *g, uint32_t insn, uint64_t value, uint64_t error, struct run *r) {
  uint32_t block = follow_graph_block(g, insn);
  memset(r, 0, sizeof *r);
  look_at_kept(g, insn);
  memcpy(r->regs, g->kept, sizeof r->regs);
  memcpy(r->addresses, g->kept_addresses, sizeof r->addresses);
  r->addressed = g->kept_addressed;
  r->g = g;
  r->call = insn;
  r->value = r->regs[RAX] = value;
  r->error = error;
  r->derived = REG_BIT(RAX);
  r->known = (uint16_t)(g->kept_known | REG_BIT(RAX));
  for (unsigned i = 0; i < REGISTERS; i++)
    if (CALL_KEEPS >> i & 1) r->done[i] = hash_mix(i + 1) | 1;
  return carry_go(r, block, insn - g->code.blocks[block].first + 1);
}

uint32_t carry_past(struct run *r, uint32_t call, unsigned number) {
  uint32_t block = follow_graph_block(r->g, call);
  forget(r, call);
  r->done[RAX] = hash_mix(number + 100u) | 1;
  r->of_errno &= CALL_KEEPS;
  r->addressed &= CALL_KEEPS;
  r->written = 0;
  r->errno_gone = true;
  return carry_go(r, block, call - r->g->code.blocks[block].first + 1);
}
