/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts of the forward analysis about memory: stack slots, structure members, variables, and errno.
 *
 * A structure member is known by the origin of its address (an argument, a call's result, a variable), or as what lies
 * behind a pointer in a register or a stack slot, while neither changes.
 */
#include "flow/follow.h"

#include <string.h>

#define NEAR 12 /* instructions before an access in which its pointer is loaded from the stack, unoptimised */

/* The stack slot that the base register of the memory operand was loaded from just before; false if it was not. */
static bool base_slot(const struct flow_graph *g, uint32_t block, uint32_t position, int32_t *ret) {
  uint32_t first = g->code.blocks[block].first;
  uint8_t base = g->code.insns[first + position].base;
  for (uint32_t i = position; i-- > 0 && position - i < NEAR;) {
    const struct insn *def = &g->code.insns[first + i];
    if (!(def->defs & REG_BIT(base))) continue;
    return def->op == OP_MOVE && def->src_kind == OPERAND_MEM && def->size == 8 && operand_slot(def, ret);
  }
  return false;
}

/* Does the memory operand have a place of its own that can be told from others? */
static bool plain_memory(const struct insn *in) {
  bool memory = in->dst_kind == OPERAND_MEM || in->src_kind == OPERAND_MEM;
  return memory && in->op != OP_LEA && in->index == NO_REG;
}

/* --- errno -------------------------------------------------------------------------------------------------------- */

static bool errno_function(struct flow_graph *g, uint64_t slot_at) {
  struct image_slot slot;
  return g->errno_at && image_slot(g->code.image, slot_at, &slot) && slot.name && g->errno_at(g->context, slot.name);
}

static bool is_errno(struct flow_graph *g, uint32_t insn) {
  const struct insn *in = &g->code.insns[insn];
  struct flow_place p;
  if (in->disp != 0 || in->base == NO_REG || in->base == RSP || in->flags & INSN_FS) return false;
  if (in->size != 4 && in->from_size != 4) return false;
  if (!operand_place(&g->walk, insn, &p) || p.kind != PLACE_CALL || p.offset != 0) return false;
  const struct flow_call *c = &g->walk.calls.at[p.call];
  return c->kind == CALL_SLOT && errno_function(g, c->target);
}

bool flow_graph_clears_errno(struct flow_graph *g) {
  for (uint32_t i = 0; i < g->code.n_insns; i++) {
    const struct insn *in = &g->code.insns[i];
    if (in->op == OP_MOVE && in->dst_kind == OPERAND_MEM && in->src_kind == OPERAND_IMM && in->imm == 0 &&
        is_errno(g, i))
      return true;
  }
  return false;
}

/* A call that may set errno anew. */
static bool changes_errno(struct flow_graph *g, uint32_t insn) {
  if (!insn_calls(&g->code.insns[insn])) return false;
  struct flow_call c = flow_graph_call(g, insn);
  return c.kind != CALL_SLOT || !errno_function(g, c.target);
}

/* --- which fact is the operand about? ----------------------------------------------------------------------------- */

static bool matches(struct flow_graph *g, const struct fact *f, uint32_t block, uint32_t position) {
  uint32_t insn = g->code.blocks[block].first + position;
  const struct insn *in = &g->code.insns[insn];
  struct flow_place p;
  int32_t slot;
  if (!plain_memory(in)) return false;
  switch (f->where) {
  case FACT_SLOT:
    return operand_slot(in, &slot) && slot == f->slot;
  case FACT_PLACE:
    if (in->disp != f->disp || operand_slot(in, &slot)) return false;
    return operand_place(&g->walk, insn, &p) && place_equal(&p, &f->place);
  case FACT_BEHIND_REG:
    return in->base == f->reg && in->disp == f->disp && !(in->flags & INSN_FS);
  case FACT_BEHIND_SLOT:
    if (in->disp != f->disp || in->base == NO_REG || in->base == RSP || operand_slot(in, &slot)) return false;
    return base_slot(g, block, position, &slot) && slot == f->slot;
  case FACT_ERRNO:
    return is_errno(g, insn);
  default:
    return false;
  }
}

/* Is a part of the slot written by something else? */
static bool overwrites(const struct fact *f, const struct insn *in) {
  int32_t slot;
  unsigned size = in->size ? in->size : 8;
  if (in->op == OP_PUSH && in->sp != SP_UNKNOWN) return in->sp - in->size == f->slot;
  if (!(in->flags & INSN_WRITES_MEM) || !operand_slot(in, &slot)) return false;
  return slot < f->slot + (int32_t)(f->size ? f->size : 8) && f->slot < slot + (int32_t)size;
}

/* Does the fact end here, whatever it is used for? */
static bool ends(struct flow_graph *g, const struct fact *f, uint32_t insn, bool match) {
  const struct insn *in = &g->code.insns[insn];
  bool writes = match && in->flags & INSN_WRITES_MEM;
  switch (f->where) {
  case FACT_SLOT:
    return overwrites(f, in);
  case FACT_BEHIND_SLOT:
    return writes || overwrites(f, in);
  case FACT_BEHIND_REG:
    return writes || in->defs & REG_BIT(f->reg);
  case FACT_ERRNO:
    return writes || changes_errno(g, insn);
  default:
    return writes;
  }
}

/* --- steps -------------------------------------------------------------------------------------------------------- */

static void pop(struct flow_graph *g, const struct fact *f, uint32_t block, uint32_t position) {
  const struct insn *in = &g->code.insns[g->code.blocks[block].first + position];
  struct fact after = *f;
  if (f->where != FACT_SLOT || in->sp != f->slot || in->dst_kind != OPERAND_REG) return;
  after.where = FACT_REG;
  after.reg = in->dst;
  after.size = 0;
  after.slot = 0;
  follow_push(g, block, position + 1, &after);
}

/* The pointer is copied: the member lies behind the copy as well. */
static void copy_pointer(struct flow_graph *g, const struct fact *f, uint32_t block, uint32_t position) {
  const struct insn *in = &g->code.insns[g->code.blocks[block].first + position];
  struct fact after = *f;
  if (f->where != FACT_BEHIND_REG || in->op != OP_MOVE || in->size != 8 || in->src_kind != OPERAND_REG) return;
  if (in->src != f->reg || in->dst_kind != OPERAND_REG) return;
  after.reg = in->dst;
  follow_push(g, block, position + 1, &after);
}

bool follow_memory(struct flow_graph *g, const struct fact *f, uint32_t block, uint32_t position) {
  uint32_t insn = g->code.blocks[block].first + position;
  const struct insn *in = &g->code.insns[insn];
  if (in->op == OP_RETURN) return false;
  if (in->op == OP_POP) pop(g, f, block, position);
  copy_pointer(g, f, block, position);
  bool match = matches(g, f, block, position), dst = in->dst_kind == OPERAND_MEM;
  if (match && !(dst && in->op == OP_MOVE)) {
    struct fact operand = *f;
    follow_operand(g, &operand, block, position, dst);
  }
  return !ends(g, f, insn, match);
}

void follow_store(struct flow_graph *g, const struct fact *f, uint32_t block, uint32_t position) {
  uint32_t insn = g->code.blocks[block].first + position;
  const struct insn *in = &g->code.insns[insn];
  struct fact at = *f;
  at.reg = 0;
  at.size = in->size;
  at.slot = 0;
  at.disp = 0;
  if (in->size < 8 && !follow_append(g, &at, XF_ZERO, in->size, 0)) return;
  if (operand_slot(in, &at.slot)) {
    at.where = FACT_SLOT;
    follow_push(g, block, position + 1, &at);
    return;
  }
  at.slot = 0;
  struct flow_event e = {.kind = EVENT_STORE, .insn = insn, .block = block, .at = in->address};
  if (in->index != NO_REG) {
    follow_note(g, f, e);
    return;
  }
  at.disp = in->disp;
  if (operand_place(&g->walk, insn, &at.place)) {
    e.global = at.place.kind == PLACE_GLOBAL && !at.place.raw;
    e.imm = at.place.where;
    at.where = FACT_PLACE;
    follow_push(g, block, position + 1, &at);
  }
  follow_note(g, f, e);
  at.place = (struct flow_place){0};
  if (in->base == NO_REG || in->flags & INSN_FS) return;
  struct fact behind = at;
  if (base_slot(g, block, position, &behind.slot)) {
    behind.where = FACT_BEHIND_SLOT;
    follow_push(g, block, position + 1, &behind);
  }
  at.where = FACT_BEHIND_REG;
  at.reg = in->base;
  follow_push(g, block, position + 1, &at);
}
