/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One instruction and one fact of the forward analysis: where else is the value now, and what is done with it?
 */
#include "follow/fact.h"

/* --- small parts -------------------------------------------------------------------------------------------------- */

static struct follow_event event_at(const struct insn *in, unsigned kind, uint32_t insn, uint32_t block) {
  return (struct follow_event){.kind = (uint8_t)kind, .insn = insn, .block = block, .at = in->address};
}

/* Of a sum as well, what remains is its sign. */
static bool keeps_sums(unsigned kind, int64_t imm) {
  bool sign = (kind == XF_SHR || kind == XF_SAR) && (imm == 31 || imm == 63);
  return sign || kind == XF_ZERO || kind == XF_SIGN || kind == XF_NEG;
}

bool follow_append(struct follow_graph *g, struct fact *f, unsigned kind, unsigned width, int64_t imm) {
  f->sum = f->sum && keeps_sums(kind, imm);
  if (f->mixed && !f->sum) return true;
  return flow_transform_append(g->function.worker, &f->ops, kind, width, imm);
}

/* The fact, but in REG and not where it was. */
static struct fact moved_to(struct fact f, uint8_t reg) {
  f.where = FACT_REG;
  f.reg = reg;
  f.size = 0;
  f.slot = 0;
  f.disp = 0;
  f.imm = 0;
  f.width = 0;
  f.element = false;
  f.shown = f.given = false;
  f.place = (struct flow_place){0};
  return f;
}

/* The value, extended as a move does it, is in REG. */
static void put_in_register(struct follow_graph *g, struct fact f, const struct insn *in, uint8_t reg, uint32_t block,
                            uint32_t position) {
  unsigned from = in->from_size ? in->from_size : in->size;
  f = moved_to(f, reg);
  if (from < 8 && !follow_append(g, &f, in->flags & INSN_SIGNED ? XF_SIGN : XF_ZERO, from, 0)) return;
  if (in->flags & INSN_SIGNED && in->size == 4 && !follow_append(g, &f, XF_ZERO, 4, 0)) return;
  follow_push(g, block, position + 1, &f);
}

/* Something is done to it that is not followed; what remains is whether it is used as an address. */
static void mix(struct follow_graph *g, struct fact f, uint8_t reg, uint32_t block, uint32_t position) {
  f = moved_to(f, reg);
  f.mixed = true;
  follow_push(g, block, position + 1, &f);
}

static void set_flags(struct follow_graph *g, const struct fact *from, uint32_t block, uint32_t position,
                      struct fact flags) {
  const struct insn *in = &g->code.insns[g->code.blocks[block].first + position];
  if (from->mixed && !from->sum && !flags.differs) return;
  flags.where = FACT_FLAGS;
  flags.mixed = from->mixed && !flags.differs;
  flags.sum = from->sum;
  flags.subject = from->subject;
  flags.again = from->again;
  flags.pinned = from->pinned;
  flags.ops = from->ops;
  flags.width = in->size;
  follow_push(g, block, position + 1, &flags);
}

/* Something is added to it, in a register or in memory. */
static void sum_up(struct follow_graph *g, struct fact f, uint32_t block, uint32_t position, bool dst) {
  const struct insn *in = &g->code.insns[g->code.blocks[block].first + position];
  f.sum |= !f.mixed;
  f.mixed = true;
  if (in->flags & INSN_SETS_FLAGS) set_flags(g, &f, block, position, (struct fact){.op = OP_TEST, .imm = ~0ull});
  if (in->dst_kind == OPERAND_REG)
    mix(g, f, in->dst, block, position);
  else if (dst)
    follow_push(g, block, position + 1, &f);
  else
    follow_store(g, &f, block, position);
}

/* --- comparisons -------------------------------------------------------------------------------------------------- */

/* The other operand: *ret is its constant; false if it has none, and *ret is its identity. */
static bool other_constant(struct follow_graph *g, uint32_t insn, uint8_t kind, uint8_t reg, uint64_t *ret) {
  const struct insn *in = &g->code.insns[insn];
  struct flow_loc loc = flow_loc_reg(reg);
  *ret = (uint64_t)in->imm;
  if (kind == OPERAND_IMM) return true;
  if (kind == OPERAND_MEM) loc = (struct flow_loc){.kind = LOC_SLOT, .size = in->size};
  *ret = 0;
  if (kind == OPERAND_MEM && !insn_slot(in, &loc.slot)) return false;
  struct flow_value v = flow_origin(&g->function, insn, &loc);
  bool constant = kind == OPERAND_REG && v.kind == VALUE_CONST;
  *ret = constant ? v.value : follow_identity_of(g, &v);
  return constant;
}

static void compare(struct follow_graph *g, const struct fact *f, uint32_t block, uint32_t position, bool dst) {
  uint32_t insn = g->code.blocks[block].first + position;
  const struct insn *in = &g->code.insns[insn];
  struct fact flags = {.op = in->op, .swapped = !dst};
  bool same = in->src_kind == OPERAND_REG && in->dst_kind == OPERAND_REG && in->src == in->dst;
  if (in->op == OP_TEST && same)
    flags.imm = ~0ull;
  else if (dst)
    flags.variable = !other_constant(g, insn, in->src_kind, in->src, &flags.imm);
  else
    flags.variable = !other_constant(g, insn, in->dst_kind, in->dst, &flags.imm);
  if (f->differs && !flags.variable && (in->op == OP_TEST ? flags.imm == ~0ull : flags.imm == 0))
    flags = (struct fact){.op = OP_CMP, .variable = true, .differs = true};
  set_flags(g, f, block, position, flags);
}

/* --- arithmetic --------------------------------------------------------------------------------------------------- */

static unsigned transform_of(uint8_t op) {
  switch (op) {
  case OP_AND:
    return XF_AND;
  case OP_OR:
    return XF_OR;
  case OP_XOR:
    return XF_XOR;
  case OP_SHL:
    return XF_SHL;
  case OP_SHR:
    return XF_SHR;
  case OP_SAR:
    return XF_SAR;
  case OP_NEG:
    return XF_NEG;
  case OP_NOT:
    return XF_NOT;
  case OP_MUL:
    return XF_MUL;
  default:
    return XF_ADD;
  }
}

/* dst = dst op constant, in a register or where the value is in memory. */
static void with_constant(struct follow_graph *g, const struct fact *f, uint32_t block, uint32_t position,
                          uint64_t imm) {
  const struct insn *in = &g->code.insns[g->code.blocks[block].first + position];
  bool memory = in->dst_kind == OPERAND_MEM;
  struct fact after = memory ? *f : moved_to(*f, in->dst), flags = {.op = in->op, .imm = imm};
  bool shift = in->op == OP_SHL || in->op == OP_SHR || in->op == OP_SAR;
  bool ok = true;
  if (in->size < 8) ok = follow_append(g, &after, in->op == OP_SAR ? XF_SIGN : XF_ZERO, in->size, 0);
  ok = ok && follow_append(g, &after, transform_of(in->op), 0, in->op == OP_SUB ? -(int64_t)imm : (int64_t)imm);
  if (ok && in->size < 8) ok = follow_append(g, &after, XF_ZERO, in->size, 0);
  if (!ok) {
    after.ops = f->ops;
    after.mixed = true;
  }
  follow_push(g, block, position + 1, &after);
  if (!(in->flags & INSN_SETS_FLAGS)) return;
  if (shift) {
    flags.op = OP_TEST;
    flags.imm = ~0ull;
    if (ok) set_flags(g, &after, block, position, flags);
  } else
    set_flags(g, f, block, position, flags);
}

/* dst = constant - value. */
static void from_constant(struct follow_graph *g, const struct fact *f, uint32_t block, uint32_t position,
                          uint64_t imm) {
  const struct insn *in = &g->code.insns[g->code.blocks[block].first + position];
  struct fact after = moved_to(*f, in->dst);
  bool ok = follow_append(g, &after, XF_NEG, 0, 0) && (!imm || follow_append(g, &after, XF_ADD, 0, (int64_t)imm));
  if (ok && in->size < 8) ok = follow_append(g, &after, XF_ZERO, in->size, 0);
  if (ok)
    follow_push(g, block, position + 1, &after);
  else
    mix(g, *f, in->dst, block, position);
  set_flags(g, f, block, position, (struct fact){.op = OP_SUB, .imm = imm, .swapped = true});
}

/*
 * Is the register a part of a product? A division by a constant is a multiplication from whose upper half the sign of
 * the value is taken away: it rounds towards 0, and asks nothing.
 */
static bool is_product(const struct follow_graph *g, uint32_t block, uint32_t position, uint8_t reg) {
  const struct block *b = &g->code.blocks[block];
  while (position-- > 0) {
    const struct insn *in = &g->code.insns[b->first + position];
    if (!(in->defs & REG_BIT(reg))) continue;
    bool both = in->defs & REG_BIT(RAX) && in->defs & REG_BIT(RDX);
    if (in->op == OP_MUL || (in->op == OP_OTHER && both)) return true;
    bool shifted = (in->op == OP_SAR || in->op == OP_SHR) && in->src_kind == OPERAND_IMM;
    bool moved = in->op == OP_MOVE && in->src_kind == OPERAND_REG;
    if (!shifted && !moved) return false;
    if (moved) reg = in->src;
  }
  return false;
}

/* dst = dst op something unknown. */
static void with_variable(struct follow_graph *g, const struct fact *f, uint32_t block, uint32_t position, bool dst) {
  uint32_t insn = g->code.blocks[block].first + position;
  const struct insn *in = &g->code.insns[insn];
  struct fact flags = {.op = OP_CMP, .variable = true, .swapped = !dst};
  if (in->op == OP_SUB) flags.op = OP_SUB;
  if (in->op == OP_SUB || in->op == OP_XOR) set_flags(g, f, block, position, flags);
  if (in->op == OP_OR && in->dst_kind == OPERAND_REG) { /* nothing of it is lost: a|b is tested for both */
    struct fact after = moved_to(*f, in->dst), zero = {.op = OP_TEST, .imm = ~0ull};
    follow_push(g, block, position + 1, &after);
    if (f->differs) zero = (struct fact){.op = OP_CMP, .variable = true, .differs = true};
    set_flags(g, f, block, position, zero);
    return;
  }
  if (in->op == OP_OR && dst) { /* the same, in memory */
    follow_push(g, block, position + 1, f);
    set_flags(g, f, block, position, (struct fact){.op = OP_TEST, .imm = ~0ull});
    return;
  }
  if (in->op == OP_OR && f->where == FACT_REG) {
    follow_store(g, f, block, position);
    return;
  }
  struct fact used = *f;
  used.mixed |= in->op == OP_SUB && !dst && in->dst_kind == OPERAND_REG && is_product(g, block, position, in->dst);
  follow_note(g, &used, event_at(in, EVENT_USE, insn, block));
  if (in->op == OP_SUB && in->dst_kind == OPERAND_REG) {
    struct fact rest = *f;
    rest.rest |= !dst;
    rest.differs = dst && !f->mixed;
    mix(g, rest, in->dst, block, position);
  }
  if (in->op == OP_XOR && in->dst_kind == OPERAND_REG) {
    struct fact other = *f;
    other.differs = !f->mixed;
    mix(g, other, in->dst, block, position);
  }
  if (in->op == OP_ADD) sum_up(g, *f, block, position, dst);
}

/* dst = dst + dst. */
static void doubled(struct follow_graph *g, const struct fact *f, uint32_t block, uint32_t position) {
  const struct insn *in = &g->code.insns[g->code.blocks[block].first + position];
  struct fact after = *f;
  if (!follow_append(g, &after, XF_SHL, 0, 1) || (in->size < 8 && !follow_append(g, &after, XF_ZERO, in->size, 0))) {
    mix(g, *f, in->dst, block, position);
    return;
  }
  follow_push(g, block, position + 1, &after);
  set_flags(g, &after, block, position, (struct fact){.op = OP_TEST, .imm = ~0ull});
}

/*
 * The sign of the value is added to the value itself, whose identity OTHER is: so a division by a power of two begins,
 * which rounds towards 0. It asks nothing.
 */
static bool is_rounding(struct follow_graph *g, const struct fact *f, uint8_t op, uint64_t other) {
  bool sign = false;
  for (const struct transform *t = f->ops; t; t = t->next)
    sign |= (t->kind == XF_SHR || t->kind == XF_SAR) && (t->imm == 31 || t->imm == 63);
  if (!sign || f->mixed || op != OP_ADD || !other) return false;
  g->recording.own = true;
  return other == g->identity;
}

static void arithmetic(struct follow_graph *g, const struct fact *of, uint32_t block, uint32_t position, bool dst) {
  struct fact plain = *of, *f = &plain;
  plain.differs = false; /* what is made of a difference is none, unless more differences are put into it */
  uint32_t insn = g->code.blocks[block].first + position;
  const struct insn *in = &g->code.insns[insn];
  uint64_t imm = 0;
  bool same = in->src_kind == OPERAND_REG && in->dst_kind == OPERAND_REG && in->src == in->dst;
  if (same) {
    if (in->op == OP_AND || in->op == OP_OR)
      set_flags(g, f, block, position, (struct fact){.op = OP_TEST, .imm = ~0ull});
    if (in->op == OP_AND || in->op == OP_OR) follow_push(g, block, position + 1, f);
    if (in->op == OP_ADD) doubled(g, f, block, position);
    if (in->op == OP_MUL) follow_note(g, f, event_at(in, EVENT_USE, insn, block));
    return;
  }
  if (insn_sets_constant(in)) return;
  if (in->op == OP_MUL) {
    follow_note(g, f, event_at(in, EVENT_USE, insn, block));
    return;
  }
  if (in->op == OP_NEG || in->op == OP_NOT) {
    with_constant(g, f, block, position, 0);
    return;
  }
  bool shift = in->op == OP_SHL || in->op == OP_SHR || in->op == OP_SAR;
  bool commutes = in->op != OP_SUB && !shift;
  bool united = in->op == OP_OR && in->dst_kind == OPERAND_MEM; /* with flags of the programmer's own */
  if (dst && other_constant(g, insn, in->src_kind, in->src, &imm) && !united)
    with_constant(g, f, block, position, imm);
  else if (!dst && commutes && other_constant(g, insn, in->dst_kind, in->dst, &imm))
    with_constant(g, f, block, position, imm);
  else if (!dst && in->op == OP_SUB && in->dst_kind == OPERAND_REG &&
           other_constant(g, insn, in->dst_kind, in->dst, &imm))
    from_constant(g, f, block, position, imm);
  else if (!is_rounding(g, f, in->op, imm))
    with_variable(g, in->op == OP_OR ? of : f, block, position, dst);
}

/* --- the value is an operand -------------------------------------------------------------------------------------- */

void follow_operand(struct follow_graph *g, const struct fact *f, uint32_t block, uint32_t position, bool dst) {
  uint32_t insn = g->code.blocks[block].first + position;
  const struct insn *in = &g->code.insns[insn];
  switch (in->op) {
  case OP_MOVE:
    if (!dst && in->dst_kind == OPERAND_REG)
      put_in_register(g, *f, in, in->dst, block, position);
    else if (!dst)
      follow_store(g, f, block, position);
    break;
  case OP_CMOV:
    if (!dst) put_in_register(g, *f, in, in->dst, block, position);
    break;
  case OP_CMP:
  case OP_TEST:
    compare(g, f, block, position, dst);
    break;
  case OP_BIT:
    if (dst && in->src_kind == OPERAND_IMM)
      set_flags(g, f, block, position, (struct fact){.op = OP_BIT, .imm = (uint64_t)in->imm});
    else
      follow_note(g, f, event_at(in, EVENT_SWITCH, insn, block));
    break;
  case OP_SIGN: {
    struct fact sign = *f;
    sign.where = FACT_REG;
    sign.reg = in->dst;
    if (follow_append(g, &sign, XF_SIGN, in->size, 0) && follow_append(g, &sign, XF_SAR, 0, 63) &&
        follow_append(g, &sign, XF_ZERO, in->size, 0))
      follow_push(g, block, position + 1, &sign);
    break;
  }
  case OP_PUSH: {
    struct fact slot = moved_to(*f, 0);
    if (in->sp == SP_UNKNOWN) break;
    slot.where = FACT_SLOT;
    slot.slot = in->sp - in->size;
    slot.size = in->size;
    follow_push(g, block, position + 1, &slot);
    break;
  }
  case OP_ADD:
  case OP_SUB:
  case OP_AND:
  case OP_OR:
  case OP_XOR:
  case OP_SHL:
  case OP_SHR:
  case OP_SAR:
  case OP_MUL:
  case OP_NEG:
  case OP_NOT:
    arithmetic(g, f, block, position, dst);
    break;
  default:
    follow_note(g, f, event_at(in, EVENT_USE, insn, block));
  }
}

/* --- registers ---------------------------------------------------------------------------------------------------- */

static void lea(struct follow_graph *g, const struct fact *f, uint32_t block, uint32_t position) {
  uint32_t insn = g->code.blocks[block].first + position;
  const struct insn *in = &g->code.insns[insn];
  struct fact after = *f;
  after.reg = in->dst;
  bool alone = (in->base == f->reg && in->index == NO_REG) || (in->index == f->reg && in->base == NO_REG);
  if (alone && in->index == f->reg && !follow_append(g, &after, XF_MUL, 0, in->scale ? in->scale : 1)) return;
  if (alone && follow_append(g, &after, XF_ADD, 0, in->disp) &&
      (in->size >= 8 || follow_append(g, &after, XF_ZERO, in->size, 0))) {
    follow_push(g, block, position + 1, &after);
    return;
  }
  uint64_t other = 0;
  uint8_t partner = in->base == f->reg ? in->index : in->base;
  bool plain = partner != NO_REG && in->scale <= 1 && !in->disp;
  if (plain && !other_constant(g, insn, OPERAND_REG, partner, &other) && is_rounding(g, f, OP_ADD, other)) return;
  follow_note(g, f, event_at(in, EVENT_USE, insn, block));
  after = *f;
  after.sum = plain && (after.sum || !after.mixed);
  mix(g, after, in->dst, block, position);
}

/*
 * Is it the index of a table that compilers make of a switch with cases below 0? Something was added so that the least
 * one is 0, and the table is read-only.
 */
static bool looks_up(struct follow_graph *g, const struct fact *f, uint32_t insn) {
  const struct insn *in = &g->code.insns[insn];
  bool moved = false;
  for (const struct transform *t = f->ops; t; t = t->next)
    moved |= t->kind == XF_ADD && t->imm > 0;
  if (!moved || f->mixed || in->flags & (INSN_WRITES_MEM | INSN_FS) || in->index == NO_REG) return false;
  uint8_t other = in->index == f->reg ? in->base : in->index;
  if (other == NO_REG) return image_is_readonly(g->code.image, (uint64_t)in->disp);
  struct flow_loc loc = flow_loc_reg(other);
  struct flow_value v = flow_origin(&g->function, insn, &loc);
  return v.kind == VALUE_ADDRESS && !v.raw && !v.ops && image_is_readonly(g->code.image, v.value);
}

static void address(struct follow_graph *g, const struct fact *f, uint32_t insn, uint32_t block) {
  const struct insn *in = &g->code.insns[insn];
  if ((in->index == f->reg && in->flags & INSN_TABLE_INDEX) || looks_up(g, f, insn)) {
    follow_note(g, f, event_at(in, EVENT_SWITCH, insn, block));
    return;
  }
  struct follow_event e = event_at(in, EVENT_DEREFERENCE, insn, block);
  bool frame = in->base == RSP || (in->base == RBP && in->fp != SP_UNKNOWN);
  e.indexed = in->base != f->reg && (in->scale > 1 || in->base == NO_REG || frame);
  follow_note(g, f, e);
}

/* The value is in a register at a call. */
static void at_call(struct follow_graph *g, const struct fact *f, uint32_t insn, uint32_t block) {
  const struct insn *in = &g->code.insns[insn];
  struct follow_event e = event_at(in, EVENT_ARGUMENT, insn, block);
  if (in->dst_kind == OPERAND_REG && in->dst == f->reg) {
    e.kind = EVENT_DEREFERENCE;
    follow_note(g, f, e);
    return;
  }
  for (unsigned i = 0; i < FLOW_ARGS; i++) {
    if (code_argument_registers[i] != f->reg) continue;
    struct flow_call c = follow_graph_call(g, insn);
    e.arg = (uint8_t)i;
    e.call_kind = c.kind;
    e.target = c.target;
    follow_note(g, f, e);
  }
}

static bool survives_call(struct follow_graph *g, const struct insn *in, uint8_t reg) {
  if (!(CALL_CLOBBERS & REG_BIT(reg))) return true;
  if (in->op != OP_CALL) return false;
  return !(flow_changed_registers(&g->function, (uint64_t)in->imm) & REG_BIT(reg));
}

/* Of what is divided, the upper half is the sign of the lower one: what is used is that. */
static bool divides(const struct insn *in) {
  uint32_t both = REG_BIT(RAX) | REG_BIT(RDX);
  return (in->uses & both) == both && (in->defs & both) == both;
}

static bool in_register(struct follow_graph *g, const struct fact *f, uint32_t block, uint32_t position) {
  uint32_t insn = g->code.blocks[block].first + position;
  const struct insn *in = &g->code.insns[insn];
  bool memory = in->base == f->reg || in->index == f->reg;
  switch (in->op) {
  case OP_NOP:
    return true;
  case OP_CALL:
  case OP_CALL_SLOT:
  case OP_CALL_INDIRECT:
  case OP_TAIL:
  case OP_TAIL_SLOT:
  case OP_TAIL_INDIRECT:
    if (memory) address(g, f, insn, block);
    at_call(g, f, insn, block);
    return insn_calls(in) && survives_call(g, in, f->reg);
  case OP_RETURN:
    if (f->reg == RAX || (f->reg == RDX && f->subject == SUBJECT_VALUE && !f->mixed)) {
      struct follow_event e = event_at(in, EVENT_RETURN, insn, block);
      e.arg = f->reg == RDX ? RETURN_SECOND : 0;
      follow_note(g, f, e);
    }
    return false;
  case OP_LEA:
    if (memory) lea(g, f, block, position);
    break;
  default:
    if (memory) address(g, f, insn, block);
    /* Of sbb x, x only the carry remains. */
    if (in->op == OP_SBB && in->src_kind == OPERAND_REG && in->src == in->dst) break;
    if (in->src_kind == OPERAND_REG && in->src == f->reg)
      follow_operand(g, f, block, position, false);
    else if (in->dst_kind == OPERAND_REG && in->dst == f->reg && in->uses & REG_BIT(f->reg))
      follow_operand(g, f, block, position, true);
    else if (!memory && in->op == OP_OTHER && in->uses & REG_BIT(f->reg) && !(f->reg == RDX && divides(in))) {
      struct follow_event e = event_at(in, EVENT_USE, insn, block);
      e.lost = !in->defs && !(in->flags & (INSN_WRITES_MEM | INSN_SETS_FLAGS));
      follow_note(g, f, e);
    }
  }
  if (in->op == OP_CMOV && in->dst == f->reg) return true;
  return !(in->defs & REG_BIT(f->reg));
}

/* --- flags -------------------------------------------------------------------------------------------------------- */

/* Does the comparison tell 0 from other values? */
static bool asks_for_zero(const struct fact *f, uint8_t cc) {
  if (f->variable) return false;
  if (f->op == OP_TEST || f->imm == 0) return true;
  return f->imm == 1 && (cc & ~1) == CC_B; /* below 1 */
}

/* Is the register what another one is and 2^n - 1 more? */
static bool is_next_multiple(const struct follow_graph *g, uint32_t block, uint32_t position, uint8_t reg) {
  uint32_t first = g->code.blocks[block].first;
  for (uint32_t i = position; i-- > 0;) {
    const struct insn *def = &g->code.insns[first + i];
    if (!(def->defs & REG_BIT(reg))) continue;
    bool plain = def->op == OP_LEA && def->base != NO_REG && def->index == NO_REG;
    return plain && def->disp >= 3 && !(def->disp & (def->disp + 1));
  }
  return false;
}

/*
 * "x < 0 ? x + 63 : x" is how compilers begin to divide by 64, which rounds towards 0, as FD_SET does with a
 * descriptor. Nobody asks for the sign.
 */
static bool chooses_multiple(const struct follow_graph *g, const struct fact *f, uint32_t block, uint32_t position) {
  const struct insn *in = &g->code.insns[g->code.blocks[block].first + position];
  bool sign = in->cc == CC_S || in->cc == CC_NS || in->cc == CC_L || in->cc == CC_GE;
  if (in->op != OP_CMOV || f->op != OP_TEST || !sign || in->src_kind != OPERAND_REG) return false;
  return is_next_multiple(g, block, position, in->dst) || is_next_multiple(g, block, position, in->src);
}

#define JUMPS_MAX 4

/* Where BLOCK leads to, behind blocks in which nothing is done but jump. */
static uint32_t behind_jumps(const struct follow_graph *g, uint32_t block) {
  for (unsigned steps = 0; steps < JUMPS_MAX; steps++) {
    const struct block *b = &g->code.blocks[block];
    const uint32_t *next;
    for (uint32_t i = b->first; i < b->first + b->n; i++)
      if (g->code.insns[i].op != OP_JUMP && g->code.insns[i].op != OP_NOP) return block;
    if (follow_graph_next(g, block, &next, NULL) != 1) return block;
    block = next[0];
  }
  return block;
}

/* "if (x < 0) { }", unoptimised: the branch leads to the same place either way. */
static bool is_idle(const struct follow_graph *g, uint32_t block, const struct insn *in) {
  const uint32_t *next;
  if (in->op != OP_BRANCH || follow_graph_next(g, block, &next, NULL) != 2) return false;
  return behind_jumps(g, next[0]) == behind_jumps(g, next[1]);
}

static bool in_flags(struct follow_graph *g, const struct fact *f, uint32_t block, uint32_t position) {
  uint32_t insn = g->code.blocks[block].first + position;
  const struct insn *in = &g->code.insns[insn];
  bool carry = in->op == OP_SBB || in->op == OP_ADC;
  if (in->op == OP_BRANCH || in->op == OP_SET || in->op == OP_CMOV || carry) {
    struct follow_event e = event_at(in, EVENT_COMPARE, insn, block);
    e.op = f->op;
    e.width = f->width;
    e.cc = carry ? CC_B : in->cc;
    e.swapped = f->swapped;
    e.variable = f->variable;
    e.imm = f->imm;
    bool differs = !f->sum && f->differs;
    bool asks = f->sum ? asks_for_zero(f, e.cc) : !differs || e.cc == CC_E || e.cc == CC_NE;
    if (asks && !chooses_multiple(g, f, block, position) && !is_idle(g, block, in)) follow_note(g, f, e);
  }
  return !(in->flags & INSN_SETS_FLAGS) && !insn_calls(in) && in->op != OP_SYSCALL;
}

bool follow_step(struct follow_graph *g, const struct fact *f, uint32_t block, uint32_t position) {
  switch (f->where) {
  case FACT_REG:
    return in_register(g, f, block, position);
  case FACT_FLAGS:
    return in_flags(g, f, block, position);
  default:
    return follow_memory(g, f, block, position);
  }
}
