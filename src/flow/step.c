/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one instruction does to one followed value: nothing, or it comes from elsewhere, or it is born here.
 *
 * This is "l' is propagated to l by instruction i" of LFI's algorithm 1, for the idioms of today's compilers. What is
 * not modelled is VALUE_COMPUTED: never a guess. An instruction that chooses (cmov, setcc, sbb) makes two ways of one.
 */
#include "flow/backward.h"

#include <string.h>

struct asked {
  struct flow_function *f;
  const struct flow_loc *loc;
  const struct transform *ops;
  uint32_t at;
  const struct insn *in;
};

static enum step_kind give(struct step *ret, struct source s) {
  ret->now = s;
  return s.leaf ? STEP_VALUE : STEP_MOVED;
}

/* The address of a variable and something: the register alone, without asking far. */
static bool sums_address(const struct asked *a) {
  const struct insn *in = a->in;
  bool scaled = in->op == OP_LEA && in->scale > 1, loaded = false;
  for (uint32_t i = a->at; i-- > 0 && a->at - i < 8;) {
    const struct insn *def = &a->f->code->insns[i];
    if (!(def->defs & in->uses)) continue;
    if (def->op == OP_LEA && def->base == NO_REG && def->index == NO_REG) return true;
    scaled |= def->op == OP_SHL || def->op == OP_MUL || (def->op == OP_LEA && def->scale > 1);
    loaded |= def->op == OP_MOVE && def->src_kind == OPERAND_MEM && def->from_size == 8;
  }
  return scaled && loaded;
}

/* Is the result, or what it is computed from, used as an address nearby? */
static bool used_as_address(const struct asked *a) {
  const struct code *c = a->f->code;
  uint16_t regs = (uint16_t)(a->in->defs | a->in->uses) & (uint16_t)~REG_BIT(RSP);
  if (a->in->size != 8 || (a->in->op != OP_ADD && a->in->op != OP_LEA && a->in->op != OP_SUB)) return false;
  if (sums_address(a)) return true;
  uint32_t first = a->at > 12 ? a->at - 12 : 0, last = a->at + 12 < c->n_insns ? a->at + 12 : c->n_insns;
  for (uint32_t i = first; i < last; i++) {
    const struct insn *in = &c->insns[i];
    bool memory = in->op != OP_LEA && in->op != OP_NOP && in->base != NO_REG && !(in->flags & INSN_FS);
    if (memory && regs & REG_BIT(in->base)) return true;
  }
  return false;
}

/* The difference of two bytes that were just loaded. */
static bool is_order(const struct asked *a) {
  const struct insn *in = a->in;
  unsigned bytes = 0;
  if (in->op != OP_SUB || in->size != 4 || in->src_kind != OPERAND_REG || in->dst_kind != OPERAND_REG) return false;
  for (uint32_t i = a->at; i-- > 0 && a->at - i < 12;) {
    const struct insn *def = &a->f->code->insns[i];
    if (def->op != OP_MOVE || def->from_size != 1 || def->src_kind == OPERAND_IMM) continue;
    bytes += def->dst == in->dst || def->dst == in->src;
    for (uint32_t k = i; def->src_kind == OPERAND_REG && k + 1 < a->at && k < i + 4; k++) /* or a copy of it */
      bytes += a->f->code->insns[k + 1].op == OP_MOVE && a->f->code->insns[k + 1].src == def->dst &&
               a->f->code->insns[k + 1].dst == in->dst && def->dst != in->dst;
  }
  return bytes >= 2;
}

static enum step_kind give_unknown(const struct asked *a, struct step *ret, unsigned kind) {
  struct source s = flow_source_unknown(kind, a->in->size, a->in->address);
  if (kind == VALUE_COMPUTED && used_as_address(a)) s.value.raw = RAW_POINTER;
  if (kind == VALUE_COMPUTED && is_order(a)) s.value.raw = RAW_ORDER;
  s.ops = a->ops;
  return give(ret, s);
}

static enum step_kind give_constant(const struct asked *a, struct step *ret, uint64_t v) {
  struct source s = flow_source_leaf((struct flow_value){.kind = VALUE_CONST, .value = v, .at = a->in->address});
  s.ops = a->ops;
  return give(ret, s);
}

static struct source from_loc(const struct asked *a, struct flow_loc loc) {
  return (struct source){.loc = loc, .ops = a->ops};
}

/* Puts an operation between the source and the rest; a chain that is too long makes the value unknown. */
static void between(const struct asked *a, struct source *s, unsigned kind, unsigned width, int64_t imm) {
  if (s->leaf && s->value.kind != VALUE_CONST && s->value.kind != VALUE_ADDRESS && s->value.kind != VALUE_THREAD)
    return;
  if (!flow_transform_push(a->f->worker, &s->ops, kind, width, imm))
    *s = flow_source_unknown(VALUE_COMPUTED, a->in->size, a->in->address);
}

static uint64_t low(uint64_t v, unsigned size) { return size >= 8 ? v : v & ((1ull << (size * 8)) - 1); }

/* Do the operations that follow look at no more than the low SIZE bytes? */
static bool only_low(const struct asked *a, unsigned size) {
  if (a->loc->kind != LOC_REG) return true;
  if (!a->ops && a->loc->reg == RAX) return true; /* a char or a short is returned */
  for (const struct transform *t = a->ops; t; t = t->next)
    switch (t->kind) {
    case XF_ZERO:
    case XF_SIGN:
      if (t->width <= size) return true;
      break;
    case XF_AND:
      if (low((uint64_t)t->imm, size) == (uint64_t)t->imm) return true;
      break;
    case XF_ADD: /* the low bytes of these depend on low bytes only */
    case XF_MUL:
    case XF_OR:
    case XF_XOR:
    case XF_SHL:
    case XF_NEG:
    case XF_NOT:
      break;
    default:
      return false;
    }
  return false;
}

static struct source source_operand(const struct asked *a, uint8_t kind, uint8_t reg, unsigned size, bool is_signed) {
  struct source s = {.ops = a->ops};
  switch (kind) {
  case OPERAND_REG:
    s.loc = flow_loc_reg(reg);
    return s;
  case OPERAND_IMM:
    s.leaf = true;
    s.value = (struct flow_value){.kind = VALUE_CONST, .value = (uint64_t)a->in->imm, .at = a->in->address};
    return s;
  case OPERAND_MEM:
    return flow_source_memory(a->f, a->at, size, is_signed, a->ops);
  default:
    return flow_source_unknown(VALUE_COMPUTED, a->in->size, a->in->address);
  }
}

static enum step_kind step_move(const struct asked *a, struct step *ret) {
  const struct insn *in = a->in;
  struct asked b = *a;
  if (in->src_kind == OPERAND_IMM) {
    if (in->size <= 2 && a->loc->kind == LOC_REG) return give_constant(a, ret, low((uint64_t)in->imm, in->size));
    return give_constant(a, ret, in->size == 4 ? (uint32_t)in->imm : (uint64_t)in->imm);
  }
  if (in->size <= 2 && !only_low(a, in->size)) return give_unknown(a, ret, VALUE_COMPUTED);
  struct source s = {.ops = a->ops};
  if (in->size < 8 && in->flags & INSN_SIGNED) between(a, &s, XF_ZERO, in->size, 0);
  if (in->src_kind == OPERAND_MEM || s.leaf) {
    b.ops = s.ops;
    return give(ret, s.leaf ? s : source_operand(&b, in->src_kind, in->src, in->from_size, in->flags & INSN_SIGNED));
  }
  if (in->flags & INSN_SIGNED)
    between(a, &s, XF_SIGN, in->from_size, 0);
  else if (in->from_size < 8)
    between(a, &s, XF_ZERO, in->from_size, 0);
  if (!s.leaf) s.loc = flow_loc_reg(in->src);
  return give(ret, s);
}

static enum step_kind step_lea(const struct asked *a, struct step *ret) {
  const struct insn *in = a->in;
  struct source s = from_loc(a, flow_loc_reg(in->base));
  if (in->base == NO_REG && in->index == NO_REG) {
    s.leaf = true;
    s.value = (struct flow_value){.kind = VALUE_ADDRESS, .value = (uint64_t)in->disp, .at = in->address};
    return give(ret, s);
  }
  if (in->index == NO_REG && (in->base == RSP || (in->base == RBP && in->fp != SP_UNKNOWN)))
    return give_unknown(a, ret, VALUE_STACK);
  if (in->size < 8) between(a, &s, XF_ZERO, in->size, 0);
  uint64_t constant;
  int64_t disp = in->disp;
  uint8_t base = in->base, index = in->index;
  if (base != NO_REG && index != NO_REG && base != index) {
    if (flow_origin_constant(a->f, a->at, index, &constant)) {
      disp = (int64_t)((uint64_t)disp + constant * in->scale);
      index = NO_REG;
    } else if (flow_origin_constant(a->f, a->at, base, &constant)) {
      disp = (int64_t)((uint64_t)disp + constant);
      base = NO_REG;
    } else
      return give_unknown(a, ret, VALUE_COMPUTED);
  }
  between(a, &s, XF_ADD, 0, disp);
  if (index != NO_REG) between(a, &s, XF_MUL, 0, in->scale + (base == index));
  if (!s.leaf) s.loc = flow_loc_reg(index != NO_REG ? index : base);
  return give(ret, s);
}

/* Thread pointer plus a variable's offset, in either order. */
static bool thread_address(const struct asked *a, struct step *ret) {
  const struct insn *in = a->in;
  struct flow_loc self = *a->loc;
  struct source other = source_operand(a, in->src_kind, in->src, 8, false);
  struct flow_value x = flow_origin(a->f, a->at, &self), y = other.value;
  if (!other.leaf)
    y = other.loc.kind == LOC_REG ? flow_origin(a->f, a->at, &other.loc) : (struct flow_value){.kind = VALUE_NONE};
  if (x.kind == VALUE_TLS_OFFSET && y.kind == VALUE_THREAD)
    y = x;
  else if (x.kind != VALUE_THREAD || y.kind != VALUE_TLS_OFFSET)
    return false;
  y.kind = VALUE_TLS;
  y.at = in->address;
  ret->now = flow_source_leaf(y);
  ret->now.ops = a->ops;
  return true;
}

static unsigned transform_of(uint8_t op) {
  switch (op) {
  case OP_ADD:
  case OP_SUB:
    return XF_ADD;
  case OP_AND:
    return XF_AND;
  case OP_OR:
    return XF_OR;
  case OP_XOR:
    return XF_XOR;
  default:
    return XF_MUL;
  }
}

/* x & (x >> 31): a negative x, or 0. */
static bool minimum(const struct asked *a, struct step *ret) {
  const struct insn *in = a->in;
  const struct transform *of;
  struct flow_loc dst = flow_loc_reg(in->dst), src = flow_loc_reg(in->src);
  if (in->op != OP_AND || in->src_kind != OPERAND_REG || in->dst_kind != OPERAND_REG || in->size < 4) return false;
  struct flow_value x = flow_origin(a->f, a->at, &dst), y = flow_origin(a->f, a->at, &src);
  if (x.kind != y.kind || (x.kind != VALUE_CALL && x.kind != VALUE_ARG) || x.call != y.call || x.arg != y.arg)
    return false;
  bool dst_is_sign = flow_transform_is_sign(x.ops, &of), src_is_sign = flow_transform_is_sign(y.ops, &of);
  if (dst_is_sign == src_is_sign) return false;
  const struct transform *plain = dst_is_sign ? y.ops : x.ops; /* the other one has to be the value itself */
  bool negated =
      plain && plain->kind == XF_NEG && (!plain->next || (plain->next->kind == XF_ZERO && !plain->next->next));
  if (plain && !negated && (plain->kind != XF_ZERO || plain->next)) return false;
  struct source s = from_loc(a, dst_is_sign ? src : dst);
  between(a, &s, XF_ZERO, in->size, 0);
  between(a, &s, negated ? XF_MAX0 : XF_MIN0, of->width, 0);
  ret->now = s;
  return true;
}

static bool guard_word(const struct insn *in) {
  return in->src_kind == OPERAND_MEM && in->flags & INSN_FS && in->base == NO_REG && in->index == NO_REG;
}

/* A constant; for a table that is indexed by hand, its address too. */
static bool fixed_number(const struct asked *a, uint8_t reg, uint64_t *ret) {
  struct flow_loc loc = flow_loc_reg(reg);
  struct flow_value v = flow_origin(a->f, a->at, &loc);
  if (v.kind != VALUE_CONST && !(v.kind == VALUE_ADDRESS && !v.raw && flow_transform_loads(a->ops))) return false;
  *ret = v.value;
  return true;
}

/* Was it set by a comparison just before? */
static bool truth_value(const struct asked *a, uint8_t reg) {
  for (uint32_t i = a->at; i-- > 0 && a->at - i < 6;) {
    const struct insn *in = &a->f->code->insns[i];
    if (in->defs & REG_BIT(reg)) return in->op == OP_SET || (in->op == OP_MOVE && in->from_size == 1 && in->src == reg);
  }
  return false;
}

/* The other operand's constant, or this one's, with the location that is then followed. */
static bool one_constant(const struct asked *a, uint64_t *ret, struct flow_loc *follow) {
  const struct insn *in = a->in;
  *follow = *a->loc;
  if (in->src_kind == OPERAND_IMM) {
    *ret = (uint64_t)in->imm;
    return true;
  }
  if (in->src_kind == OPERAND_REG && fixed_number(a, in->src, ret)) return true;
  if (in->src_kind != OPERAND_REG || in->dst_kind != OPERAND_REG || in->op == OP_SUB) return false;
  *follow = flow_loc_reg(in->src);
  if (fixed_number(a, in->dst, ret)) return true;
  if (in->op != OP_AND) return false;
  /* The result of a comparison is a mask of one bit. */
  *ret = 1;
  if (truth_value(a, in->dst)) return true;
  *follow = *a->loc;
  return truth_value(a, in->src);
}

/* Is the register 0 or all ones, from the carry? */
static bool carry_mask(const struct asked *a, uint8_t reg) {
  for (uint32_t i = a->at; i-- > 0 && a->at - i < 4;) {
    const struct insn *in = &a->f->code->insns[i];
    if (in->defs & REG_BIT(reg)) return in->op == OP_SBB && in->src_kind == OPERAND_REG && in->src == in->dst;
  }
  return false;
}

/* x | mask is x or -1, x & mask is x or 0; which of them it is, no flag tells any more. */
static bool masked(const struct asked *a, struct step *ret) {
  const struct insn *in = a->in;
  if ((in->op != OP_OR && in->op != OP_AND) || in->src_kind != OPERAND_REG || in->dst_kind != OPERAND_REG ||
      in->size < 4)
    return false;
  bool src = carry_mask(a, in->src), dst = carry_mask(a, in->dst);
  if (src == dst) return false;
  struct source x = from_loc(a, flow_loc_reg(src ? in->dst : in->src));
  if (in->size < 8) between(a, &x, XF_ZERO, in->size, 0);
  struct step constant;
  (void)give_constant(a, &constant, in->op == OP_OR ? low(~0ull, in->size) : 0);
  ret->cc = CC_O;
  ret->alt[0] = x;
  ret->alt[1] = constant.now;
  return true;
}

/* constant - x */
static bool from_constant(const struct asked *a, struct step *ret) {
  const struct insn *in = a->in;
  struct asked b = *a;
  uint64_t v;
  if (in->op != OP_SUB || in->dst_kind != OPERAND_REG || in->src_kind == OPERAND_IMM || in->size < 4) return false;
  if (!flow_origin_constant(a->f, a->at, in->dst, &v)) return false;
  struct source s = {.ops = a->ops};
  if (in->size < 8) between(a, &s, XF_ZERO, in->size, 0);
  between(a, &s, XF_ADD, 0, (int64_t)v);
  between(a, &s, XF_NEG, 0, 0);
  b.ops = s.ops;
  ret->now = s.leaf ? s : source_operand(&b, in->src_kind, in->src, in->size, false);
  return true;
}

static enum step_kind step_arithmetic(const struct asked *a, struct step *ret) {
  const struct insn *in = a->in;
  bool same = in->src_kind == OPERAND_REG && in->dst_kind == OPERAND_REG && in->src == in->dst;
  uint64_t v;
  struct flow_loc follow;
  if (in->size <= 2 && !only_low(a, in->size)) return give_unknown(a, ret, VALUE_COMPUTED);
  if (same && (in->op == OP_XOR || in->op == OP_SUB)) return give_constant(a, ret, 0);
  if (guard_word(in) && (in->op == OP_SUB || in->op == OP_XOR)) return give_unknown(a, ret, VALUE_UNDEFINED);
  if (in->op == OP_ADD && in->size == 8 && in->dst_kind == OPERAND_REG && thread_address(a, ret)) return STEP_VALUE;
  struct source s = {.ops = a->ops, .loc = *a->loc};
  if (in->size < 8) between(a, &s, XF_ZERO, in->size, 0);
  if (same && (in->op == OP_AND || in->op == OP_OR)) return give(ret, s);
  if (same && in->op == OP_ADD) {
    between(a, &s, XF_MUL, 0, 2);
    return give(ret, s);
  }
  if (from_constant(a, ret)) return give(ret, ret->now);
  if (minimum(a, ret)) return ret->now.leaf ? STEP_VALUE : STEP_MOVED;
  if (masked(a, ret)) return STEP_FORK;
  if (!one_constant(a, &v, &follow)) return give_unknown(a, ret, VALUE_COMPUTED);
  if (in->op == OP_AND && v == 0) return give_constant(a, ret, 0);
  if (in->op == OP_OR && low(v, in->size) == low(~0ull, in->size)) return give_constant(a, ret, low(v, in->size));
  between(a, &s, transform_of(in->op), 0, (int64_t)(in->op == OP_SUB ? -v : v));
  if (!s.leaf) s.loc = follow;
  return give(ret, s);
}

static enum step_kind step_multiply(const struct asked *a, struct step *ret) {
  const struct insn *in = a->in;
  if (in->cc != 1) return step_arithmetic(a, ret);
  struct asked b = *a;
  struct source s = {.ops = a->ops};
  if (in->size < 8) between(a, &s, XF_ZERO, in->size, 0);
  between(a, &s, XF_MUL, 0, in->imm);
  if (s.leaf) return give(ret, s);
  b.ops = s.ops;
  return give(ret, source_operand(&b, in->src_kind, in->src, in->size, false));
}

static enum step_kind step_shift(const struct asked *a, struct step *ret) {
  const struct insn *in = a->in;
  struct source s = from_loc(a, *a->loc);
  if (in->src_kind == OPERAND_REG || in->size < 4) return give_unknown(a, ret, VALUE_COMPUTED);
  int64_t n = in->src_kind == OPERAND_IMM ? in->imm & (in->size * 8 - 1) : 1;
  if (in->size < 8) between(a, &s, XF_ZERO, in->size, 0);
  between(a, &s, in->op == OP_SHL ? XF_SHL : in->op == OP_SHR ? XF_SHR : XF_SAR, 0, n);
  if (in->size < 8 && in->op != OP_SHL) between(a, &s, in->op == OP_SHR ? XF_ZERO : XF_SIGN, in->size, 0);
  return give(ret, s);
}

static enum step_kind step_unary(const struct asked *a, struct step *ret) {
  const struct insn *in = a->in;
  struct source s = from_loc(a, *a->loc);
  if (in->size <= 2 && !only_low(a, in->size)) return give_unknown(a, ret, VALUE_COMPUTED);
  if (in->size < 8) between(a, &s, XF_ZERO, in->size, 0);
  between(a, &s, in->op == OP_NEG ? XF_NEG : XF_NOT, 0, 0);
  return give(ret, s);
}

/* A sum that may go round. */
static int64_t wrapped(int64_t a, uint64_t b) { return (int64_t)((uint64_t)a + b); }

static enum step_kind step_carry(const struct asked *a, struct step *ret) {
  const struct insn *in = a->in;
  bool add = in->op == OP_ADC;
  bool same = !add && in->src_kind == OPERAND_REG && in->dst_kind == OPERAND_REG && in->src == in->dst;
  if (!same && in->src_kind != OPERAND_IMM) return give_unknown(a, ret, VALUE_COMPUTED);
  if (in->size < 4 && !only_low(a, in->size)) return give_unknown(a, ret, VALUE_COMPUTED);
  ret->cc = CC_B;
  for (unsigned carry = 0; carry < 2; carry++) {
    struct source s = from_loc(a, *a->loc);
    if (same) {
      s.leaf = true;
      s.value = (struct flow_value){.kind = VALUE_CONST, .value = low(-(uint64_t)carry, in->size), .at = in->address};
    } else {
      if (in->size < 8) between(a, &s, XF_ZERO, in->size, 0);
      between(a, &s, XF_ADD, 0, add ? wrapped(in->imm, carry) : (int64_t) - (uint64_t)wrapped(in->imm, carry));
    }
    ret->alt[carry] = s;
  }
  return STEP_FORK;
}

static enum step_kind step_set(const struct asked *a, struct step *ret) {
  ret->cc = a->in->cc;
  for (unsigned holds = 0; holds < 2; holds++) {
    struct step part = {0};
    /* The rest of the register is cleared before or never looked at: `sete al; ret` is a bool. */
    (void)give_constant(a, &part, holds);
    ret->alt[holds] = part.now;
  }
  return STEP_FORK;
}

static enum step_kind step_cmov(const struct asked *a, struct step *ret) {
  const struct insn *in = a->in;
  struct asked b = *a;
  if (in->size == 2) return give_unknown(a, ret, VALUE_COMPUTED);
  struct source s = from_loc(a, *a->loc);
  if (in->size < 8) between(a, &s, XF_ZERO, in->size, 0);
  if (s.leaf) return give(ret, s);
  b.ops = s.ops;
  ret->cc = in->cc;
  ret->alt[0] = s;
  ret->alt[1] = source_operand(&b, in->src_kind, in->src, in->size, false);
  return STEP_FORK;
}

static enum step_kind step_sign(const struct asked *a, struct step *ret) {
  const struct insn *in = a->in;
  struct source s = from_loc(a, flow_loc_reg(in->src));
  if (in->size < 8) between(a, &s, XF_ZERO, in->size, 0);
  between(a, &s, XF_SAR, 0, in->size * 8 - 1);
  between(a, &s, XF_SIGN, in->size, 0);
  return give(ret, s);
}

/* The two sequences of the ELF TLS ABI that ask for a variable of this or another module. */
static bool tls_call(const struct asked *a, struct flow_value *v) {
  const struct insn *in = a->in;
  struct image_slot slot;
  bool descriptor = in->op == OP_CALL_INDIRECT && in->dst_kind == OPERAND_MEM && in->base == RAX && in->disp == 0;
  struct flow_loc arg = flow_loc_reg(descriptor ? RAX : RDI);
  if (in->op != OP_CALL && in->op != OP_CALL_SLOT && !descriptor) return false;
  struct flow_value p = flow_origin(a->f, a->at, &arg);
  if (p.kind != VALUE_ADDRESS || !image_slot(a->f->image, p.value, &slot)) return false;
  if (slot.kind != (descriptor ? SLOT_TLS_DESC : SLOT_TLS_PAIR)) return false;
  *v = (struct flow_value){.kind = descriptor ? VALUE_TLS_OFFSET : VALUE_TLS, .value = p.value, .at = in->address};
  return true;
}

/* Unoptimised gcc puts a nop before the end of a function that returns nothing. */
static bool ends_void(const struct asked *a) {
  const struct code *c = a->f->code;
  if (a->at + 3 >= c->n_insns || a->in->op == OP_SYSCALL) return false;
  const struct insn *next = &a->in[1];
  bool frame = next[1].op == OP_LEAVE || (next[1].op == OP_POP && next[1].dst == RBP);
  return next[0].op == OP_NOP && next[0].length == 1 && frame && next[2].op == OP_RETURN;
}

static int slot_argument(const struct asked *a, bool *ret_inside);

/*
 * A kernel's put_user, written in assembly, is given its value in rax, leaves it there and says in rcx what went wrong.
 */
static bool returns_rcx(const struct asked *a) {
  uint16_t changed = flow_changed_registers(a->f, (uint64_t)a->in->imm);
  return changed & REG_BIT(RCX) && !(changed & REG_BIT(RAX));
}

/* What the call stores behind the pointer that it was given. */
static enum step_kind give_set_by_call(const struct asked *a, struct step *ret) {
  bool inside = false;
  int arg = slot_argument(a, &inside);
  if (arg < 0) return give_unknown(a, ret, VALUE_MEMORY);
  struct flow_value v = {.kind = VALUE_SIDE, .arg = PLACE_ARG, .at = a->in->address};
  v.call = (uint16_t)flow_call_number(a->f, a->at);
  v.value = (uint64_t)arg;
  struct source s = flow_source_leaf(v);
  s.ops = a->ops;
  return give(ret, s);
}

static enum step_kind step_call(const struct asked *a, struct step *ret) {
  const struct insn *in = a->in;
  if (in->op == OP_SYSCALL && a->loc->kind == LOC_REG && a->loc->reg != RAX)
    return give_unknown(a, ret, VALUE_COMPUTED);
  struct source s = {.leaf = true, .ops = a->ops};
  if (a->loc->kind == LOC_SLOT && a->f->kernel) return give_set_by_call(a, ret);
  if (a->loc->kind != LOC_REG) return give_unknown(a, ret, VALUE_MEMORY);
  /* A compiler that knows the callee keeps values where the callee leaves them alone. */
  if (in->op == OP_CALL && !code_follow_plt(a->f->image, (uint64_t)in->imm).slot) {
    bool second = a->loc->reg == RDX || (a->f->kernel && a->loc->reg == RCX && returns_rcx(a));
    if (a->loc->reg != RAX && !second) return STEP_NONE; /* else it would not be read again */
    if (!(flow_changed_registers(a->f, (uint64_t)in->imm) & REG_BIT(a->loc->reg))) return STEP_NONE;
  }
  if (a->f->kernel && in->op == OP_CALL && a->loc->reg == RCX && returns_rcx(a)) {
    s.value =
        (struct flow_value){.kind = VALUE_CALL, .call = (uint16_t)flow_call_number(a->f, a->at), .at = in->address};
    return give(ret, s);
  }
  /* A kernel's thunks and the functions behind its patched calls keep all registers but those of the result. */
  if (a->f->kernel && a->loc->reg != RAX && a->loc->reg != RDX) return STEP_NONE;
  /* What a call may change is not read behind it: it is one that never returns. rdx may be a second value. */
  if (a->loc->reg != RAX) return give_unknown(a, ret, a->loc->reg == RDX ? VALUE_COMPUTED : VALUE_IMPOSSIBLE);
  if (ends_void(a)) return give_unknown(a, ret, VALUE_UNDEFINED);
  s.value = (struct flow_value){.kind = VALUE_CALL, .call = (uint16_t)flow_call_number(a->f, a->at), .at = in->address};
  (void)tls_call(a, &s.value);
  return give(ret, s);
}

static enum step_kind step_pop(const struct asked *a, struct step *ret) {
  struct source s = from_loc(a, (struct flow_loc){.kind = LOC_SLOT, .slot = a->in->sp, .size = 8});
  if (a->loc->kind == LOC_REG && a->in->dst != a->loc->reg) return STEP_NONE; /* only rsp changes */
  if (a->in->sp == SP_UNKNOWN || a->in->dst_kind != OPERAND_REG) return give_unknown(a, ret, VALUE_MEMORY);
  return give(ret, s);
}

static enum step_kind step_written(const struct asked *a, struct step *ret) {
  switch (a->in->op) {
  case OP_MOVE:
    return step_move(a, ret);
  case OP_LEA:
    return step_lea(a, ret);
  case OP_ADD:
  case OP_SUB:
  case OP_AND:
  case OP_OR:
  case OP_XOR:
    return step_arithmetic(a, ret);
  case OP_MUL:
    return step_multiply(a, ret);
  case OP_SHL:
  case OP_SHR:
  case OP_SAR:
    return step_shift(a, ret);
  case OP_NEG:
  case OP_NOT:
    return step_unary(a, ret);
  case OP_SBB:
  case OP_ADC:
    return step_carry(a, ret);
  case OP_SIGN:
    return step_sign(a, ret);
  case OP_SET:
    return step_set(a, ret);
  case OP_CMOV:
    return step_cmov(a, ret);
  case OP_POP:
    return step_pop(a, ret);
  case OP_CALL:
  case OP_CALL_SLOT:
  case OP_CALL_INDIRECT:
  case OP_SYSCALL:
    return step_call(a, ret);
  case OP_PUSH:
    if (a->loc->kind == LOC_REG) return STEP_NONE;
    return give(ret, source_operand(a, a->in->dst_kind, a->in->dst, 8, false));
  default:
    return give_unknown(a, ret, VALUE_COMPUTED);
  }
}

enum touch { TOUCH_NOT, TOUCH_WHOLE, TOUCH_PART };

static enum touch overlap(int64_t written, unsigned written_size, int64_t at, unsigned size) {
  if (written == at && written_size >= size) return TOUCH_WHOLE;
  if (written >= at + (int64_t)size || at >= written + (int64_t)written_size) return TOUCH_NOT;
  return TOUCH_PART;
}

static bool escaped(const struct code *c, int32_t slot) {
  uint32_t lo = 0, hi = c->n_escaped;
  while (lo < hi) {
    uint32_t mid = lo + (hi - lo) / 2;
    if (c->escaped[mid] < slot)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo < c->n_escaped && c->escaped[lo] == slot;
}

#define LOCAL_MAX 256 /* bytes of a structure on the stack that a call may fill */

/*
 * The argument of the call that is the address of the stack slot, or -1; *ret_inside: the slot is behind it, perhaps
 * in the same structure.
 */
static int slot_argument(const struct asked *a, bool *ret_inside) {
  const struct code *c = a->f->code;
  for (unsigned k = 0; k < FLOW_ARGS; k++) {
    uint8_t reg = code_argument_registers[k];
    for (uint32_t i = a->at; i-- > 0 && a->at - i < 32;) {
      const struct insn *in = &c->insns[i];
      int32_t slot;
      if (insn_calls(in) && CALL_CLOBBERS & REG_BIT(reg)) break;
      if (!(in->defs & REG_BIT(reg))) continue;
      bool local = in->op == OP_LEA && insn_slot(in, &slot);
      if (in->op == OP_MOVE && in->src_kind == OPERAND_REG && in->src == RSP && in->sp != SP_UNKNOWN) {
        local = true;
        slot = in->sp;
      }
      if (local && slot == a->loc->slot) return (int)k;
      if (local && slot < a->loc->slot && a->loc->slot - slot < LOCAL_MAX) *ret_inside = true;
      break;
    }
  }
  return -1;
}

static enum touch touch_slot(const struct asked *a) {
  const struct insn *in = a->in;
  int32_t slot;
  /* Kernels keep no pointers to another function's variables: a call changes only those that it is given. */
  if (a->f->kernel && insn_calls(in)) {
    bool inside = false;
    return slot_argument(a, &inside) >= 0 ? TOUCH_WHOLE : inside ? TOUCH_PART : TOUCH_NOT;
  }
  if (insn_calls(in) || in->op == OP_SYSCALL) return escaped(a->f->code, a->loc->slot) ? TOUCH_PART : TOUCH_NOT;
  if (in->op == OP_PUSH) return in->sp == SP_UNKNOWN ? TOUCH_NOT : overlap(in->sp - 8, 8, a->loc->slot, a->loc->size);
  if (!(in->flags & INSN_WRITES_MEM) || !insn_slot(in, &slot)) return TOUCH_NOT;
  return overlap(slot, in->size ? in->size : 64, a->loc->slot, a->loc->size);
}

/* Two calls of one function that gives a pointer to a single variable, such as errno's. */
static bool same_pointer(const struct flow_function *f, const struct flow_place *p, const struct flow_place *q) {
  if (p->kind != PLACE_CALL || q->kind != PLACE_CALL || p->size != 4 || q->size != 4 || f->failed) return false;
  const struct flow_call *a = &f->calls.at[p->call], *b = &f->calls.at[q->call];
  return a->kind == b->kind && a->target == b->target && a->kind != CALL_POINTER;
}

/* errno outlives calls; what a call that fails puts there is asked for when its failure is known. */
static bool like_errno(const struct flow_loc *l) {
  return (l->place.kind == PLACE_TLS || l->place.kind == PLACE_CALL) && l->place.offset == 0 && l->size == 4;
}

static enum touch touch_place(const struct asked *a) {
  struct flow_place p;
  int32_t slot;
  if (insn_calls(a->in)) return like_errno(a->loc) ? TOUCH_NOT : TOUCH_PART;
  if (a->in->op == OP_SYSCALL) return a->loc->place.kind == PLACE_TLS ? TOUCH_NOT : TOUCH_PART;
  if (!(a->in->flags & INSN_WRITES_MEM) || insn_slot(a->in, &slot) || !flow_operand_place(a->f, a->at, &p))
    return TOUCH_NOT;
  struct flow_place q = a->loc->place, r = p;
  int64_t x = q.kind == PLACE_GLOBAL && !q.raw ? (int64_t)q.where : q.offset,
          y = p.kind == PLACE_GLOBAL && !p.raw ? (int64_t)p.where : p.offset;
  q.offset = r.offset = 0;
  if (same_pointer(a->f, &q, &r)) q.call = r.call;
  if (q.kind == PLACE_GLOBAL && r.kind == PLACE_GLOBAL && !q.raw && !r.raw) q.where = r.where = 0;
  if (!flow_place_equal(&q, &r)) return TOUCH_NOT;
  return overlap(y, a->in->size, x, a->loc->size);
}

enum step_kind step_item(struct flow_function *f, const struct flow_loc *loc, const struct transform *ops,
                         uint32_t insn, struct step *ret) {
  struct asked a = {f, loc, ops, insn, &f->code->insns[insn]};
  if (loc->kind == LOC_REG) return a.in->defs & REG_BIT(loc->reg) ? step_written(&a, ret) : STEP_NONE;
  switch (loc->kind == LOC_SLOT ? touch_slot(&a) : touch_place(&a)) {
  case TOUCH_NOT:
    return STEP_NONE;
  case TOUCH_PART:
    return give_unknown(&a, ret, VALUE_MEMORY);
  default:
    return step_written(&a, ret);
  }
}
