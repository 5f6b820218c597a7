/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments that point to a date that is not far away: to a variable of the function that was only ever set by a
 * function that tells the time, from the times of a file, or from a number of 32 bits; or to the times of a file
 * themselves. So is a variable of the program that was set so right before. What depends on such a date does not fail:
 * years leave an int after two thousand million of them.
 */
#include "site/site_program.h"

#define BLOCKS 48 /* that are looked through for where an address was made */
#define NEAR 12   /* instructions behind a call in which its result is stored, and before a store that make its value */
#define PART_MAX 4096 /* bytes before a date at which what holds it may begin */

/* The stack slot that the memory operand names, relative to the stack pointer at the entry. */
static bool slot_of(const struct insn *in, int64_t *ret) {
  int32_t from = in->base == RSP ? in->sp : in->base == RBP ? in->fp : SP_UNKNOWN;
  if (from == SP_UNKNOWN || in->index != NO_REG || in->flags & INSN_FS) return false;
  *ret = from + in->disp;
  return true;
}

/* Puts the blocks before block K that are not there yet behind the others; false if there is no room, or no block. */
static bool add_before(const struct code *code, uint32_t k, uint32_t *blocks, unsigned *n) {
  const struct block *b = &code->blocks[k];
  for (uint32_t i = 0; i < b->n_preds; i++) {
    uint32_t from = code->edges[b->preds + i].from;
    bool there = false;
    for (unsigned j = 0; j < *n; j++)
      there |= blocks[j] == from;
    if (there) continue;
    if (*n == BLOCKS) return false;
    blocks[(*n)++] = from;
  }
  return b->n_preds > 0 && k != code->entry_block;
}

/* The slot whose address REG holds before block K, on whichever way that is reached. */
static bool slot_before(const struct code *code, uint32_t k, uint8_t reg, int64_t *ret) {
  uint32_t blocks[BLOCKS];
  unsigned n = 0;
  bool found = false, known = add_before(code, k, blocks, &n);
  for (unsigned i = 0; i < n && known; i++) {
    const struct block *b = &code->blocks[blocks[i]];
    uint32_t at = b->n;
    int64_t slot;
    while (at > 0 && !(code->insns[b->first + at - 1].defs & REG_BIT(reg)))
      at--;
    const struct insn *by = at ? &code->insns[b->first + at - 1] : NULL;
    known = by ? by->op == OP_LEA && slot_of(by, &slot) : add_before(code, blocks[i], blocks, &n);
    if (!by || !known) continue;
    known = !found || slot == *ret;
    *ret = slot;
    found = true;
  }
  return found && known;
}

bool clock_given_slot(const struct follow_graph *g, uint32_t insn, unsigned arg, int64_t *ret) {
  const struct code *code = follow_graph_code(g);
  uint32_t first = code->blocks[follow_graph_block(g, insn)].first;
  uint8_t reg = code_argument_registers[arg];
  int64_t further = 0;
  for (uint32_t i = insn; i-- > first;) {
    const struct insn *in = &code->insns[i];
    if (!(in->defs & REG_BIT(reg))) continue;
    if (in->op == OP_ADD && in->src_kind == OPERAND_IMM && in->size == 8) { /* a member, at -O0 */
      further += in->imm;
      continue;
    }
    if (in->op == OP_LEA) {
      if (!slot_of(in, ret)) return false;
      *ret += further;
      return true;
    }
    if (in->op != OP_MOVE || in->src_kind != OPERAND_REG || in->size != 8) return false;
    reg = in->src;
    if (reg != RSP || in->sp == SP_UNKNOWN) continue;
    *ret = in->sp + further;
    return true;
  }
  if (!slot_before(code, follow_graph_block(g, insn), reg, ret)) return false;
  *ret += further;
  return true;
}

static bool writes_slot(const struct insn *in, int64_t slot) {
  int64_t at;
  return in->flags & INSN_WRITES_MEM && slot_of(in, &at) && at < slot + 8 && at + in->size > slot;
}

/* Is the instruction the one that stores what the call CALL has returned? */
static bool stores_result(const struct code *code, uint32_t call, uint32_t insn) {
  const struct insn *in = &code->insns[insn];
  if (in->op != OP_MOVE || in->src_kind != OPERAND_REG || in->src != RAX || insn <= call || insn - call > NEAR)
    return false;
  for (uint32_t i = call + 1; i < insn; i++)
    if (code->insns[i].defs & REG_BIT(RAX)) return false;
  return true;
}

/* What a function has told of times: where it has put them. */
struct told {
  const struct program *p;
  struct follow_graph *g;
  const struct code *code;
};

/* Does the call CALL put the times of a file into the slot? */
static bool tells_slot(const struct told *t, uint32_t call, int64_t slot) {
  struct flow_call c = follow_graph_call(t->g, call);
  const struct import *m = c.kind == CALL_SLOT ? site_program_import(t->p, c.target) : NULL;
  int behind = m ? relevance_now_behind(t->p->relevance, m->written) : -1;
  int at = behind >= 0 ? relevance_argument_of(t->p->relevance, m->name, (unsigned)behind) : -1;
  int64_t begin;
  if (at < 0 || at >= FLOW_ARGS || !clock_given_slot(t->g, call, (unsigned)at, &begin)) return false;
  return relevance_now_offset(t->p->relevance, m->written, slot - begin);
}

/* Is the slot the one of a time, as some call before INSN has told it? */
static bool is_told(const struct told *t, int64_t slot, uint32_t insn) {
  for (uint32_t i = 0; i < t->code->n_insns; i++)
    if (insn_calls(&t->code->insns[i]) && tells_slot(t, i, slot) && follow_graph_leads(t->g, i, insn)) return true;
  return false;
}

/*
 * Does the instruction store what has 32 bits at most, or a time that was told? *RET_CONSTANT is set if it is a
 * constant, which may only stand there until something else comes.
 */
static bool stores_date(const struct told *t, uint32_t insn, bool *ret_constant) {
  const struct insn *in = &t->code->insns[insn];
  uint32_t first = t->code->blocks[follow_graph_block(t->g, insn)].first;
  int64_t from;
  if (in->op != OP_MOVE || in->size != 8) return false;
  *ret_constant |= in->src_kind == OPERAND_IMM;
  if (in->src_kind == OPERAND_IMM) return true;
  uint8_t reg = in->src;
  for (uint32_t i = insn; in->src_kind == OPERAND_REG && i-- > first && insn - i <= NEAR;) {
    const struct insn *by = &t->code->insns[i];
    if (!(by->defs & REG_BIT(reg))) continue;
    if (insn_calls(by) || by->dst_kind != OPERAND_REG || by->dst != reg || by->op == OP_OTHER) return false;
    *ret_constant |= insn_zeroes(by) || (by->op == OP_MOVE && by->src_kind == OPERAND_IMM);
    if (by->size == 4 || (by->op == OP_MOVE && by->from_size <= 4)) return true;
    if (by->op == OP_MOVE && by->src_kind == OPERAND_MEM) return slot_of(by, &from) && is_told(t, from, i);
    if (by->op != OP_MOVE || by->src_kind != OPERAND_REG) return false;
    reg = by->src;
  }
  return false;
}

/* Does a call of which nobody knows what it does with it get the address of the slot? */
static bool escapes(const struct told *t, int64_t slot) {
  for (uint32_t i = 0; i < t->code->n_insns; i++) {
    if (!insn_calls(&t->code->insns[i])) continue;
    struct flow_call c = follow_graph_call(t->g, i);
    const struct import *m = c.kind == CALL_SLOT ? site_program_import(t->p, c.target) : NULL;
    int64_t at;
    for (unsigned arg = 0; arg < FLOW_ARGS; arg++) {
      if (!clock_given_slot(t->g, i, arg, &at) || at != slot) continue;
      if (!m || (relevance_date(t->p->relevance, m->written) < 0 && !tells_slot(t, i, slot))) return true;
    }
  }
  return false;
}

/*
 * Is the address of something taken that the slot may be a part of, or that of the slot only to be stored? Calls may
 * fill a structure or an array as a whole.
 */
static bool escapes_in_part(const struct told *t, int64_t slot) {
  int64_t at;
  for (uint32_t i = 0; i < t->code->n_insns; i++) {
    const struct insn *in = &t->code->insns[i], *next = i + 1 < t->code->n_insns ? in + 1 : NULL;
    for (unsigned arg = 0; arg < FLOW_ARGS && insn_calls(in); arg++)
      if (clock_given_slot(t->g, i, arg, &at) && at < slot && at > slot - PART_MAX) return true;
    if (in->op != OP_LEA || !slot_of(in, &at) || at > slot || at <= slot - PART_MAX) continue;
    bool stored = next && next->op == OP_MOVE && next->dst_kind == OPERAND_MEM && next->src_kind == OPERAND_REG &&
                  next->src == in->dst;
    if (at != slot || stored) return true;
  }
  return false;
}

/* Does the call CALL tell the time, and is that what the variable of the program at ADDRESS has at INSN? */
static bool tells_variable(const struct told *t, uint32_t call, uint64_t address, uint32_t insn) {
  struct flow_call c = follow_graph_call(t->g, call);
  const struct import *m = c.kind == CALL_SLOT ? site_program_import(t->p, c.target) : NULL;
  struct flow_value v;
  if (!m || !relevance_tells_now(t->p->relevance, m->written)) return false;
  bool told = follow_graph_argument(t->g, call, 0, &v) && v.kind == VALUE_ADDRESS && !v.raw && v.value == address;
  for (uint32_t i = call + 1; i < insn; i++) {
    const struct insn *in = &t->code->insns[i];
    bool there = in->base == NO_REG && in->index == NO_REG && (uint64_t)in->disp == address && !(in->flags & INSN_FS);
    if (in->flags & INSN_WRITES_MEM && there) told = in->size == 8 && stores_result(t->code, call, i);
  }
  return told;
}

/* Is it the last call before INSN, in its block, that has put the current time into the variable at ADDRESS? */
static bool variable_is_now(const struct told *t, uint32_t insn, uint64_t address) {
  uint32_t first = t->code->blocks[follow_graph_block(t->g, insn)].first;
  for (uint32_t i = insn; i-- > first;)
    if (insn_calls(&t->code->insns[i])) return tells_variable(t, i, address, insn);
  return false;
}

bool clock_is_now(const struct program *p, struct follow_graph *g, uint32_t insn, unsigned arg) {
  struct told t = {p, g, follow_graph_code(g)};
  struct flow_value v;
  int64_t slot;
  if (follow_graph_argument(g, insn, arg, &v) && v.kind == VALUE_ADDRESS && !v.raw)
    return variable_is_now(&t, insn, v.value);
  uint32_t last = UINT32_MAX; /* the last call that told the time */
  if (!clock_given_slot(g, insn, arg, &slot) || escapes(&t, slot)) return false;
  bool told = is_told(&t, slot, insn), constant = false;
  for (uint32_t i = 0; i < t.code->n_insns; i++) {
    const struct insn *in = &t.code->insns[i];
    struct flow_call c = insn_calls(in) ? follow_graph_call(g, i) : (struct flow_call){.kind = CALL_POINTER};
    const struct import *m = c.kind == CALL_SLOT ? site_program_import(p, c.target) : NULL;
    if (m && relevance_tells_now(p->relevance, m->written)) last = i;
    if (!writes_slot(in, slot)) continue;
    bool result = last != UINT32_MAX && stores_result(t.code, last, i);
    if (!result && !stores_date(&t, i, &constant)) return false; /* something else */
    told |= follow_graph_leads(g, i, insn);
  }
  return told && !(constant && escapes_in_part(&t, slot));
}
