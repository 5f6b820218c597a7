/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The opcodes behind 0f that are read without Zydis.
 */
#include "code/quick_operand.h"

/* movzx, movsx */
static bool read_extend(struct reading *r, uint8_t opcode) {
  struct insn *in = r->in;
  bool byte = !(opcode & 1);
  r->modrm = *r->p++;
  if (byte && quick_is_register(r) && quick_is_high(r, quick_rm_register(r))) return false;
  in->op = OP_MOVE;
  quick_rm(r, &in->src_kind, &in->src);
  in->dst_kind = OPERAND_REG;
  in->dst = quick_middle(r);
  in->size = (uint8_t)quick_size(r);
  in->from_size = byte ? 1 : 2;
  if (opcode & 8) in->flags |= INSN_SIGNED;
  return quick_finish_operands(r);
}

static bool read_set(struct reading *r, uint8_t opcode) {
  struct insn *in = r->in;
  r->modrm = *r->p++;
  if (quick_is_register(r) && quick_is_high(r, quick_rm_register(r))) return false;
  in->op = OP_SET;
  in->cc = opcode & 15;
  quick_rm(r, &in->dst_kind, &in->dst);
  in->size = in->from_size = 1;
  return quick_finish_operands(r);
}

/* cmovcc, imul */
static bool read_to_register(struct reading *r, uint8_t op, uint8_t cc) {
  struct insn *in = r->in;
  r->modrm = *r->p++;
  in->op = op;
  in->cc = cc;
  if (op == OP_MUL) in->flags |= INSN_SETS_FLAGS;
  return quick_two(r, false, false);
}

/* Moves of the SSE registers, and the few operations by which compilers fill and clear them. */
struct vector {
  uint8_t mandatory, opcode, size; /* SIZE: bytes of the memory operand */
  bool store;
};

static const struct vector vectors[] = {
    {0, 0x10, 16, false},    {0, 0x11, 16, true},    {0, 0x28, 16, false},    {0, 0x29, 16, true},
    {0x66, 0x6f, 16, false}, {0x66, 0x7f, 16, true}, {0xf3, 0x6f, 16, false}, {0xf3, 0x7f, 16, true},
    {0x66, 0xef, 16, false}, {0, 0x57, 16, false},   {0x66, 0x6c, 16, false}, {0xf3, 0x7e, 8, false},
    {0x66, 0xd6, 8, true},   {0, 0x16, 8, false},    {0, 0x17, 8, true},      {0xf2, 0x10, 8, false},
    {0xf2, 0x11, 8, true},   {0xf3, 0x10, 4, false}, {0xf3, 0x11, 4, true},
};

static bool read_vector(struct reading *r, uint8_t opcode) {
  struct insn *in = r->in;
  const struct vector *v = vectors, *end = vectors + COUNT(vectors);
  while (v < end && (v->opcode != opcode || v->mandatory != r->mandatory))
    v++;
  if (v == end) return false;
  r->modrm = *r->p++;
  in->op = OP_OTHER;
  in->cc = opcode & 15;
  if (quick_is_register(r)) return opcode != 0x17 && quick_finish(r); /* movhps to a register does not exist */
  quick_memory(r);
  in->size = v->size;
  if (v->store) {
    in->flags |= INSN_WRITES_MEM;
    in->dst_kind = OPERAND_MEM;
  }
  return quick_finish(r);
}

static bool read_nop(struct reading *r) {
  struct insn scratch = *r->in;
  r->modrm = *r->p++;
  if (quick_is_register(r) || r->modrm >> 3 & 7 || r->thread) return false;
  struct insn *in = r->in;
  r->in = &scratch;
  quick_memory(r);
  r->in = in;
  in->op = OP_NOP;
  return quick_finish(r);
}

bool quick_0f(struct reading *r) {
  uint8_t opcode = *r->p++;
  bool repeated = r->mandatory == 0xf2 || r->mandatory == 0xf3;
  if (opcode >= 0x80 && opcode <= 0x8f) {
    r->in->op = OP_BRANCH;
    r->in->cc = opcode & 15;
    return quick_jump(r, 4);
  }
  if (repeated) return read_vector(r, opcode);
  switch (opcode) {
  case 0xb6:
  case 0xb7:
  case 0xbe:
  case 0xbf:
    return read_extend(r, opcode);
  case 0x40 ... 0x4f:
    return read_to_register(r, OP_CMOV, opcode & 15);
  case 0x90 ... 0x9f:
    return read_set(r, opcode);
  case 0xaf:
    return read_to_register(r, OP_MUL, 0);
  case 0x1f:
    return read_nop(r);
  default:
    return read_vector(r, opcode);
  }
}
