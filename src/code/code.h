/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions as control-flow graphs of simplified instructions. All that is known about x86-64 is known in this room;
 * what leaves it are registers by number, a small set of operations and conditions, and calls.
 *
 * A graph is made by recursive descent from the function's entry, so that parts that the compiler moved elsewhere
 * (.cold) belong to it, and lives in the caller's arena. Nothing here is shared between threads but the image.
 */
#pragma once

#include "base/base.h"
#include "image/image.h"

/* General registers by their hardware number. */
enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15, REGISTERS };
#define NO_REG 0xff
#define REG_BIT(r) ((uint16_t)(1u << (r)))

/* Registers that carry the first six integer arguments, in order; that a call may change; that it must keep. */
extern const uint8_t code_argument_registers[6];
#define CALL_CLOBBERS ((uint16_t)0x0fc7)
#define CALL_KEEPS ((uint16_t)0xf038)

enum insn_op {
  OP_OTHER, /* changes the registers in DEFS in a way that is not modelled */
  OP_NOP,
  OP_MOVE, /* dst = src: register, immediate or memory; zero- or sign-extended from FROM_SIZE to SIZE */
  OP_LEA,  /* dst = address of the memory operand */
  OP_ADD,
  OP_SUB,
  OP_AND,
  OP_OR,
  OP_XOR,
  OP_SHL,
  OP_SHR,
  OP_SAR,
  OP_MUL, /* dst = dst * src; with an immediate: dst = src * imm */
  OP_NEG,
  OP_NOT,
  OP_SBB,
  OP_ADC,
  OP_SIGN, /* dst = all sign bits of src (cdq, cqo) */
  OP_SET,  /* dst = CC holds ? 1 : 0, one byte */
  OP_CMOV,
  OP_CMP,  /* flags of dst - src */
  OP_TEST, /* flags of dst & src */
  OP_BIT,  /* carry = bit IMM of dst */
  OP_PUSH,
  OP_POP,
  OP_LEAVE,
  OP_CALL,          /* to the address IMM */
  OP_CALL_SLOT,     /* through the word at address DISP */
  OP_CALL_INDIRECT, /* through a register or other memory */
  OP_SYSCALL,
  OP_JUMP,
  OP_BRANCH, /* to IMM if CC holds, else on */
  OP_JUMP_TABLE,
  OP_JUMP_UNKNOWN,
  OP_TAIL,          /* jump to another function at IMM: a call whose value is returned */
  OP_TAIL_SLOT,     /* the same through the word at DISP */
  OP_TAIL_INDIRECT, /* the same through a register */
  OP_RETURN,
  OP_STOP, /* does not go on: ud2, hlt, or behind a call that never returns */
};

/* Conditions in pairs: a condition and its opposite differ in the lowest bit. The numbers are the hardware's. */
enum condition {
  CC_O,
  CC_NO,
  CC_B,
  CC_AE,
  CC_E,
  CC_NE,
  CC_BE,
  CC_A,
  CC_S,
  CC_NS,
  CC_P,
  CC_NP,
  CC_L,
  CC_GE,
  CC_LE,
  CC_G
};

enum insn_operand { OPERAND_NONE, OPERAND_REG, OPERAND_IMM, OPERAND_MEM };

enum {
  INSN_SIGNED = 1,       /* OP_MOVE sign-extends */
  INSN_SETS_FLAGS = 2,   /* carry, zero, sign or overflow */
  INSN_FS = 4,           /* the memory operand is relative to the thread pointer; of kernels, to the processor's */
  INSN_HIGH = 8,         /* an operand is ah, bh, ch or dh: not modelled */
  INSN_TABLE_INDEX = 16, /* loads the entry of a jump table; index register in INDEX */
  INSN_WRITES_MEM = 32,  /* the memory operand is written */
  INSN_INC = 64,         /* OP_ADD or OP_SUB that leaves the carry alone */
  INSN_FAULTS = 128,     /* it may fault, and then control goes elsewhere in the function */
};

#define SP_UNKNOWN INT32_MIN

struct insn {
  uint64_t address;
  int64_t imm;  /* immediate or branch target */
  int64_t disp; /* of the memory operand; absolute if there is neither base nor index */
  int32_t sp;   /* rsp before the instruction, relative to rsp at entry, or SP_UNKNOWN */
  int32_t fp;   /* the same for rbp while it is known to be a frame pointer, else SP_UNKNOWN */
  uint16_t defs, uses;
  uint8_t op, length, cc;
  uint8_t size, from_size; /* bytes */
  uint8_t dst_kind, dst, src_kind, src;
  uint8_t base, index, scale;
  uint8_t flags;
};

/* A call of a function; a system call is another thing. */
static inline bool insn_calls(const struct insn *in) {
  return in->op == OP_CALL || in->op == OP_CALL_SLOT || in->op == OP_CALL_INDIRECT;
}

/* "xor eax, eax" and "sub eax, eax" read nothing. */
static inline bool insn_zeroes(const struct insn *in) {
  bool same = in->src_kind == OPERAND_REG && in->dst_kind == OPERAND_REG && in->src == in->dst;
  return same && (in->op == OP_XOR || in->op == OP_SUB);
}

/* "or eax, -1" and "and eax, 0" only set a constant, in few bytes. */
static inline bool insn_sets_constant(const struct insn *in) {
  if (in->src_kind != OPERAND_IMM) return false;
  return (in->op == OP_OR && in->imm == -1) || (in->op == OP_AND && in->imm == 0);
}

/* The stack guard of the psABI: what a function with a stack protector compares at its end. */
static inline bool insn_names_guard(const struct insn *in) {
  return in->flags & INSN_FS && in->base == NO_REG && in->index == NO_REG && in->disp == 0x28;
}

/* The stack slot that the memory operand names, relative to rsp at entry; false if it is none. */
static inline bool insn_slot(const struct insn *in, int32_t *ret) {
  if (in->base != RSP && in->base != RBP) return false;
  if (in->index != NO_REG || in->flags & INSN_FS || in->disp > INT32_MAX / 2 || in->disp < INT32_MIN / 2) return false;
  int32_t from = in->base == RSP ? in->sp : in->fp;
  if (from == SP_UNKNOWN) return false;
  *ret = from + (int32_t)in->disp;
  return true;
}

/* What an analysis that goes from instruction to instruction asks first of each. */
enum insn_note {
  NOTE_MEMORY = 1,  /* a call, or it writes memory */
  NOTE_FLAGS = 2,   /* INSN_SETS_FLAGS */
  NOTE_INDEX = 4,   /* INSN_TABLE_INDEX */
  NOTE_OPERAND = 8, /* it has a memory operand, or pushes or pops */
  NOTE_STACK = 16,  /* it makes a stack address */
  NOTE_FAR = 32,    /* a call, or it writes memory that is no slot of the stack */
  NOTE_CALL = 64,   /* a call or a system call */
  NOTE_STORE = 128, /* it writes memory, by a push too */
};

enum edge_kind { EDGE_PLAIN, EDGE_FALL, EDGE_TAKEN, EDGE_CASE };

/* A way into a block. */
struct edge {
  uint32_t from;
  uint16_t kind;
  uint16_t value; /* EDGE_CASE: the index of the jump table */
};

struct block {
  uint32_t first, n;         /* instructions */
  uint32_t preds, n_preds;   /* edges */
  uint16_t defs;             /* registers that any of its instructions changes */
  bool calls, stores, flags; /* any call or system call; any write to memory, push too; any change of flags */
};

enum {
  CODE_BAD_INSTRUCTION = 1, /* bytes that are no instruction, or the code runs out of its segment */
  CODE_UNKNOWN_JUMP = 2,    /* an indirect jump that is neither a jump table nor a tail call */
  CODE_TOO_LARGE = 4,
  CODE_STOPPED = 8, /* at one of the operations that were asked for */
};

struct code {
  const struct image *image;
  uint64_t entry;
  struct insn *insns;      /* by address */
  const uint16_t *defs;    /* their DEFS once more, close together */
  const uint16_t *touched; /* DEFS and USES */
  const uint8_t *notes;    /* of enum insn_note */
  uint32_t n_insns;
  uint32_t n_in_order;  /* behind these are those of the blocks that come last */
  struct block *blocks; /* by address, but for the targets of conditional tail calls, which come last */
  uint32_t n_blocks;
  const uint32_t *block_of; /* by instruction */
  uint32_t entry_block;
  const struct edge *edges;
  uint32_t n_edges;
  unsigned problems;
  const int32_t *escaped; /* stack offsets (as SP) whose address is taken, in order, each once */
  uint32_t n_escaped;
};

/* Where a call goes: to an address of the image, or to what a slot holds. */
struct code_target {
  bool slot;
  uint64_t address; /* of the function or of the slot */
};

/* Follows a PLT stub (with or without endbr64 and bnd) to its slot. */
struct code_target code_follow_plt(const struct image *img, uint64_t address);

/*
 * What a kernel leaves to tables and to its own patching at run time, by address: thunks for returns and indirect
 * jumps, calls of the function tracer, branches that static keys switch, faults that go on elsewhere, warnings that
 * look like the end. From the image's symbols; does not change once made.
 */
struct code_kernel;
int code_kernel_new(const struct image *img, struct code_kernel **ret) MUST_USE;
void code_kernel_free(struct code_kernel *k);

struct code_options {
  uint32_t max_insns;               /* 0 for no limit */
  const struct code_kernel *kernel; /* NULL for what runs in user space */
  /* Also what no jump leads to inside the function's range: where exceptions are caught. It has no way into it. */
  bool unreached;
  /* Does a call to this target never return? May be NULL. */
  bool (*noreturn)(void *context, struct code_target target);
  void *context;
  /*
   * If not 0: the operations, as bits, at the first of which there is no need to read on. Whatever the problem is, it
   * ends the reading then. Only instructions are given, in no order, and of a function with problems not even these.
   */
  uint64_t until;
};
#define CODE_OP_BIT(op) (1ull << (op))

/* Reads one instruction. 0, or -EILSEQ if there is none. */
int code_read(const struct image *img, uint64_t address, struct insn *ret);
/* Its text in Intel syntax, for people. */
void code_print(const struct image *img, uint64_t address, struct text *to);

/*
 * The graph of the function at ENTRY, in ARENA. 0 or -ENOMEM, -EFAULT if ENTRY is not code; other trouble is in
 * PROBLEMS.
 */
int code_build(const struct image *img, uint64_t entry, const struct code_options *options, struct arena *arena,
               struct code *ret) MUST_USE;
/* The number of the instruction at ADDRESS; false if there is none. */
bool code_find(const struct code *c, uint64_t address, uint32_t *ret);
/* The block that instruction number INSN is in. */
static inline uint32_t code_block_of(const struct code *c, uint32_t insn) { return c->block_of[insn]; }
