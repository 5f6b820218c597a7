/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flags: what a condition behind an instruction says about the values before it.
 *
 * The result is always "OPS(location) cc constant". A comparison of two unknown values says nothing here.
 */
#include "flow/backward.h"

static bool operand_loc(struct flow_function *f, uint32_t insn, uint8_t kind, uint8_t reg, unsigned size,
                        struct item *ret) {
  if (kind == OPERAND_REG) {
    ret->loc = flow_loc_reg(reg);
    return true;
  }
  if (kind != OPERAND_MEM) return false;
  struct source s = flow_source_memory(f, insn, size, false, ret->ops);
  if (s.leaf) return false;
  ret->loc = s.loc;
  ret->ops = s.ops;
  return true;
}

/* A condition after cmp with its operands exchanged. */
static uint8_t exchanged(uint8_t cc) {
  switch (cc) {
  case CC_B:
    return CC_A;
  case CC_A:
    return CC_B;
  case CC_AE:
    return CC_BE;
  case CC_BE:
    return CC_AE;
  case CC_L:
    return CC_G;
  case CC_G:
    return CC_L;
  case CC_GE:
    return CC_LE;
  case CC_LE:
    return CC_GE;
  default:
    return cc;
  }
}

static bool of_compare(struct flow_function *f, uint32_t insn, const struct insn *in, struct item *p) {
  uint64_t v;
  if (in->src_kind == OPERAND_IMM) {
    p->imm = (uint64_t)in->imm;
    return operand_loc(f, insn, in->dst_kind, in->dst, in->size, p);
  }
  if (in->src_kind == OPERAND_REG && flow_origin_constant(f, insn, in->src, &v)) {
    p->imm = v;
    return operand_loc(f, insn, in->dst_kind, in->dst, in->size, p);
  }
  if (in->dst_kind == OPERAND_REG && flow_origin_constant(f, insn, in->dst, &v)) {
    p->imm = v;
    p->cc = exchanged(p->cc);
    return operand_loc(f, insn, in->src_kind, in->src, in->size, p);
  }
  return false;
}

static bool zero_test(uint8_t cc) { return cc == CC_E || cc == CC_NE || cc == CC_S || cc == CC_NS; }

static bool of_test(struct flow_function *f, uint32_t insn, const struct insn *in, struct item *p) {
  bool same = in->src_kind == OPERAND_REG && in->dst_kind == OPERAND_REG && in->src == in->dst;
  uint64_t mask = 0;
  if (!same && in->src_kind == OPERAND_IMM)
    mask = (uint64_t)in->imm;
  else if (!same && !(in->src_kind == OPERAND_REG && flow_origin_constant(f, insn, in->src, &mask)))
    return false;
  if (!same && !flow_transform_push(f->worker, &p->ops, XF_AND, 0, (int64_t)mask)) return false;
  return operand_loc(f, insn, in->dst_kind, in->dst, in->size, p);
}

/* Zero and sign of the result of arithmetic. */
static bool of_result(struct flow_function *f, uint32_t insn, const struct insn *in, struct item *p) {
  struct step step;
  struct flow_loc dst = flow_loc_reg(in->dst);
  bool logic = in->op == OP_AND || in->op == OP_OR || in->op == OP_XOR;
  if (!zero_test(p->cc) && !(logic && p->cc >= CC_L)) return false;
  if (in->dst_kind != OPERAND_REG) return false;
  if (!flow_transform_push(f->worker, &p->ops, XF_ZERO, in->size, 0)) return false;
  if (step_item(f, &dst, p->ops, insn, &step) != STEP_MOVED) return false;
  p->loc = step.now.loc;
  p->ops = step.now.ops;
  return true;
}

static bool of_negation(struct flow_function *f, uint32_t insn, const struct insn *in, struct item *p) {
  if (p->cc == CC_B || p->cc == CC_NE)
    p->cc = CC_NE;
  else if (p->cc == CC_AE || p->cc == CC_E)
    p->cc = CC_E;
  else
    return of_result(f, insn, in, p);
  return operand_loc(f, insn, in->dst_kind, in->dst, in->size, p);
}

/* x | y is zero, or the flags x & y are not: both are. */
static unsigned of_both(struct flow_function *f, uint32_t insn, uint8_t cc, struct item ret[2]) {
  const struct insn *in = &f->code->insns[insn];
  if (in->src_kind != OPERAND_REG || in->dst_kind != OPERAND_REG || in->src == in->dst || in->size != 1) return 0;
  if (!(in->op == OP_OR && cc == CC_E) && !((in->op == OP_AND || in->op == OP_TEST) && cc == CC_NE)) return 0;
  for (unsigned i = 0; i < 2; i++) {
    struct item p = {.role = ROLE_PRED, .cc = cc, .width = in->size, .at = in->address};
    p.loc = flow_loc_reg(i ? in->src : in->dst);
    if (!flow_transform_push(f->worker, &p.ops, XF_ZERO, in->size, 0)) return 0;
    ret[i] = p;
  }
  return 2;
}

unsigned condition_at(struct flow_function *f, uint32_t insn, uint8_t cc, struct item ret[2]) {
  const struct insn *in = &f->code->insns[insn];
  struct item p = {.role = ROLE_PRED, .cc = cc, .width = in->size, .at = in->address};
  bool ok = false;
  if (in->flags & INSN_HIGH) return 0;
  unsigned both = of_both(f, insn, cc, ret);
  if (both) return both;
  switch (in->op) {
  case OP_CMP:
    ok = of_compare(f, insn, in, &p);
    break;
  case OP_TEST:
    ok = of_test(f, insn, in, &p);
    break;
  case OP_SUB:
    if (in->src_kind == OPERAND_IMM && !(in->flags & INSN_INC) && in->dst_kind == OPERAND_REG) {
      p.imm = (uint64_t)in->imm;
      p.loc = flow_loc_reg(in->dst);
      ok = true;
    } else
      ok = of_result(f, insn, in, &p);
    break;
  case OP_NEG:
    ok = of_negation(f, insn, in, &p);
    break;
  case OP_ADD:
  case OP_AND:
  case OP_OR:
  case OP_XOR:
  case OP_SHR:
  case OP_SHL:
  case OP_SAR:
    ok = of_result(f, insn, in, &p);
    break;
  case OP_BIT:
    if (in->src_kind != OPERAND_IMM || in->dst_kind != OPERAND_REG || (cc != CC_B && cc != CC_AE)) break;
    p.cc = cc == CC_B ? CC_NE : CC_E;
    p.loc = flow_loc_reg(in->dst);
    ok = flow_transform_push(f->worker, &p.ops, XF_AND, 0, (int64_t)(1ull << (in->imm & 63)));
    break;
  default:
    break;
  }
  if (ok) ret[0] = p;
  return ok;
}
