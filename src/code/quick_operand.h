/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the room: operands of the instructions that are read without Zydis, what ModRM, SIB and the bytes behind them
 * say. Here and not in a file of its own, since each instruction needs several of these and they are small.
 */
#pragma once

#include "code/quick.h"

static inline void take_sib(struct reading *r, unsigned mod) {
  struct insn *in = r->in;
  uint8_t sib = *r->p++;
  uint8_t index = (uint8_t)((sib >> 3 & 7) | (r->rex & 2 ? 8 : 0));
  if (index != RSP) {
    in->index = index;
    in->scale = (uint8_t)(1u << (sib >> 6));
  }
  if ((sib & 7) == RBP && mod == 0)
    in->disp = quick_take32(r);
  else
    in->base = (uint8_t)((sib & 7) | (r->rex & 1 ? 8 : 0));
}

/*
 * The memory operand of the ModRM byte. An address relative to rip is relative to the end of the instruction, which
 * quick_finish knows: until then, SCALE is 0xff.
 */
static inline void quick_memory(struct reading *r) {
  struct insn *in = r->in;
  unsigned mod = r->modrm >> 6, rm = r->modrm & 7;
  if (rm == RSP)
    take_sib(r, mod);
  else if (rm == RBP && mod == 0) {
    in->disp = quick_take32(r);
    in->scale = 0xff;
  } else
    in->base = quick_rm_register(r);
  if (mod == 1) in->disp = quick_take8(r);
  if (mod == 2) in->disp = quick_take32(r);
  if (r->thread) in->flags |= INSN_FS;
  if (in->base != NO_REG) in->uses |= REG_BIT(in->base);
  if (in->index != NO_REG) in->uses |= REG_BIT(in->index);
}

/* The operand of the ModRM byte, as KIND and REG. */
static inline void quick_rm(struct reading *r, uint8_t *kind, uint8_t *reg) {
  *kind = quick_is_register(r) ? OPERAND_REG : OPERAND_MEM;
  if (quick_is_register(r))
    *reg = quick_rm_register(r);
  else
    quick_memory(r);
}

static inline bool quick_finish(struct reading *r) {
  struct insn *in = r->in;
  in->length = (uint8_t)(r->p - r->start);
  if (in->scale == 0xff) {
    in->scale = 0;
    in->disp = (int64_t)((uint64_t)in->disp + in->address + in->length);
  }
  return in->length <= QUICK_LONGEST;
}

/* What is changed and looked at by DST and SRC. */
static inline bool quick_finish_operands(struct reading *r) {
  struct insn *in = r->in;
  static const uint64_t looks_only = 1ull << OP_CMP | 1ull << OP_TEST | 1ull << OP_PUSH;
  static const uint64_t sets_only = 1ull << OP_MOVE | 1ull << OP_LEA | 1ull << OP_SET | 1ull << OP_POP;
  bool made = in->op == OP_MUL && in->cc; /* of src and an immediate */
  bool writes = !(looks_only >> in->op & 1), reads = !(sets_only >> in->op & 1) && !made;
  if (in->src_kind == OPERAND_REG) in->uses |= REG_BIT(in->src);
  if (in->dst_kind == OPERAND_REG) {
    uint16_t dst = REG_BIT(in->dst);
    in->uses |= reads ? dst : 0;
    in->defs |= writes ? dst : 0;
  } else if (in->dst_kind == OPERAND_MEM && writes)
    in->flags |= INSN_WRITES_MEM;
  return quick_finish(r);
}

static inline bool quick_two(struct reading *r, bool byte, bool to_rm) {
  struct insn *in = r->in;
  uint8_t reg = quick_middle(r), *rm = to_rm ? &in->dst : &in->src;
  if (byte && (quick_is_high(r, reg) || (quick_is_register(r) && quick_is_high(r, quick_rm_register(r))))) return false;
  quick_rm(r, to_rm ? &in->dst_kind : &in->src_kind, rm);
  *(to_rm ? &in->src_kind : &in->dst_kind) = OPERAND_REG;
  *(to_rm ? &in->src : &in->dst) = reg;
  in->size = in->from_size = (uint8_t)(byte ? 1 : quick_size(r));
  return quick_finish_operands(r);
}

/* call, jmp and jcc to an address, of SIZE bytes */
static inline bool quick_jump(struct reading *r, unsigned size) {
  struct insn *in = r->in;
  int64_t by = size == 1 ? quick_take8(r) : quick_take32(r);
  in->dst_kind = OPERAND_IMM;
  in->size = in->from_size = (uint8_t)size;
  if (in->op == OP_CALL) in->defs = CALL_CLOBBERS;
  if (r->mandatory || !quick_finish(r)) return false;
  in->imm = (int64_t)((uint64_t)by + in->address + in->length);
  return true;
}
