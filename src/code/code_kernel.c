/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is special about a kernel's code on x86-64.
 *
 * A kernel is not run as it is stored: returns and indirect calls go through thunks that may be patched, every function
 * starts with a call of the tracer, jumps are switched by static keys (__jump_table), a faulting access of user memory
 * goes on at a place that __ex_table names, and a ud2 is a warning, after which control goes on, if __bug_table says
 * so. All this is read from the image's tables once and asked for by address.
 */
#include "code/code_kernel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BUG_WARNING 1    /* BUGFLAG_WARNING */
#define FAULT_IMM_REG 17 /* EX_TYPE_IMM_REG */
#define FAULT_KINDS 32

struct code_kernel {
  const struct image *image;
  VEC(struct patch) patches;
  struct map at;   /* address to index */
  bool old_faults; /* of the table at hand: the third word is the distance to a handler */
};

static int add(struct code_kernel *k, uint64_t address, struct patch p) {
  int r = map_put(&k->at, address, k->patches.n);
  return r < 0 ? r : vec_push(&k->patches, p);
}

const struct patch *kernel_patch_at(const struct code_kernel *k, uint64_t address) {
  uint64_t i;
  return map_get(&k->at, address, &i) ? &k->patches.at[i] : NULL;
}

/* --- thunks, by the names that the compiler gives them ------------------------------------------------------------ */

static int register_named(const char *name) {
  static const char *const names[REGISTERS] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                                               "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
  for (int i = 0; i < REGISTERS; i++)
    if (strcmp(name, names[i]) == 0) return i;
  return -1;
}

static bool ends_with(const char *s, const char *end) {
  size_t n = strlen(s), m = strlen(end);
  return n >= m && strcmp(s + n - m, end) == 0;
}

static int add_thunk(struct code_kernel *k, const struct image_symbol *s) {
  if (strcmp(s->name, "__fentry__") == 0) return add(k, s->address, (struct patch){.kind = PATCH_NOTHING});
  if (ends_with(s->name, "_return_thunk")) return add(k, s->address, (struct patch){.kind = PATCH_RETURN});
  if (strncmp(s->name, "__x86_indirect_", strlen("__x86_indirect_")) != 0) return 0;
  const char *last = strrchr(s->name, '_');
  int reg = register_named(last + 1);
  return reg < 0 ? 0 : add(k, s->address, (struct patch){.kind = PATCH_THUNK, .reg = (uint8_t)reg});
}

static int add_thunks(struct code_kernel *k) {
  const struct image_symbol *all;
  size_t n = image_symbols(k->image, &all);
  for (size_t i = 0; i < n; i++) {
    int r = all[i].kind == SYMBOL_FUNCTION ? add_thunk(k, &all[i]) : 0;
    if (r < 0) return r;
  }
  return 0;
}

/* --- tables ------------------------------------------------------------------------------------------------------- */

static int32_t word_at(const uint8_t *p) {
  int32_t v;
  memcpy(&v, p, sizeof v);
  return v;
}

/* An address as kernels store it in tables: its distance from the word itself. */
static uint64_t relative(uint64_t at, const uint8_t *p) { return at + (uint64_t)(int64_t)word_at(p); }

typedef int (*table_entry)(struct code_kernel *k, uint64_t at, const uint8_t *p);

/* Since 5.16 the third word of an entry of __ex_table says what to do; all its kinds are small numbers. */
static bool has_kinds(const uint8_t *p, uint64_t length) {
  for (uint64_t at = 0; length - at >= 12; at += 12)
    if ((word_at(p + at + 8) & 0xff) > FAULT_KINDS) return false;
  return true;
}

static int add_table(struct code_kernel *k, const char *section, size_t size, table_entry entry) {
  uint64_t start, length;
  for (size_t n = 0; image_kernel_table(k->image, section, n, &start, &length); n++) {
    const uint8_t *p = image_bytes(k->image, start, length);
    k->old_faults = p && !has_kinds(p, length);
    for (uint64_t at = 0; p && length - at >= size; at += size) {
      int r = entry(k, start + at, p + at);
      if (r < 0) return r;
    }
  }
  return 0;
}

/* struct jump_entry: code, target (both relative), key */
static int add_branch(struct code_kernel *k, uint64_t at, const uint8_t *p) {
  uint64_t code = relative(at, p), target = relative(at + 4, p + 4);
  if (!image_is_code(k->image, code) || !image_is_code(k->image, target)) return 0;
  return add(k, code, (struct patch){.kind = PATCH_BRANCH, .target = target});
}

/* struct exception_table_entry: instruction, fixup (both relative), and how, or, in old kernels, a handler */
static int add_fault(struct code_kernel *k, uint64_t at, const uint8_t *p) {
  uint64_t code = relative(at, p), target = relative(at + 4, p + 4);
  int32_t how = word_at(p + 8);
  struct patch patch = {.kind = PATCH_FAULT, .target = target};
  if (!image_is_code(k->image, code) || !image_is_code(k->image, target)) return 0;
  if (!k->old_faults && (how & 0xff) == FAULT_IMM_REG) {
    patch.kind = PATCH_FAULT_SET;
    patch.reg = how >> 8 & 15;
    patch.imm = how >> 16;
  }
  return add(k, code, patch);
}

/* struct bug_entry: address, file (both relative), line, flags */
static int add_warning(struct code_kernel *k, uint64_t at, const uint8_t *p) {
  uint64_t code = relative(at, p);
  if (!(p[10] & BUG_WARNING) || !image_is_code(k->image, code)) return 0;
  return add(k, code, (struct patch){.kind = PATCH_WARNING});
}

int code_kernel_new(const struct image *img, struct code_kernel **ret) {
  struct code_kernel *k = calloc(1, sizeof *k);
  if (!k) return -ENOMEM;
  k->image = img;
  int r = add_thunks(k);
  if (r >= 0) r = add_table(k, "__jump_table", 16, add_branch);
  if (r >= 0) r = add_table(k, "__ex_table", 12, add_fault);
  if (r >= 0) r = add_table(k, "__bug_table", 12, add_warning);
  if (r < 0) {
    code_kernel_free(k);
    return r;
  }
  *ret = k;
  return 0;
}

void code_kernel_free(struct code_kernel *k) {
  if (!k) return;
  vec_done(&k->patches);
  map_done(&k->at);
  free(k);
}

/* --- instructions ------------------------------------------------------------------------------------------------- */

static void become(struct insn *in, uint8_t op) {
  in->op = op;
  in->defs = in->uses = 0;
  in->flags = 0;
  in->dst_kind = in->src_kind = OPERAND_NONE;
  in->base = in->index = NO_REG;
}

static void through_thunk(struct insn *in, const struct patch *p) {
  if (p->kind == PATCH_RETURN && in->op == OP_JUMP) become(in, OP_RETURN);
  if (p->kind == PATCH_NOTHING && in->op == OP_CALL) become(in, OP_NOP);
  if (p->kind != PATCH_THUNK) return;
  in->op = in->op == OP_CALL ? OP_CALL_INDIRECT : OP_JUMP_UNKNOWN;
  in->dst_kind = OPERAND_REG;
  in->dst = p->reg;
  in->uses |= REG_BIT(p->reg);
}

void kernel_patch_tail(const struct code_kernel *k, struct insn *in) {
  const struct patch *p = kernel_patch_at(k, (uint64_t)in->imm);
  if (!p || (p->kind != PATCH_RETURN && p->kind != PATCH_THUNK)) return;
  in->op = OP_JUMP;
  through_thunk(in, p);
  if (in->op == OP_JUMP_UNKNOWN) in->op = OP_TAIL_INDIRECT;
}

const struct patch *kernel_patch_insn(const struct code_kernel *k, struct insn *in) {
  const struct patch *p;
  if (in->op == OP_CALL || in->op == OP_JUMP) {
    p = kernel_patch_at(k, (uint64_t)in->imm);
    if (p) through_thunk(in, p);
  }
  p = kernel_patch_at(k, in->address);
  if (!p) return NULL;
  switch (p->kind) {
  case PATCH_WARNING:
    if (in->op == OP_STOP) become(in, OP_NOP);
    return NULL;
  case PATCH_BRANCH:
    if (in->op != OP_NOP && in->op != OP_JUMP) return NULL;
    become(in, OP_BRANCH);
    in->cc = CC_O; /* no flag tells */
    in->imm = (int64_t)p->target;
    return NULL;
  case PATCH_FAULT:
  case PATCH_FAULT_SET:
    return p;
  default:
    return NULL;
  }
}
