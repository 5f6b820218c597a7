/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls through tables of virtual functions: what the call itself tells of the object, so that it is not taken for a
 * call of any function that has the same place in another class's table.
 */
#include "follow/fact.h"

/*
 * libstdc++'s std::_Sp_counted_base, as its ABI has it: two counts of 4 bytes, and two functions that return nothing.
 */
#define COUNT_USE 8
#define COUNT_WEAK 12
#define COUNT_BOTH 0x100000001ull /* both are 1 */
#define METHOD_DISPOSE 16
#define METHOD_DESTROY 24

/* Does REG hold before INSN what OTHER holds before AT? */
static bool is_same(struct follow_graph *g, uint32_t insn, uint8_t reg, uint32_t at, uint8_t other) {
  if (flow_origin_identity(&g->function, insn, reg) == flow_origin_identity(&g->function, at, other)) return true;
  struct flow_loc x = flow_loc_reg(reg), y = flow_loc_reg(other);
  struct flow_value v = flow_origin(&g->function, insn, &x), w = flow_origin(&g->function, at, &y);
  if (v.kind != w.kind || !flow_transform_equal(v.ops, w.ops)) return false;
  return (v.kind == VALUE_ARG && v.arg == w.arg) || (v.kind == VALUE_CALL && v.call == w.call);
}

/* READ has read the table's address from the object: is that argument ARG of the call? */
static bool is_object(struct follow_graph *g, uint32_t insn, uint32_t read, unsigned arg) {
  return is_same(g, read, g->code.insns[read].base, insn, code_argument_registers[arg]);
}

/* Is the memory operand OFFSET bytes behind the object? */
static bool is_member(struct follow_graph *g, uint32_t insn, uint32_t read, int64_t offset) {
  const struct insn *in = &g->code.insns[insn];
  struct flow_place p, object;
  if (in->base == NO_REG || in->index != NO_REG || in->flags & INSN_FS) return false;
  if (in->disp == offset && is_same(g, insn, in->base, read, g->code.insns[read].base)) return true;
  if (!flow_operand_place(&g->function, insn, &p) || !flow_operand_place(&g->function, read, &object)) return false;
  object.offset += offset;
  return (p.kind == PLACE_ARG || p.kind == PLACE_CALL) && flow_place_equal(&p, &object);
}

/* Is it a count of the object that is taken from by an exchange, or are both read at once, to compare them with 1? */
static bool counts(struct follow_graph *g, uint32_t insn, uint32_t read) {
  const struct insn *in = &g->code.insns[insn];
  if (in->op == OP_OTHER) return is_member(g, insn, read, COUNT_USE) || is_member(g, insn, read, COUNT_WEAK);
  bool loads = in->op == OP_MOVE && in->src_kind == OPERAND_MEM && in->size == 8;
  return loads && is_member(g, insn, read, COUNT_USE);
}

/* Does the function know of two counts that are 1? */
static bool compares_counts(struct follow_graph *g) {
  const struct code *c = &g->code;
  for (uint32_t i = 0; i < c->n_insns && !g->compares_counts; i++)
    if (c->insns[i].op == OP_MOVE && c->insns[i].src_kind == OPERAND_IMM && (uint64_t)c->insns[i].imm == COUNT_BOTH)
      g->compares_counts = 2;
  if (!g->compares_counts) g->compares_counts = 1;
  return g->compares_counts == 2;
}

#define NEAR_COUNTS 400 /* instructions on either side of the call: libstdc++'s own are inlined there */

/* The object is what counts who shares another one, in the function itself. */
static bool is_counted(struct follow_graph *g, uint32_t read) {
  bool both = compares_counts(g);
  uint32_t from = read > NEAR_COUNTS ? read - NEAR_COUNTS : 0, end = read + NEAR_COUNTS;
  for (uint32_t i = from; i < g->code.n_insns && i < end; i++) {
    const struct insn *in = &g->code.insns[i];
    bool exchange = in->op == OP_OTHER && in->flags & INSN_WRITES_MEM;
    if ((exchange || (both && in->op == OP_MOVE)) && counts(g, i, read)) return true;
  }
  return false;
}

bool follow_graph_calls_other(struct follow_graph *g, uint32_t insn, uint32_t read, int64_t offset) {
  /* What is returned in memory has its address as the first argument: the object is the second one. */
  if (is_object(g, insn, read, 1) && !is_object(g, insn, read, 0)) return true;
  return (offset == METHOD_DISPOSE || offset == METHOD_DESTROY) && is_counted(g, read);
}
