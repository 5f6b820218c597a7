/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts of the forward analysis about memory: stack slots, structure members, variables, and errno.
 *
 * A structure member is known by the origin of its address (an argument, a call's result, a variable), or as what lies
 * behind a pointer in a register or a stack slot, while neither changes.
 */
#include "flow/follow.h"

#include <string.h>

#define ESCAPED_MAX 256 /* bytes that a structure on the stack is thought to have */
#define NEAR 12         /* instructions before an access in which its pointer is loaded from the stack, unoptimised */

/* The stack slot that the base register of the memory operand was loaded from just before; false if it was not. */
bool follow_base_slot(const struct flow_graph *g, uint32_t block, uint32_t position, int32_t *ret) {
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

bool follow_is_errno(struct flow_graph *g, uint32_t insn) {
  const struct insn *in = &g->code.insns[insn];
  struct flow_place p;
  if (in->disp != 0 || in->base == NO_REG || in->base == RSP || in->flags & INSN_FS) return false;
  if (in->size != 4 && in->from_size != 4) return false;
  if (!operand_place(&g->walk, insn, &p) || p.kind != PLACE_CALL || p.offset != 0) return false;
  if (p.call >= g->walk.calls.n) return false;
  const struct flow_call *c = &g->walk.calls.at[p.call];
  return c->kind == CALL_SLOT && errno_function(g, c->target);
}

bool flow_graph_clears_errno(struct flow_graph *g) {
  for (uint32_t i = 0; i < g->code.n_insns; i++) {
    const struct insn *in = &g->code.insns[i];
    uint64_t v = (uint64_t)in->imm;
    if (in->op != OP_MOVE || in->dst_kind != OPERAND_MEM || !follow_is_errno(g, i)) continue;
    if (in->src_kind == OPERAND_REG && !origin_constant(&g->walk, i, in->src, &v)) continue;
    if (v == 0) return true;
  }
  return false;
}

bool follow_is_errno_call(struct flow_graph *g, uint32_t insn) {
  struct flow_call c = flow_graph_call(g, insn);
  return c.kind == CALL_SLOT && errno_function(g, c.target);
}

/* A call that may set errno anew. */
static bool changes_errno(struct flow_graph *g, uint32_t insn) {
  return insn_calls(&g->code.insns[insn]) && !follow_is_errno_call(g, insn);
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
    return follow_base_slot(g, block, position, &slot) && slot == f->slot;
  case FACT_ERRNO:
    return follow_is_errno(g, insn);
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

/* Is the slot a part of a structure whose address others get? */
static bool in_escaped(const struct flow_graph *g, int32_t slot) {
  for (uint32_t i = g->code.n_escaped; i-- > 0;)
    if (g->code.escaped[i] <= slot) return slot - g->code.escaped[i] < ESCAPED_MAX;
  return false;
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
  struct flow_event e = {.kind = EVENT_STORE, .insn = insn, .block = block, .at = in->address};
  if (operand_slot(in, &at.slot)) {
    at.where = FACT_SLOT;
    follow_push(g, block, position + 1, &at);
    if (in->base == RSP && in_escaped(g, at.slot)) follow_note(g, f, e);
    return;
  }
  at.slot = 0;
  if (in->index != NO_REG) {
    follow_note(g, f, e);
    return;
  }
  at.disp = in->disp;
  if (operand_place(&g->walk, insn, &at.place)) {
    bool global = at.place.kind == PLACE_GLOBAL && !at.place.raw, behind = at.place.kind == PLACE_ARG;
    e.place = global ? STORE_GLOBAL : behind ? STORE_BEHIND_ARGUMENT : STORE_ELSEWHERE;
    e.imm = global ? at.place.where : (uint64_t)at.place.offset;
    e.arg = at.place.arg;
    e.width = in->size;
    at.where = FACT_PLACE;
    follow_push(g, block, position + 1, &at);
  }
  follow_note(g, f, e);
  at.place = (struct flow_place){0};
  if (in->base == NO_REG || in->flags & INSN_FS) return;
  struct fact behind = at;
  if (follow_base_slot(g, block, position, &behind.slot)) {
    behind.where = FACT_BEHIND_SLOT;
    follow_push(g, block, position + 1, &behind);
  }
  at.where = FACT_BEHIND_REG;
  at.reg = in->base;
  follow_push(g, block, position + 1, &at);
}

/* --- behind an argument ------------------------------------------------------------------------------------------- */

/* Where a register's value was made just before: a stack address (the slot), or a copy of another register. */
static bool pointer_of(const struct flow_graph *g, uint32_t block, uint32_t position, uint8_t reg, int32_t *ret_slot,
                       uint8_t *ret_reg) {
  uint32_t first = g->code.blocks[block].first;
  *ret_reg = NO_REG;
  for (uint32_t i = position; i-- > 0;) {
    const struct insn *def = &g->code.insns[first + i];
    if (insn_calls(def) && CALL_CLOBBERS & REG_BIT(reg)) return false;
    if (!(def->defs & REG_BIT(reg))) continue;
    if (def->op == OP_LEA && operand_slot(def, ret_slot)) return true;
    if (def->op != OP_MOVE || def->size != 8 || def->src_kind != OPERAND_REG) return false;
    if (def->src == RSP && def->sp != SP_UNKNOWN) {
      *ret_slot = def->sp;
      return true;
    }
    reg = def->src;
    if (CALL_KEEPS & REG_BIT(reg)) *ret_reg = reg;
  }
  return false;
}

/* The place that the pointer's origin names, OFFSET bytes behind it. */
static bool place_of(struct flow_value v, int64_t offset, struct flow_place *p) {
  *p = (struct flow_place){.offset = offset};
  if (v.ops) return false;
  switch (v.kind) {
  case VALUE_ARG:
    p->kind = PLACE_ARG;
    p->arg = v.arg;
    return true;
  case VALUE_CALL:
    p->kind = PLACE_CALL;
    p->call = v.call;
    return true;
  case VALUE_ADDRESS:
    p->kind = PLACE_GLOBAL;
    p->raw = v.raw;
    p->where = v.raw ? v.value : v.value + (uint64_t)offset;
    if (!v.raw) p->offset = 0;
    return true;
  default:
    return false;
  }
}

void follow_behind(struct flow_graph *g, const struct flow_start *start, uint32_t block, uint32_t position) {
  struct fact f = {.size = start->size};
  struct flow_value v;
  uint8_t copy;
  int32_t slot;
  if (start->arg >= FLOW_ARGS || start->offset > INT32_MAX / 2 || start->offset < INT32_MIN / 2) return;
  if (pointer_of(g, block, position, code_argument_registers[start->arg], &slot, &copy)) {
    f.where = FACT_SLOT;
    f.slot = slot + (int32_t)start->offset;
    follow_push(g, block, position + 1, &f);
    return;
  }
  if (copy != NO_REG) {
    f.where = FACT_BEHIND_REG;
    f.reg = copy;
    f.disp = start->offset;
    follow_push(g, block, position + 1, &f);
  }
  if (!flow_graph_argument(g, start->insn, start->arg, &v) || !place_of(v, start->offset, &f.place)) return;
  f.where = FACT_PLACE;
  f.reg = 0;
  f.disp = f.place.kind == PLACE_GLOBAL && !f.place.raw ? (int64_t)f.place.where : start->offset;
  follow_push(g, block, position + 1, &f);
}
