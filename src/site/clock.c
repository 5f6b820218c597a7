/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments that point to the current time: to a variable of the function that was only ever set by a function that
 * tells it. What depends on a date then does not fail for the next two thousand million years.
 */
#include "site/program.h"

#define NEAR 12 /* instructions before a call in which its arguments are made, and behind it its result stored */

/* The stack slot that the memory operand names, relative to the stack pointer at the entry. */
static bool slot_of(const struct insn *in, int64_t *ret) {
  int32_t from = in->base == RSP ? in->sp : in->base == RBP ? in->fp : SP_UNKNOWN;
  if (from == SP_UNKNOWN || in->index != NO_REG || in->flags & INSN_FS) return false;
  *ret = from + in->disp;
  return true;
}

bool clock_given_slot(const struct flow_graph *g, uint32_t insn, unsigned arg, int64_t *ret) {
  const struct code *code = flow_graph_code(g);
  uint32_t first = code->blocks[flow_graph_block(g, insn)].first;
  uint8_t reg = code_argument_registers[arg];
  for (uint32_t i = insn; i-- > first && insn - i <= NEAR;) {
    const struct insn *in = &code->insns[i];
    if (!(in->defs & REG_BIT(reg))) continue;
    if (in->op == OP_LEA) return slot_of(in, ret);
    if (in->op != OP_MOVE || in->src_kind != OPERAND_REG || in->size != 8) return false;
    reg = in->src;
    if (reg != RSP || in->sp == SP_UNKNOWN) continue;
    *ret = in->sp;
    return true;
  }
  return false;
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

bool clock_is_now(const struct program *p, struct flow_graph *g, uint32_t insn, unsigned arg) {
  const struct code *code = flow_graph_code(g);
  int64_t slot, other;
  bool told = false;
  uint32_t last = UINT32_MAX; /* the last call that told the time */
  if (!clock_given_slot(g, insn, arg, &slot)) return false;
  for (uint32_t i = 0; i < code->n_insns; i++) {
    const struct insn *in = &code->insns[i];
    if (insn_calls(in)) {
      struct flow_call c = flow_graph_call(g, i);
      const struct import *m = c.kind == CALL_SLOT ? program_import(p, c.target) : NULL;
      bool tells = m && relevance_tells_now(p->relevance, m->written);
      if (tells) last = i;
      int behind = m ? relevance_now_behind(p->relevance, m->written) : -1;
      bool given = behind >= 0 && behind < FLOW_ARGS && clock_given_slot(g, i, (unsigned)behind, &other);
      if (given && other == slot) told |= flow_graph_leads(g, i, insn);
    }
    if (!writes_slot(in, slot)) continue;
    if (last == UINT32_MAX || !stores_result(code, last, i)) return false; /* something else */
    told |= flow_graph_leads(g, i, insn);
  }
  return told;
}
