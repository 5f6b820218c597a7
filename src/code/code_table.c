/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jump tables: from an indirect jump back to the table, its bound and its entries.
 *
 * Compilers load a 32-bit distance from a table and add the table's address, or load an 8-byte address. The table's
 * address comes from a lea that may stand far above; the bound from a comparison above that. Entries are read up to
 * the bound, and as long as they lead into the function.
 */
#include "code/cfg.h"

#include <string.h>

#define LOOK_BACK 64
#define ENTRIES_MAX 1024
#define LOOK_ALL (1u << 24)    /* instructions that are looked at in all, for one function */
#define TARGETS_MAX (1u << 18) /* entries of all tables of one function */

#define NOT_FOUND UINT32_MAX

/* The instruction before BEFORE, in order of decoding, that changes REG. */
static uint32_t definition(const struct builder *b, uint32_t before, uint8_t reg) {
  uint32_t stop = before > LOOK_BACK ? before - LOOK_BACK : 0;
  for (uint32_t i = before; i-- > stop;)
    if (b->insns.at[i].defs & REG_BIT(reg)) return i;
  return NOT_FOUND;
}

/* The address that a lea put into REG: the last one before BEFORE, however far. */
static bool constant_address(struct builder *b, uint32_t before, uint8_t reg, uint64_t *ret) {
  for (uint32_t i = before; i-- > 0 && b->looked < LOOK_ALL; b->looked++) {
    const struct insn *in = &b->insns.at[i];
    if (!(in->defs & REG_BIT(reg))) continue;
    if (in->op == OP_LEA && in->base == NO_REG && in->index == NO_REG) {
      *ret = (uint64_t)in->disp;
      return true;
    }
    if (in->op == OP_MOVE && in->src_kind == OPERAND_IMM && in->dst_kind == OPERAND_REG) {
      *ret = (uint64_t)in->imm;
      return image_is_mapped(b->image, *ret);
    }
    if (in->op == OP_MOVE && in->src_kind == OPERAND_REG && in->size == 8) reg = in->src;
  }
  return false;
}

/* Does the comparison speak of the table's index: of the same register, of one it is computed from, or of memory? */
static bool is_index(const struct builder *b, const struct insn *cmp, uint32_t at, uint32_t index_insn) {
  uint8_t index = b->insns.at[index_insn].index;
  if (cmp->dst_kind != OPERAND_REG || cmp->dst == index) return true;
  uint16_t from = REG_BIT(cmp->dst);
  for (uint32_t i = at > 4 ? at - 4 : 0; i < index_insn; i++) {
    const struct insn *in = &b->insns.at[i];
    if (in->defs & REG_BIT(index) && in->uses & from) return true;
    /* A copy that was made before the comparison. */
    if (in->op == OP_MOVE && in->src_kind == OPERAND_REG && in->src == index) from |= in->defs;
    if (in->op == OP_MOVE && in->dst == cmp->dst && in->src_kind == OPERAND_REG && in->src == index) return true;
  }
  return false;
}

/* How many entries the comparison before the jump allows, or 0. */
static uint32_t bound(const struct builder *b, uint32_t load, uint32_t index_insn) {
  uint32_t stop = load > LOOK_BACK ? load - LOOK_BACK : 0;
  for (uint32_t i = load; i-- > stop;) {
    const struct insn *in = &b->insns.at[i];
    if (in->op != OP_BRANCH || in->cc < CC_B || (in->cc > CC_AE && in->cc < CC_BE) || in->cc > CC_A) continue;
    for (uint32_t j = i; j-- > stop;) {
      const struct insn *cmp = &b->insns.at[j];
      if (!(cmp->flags & INSN_SETS_FLAGS)) continue;
      if (cmp->op != OP_CMP || cmp->src_kind != OPERAND_IMM || cmp->imm < 0 || cmp->imm >= ENTRIES_MAX) break;
      if (!is_index(b, cmp, j, index_insn)) break;
      return (uint32_t)cmp->imm + (in->cc == CC_A || in->cc == CC_BE);
    }
  }
  return 0;
}

struct form {
  uint64_t table;
  uint64_t base;       /* what a distance is added to: the table, or a label */
  uint32_t index_insn; /* the instruction whose INDEX register is the table's index */
  uint32_t load;
  bool relative; /* 4-byte distances, else 8-byte addresses */
};

static bool into_function(const struct builder *b, uint64_t target) {
  if (target >= b->low && target < b->high) return true;
  const struct image_function *f = image_function_before(b->image, target);
  return f && image_is_code(b->image, target) && (!f->name || strstr(f->name, ".cold")) && f->end > target;
}

static bool entry(const struct builder *b, const struct form *f, uint32_t i, uint64_t *ret) {
  const void *p = image_bytes(b->image, f->table + (uint64_t)i * (f->relative ? 4 : 8), f->relative ? 4 : 8);
  if (!p || !image_is_readonly(b->image, f->table)) return false;
  if (f->relative) {
    int32_t distance;
    memcpy(&distance, p, 4);
    *ret = f->base + (uint64_t)(int64_t)distance;
  } else {
    struct image_slot s;
    memcpy(ret, p, 8);
    if (image_slot(b->image, f->table + (uint64_t)i * 8, &s)) {
      if (s.kind != SLOT_LOCAL) return false;
      *ret = s.value;
    }
  }
  return into_function(b, *ret);
}

static int read_table(struct builder *b, const struct form *f, uint32_t jump) {
  uint32_t most = bound(b, f->load, f->index_insn), first = (uint32_t)b->targets.n, n = 0;
  if (!most || most > ENTRIES_MAX) most = most ? ENTRIES_MAX : ENTRIES_MAX / 4;
  for (uint64_t target; n < most && b->targets.n < TARGETS_MAX && entry(b, f, n, &target); n++) {
    int r = vec_push(&b->targets, target);
    if (r < 0) return r;
  }
  if (b->targets.n >= TARGETS_MAX) b->problems |= CODE_TOO_LARGE;
  if (n == 0) return 0;
  b->insns.at[f->index_insn].flags |= INSN_TABLE_INDEX;
  int r = vec_push(&b->tables, (struct table){jump, first, n});
  return r < 0 ? r : 1;
}

/* The table and its index from the memory operand of the load. */
static bool from_operand(struct builder *b, uint32_t load, unsigned width, struct form *f) {
  const struct insn *in = &b->insns.at[load];
  f->load = f->index_insn = load;
  if (in->index != NO_REG && in->scale == width) {
    if (in->base == NO_REG) {
      f->table = (uint64_t)in->disp;
      return true;
    }
    if (!constant_address(b, load, in->base, &f->table)) return false;
    f->table += (uint64_t)in->disp;
    return true;
  }
  if (in->index == NO_REG || in->base == NO_REG || in->scale > 1) return false;
  /* Without optimisation the index is multiplied apart: lea rdx, [rax * 4]. */
  const uint8_t regs[2] = {in->base, in->index};
  for (unsigned i = 0; i < 2; i++) {
    uint32_t d = definition(b, load, regs[i]);
    if (d == NOT_FOUND || b->insns.at[d].op != OP_LEA || b->insns.at[d].scale != width) continue;
    f->index_insn = d;
    return constant_address(b, load, regs[!i], &f->table);
  }
  return false;
}

/* From the register that is added to the table's address back to the load of the distance. */
static bool from_distance(struct builder *b, uint32_t before, uint8_t reg, struct form *f) {
  uint32_t d = definition(b, before, reg);
  for (unsigned hops = 0; d != NOT_FOUND && hops < 4; hops++) {
    const struct insn *in = &b->insns.at[d];
    if (in->op != OP_MOVE) return false;
    if (in->src_kind == OPERAND_MEM) {
      f->relative = in->from_size == 4;
      return in->from_size == 4 && from_operand(b, d, 4, f);
    }
    if (in->src_kind != OPERAND_REG) return false;
    d = definition(b, d, in->src);
  }
  return false;
}

static bool find_form(struct builder *b, uint32_t jump, struct form *f) {
  const struct insn *in = &b->insns.at[jump];
  if (in->dst_kind == OPERAND_MEM) return from_operand(b, jump, 8, f);
  if (in->dst_kind != OPERAND_REG) return false;
  uint32_t d = definition(b, jump, in->dst);
  if (d == NOT_FOUND) return false;
  const struct insn *def = &b->insns.at[d];
  if (def->op == OP_MOVE && def->src_kind == OPERAND_MEM && def->size == 8 && def->from_size == 8)
    return from_operand(b, d, 8, f);
  if (def->op != OP_ADD || def->src_kind != OPERAND_REG) return false;
  if (from_distance(b, d, def->dst, f)) return constant_address(b, d, def->src, &f->base);
  return from_distance(b, d, def->src, f) && constant_address(b, d, def->dst, &f->base);
}

int table_follow(struct builder *b, uint32_t at) {
  struct form f = {0};
  return find_form(b, at, &f) ? read_table(b, &f, at) : 0;
}
