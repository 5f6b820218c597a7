/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The instructions that compilers write most, without Zydis: it takes some 1,300 instructions to decode one, and nine
 * in ten are of the few forms here.
 *
 * What this file reads it reads exactly as decode.c makes it from Zydis; whatever is not plain (other prefixes, ah to
 * bh, encodings that need not be valid) is left to Zydis. A test holds the two against each other.
 */
#include "code/quick_operand.h"

#include <string.h>

/* How an opcode is written. FORM_NONE is left to Zydis. */
enum form {
  FORM_NONE,
  FORM_RM_REG,     /* dst is r/m, src is a register */
  FORM_REG_RM,     /* the other way round */
  FORM_AX_IMM,     /* rax and an immediate */
  FORM_GROUP_IMM,  /* add to cmp by the middle bits of ModRM, of r/m and an immediate */
  FORM_GROUP_IMM8, /* ... of one byte, sign-extended */
  FORM_RM_IMM,     /* mov */
  FORM_REG_IMM,    /* mov, the register in the opcode */
  FORM_WIDEN,      /* movsxd */
  FORM_LEA,
  FORM_PUSH,
  FORM_POP,
  FORM_PUSH_IMM,
  FORM_PUSH_IMM8,
  FORM_BRANCH8,
  FORM_JUMP8,
  FORM_JUMP32,
  FORM_SHIFT_IMM,
  FORM_SHIFT_ONE,
  FORM_SHIFT_CL,
  FORM_UNARY, /* test, not, neg */
  FORM_COUNT, /* inc, dec; call, jmp, push of r/m */
  FORM_MUL_IMM,
  FORM_MUL_IMM8,
  FORM_SIGN, /* cdqe, cqo and the like */
  FORM_PLAIN,
};

enum { BYTE = 1, FLAGS = 2 };

struct opcode {
  uint8_t form, op, bits;
};

#define ARITHMETIC(first, operation)                                                                                   \
  [first] = {FORM_RM_REG, operation, BYTE | FLAGS}, [(first) + 1] = {FORM_RM_REG, operation, FLAGS},                   \
  [(first) + 2] = {FORM_REG_RM, operation, BYTE | FLAGS}, [(first) + 3] = {FORM_REG_RM, operation, FLAGS},             \
  [(first) + 4] = {FORM_AX_IMM, operation, BYTE | FLAGS}, [(first) + 5] = {FORM_AX_IMM, operation, FLAGS}

static const struct opcode opcodes[256] = {
    ARITHMETIC(0x00, OP_ADD),
    ARITHMETIC(0x08, OP_OR),
    ARITHMETIC(0x10, OP_ADC),
    ARITHMETIC(0x18, OP_SBB),
    ARITHMETIC(0x20, OP_AND),
    ARITHMETIC(0x28, OP_SUB),
    ARITHMETIC(0x30, OP_XOR),
    ARITHMETIC(0x38, OP_CMP),
    [0x50 ... 0x57] = {FORM_PUSH, OP_PUSH, 0},
    [0x58 ... 0x5f] = {FORM_POP, OP_POP, 0},
    [0x63] = {FORM_WIDEN, OP_MOVE, 0},
    [0x68] = {FORM_PUSH_IMM, OP_PUSH, 0},
    [0x69] = {FORM_MUL_IMM, OP_MUL, FLAGS},
    [0x6a] = {FORM_PUSH_IMM8, OP_PUSH, 0},
    [0x6b] = {FORM_MUL_IMM8, OP_MUL, FLAGS},
    [0x70 ... 0x7f] = {FORM_BRANCH8, OP_BRANCH, 0},
    [0x80] = {FORM_GROUP_IMM, 0, BYTE | FLAGS},
    [0x81] = {FORM_GROUP_IMM, 0, FLAGS},
    [0x83] = {FORM_GROUP_IMM8, 0, FLAGS},
    [0x84] = {FORM_RM_REG, OP_TEST, BYTE | FLAGS},
    [0x85] = {FORM_RM_REG, OP_TEST, FLAGS},
    [0x88] = {FORM_RM_REG, OP_MOVE, BYTE},
    [0x89] = {FORM_RM_REG, OP_MOVE, 0},
    [0x8a] = {FORM_REG_RM, OP_MOVE, BYTE},
    [0x8b] = {FORM_REG_RM, OP_MOVE, 0},
    [0x8d] = {FORM_LEA, OP_LEA, 0},
    [0x90] = {FORM_PLAIN, OP_NOP, 0},
    [0x98] = {FORM_SIGN, OP_MOVE, 0},
    [0x99] = {FORM_SIGN, OP_SIGN, 0},
    [0xa8] = {FORM_AX_IMM, OP_TEST, BYTE | FLAGS},
    [0xa9] = {FORM_AX_IMM, OP_TEST, FLAGS},
    [0xb0 ... 0xb7] = {FORM_REG_IMM, OP_MOVE, BYTE},
    [0xb8 ... 0xbf] = {FORM_REG_IMM, OP_MOVE, 0},
    [0xc0] = {FORM_SHIFT_IMM, 0, BYTE | FLAGS},
    [0xc1] = {FORM_SHIFT_IMM, 0, FLAGS},
    [0xc3] = {FORM_PLAIN, OP_RETURN, 0},
    [0xc6] = {FORM_RM_IMM, OP_MOVE, BYTE},
    [0xc7] = {FORM_RM_IMM, OP_MOVE, 0},
    [0xc9] = {FORM_PLAIN, OP_LEAVE, 0},
    [0xd0] = {FORM_SHIFT_ONE, 0, BYTE | FLAGS},
    [0xd1] = {FORM_SHIFT_ONE, 0, FLAGS},
    [0xd3] = {FORM_SHIFT_CL, 0, FLAGS},
    [0xe8] = {FORM_JUMP32, OP_CALL, 0},
    [0xe9] = {FORM_JUMP32, OP_JUMP, 0},
    [0xeb] = {FORM_JUMP8, OP_JUMP, 0},
    [0xf6] = {FORM_UNARY, 0, BYTE | FLAGS},
    [0xf7] = {FORM_UNARY, 0, FLAGS},
    [0xfe] = {FORM_COUNT, 0, BYTE | FLAGS},
    [0xff] = {FORM_COUNT, 0, FLAGS},
};

/* --- forms -------------------------------------------------------------------------------------------------------- */

/* r/m and an immediate of IMM bytes. */
static bool read_rm_immediate(struct reading *r, bool byte, unsigned imm) {
  struct insn *in = r->in;
  if (byte && quick_is_register(r) && quick_is_high(r, quick_rm_register(r))) return false;
  quick_rm(r, &in->dst_kind, &in->dst);
  in->size = in->from_size = (uint8_t)(byte ? 1 : quick_size(r));
  in->src_kind = OPERAND_IMM;
  in->imm = quick_immediate(r, imm);
  return quick_finish_operands(r);
}

static bool read_register_immediate(struct reading *r, uint8_t reg, unsigned size, int64_t imm) {
  struct insn *in = r->in;
  in->dst_kind = OPERAND_REG;
  in->dst = reg;
  in->size = in->from_size = (uint8_t)size;
  in->src_kind = OPERAND_IMM;
  in->imm = imm;
  return quick_finish_operands(r);
}

/* mov to the register in the opcode: the only immediate of eight bytes. */
static bool read_move_immediate(struct reading *r, bool byte, uint8_t opcode) {
  uint8_t reg = (uint8_t)((opcode & 7) | (r->rex & 1 ? 8 : 0));
  unsigned size = byte ? 1 : quick_size(r);
  int64_t imm;
  if (byte && quick_is_high(r, reg)) return false;
  if (size == 8) {
    memcpy(&imm, r->p, sizeof imm);
    r->p += sizeof imm;
  } else
    imm = quick_immediate(r, size);
  return read_register_immediate(r, reg, size, imm);
}

static bool read_shift(struct reading *r, bool byte, enum form form) {
  static const uint8_t shifts[8] = {[4] = OP_SHL, [5] = OP_SHR, [7] = OP_SAR};
  struct insn *in = r->in;
  in->op = shifts[r->modrm >> 3 & 7];
  if (!in->op || (byte && quick_is_register(r) && quick_is_high(r, quick_rm_register(r)))) return false;
  quick_rm(r, &in->dst_kind, &in->dst);
  in->size = in->from_size = (uint8_t)(byte ? 1 : quick_size(r));
  in->src_kind = OPERAND_IMM;
  in->imm = form == FORM_SHIFT_IMM ? *r->p++ : 1;
  if (form == FORM_SHIFT_CL) {
    in->src_kind = OPERAND_REG;
    in->src = RCX;
    in->from_size = 1;
    in->imm = 0;
  }
  return quick_finish_operands(r);
}

/* test with an immediate, not, neg */
static bool read_unary(struct reading *r, bool byte) {
  static const uint8_t operations[8] = {[0] = OP_TEST, [2] = OP_NOT, [3] = OP_NEG};
  struct insn *in = r->in;
  in->op = operations[r->modrm >> 3 & 7];
  if (!in->op || (byte && quick_is_register(r) && quick_is_high(r, quick_rm_register(r)))) return false;
  if (in->op == OP_TEST) return read_rm_immediate(r, byte, byte ? 1 : quick_size(r));
  if (in->op == OP_NOT) in->flags &= (uint8_t)~INSN_SETS_FLAGS;
  quick_rm(r, &in->dst_kind, &in->dst);
  in->size = in->from_size = (uint8_t)(byte ? 1 : quick_size(r));
  return quick_finish_operands(r);
}

/* call or jmp through r/m */
static bool read_indirect(struct reading *r, bool call) {
  struct insn *in = r->in;
  in->flags &= (uint8_t)~INSN_SETS_FLAGS;
  if (r->mandatory) return false;
  quick_rm(r, &in->dst_kind, &in->dst);
  in->size = in->from_size = 8;
  if (call) in->defs = CALL_CLOBBERS;
  if (in->dst_kind == OPERAND_REG) in->uses |= REG_BIT(in->dst);
  in->op = call ? OP_CALL_INDIRECT : OP_JUMP_UNKNOWN;
  if (in->dst_kind == OPERAND_MEM && in->base == NO_REG && in->index == NO_REG && !(in->flags & INSN_FS))
    in->op = call ? OP_CALL_SLOT : OP_TAIL_SLOT;
  return quick_finish(r);
}

/* inc, dec; call, jmp */
static bool read_count(struct reading *r, bool byte) {
  struct insn *in = r->in;
  unsigned which = r->modrm >> 3 & 7;
  if (!byte && (which == 2 || which == 4)) return read_indirect(r, which == 2);
  if (which > 1 || (byte && quick_is_register(r) && quick_is_high(r, quick_rm_register(r)))) return false;
  in->op = which == 0 ? OP_ADD : OP_SUB;
  in->flags |= INSN_INC;
  quick_rm(r, &in->dst_kind, &in->dst);
  in->size = in->from_size = (uint8_t)(byte ? 1 : quick_size(r));
  in->src_kind = OPERAND_IMM;
  in->imm = 1;
  return quick_finish_operands(r);
}

static bool read_multiply(struct reading *r, bool imm8) {
  struct insn *in = r->in;
  in->dst_kind = OPERAND_REG;
  in->dst = quick_middle(r);
  quick_rm(r, &in->src_kind, &in->src);
  in->size = in->from_size = (uint8_t)quick_size(r);
  in->imm = quick_immediate(r, imm8 ? 1 : in->size);
  in->cc = 1;
  return quick_finish_operands(r);
}

/* Of push and pop: always eight bytes, and rsp is changed as well. */
static bool finish_stack(struct reading *r) {
  struct insn *in = r->in;
  in->size = in->from_size = 8;
  in->defs |= REG_BIT(RSP);
  in->uses |= REG_BIT(RSP);
  return quick_finish_operands(r);
}

static bool read_push_pop(struct reading *r, uint8_t opcode, enum form form) {
  struct insn *in = r->in;
  if (r->mandatory) return false;
  in->dst_kind = form == FORM_PUSH || form == FORM_POP ? OPERAND_REG : OPERAND_IMM;
  if (in->dst_kind == OPERAND_REG) in->dst = (uint8_t)((opcode & 7) | (r->rex & 1 ? 8 : 0));
  if (form == FORM_PUSH_IMM) in->imm = quick_take32(r);
  if (form == FORM_PUSH_IMM8) in->imm = quick_take8(r);
  return finish_stack(r);
}

/* cdqe, cwde, cqo, cdq */
static bool read_sign(struct reading *r) {
  struct insn *in = r->in;
  if (r->mandatory) return false;
  in->dst_kind = in->src_kind = OPERAND_REG;
  in->dst = in->op == OP_MOVE ? RAX : RDX;
  in->src = RAX;
  in->size = in->from_size = (uint8_t)quick_size(r);
  if (in->op == OP_MOVE) {
    in->from_size = in->size / 2;
    in->flags |= INSN_SIGNED;
  }
  in->defs = REG_BIT(in->dst);
  in->uses = REG_BIT(RAX);
  return quick_finish(r);
}

static bool read_plain(struct reading *r) {
  struct insn *in = r->in;
  if (r->mandatory || r->rex || r->thread) return false;
  if (in->op == OP_LEAVE) {
    in->defs = REG_BIT(RSP) | REG_BIT(RBP);
    in->uses = REG_BIT(RBP);
  }
  return quick_finish(r);
}

#define FORM_BIT(form) (1u << (form))
_Static_assert(FORM_PLAIN < 32, "all forms fit a set");

static inline bool has_modrm(uint8_t form) {
  static const uint32_t forms = FORM_BIT(FORM_RM_REG) | FORM_BIT(FORM_REG_RM) | FORM_BIT(FORM_GROUP_IMM) |
                                FORM_BIT(FORM_GROUP_IMM8) | FORM_BIT(FORM_RM_IMM) | FORM_BIT(FORM_WIDEN) |
                                FORM_BIT(FORM_LEA) | FORM_BIT(FORM_SHIFT_IMM) | FORM_BIT(FORM_SHIFT_ONE) |
                                FORM_BIT(FORM_SHIFT_CL) | FORM_BIT(FORM_UNARY) | FORM_BIT(FORM_COUNT) |
                                FORM_BIT(FORM_MUL_IMM) | FORM_BIT(FORM_MUL_IMM8);
  return forms >> form & 1;
}

static bool read_group(struct reading *r, bool byte, bool imm8) {
  static const uint8_t group[8] = {OP_ADD, OP_OR, OP_ADC, OP_SBB, OP_AND, OP_SUB, OP_XOR, OP_CMP};
  r->in->op = group[r->modrm >> 3 & 7];
  return read_rm_immediate(r, byte, byte || imm8 ? 1 : quick_size(r));
}

static bool read_widen(struct reading *r) {
  struct insn *in = r->in;
  if (!(r->rex & 8)) return false;
  quick_rm(r, &in->src_kind, &in->src);
  in->dst_kind = OPERAND_REG;
  in->dst = quick_middle(r);
  in->size = 8;
  in->from_size = 4;
  in->flags |= INSN_SIGNED;
  return quick_finish_operands(r);
}

static bool read_lea(struct reading *r) {
  struct insn *in = r->in;
  if (quick_is_register(r) || r->thread) return false;
  quick_rm(r, &in->src_kind, &in->src);
  in->dst_kind = OPERAND_REG;
  in->dst = quick_middle(r);
  in->size = (uint8_t)quick_size(r);
  in->from_size = 8;
  return quick_finish_operands(r);
}

static bool read_form(struct reading *r, uint8_t opcode, const struct opcode *o) {
  bool byte = o->bits & BYTE;
  if (has_modrm(o->form)) r->modrm = *r->p++;
  switch ((enum form)o->form) {
  case FORM_RM_REG:
  case FORM_REG_RM:
    return quick_two(r, byte, o->form == FORM_RM_REG);
  case FORM_AX_IMM:
    return read_register_immediate(r, RAX, byte ? 1 : quick_size(r), quick_immediate(r, byte ? 1 : quick_size(r)));
  case FORM_GROUP_IMM:
  case FORM_GROUP_IMM8:
    return read_group(r, byte, o->form == FORM_GROUP_IMM8);
  case FORM_RM_IMM:
    return (r->modrm >> 3 & 7) == 0 && read_rm_immediate(r, byte, byte ? 1 : quick_size(r));
  case FORM_REG_IMM:
    return read_move_immediate(r, byte, opcode);
  case FORM_WIDEN:
    return read_widen(r);
  case FORM_LEA:
    return read_lea(r);
  case FORM_PUSH:
  case FORM_POP:
  case FORM_PUSH_IMM:
  case FORM_PUSH_IMM8:
    return read_push_pop(r, opcode, o->form);
  case FORM_BRANCH8:
    r->in->cc = opcode & 15;
    return quick_jump(r, 1);
  case FORM_JUMP8:
    return quick_jump(r, 1);
  case FORM_JUMP32:
    return quick_jump(r, 4);
  case FORM_SHIFT_IMM:
  case FORM_SHIFT_ONE:
  case FORM_SHIFT_CL:
    return read_shift(r, byte, o->form);
  case FORM_UNARY:
    return read_unary(r, byte);
  case FORM_COUNT:
    return read_count(r, byte);
  case FORM_MUL_IMM:
  case FORM_MUL_IMM8:
    return read_multiply(r, o->form == FORM_MUL_IMM8);
  case FORM_SIGN:
    return read_sign(r);
  case FORM_PLAIN:
    return read_plain(r);
  case FORM_NONE:
    break;
  }
  return false;
}

/* --- one instruction ---------------------------------------------------------------------------------------------- */

static bool is_endbr64(const uint8_t *bytes) { return memcmp(bytes, "\xf3\x0f\x1e\xfa", 4) == 0; }

/* Prefixes in the order in which compilers write them: one of each at most, REX last. */
static void take_prefixes(struct reading *r) {
  if (*r->p == 0x64 || *r->p == 0x65) {
    r->thread = true;
    r->p++;
  }
  if (*r->p == 0x66 || *r->p == 0xf2 || *r->p == 0xf3) r->mandatory = *r->p++;
  if ((*r->p & 0xf0) == 0x40) r->rex = *r->p++;
}

bool decode_quick(const uint8_t *bytes, size_t left, uint64_t address, struct insn *in) {
  struct reading r = {.start = bytes, .p = bytes, .in = in};
  if (left < 2 * QUICK_LONGEST) return false;
  memset(in, 0, sizeof *in);
  in->address = address;
  in->base = in->index = in->dst = in->src = NO_REG;
  in->sp = in->fp = SP_UNKNOWN;
  if (is_endbr64(bytes)) {
    in->op = OP_NOP;
    in->length = 4;
    return true;
  }
  take_prefixes(&r);
  uint8_t opcode = *r.p++;
  if (opcode == 0x0f) return quick_0f(&r);
  const struct opcode *o = &opcodes[opcode];
  if (r.mandatory == 0xf2 || r.mandatory == 0xf3) return false;
  in->op = o->op;
  if (o->bits & FLAGS) in->flags = INSN_SETS_FLAGS;
  return read_form(&r, opcode, o);
}
