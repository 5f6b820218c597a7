/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One instruction: from Zydis' view to ours.
 *
 * The instructions that carry return values get an operation of their own; everything else becomes OP_OTHER with the
 * set of registers it changes, taken from Zydis' operand table, so that no change of a register is ever missed.
 */
#include "code/decode.h"
#include "code/quick.h"

#include <errno.h>
#include <string.h>

const uint8_t code_argument_registers[6] = {RDI, RSI, RDX, RCX, R8, R9};

#define FLAG_BITS (ZYDIS_CPUFLAG_CF | ZYDIS_CPUFLAG_ZF | ZYDIS_CPUFLAG_SF | ZYDIS_CPUFLAG_OF)

int decoder_init(ZydisDecoder *decoder) {
  ZyanStatus s = ZydisDecoderInit(decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  return ZYAN_SUCCESS(s) ? 0 : -EINVAL;
}

/* The number of a general register, or NO_REG; *ret_high for ah to bh. */
static uint8_t register_number(ZydisRegister r, bool *ret_high) {
  if (r >= ZYDIS_REGISTER_RAX && r <= ZYDIS_REGISTER_R15) return (uint8_t)(r - ZYDIS_REGISTER_RAX);
  if (r >= ZYDIS_REGISTER_EAX && r <= ZYDIS_REGISTER_R15D) return (uint8_t)(r - ZYDIS_REGISTER_EAX);
  if (r >= ZYDIS_REGISTER_AX && r <= ZYDIS_REGISTER_R15W) return (uint8_t)(r - ZYDIS_REGISTER_AX);
  if (r >= ZYDIS_REGISTER_AL && r <= ZYDIS_REGISTER_BL) return (uint8_t)(r - ZYDIS_REGISTER_AL);
  if (r >= ZYDIS_REGISTER_AH && r <= ZYDIS_REGISTER_BH) {
    *ret_high = true;
    return (uint8_t)(r - ZYDIS_REGISTER_AH);
  }
  if (r >= ZYDIS_REGISTER_SPL && r <= ZYDIS_REGISTER_R15B) return (uint8_t)(r - ZYDIS_REGISTER_SPL + 4);
  return NO_REG;
}

static void use_register(struct insn *in, uint8_t r) {
  if (r != NO_REG) in->uses |= REG_BIT(r);
}

static void take_memory(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *o, struct insn *in) {
  bool high = false;
  in->disp = o->mem.disp.has_displacement ? o->mem.disp.value : 0;
  in->base = in->index = NO_REG;
  in->scale = o->mem.scale;
  if (o->mem.segment == ZYDIS_REGISTER_FS || o->mem.segment == ZYDIS_REGISTER_GS) in->flags |= INSN_FS;
  if (o->mem.base == ZYDIS_REGISTER_RIP || o->mem.base == ZYDIS_REGISTER_EIP)
    in->disp = (int64_t)((uint64_t)in->disp + in->address + zi->length);
  else if (o->mem.base != ZYDIS_REGISTER_NONE)
    in->base = register_number(o->mem.base, &high);
  if (o->mem.index != ZYDIS_REGISTER_NONE) in->index = register_number(o->mem.index, &high);
  use_register(in, in->base);
  use_register(in, in->index);
}

static int64_t immediate(const ZydisDecodedOperand *o) {
  return o->imm.is_signed ? o->imm.value.s : (int64_t)o->imm.value.u;
}

/* Fills DST or SRC of IN from an operand. False if it is of a kind that is not modelled. */
static bool take_operand(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *o, struct insn *in,
                         uint8_t *kind, uint8_t *reg) {
  bool high = false;
  switch (o->type) {
  case ZYDIS_OPERAND_TYPE_REGISTER:
    *reg = register_number(o->reg.value, &high);
    if (high) in->flags |= INSN_HIGH;
    *kind = OPERAND_REG;
    return *reg != NO_REG;
  case ZYDIS_OPERAND_TYPE_IMMEDIATE:
    *kind = OPERAND_IMM;
    in->imm = immediate(o);
    return true;
  case ZYDIS_OPERAND_TYPE_MEMORY:
    *kind = OPERAND_MEM;
    take_memory(zi, o, in);
    return true;
  default:
    return false;
  }
}

/* What the operand table says of registers and memory, for instructions that are not modelled further. */
static void take_effects(const ZydisDecoder *d, const ZydisDecoderContext *c, const ZydisDecodedInstruction *zi,
                         struct insn *in) {
  ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
  if (ZYAN_FAILED(ZydisDecoderDecodeOperands(d, c, zi, ops, zi->operand_count))) {
    in->defs = 0xffff;
    return;
  }
  for (unsigned i = 0; i < zi->operand_count; i++) {
    bool high = false;
    if (ops[i].type == ZYDIS_OPERAND_TYPE_REGISTER) {
      uint8_t r = register_number(ops[i].reg.value, &high);
      if (r == NO_REG) continue;
      if (ops[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) in->defs |= REG_BIT(r);
      if (ops[i].actions & ZYDIS_OPERAND_ACTION_MASK_READ) in->uses |= REG_BIT(r);
    } else if (ops[i].type == ZYDIS_OPERAND_TYPE_MEMORY && ops[i].mem.type == ZYDIS_MEMOP_TYPE_MEM) {
      take_memory(zi, &ops[i], in);
      if (in->size == 0) in->size = (uint8_t)(ops[i].size / 8);
      if (ops[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) {
        in->flags |= INSN_WRITES_MEM;
        in->dst_kind = OPERAND_MEM;
        in->size = (uint8_t)(ops[i].size / 8 > 255 ? 255 : ops[i].size / 8);
      }
    }
  }
}

static uint8_t operation(ZydisMnemonic m) {
  switch (m) {
  case ZYDIS_MNEMONIC_NOP:
  case ZYDIS_MNEMONIC_ENDBR64:
  case ZYDIS_MNEMONIC_PREFETCHT0:
  case ZYDIS_MNEMONIC_PAUSE:
    return OP_NOP;
  case ZYDIS_MNEMONIC_MOV:
  case ZYDIS_MNEMONIC_MOVZX:
  case ZYDIS_MNEMONIC_MOVSX:
  case ZYDIS_MNEMONIC_MOVSXD:
  case ZYDIS_MNEMONIC_CDQE:
  case ZYDIS_MNEMONIC_CWDE:
    return OP_MOVE;
  case ZYDIS_MNEMONIC_LEA:
    return OP_LEA;
  case ZYDIS_MNEMONIC_ADD:
  case ZYDIS_MNEMONIC_INC:
    return OP_ADD;
  case ZYDIS_MNEMONIC_SUB:
  case ZYDIS_MNEMONIC_DEC:
    return OP_SUB;
  case ZYDIS_MNEMONIC_AND:
    return OP_AND;
  case ZYDIS_MNEMONIC_OR:
    return OP_OR;
  case ZYDIS_MNEMONIC_XOR:
    return OP_XOR;
  case ZYDIS_MNEMONIC_SHL:
    return OP_SHL;
  case ZYDIS_MNEMONIC_SHR:
    return OP_SHR;
  case ZYDIS_MNEMONIC_SAR:
    return OP_SAR;
  case ZYDIS_MNEMONIC_IMUL:
    return OP_MUL;
  case ZYDIS_MNEMONIC_NEG:
    return OP_NEG;
  case ZYDIS_MNEMONIC_NOT:
    return OP_NOT;
  case ZYDIS_MNEMONIC_ADC:
    return OP_ADC;
  case ZYDIS_MNEMONIC_SBB:
    return OP_SBB;
  case ZYDIS_MNEMONIC_CDQ:
  case ZYDIS_MNEMONIC_CQO:
    return OP_SIGN;
  case ZYDIS_MNEMONIC_CMP:
    return OP_CMP;
  case ZYDIS_MNEMONIC_TEST:
    return OP_TEST;
  case ZYDIS_MNEMONIC_BT:
    return OP_BIT;
  case ZYDIS_MNEMONIC_PUSH:
    return OP_PUSH;
  case ZYDIS_MNEMONIC_POP:
    return OP_POP;
  case ZYDIS_MNEMONIC_LEAVE:
    return OP_LEAVE;
  case ZYDIS_MNEMONIC_CALL:
    return OP_CALL;
  case ZYDIS_MNEMONIC_SYSCALL:
    return OP_SYSCALL;
  case ZYDIS_MNEMONIC_JMP:
    return OP_JUMP;
  case ZYDIS_MNEMONIC_RET:
    return OP_RETURN;
  case ZYDIS_MNEMONIC_UD2:
  case ZYDIS_MNEMONIC_UD1:
  case ZYDIS_MNEMONIC_UD0:
  case ZYDIS_MNEMONIC_INT3:
  case ZYDIS_MNEMONIC_HLT:
    return OP_STOP;
  default:
    return OP_OTHER;
  }
}

/* setcc, cmovcc and jcc have their condition in the low four bits of the opcode. */
static uint8_t conditional(const ZydisDecodedInstruction *zi) {
  switch (zi->meta.category) {
  case ZYDIS_CATEGORY_COND_BR:
    if (zi->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && (zi->opcode & 0xf0) == 0x70) return OP_BRANCH;
    if (zi->opcode_map == ZYDIS_OPCODE_MAP_0F && (zi->opcode & 0xf0) == 0x80) return OP_BRANCH;
    return OP_OTHER;
  case ZYDIS_CATEGORY_SETCC:
    return OP_SET;
  case ZYDIS_CATEGORY_CMOV:
    return OP_CMOV;
  default:
    return OP_OTHER;
  }
}

static bool writes_dst(uint8_t op) {
  switch (op) {
  case OP_MOVE:
  case OP_LEA:
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
  case OP_ADC:
  case OP_SBB:
  case OP_SIGN:
  case OP_SET:
  case OP_CMOV:
  case OP_POP:
    return true;
  default:
    return false;
  }
}

static bool reads_dst(uint8_t op) {
  return op != OP_MOVE && op != OP_LEA && op != OP_SIGN && op != OP_SET && op != OP_POP;
}

/* Operations whose operands are not written as dst, src. */
static bool take_special(const ZydisDecodedInstruction *zi, struct insn *in) {
  switch (zi->mnemonic) {
  case ZYDIS_MNEMONIC_CDQE:
  case ZYDIS_MNEMONIC_CWDE:
    in->dst_kind = in->src_kind = OPERAND_REG;
    in->dst = in->src = RAX;
    in->size = zi->mnemonic == ZYDIS_MNEMONIC_CDQE ? 8 : 4;
    in->from_size = in->size / 2;
    in->flags |= INSN_SIGNED;
    return true;
  case ZYDIS_MNEMONIC_CDQ:
  case ZYDIS_MNEMONIC_CQO:
    in->dst_kind = in->src_kind = OPERAND_REG;
    in->dst = RDX;
    in->src = RAX;
    in->size = in->from_size = zi->mnemonic == ZYDIS_MNEMONIC_CQO ? 8 : 4;
    return true;
  case ZYDIS_MNEMONIC_MOVSX:
  case ZYDIS_MNEMONIC_MOVSXD:
    in->flags |= INSN_SIGNED;
    return false;
  case ZYDIS_MNEMONIC_INC:
  case ZYDIS_MNEMONIC_DEC:
    in->src_kind = OPERAND_IMM;
    in->imm = 1;
    in->flags |= INSN_INC;
    return false;
  default:
    return false;
  }
}

/* Operands that are visible in the assembly text, as dst and src. */
static bool take_operands(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops, struct insn *in) {
  unsigned n = zi->operand_count_visible;
  if (n >= 1) {
    in->size = (uint8_t)(ops[0].size / 8);
    if (!take_operand(zi, &ops[0], in, &in->dst_kind, &in->dst)) return false;
    in->from_size = in->size;
  }
  if (n >= 2) {
    if (!take_operand(zi, &ops[1], in, &in->src_kind, &in->src)) return false;
    in->from_size = (uint8_t)(ops[1].size / 8);
    if (in->src_kind == OPERAND_IMM) in->from_size = in->size;
  }
  if (n >= 3) { /* imul r, r/m, imm */
    if (in->op != OP_MUL || ops[2].type != ZYDIS_OPERAND_TYPE_IMMEDIATE) return false;
    in->imm = immediate(&ops[2]);
    in->cc = 1;
  }
  return true;
}

static void note_registers(struct insn *in) {
  if (in->src_kind == OPERAND_REG) use_register(in, in->src);
  bool made = in->op == OP_MUL && in->cc; /* of src and an immediate */
  if (in->dst_kind == OPERAND_REG && reads_dst(in->op) && !made) use_register(in, in->dst);
  if (!writes_dst(in->op)) return;
  if (in->dst_kind == OPERAND_REG) in->defs |= REG_BIT(in->dst);
  if (in->dst_kind == OPERAND_MEM) in->flags |= INSN_WRITES_MEM;
}

static void take_call(const ZydisDecodedOperand *o, struct insn *in) {
  bool call = in->op == OP_CALL;
  if (call) in->defs |= CALL_CLOBBERS;
  if (o->type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
    in->imm = (int64_t)((uint64_t)in->imm + in->address + in->length);
    return;
  }
  if (in->dst_kind == OPERAND_MEM && in->base == NO_REG && in->index == NO_REG && !(in->flags & INSN_FS))
    in->op = call ? OP_CALL_SLOT : OP_TAIL_SLOT;
  else
    in->op = call ? OP_CALL_INDIRECT : OP_JUMP_UNKNOWN;
}

static void take_modelled(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops, struct insn *in) {
  switch (in->op) {
  case OP_CALL:
  case OP_JUMP:
    take_call(&ops[0], in);
    break;
  case OP_BRANCH:
    in->imm = (int64_t)((uint64_t)in->imm + in->address + in->length);
    break;
  case OP_PUSH:
  case OP_POP:
    in->size = zi->operand_width == 16 ? 2 : 8;
    in->from_size = in->size;
    in->defs |= REG_BIT(RSP);
    in->uses |= REG_BIT(RSP);
    break;
  default:
    break;
  }
}

/* Implicit effects of the modelled instructions without operands. */
static void take_implicit(struct insn *in) {
  switch (in->op) {
  case OP_LEAVE:
    in->defs |= REG_BIT(RSP) | REG_BIT(RBP);
    in->uses |= REG_BIT(RBP);
    break;
  case OP_SYSCALL:
    in->defs |= REG_BIT(RAX) | REG_BIT(RCX) | REG_BIT(R11);
    in->uses |= REG_BIT(RAX);
    break;
  default:
    break;
  }
}

int decode(const ZydisDecoder *decoder, const void *bytes, size_t left, uint64_t address, struct insn *in) {
  return decode_quick(bytes, left, address, in) ? 0 : decode_any(decoder, bytes, left, address, in);
}

int decode_any(const ZydisDecoder *decoder, const void *bytes, size_t left, uint64_t address, struct insn *in) {
  ZydisDecoderContext context;
  ZydisDecodedInstruction zi;
  ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT_VISIBLE];
  if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(decoder, &context, bytes, left, &zi))) return -EILSEQ;
  memset(in, 0, sizeof *in);
  in->address = address;
  in->length = zi.length;
  in->base = in->index = in->dst = in->src = NO_REG;
  in->sp = in->fp = SP_UNKNOWN;
  if (zi.cpu_flags &&
      (zi.cpu_flags->modified | zi.cpu_flags->set_0 | zi.cpu_flags->set_1 | zi.cpu_flags->undefined) & FLAG_BITS)
    in->flags |= INSN_SETS_FLAGS;
  in->op = operation(zi.mnemonic);
  if (in->op == OP_OTHER) {
    in->op = conditional(&zi);
    in->cc = zi.opcode & 15;
  }
  if (in->op == OP_NOP) return 0;
  if (in->op == OP_OTHER || (in->op == OP_MUL && zi.operand_count_visible == 1)) goto other;
  if (take_special(&zi, in)) {
    note_registers(in);
    return 0;
  }
  if (ZYAN_FAILED(ZydisDecoderDecodeOperands(decoder, &context, &zi, ops, zi.operand_count_visible))) return -EILSEQ;
  if (!take_operands(&zi, ops, in)) goto other;
  if (in->flags & INSN_HIGH && in->op != OP_CMP && in->op != OP_TEST) goto other;
  note_registers(in);
  take_modelled(&zi, ops, in);
  take_implicit(in);
  return 0;
other:
  in->op = OP_OTHER;
  in->dst_kind = in->src_kind = OPERAND_NONE;
  in->size = 0;
  take_effects(decoder, &context, &zi, in);
  return 0;
}

int code_read(const struct image *img, uint64_t address, struct insn *ret) {
  ZydisDecoder decoder;
  int r = decoder_init(&decoder);
  if (r < 0) return r;
  size_t left = image_bytes_left(img, address);
  const void *bytes = left ? image_bytes(img, address, left) : NULL;
  if (!bytes) return -EILSEQ;
  return decode(&decoder, bytes, left, address, ret);
}

static bool print_text(const void *bytes, size_t left, uint64_t address, char *to, size_t size) {
  ZydisDecoder decoder;
  ZydisFormatter formatter;
  ZydisDecodedInstruction zi;
  ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
  if (decoder_init(&decoder) < 0 || ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, bytes, left, &zi, ops))) return false;
  if (ZYAN_FAILED(ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_INTEL))) return false;
  static const struct {
    ZydisFormatterProperty property;
    ZyanUPointer value;
  } plain[] = {
      {ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE, ZYDIS_PADDING_DISABLED},
      {ZYDIS_FORMATTER_PROP_ADDR_PADDING_RELATIVE, ZYDIS_PADDING_DISABLED},
      {ZYDIS_FORMATTER_PROP_DISP_PADDING, ZYDIS_PADDING_DISABLED},
      {ZYDIS_FORMATTER_PROP_IMM_PADDING, ZYDIS_PADDING_DISABLED},
      {ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE},
  };
  for (size_t i = 0; i < COUNT(plain); i++)
    if (ZYAN_FAILED(ZydisFormatterSetProperty(&formatter, plain[i].property, plain[i].value))) return false;
  return ZYAN_SUCCESS(
      ZydisFormatterFormatInstruction(&formatter, &zi, ops, zi.operand_count_visible, to, size, address, ZYAN_NULL));
}

void code_print(const struct image *img, uint64_t address, struct text *to) {
  char buffer[160];
  size_t left = image_bytes_left(img, address);
  const void *bytes = left ? image_bytes(img, address, left) : NULL;
  bool ok = bytes && print_text(bytes, left < 15 ? left : 15, address, buffer, sizeof buffer);
  text_add(to, ok ? buffer : "(bad)");
}
