/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a function keeps the address of errno.
 *
 * Compilers ask for it once and keep it in a register, or in a slot of the stack, all through a function. In a large
 * one that is too far away to be found by going back from each use; but a place that is never set to anything else
 * holds it wherever it is used.
 */
#include "follow/fact.h"

/*
 * Is the instruction one that stores what errno's function has returned? *HELD: whether rax is that, before and behind
 * the instruction; false at the start of a block.
 */
static bool stores_address(struct follow_graph *g, uint32_t insn, bool *held) {
  const struct insn *in = &g->code.insns[insn];
  bool stores = *held && in->op == OP_MOVE && in->src_kind == OPERAND_REG && in->src == RAX && in->size == 8;
  if (in->defs & REG_BIT(RAX)) *held = insn_calls(in) && follow_is_errno_call(g, insn);
  return stores;
}

static void note_slot(struct errno_kept *k, int32_t slot) {
  for (unsigned i = 0; i < k->n_slots; i++)
    if (k->slots[i] == slot) return;
  if (k->n_slots < COUNT(k->slots)) k->slots[k->n_slots++] = slot;
}

static void drop_slots(struct errno_kept *k, int32_t from, int32_t to) {
  for (unsigned i = k->n_slots; i-- > 0;)
    if (k->slots[i] < to && from < k->slots[i] + 8) k->slots[i] = k->slots[--k->n_slots];
}

/* Other things that are written to where the address was put: what has a second use is no such place. */
static void drop_others(struct follow_graph *g, struct errno_kept *k) {
  uint16_t other = 0;
  for (uint32_t n = 0; n < g->code.n_blocks; n++) {
    const struct block *b = &g->code.blocks[n];
    bool held = false;
    for (uint32_t i = b->first; i < b->first + b->n; i++) {
      const struct insn *in = &g->code.insns[i];
      int32_t slot;
      bool restored = in->op == OP_POP || in->op == OP_LEAVE; /* the caller's own, at the end */
      if (stores_address(g, i, &held)) continue;
      if (!restored) other |= in->defs;
      if (in->flags & INSN_WRITES_MEM && insn_slot(in, &slot)) drop_slots(k, slot, slot + (in->size ? in->size : 8));
    }
  }
  k->registers &= (uint16_t)~other;
  for (uint32_t i = 0; i < g->code.n_escaped; i++)
    drop_slots(k, g->code.escaped[i], g->code.escaped[i] + 1);
}

static void look(struct follow_graph *g, struct errno_kept *k) {
  k->asked = true;
  for (uint32_t n = 0; n < g->code.n_blocks; n++) {
    const struct block *b = &g->code.blocks[n];
    bool held = false;
    for (uint32_t i = b->first; b->calls && i < b->first + b->n; i++) {
      const struct insn *in = &g->code.insns[i];
      int32_t slot;
      if (!stores_address(g, i, &held)) continue;
      if (in->dst_kind == OPERAND_REG && CALL_KEEPS >> in->dst & 1) k->registers |= REG_BIT(in->dst);
      if (in->dst_kind == OPERAND_MEM && insn_slot(in, &slot)) note_slot(k, slot);
    }
  }
  if (k->registers || k->n_slots) drop_others(g, k);
}

bool follow_errno_kept(struct follow_graph *g, uint32_t insn) {
  struct errno_kept *k = &g->errno_kept;
  int32_t slot;
  if (!k->asked) look(g, k);
  if (!k->registers && !k->n_slots) return false;
  uint8_t base = g->code.insns[insn].base;
  if (k->registers >> base & 1) return true;
  uint32_t block = follow_graph_block(g, insn);
  if (!follow_base_slot(g, block, insn - g->code.blocks[block].first, &slot)) return false;
  for (unsigned i = 0; i < k->n_slots; i++)
    if (k->slots[i] == slot) return true;
  return false;
}
