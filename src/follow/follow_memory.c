/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts of the forward analysis about memory: stack slots, structure members, variables, and errno.
 *
 * A structure member is known by the origin of its address (an argument, a call's result, a variable), or as what lies
 * behind a pointer in a register or a stack slot, while neither changes.
 */
#include "follow/fact.h"

#include <string.h>

#define ESCAPED_MAX 256 /* bytes that a structure on the stack is thought to have */
#define NEAR 12         /* instructions before an access in which its pointer is loaded from the stack, unoptimised */

/* The stack slot that the base register of the memory operand was loaded from just before; false if it was not. */
bool follow_base_slot(const struct follow_graph *g, uint32_t block, uint32_t position, int32_t *ret) {
  uint32_t first = g->code.blocks[block].first;
  uint8_t base = g->code.insns[first + position].base;
  for (uint32_t i = position; i-- > 0 && position - i < NEAR;) {
    const struct insn *def = &g->code.insns[first + i];
    if (!(def->defs & REG_BIT(base))) continue;
    return def->op == OP_MOVE && def->src_kind == OPERAND_MEM && def->size == 8 && insn_slot(def, ret);
  }
  return false;
}

/* The instruction that made what REG holds before INSN; NULL if none is seen. */
static const struct insn *made_by(const struct follow_graph *g, uint32_t insn, uint8_t reg, uint32_t *ret) {
  uint64_t made = flow_origin_identity(&g->function, insn, reg);
  uint32_t behind = (uint32_t)(made >> 8);
  if (behind == g->code.blocks[follow_graph_block(g, behind)].first) return NULL; /* it was not made there */
  *ret = behind - 1;
  const struct insn *by = &g->code.insns[*ret];
  return by->defs & REG_BIT(made & 0xff) ? by : NULL;
}

/* The same if it was loaded from memory, all eight bytes. */
static const struct insn *loaded_by(const struct follow_graph *g, uint32_t insn, uint8_t reg, uint32_t *ret) {
  const struct insn *by = made_by(g, insn, reg, ret);
  bool load = by && by->op == OP_MOVE && by->src_kind == OPERAND_MEM && by->size == 8 && by->from_size == 8;
  return load && by->index == NO_REG && !(by->flags & INSN_FS) ? by : NULL;
}

/*
 * Do registers hold one pointer, since both were loaded from the same place? Compilers load "s->buffer" once before a
 * call and once behind it.
 */
static bool same_pointer(const struct follow_graph *g, uint32_t insn, uint8_t reg, uint32_t other_insn, uint8_t other,
                         unsigned depth) {
  uint32_t at, other_at;
  int32_t slot, other_slot;
  if (flow_origin_identity(&g->function, insn, reg) == flow_origin_identity(&g->function, other_insn, other))
    return true;
  const struct insn *a = depth ? loaded_by(g, insn, reg, &at) : NULL;
  const struct insn *b = a ? loaded_by(g, other_insn, other, &other_at) : NULL;
  if (!b || a->base == NO_REG || b->base == NO_REG) return false;
  bool on_stack = insn_slot(a, &slot);
  if (on_stack != insn_slot(b, &other_slot)) return false;
  if (on_stack) return slot == other_slot;
  return a->disp == b->disp && same_pointer(g, at, a->base, other_at, b->base, depth - 1);
}

#define POINTERS 2 /* that lead to one another */

/*
 * Is REG before INSN the pointer OTHER, behind which the instruction BY has stored the value, loaded again just before
 * or behind that: in the same block, with no call between, and with nothing written to where it was loaded from?
 */
static bool loaded_again(const struct follow_graph *g, uint32_t insn, uint8_t reg, uint32_t by, uint8_t other) {
  uint32_t load;
  const struct insn *in = loaded_by(g, insn, reg, &load);
  if (!in || follow_graph_block(g, load) != follow_graph_block(g, by)) return false;
  for (uint32_t i = load < by ? load : by; i < (load < by ? by : load); i++) {
    const struct insn *between = &g->code.insns[i];
    if (insn_calls(between) || (i != by && between->flags & INSN_WRITES_MEM && between->disp == in->disp)) return false;
  }
  return same_pointer(g, insn, reg, insn, other, POINTERS);
}

/* Does the memory operand have a place of its own that can be told from others? */
static bool plain_memory(const struct insn *in) {
  bool memory = in->dst_kind == OPERAND_MEM || in->src_kind == OPERAND_MEM;
  return memory && in->op != OP_LEA && in->index == NO_REG;
}

/* The address that the register was given just before; false if it is not seen. */
static bool near_address(const struct follow_graph *g, uint32_t block, uint32_t position, uint8_t reg, uint64_t *ret) {
  uint32_t first = g->code.blocks[block].first;
  for (uint32_t i = position; i-- > 0 && position - i < NEAR;) {
    const struct insn *def = &g->code.insns[first + i];
    if (!(def->defs & REG_BIT(reg))) continue;
    *ret = (uint64_t)def->disp;
    return def->op == OP_LEA && def->base == NO_REG && def->index == NO_REG;
  }
  return false;
}

bool follow_graph_array(struct follow_graph *g, uint32_t insn, uint64_t *ret) {
  const struct insn *in = &g->code.insns[insn];
  uint64_t base = 0;
  if (in->flags & INSN_FS) return false;
  if (in->base != NO_REG || in->index == NO_REG) {
    uint32_t block = follow_graph_block(g, insn), position = insn - g->code.blocks[block].first;
    if (in->index == NO_REG) return follow_image_array(g, block, position, ret);
    bool either = near_address(g, block, position, in->base, &base) ||
                  (in->scale <= 1 && near_address(g, block, position, in->index, &base));
    if (!either) return follow_image_array(g, block, position, ret);
  }
  *ret = base + (uint64_t)in->disp;
  return image_is_mapped(g->code.image, *ret);
}

bool follow_graph_pointer_offset(const struct follow_graph *g, uint32_t insn, int64_t *ret, uint32_t *ret_table) {
  const struct insn *call = &g->code.insns[insn];
  uint32_t first = g->code.blocks[follow_graph_block(g, insn)].first;
  bool read = call->dst_kind == OPERAND_MEM || call->src_kind == OPERAND_MEM;
  uint8_t reg = read ? call->base : call->dst_kind == OPERAND_REG ? call->dst : call->src;
  int64_t offset = read ? call->disp : 0;
  *ret_table = UINT32_MAX;
  if (call->index != NO_REG || reg == NO_REG) return false;
  for (uint32_t i = insn; i-- > first;) {
    const struct insn *def = &g->code.insns[i];
    int32_t slot;
    if (!(def->defs & REG_BIT(reg))) continue;
    bool memory = def->op == OP_MOVE && def->src_kind == OPERAND_MEM && def->index == NO_REG && def->base != NO_REG &&
                  !insn_slot(def, &slot);
    if (memory && read) {
      *ret_table = i;
      break;
    }
    if (memory) {
      read = true;
      offset = def->disp;
      reg = def->base;
    } else if (def->op == OP_ADD && def->src_kind == OPERAND_IMM && read)
      offset += def->imm;
    else if (def->op == OP_MOVE && def->src_kind == OPERAND_REG && def->size == 8)
      reg = def->src;
    else
      break;
  }
  *ret = offset;
  return read && offset >= 0;
}

/* --- errno -------------------------------------------------------------------------------------------------------- */

static bool errno_function(struct follow_graph *g, uint64_t slot_at) {
  struct image_slot slot;
  return g->errno_at && image_slot(g->code.image, slot_at, &slot) && slot.name && g->errno_at(g->context, slot.name);
}

bool follow_is_errno(struct follow_graph *g, uint32_t insn) {
  const struct insn *in = &g->code.insns[insn];
  struct flow_place p;
  if (in->disp != 0 || in->base == NO_REG || in->base == RSP || in->flags & INSN_FS) return false;
  if (in->size != 4 && in->from_size != 4) return false;
  if (!flow_operand_place(&g->function, insn, &p)) return follow_errno_kept(g, insn);
  if (p.kind != PLACE_CALL || p.offset != 0) return false;
  if (p.call >= g->function.calls.n) return false;
  const struct flow_call *c = &g->function.calls.at[p.call];
  return c->kind == CALL_SLOT && errno_function(g, c->target);
}

static bool clears_errno(struct follow_graph *g) {
  for (uint32_t i = 0; i < g->code.n_insns; i++) {
    const struct insn *in = &g->code.insns[i];
    uint64_t v = (uint64_t)in->imm;
    if (in->op != OP_MOVE || in->dst_kind != OPERAND_MEM || !follow_is_errno(g, i)) continue;
    if (in->src_kind == OPERAND_REG && !flow_origin_constant(&g->function, i, in->src, &v)) continue;
    if (v == 0) return true;
  }
  return false;
}

bool follow_graph_clears_errno(struct follow_graph *g) {
  if (!g->clears_errno) g->clears_errno = clears_errno(g) ? 2 : 1;
  return g->clears_errno == 2;
}

bool follow_is_errno_call(struct follow_graph *g, uint32_t insn) {
  struct flow_call c = follow_graph_call(g, insn);
  return c.kind == CALL_SLOT && errno_function(g, c.target);
}

/* A call that may set errno anew. */
static bool changes_errno(struct follow_graph *g, uint32_t insn) {
  struct image_slot slot;
  if (!insn_calls(&g->code.insns[insn])) return false;
  struct flow_call c = follow_graph_call(g, insn);
  if (c.kind != CALL_SLOT || !image_slot(g->code.image, c.target, &slot) || !slot.name) return true;
  if (g->errno_at && g->errno_at(g->context, slot.name)) return false;
  return !g->keeps_errno || !g->keeps_errno(g->context, slot.name);
}

/* --- which fact is the operand about? ----------------------------------------------------------------------------- */

/* Of an array at a known place, the first element is known as such, too: compilers unroll loops. */
static bool is_element(struct follow_graph *g, const struct fact *f, uint32_t block, uint32_t position) {
  const struct insn *in = &g->code.insns[g->code.blocks[block].first + position];
  struct fact e = {.width = f->width};
  int32_t slot;
  if (plain_memory(in) && (insn_slot(in, &slot) || in->base == NO_REG))
    return (in->from_size ? in->from_size : in->size) == f->size && follow_is_named(g, f, in);
  if (!follow_element(g, block, position, &e)) return false;
  if (f->width && (!e.width || f->slot % e.width)) return false; /* it lies between those that are meant */
  return e.reg == f->reg && e.imm == f->imm && e.disp == f->disp && e.size == f->size;
}

static bool matches(struct follow_graph *g, const struct fact *f, uint32_t block, uint32_t position) {
  uint32_t insn = g->code.blocks[block].first + position;
  if (f->where == FACT_ELEMENT) return is_element(g, f, block, position);
  const struct insn *in = &g->code.insns[insn];
  struct flow_place p;
  int32_t slot;
  if (!plain_memory(in)) return false;
  switch (f->where) {
  case FACT_SLOT:
    return insn_slot(in, &slot) && slot == f->slot;
  case FACT_PLACE:
    if (in->disp != f->disp || insn_slot(in, &slot)) return false;
    return flow_operand_place(&g->function, insn, &p) && flow_place_equal(&p, &f->place);
  case FACT_BEHIND_REG: /* of an array, an element is read as it was written */
    if (f->element && (in->from_size ? in->from_size : in->size) != f->size) return false;
    if (in->disp != f->disp || in->flags & INSN_FS || in->base == NO_REG) return false;
    if (in->base == f->reg) return true;
    return f->imm && !insn_slot(in, &slot) && loaded_again(g, insn, in->base, (uint32_t)f->imm - 1, f->reg);
  case FACT_BEHIND_SLOT:
    if (in->disp != f->disp || in->base == NO_REG || in->base == RSP || insn_slot(in, &slot)) return false;
    return follow_base_slot(g, block, position, &slot) && slot == f->slot;
  case FACT_ERRNO:
    return follow_is_errno(g, insn);
  default:
    return false;
  }
}

/* Does the instruction put a stack address into a register? Which. */
static bool takes_address(const struct insn *in, int32_t *ret) {
  if (in->op == OP_LEA) return insn_slot(in, ret);
  *ret = in->sp;
  return in->op == OP_MOVE && in->size == 8 && in->src_kind == OPERAND_REG && in->src == RSP &&
         in->dst_kind == OPERAND_REG && in->dst != RBP && in->sp != SP_UNKNOWN;
}

/* The slot whose address REG holds before INSN. */
static bool pointed_slot(const struct follow_graph *g, uint32_t insn, uint8_t reg, int32_t *ret) {
  uint32_t at;
  const struct insn *by = made_by(g, insn, reg, &at);
  return by && takes_address(by, ret);
}

bool follow_graph_preset(struct follow_graph *g, uint32_t insn, unsigned arg, bool *ret_stack) {
  struct flow_loc loc = {.kind = LOC_SLOT, .size = 4};
  *ret_stack = pointed_slot(g, insn, code_argument_registers[arg], &loc.slot);
  if (!*ret_stack) return false;
  struct flow_value v = flow_origin(&g->function, insn, &loc);
  loc.size = 8;
  if (v.kind != VALUE_CONST) v = flow_origin(&g->function, insn, &loc);
  return v.kind == VALUE_CONST;
}

/* The slot that the memory operand names, by a register that holds its address too. */
static bool named_slot(const struct follow_graph *g, uint32_t insn, int32_t *ret) {
  const struct insn *in = &g->code.insns[insn];
  if (insn_slot(in, ret)) return true;
  if (!g->code.n_escaped || in->base == NO_REG || in->index != NO_REG || in->flags & INSN_FS) return false;
  if (!pointed_slot(g, insn, in->base, ret)) return false;
  *ret += (int32_t)in->disp;
  return in->disp > INT32_MIN / 2 && in->disp < INT32_MAX / 2;
}

/* Is a part of the slot written by something else? */
static bool overwrites(struct follow_graph *g, const struct fact *f, uint32_t insn) {
  const struct insn *in = &g->code.insns[insn];
  int32_t slot;
  unsigned size = in->size ? in->size : 8;
  if (in->op == OP_PUSH && in->sp != SP_UNKNOWN) return in->sp - in->size == f->slot;
  if (!(in->flags & INSN_WRITES_MEM)) return false;
  if (f->given && follow_is_in_array(g, insn, f->slot, f->size)) return true; /* what is there now is an array */
  if (!named_slot(g, insn, &slot)) return false;
  return slot < f->slot + (int32_t)(f->size ? f->size : 8) && f->slot < slot + (int32_t)size;
}

/* Does the fact end here, whatever it is used for? */
static bool ends(struct follow_graph *g, const struct fact *f, uint32_t insn, bool match) {
  const struct insn *in = &g->code.insns[insn];
  bool writes = match && in->flags & INSN_WRITES_MEM && !f->element; /* of an array, it may be another one */
  switch (f->where) {
  case FACT_SLOT:
    return overwrites(g, f, insn) && !f->element;
  case FACT_BEHIND_SLOT:
    return writes || overwrites(g, f, insn);
  case FACT_BEHIND_REG:
    return writes || in->defs & REG_BIT(f->reg);
  case FACT_ERRNO:
    return writes || changes_errno(g, insn);
  case FACT_ELEMENT: /* what is written may be another one */
    return false;
  default:
    return writes;
  }
}

/* --- steps -------------------------------------------------------------------------------------------------------- */

static void pop(struct follow_graph *g, const struct fact *f, uint32_t block, uint32_t position) {
  const struct insn *in = &g->code.insns[g->code.blocks[block].first + position];
  struct fact after = *f;
  if (f->where != FACT_SLOT || in->sp != f->slot || in->dst_kind != OPERAND_REG) return;
  after.where = FACT_REG;
  after.reg = in->dst;
  after.size = 0;
  after.slot = 0;
  after.disp = 0;
  after.element = after.given = false;
  follow_push(g, block, position + 1, &after);
}

/* A pointer to the slot, or to what it is a part of, is made: the slot lies behind it as well. */
static void point_at_slot(struct follow_graph *g, const struct fact *f, uint32_t block, uint32_t position) {
  const struct insn *in = &g->code.insns[g->code.blocks[block].first + position];
  struct fact after = *f;
  int32_t start, slot = f->slot;
  after.element |= follow_is_on_stack(f, &slot);
  if (!takes_address(in, &start) || start > slot) return;
  if (slot - start >= ESCAPED_MAX && (f->where != FACT_SLOT || slot - start != f->disp)) return;
  after.where = FACT_BEHIND_REG;
  after.reg = in->dst;
  after.slot = 0;
  after.imm = 0;
  after.shown = after.given = false;
  after.disp = slot - start;
  follow_push(g, block, position + 1, &after);
}

/* The pointer is copied, to another register or to the stack and back: the member lies behind the copy as well. */
static void copy_pointer(struct follow_graph *g, const struct fact *f, uint32_t block, uint32_t position) {
  const struct insn *in = &g->code.insns[g->code.blocks[block].first + position];
  struct fact after = *f;
  int32_t slot;
  if (f->where == FACT_SLOT || follow_is_on_stack(f, &slot)) point_at_slot(g, f, block, position);
  bool from_slot = f->where == FACT_BEHIND_SLOT && in->src_kind == OPERAND_MEM && in->dst_kind == OPERAND_REG;
  bool from_register = f->where == FACT_BEHIND_REG && in->src_kind == OPERAND_REG && in->src == f->reg;
  if (in->op != OP_MOVE || in->size != 8 || !(from_slot || from_register)) return;
  if (from_slot && (!insn_slot(in, &slot) || slot != f->slot)) return;
  if (in->dst_kind == OPERAND_REG) {
    after.where = FACT_BEHIND_REG;
    after.reg = in->dst;
    after.slot = 0;
  } else if (in->dst_kind == OPERAND_MEM && insn_slot(in, &slot)) {
    after.where = FACT_BEHIND_SLOT;
    after.reg = 0;
    after.slot = slot;
  } else
    return;
  follow_push(g, block, position + 1, &after);
}

/* The function that is called gets a pointer to what the value is in. */
static void give_pointer(struct follow_graph *g, const struct fact *f, uint32_t block, uint32_t position) {
  uint32_t insn = g->code.blocks[block].first + position;
  const struct insn *in = &g->code.insns[insn];
  for (unsigned i = 0; i < FLOW_ARGS; i++) {
    if (code_argument_registers[i] != f->reg) continue;
    struct flow_call c = follow_graph_call(g, insn);
    struct follow_event e = {.kind = EVENT_GIVEN, .insn = insn, .block = block, .at = in->address};
    e.arg = (uint8_t)i;
    e.imm = (uint64_t)f->disp;
    e.width = f->size;
    e.call_kind = c.kind;
    e.target = c.target;
    if (c.kind == CALL_ADDRESS) follow_note(g, f, e);
    unsigned arg;
    int64_t offset;
    struct fact after = *f;
    if (!follow_identity(g, insn, &arg, &offset) || arg != i) continue;
    after.reg = RAX; /* which it gets back */
    after.disp -= offset;
    if (insn_calls(in)) follow_push(g, block, position + 1, &after);
  }
}

/* The pointer to what the value is in is made anew for a call: the value lies *RET bytes behind it. */
static bool is_behind_origin(const struct fact *f, const struct flow_value *v, int64_t *ret) {
  if (v->ops) return false;
  *ret = f->place.offset;
  if (f->place.kind == PLACE_ARG) return f->element && v->kind == VALUE_ARG && v->arg == f->place.arg;
  *ret = (int64_t)(f->place.where - f->imm);
  return f->place.kind == PLACE_GLOBAL && f->imm && v->kind == VALUE_ADDRESS && !v->raw && v->value == f->imm;
}

static void give_place(struct follow_graph *g, const struct fact *f, uint32_t block, uint32_t position) {
  uint32_t insn = g->code.blocks[block].first + position;
  struct flow_call c = follow_graph_call(g, insn);
  for (unsigned i = 0; i < FLOW_ARGS && c.kind == CALL_ADDRESS; i++) {
    struct follow_event e = {.kind = EVENT_GIVEN, .insn = insn, .block = block, .at = g->code.insns[insn].address};
    struct flow_value v;
    int64_t offset;
    if (!follow_graph_argument(g, insn, i, &v) || !is_behind_origin(f, &v, &offset)) continue;
    e.arg = (uint8_t)i;
    e.imm = (uint64_t)offset;
    e.width = f->size;
    e.call_kind = c.kind;
    e.target = c.target;
    follow_note(g, f, e);
  }
}

/* The function returns a pointer to what the value is in. */
static void return_pointer(struct follow_graph *g, const struct fact *f, uint32_t block, uint32_t position) {
  uint32_t insn = g->code.blocks[block].first + position;
  struct follow_event e = {.kind = EVENT_STORE, .insn = insn, .block = block, .at = g->code.insns[insn].address};
  e.place = STORE_BEHIND_RESULT;
  e.imm = (uint64_t)f->disp;
  e.width = f->size;
  follow_note(g, f, e);
}

/* A function of the program is called, and may look at errno. One that does not return has been told what to say. */
static void leave_errno(struct follow_graph *g, const struct fact *f, uint32_t block, uint32_t position) {
  uint32_t insn = g->code.blocks[block].first + position;
  struct follow_event e = {.kind = EVENT_LEFT, .insn = insn, .block = block, .at = g->code.insns[insn].address};
  const uint32_t *next;
  if (!follow_graph_clears_errno(g)) return;
  struct flow_call c = follow_graph_call(g, insn);
  bool returns = position + 1 < g->code.blocks[block].n || follow_graph_next(g, block, &next, NULL);
  e.target = c.target;
  if (returns && c.kind == CALL_ADDRESS) follow_note(g, f, e);
}

bool follow_memory(struct follow_graph *g, const struct fact *f, uint32_t block, uint32_t position) {
  uint32_t insn = g->code.blocks[block].first + position;
  const struct insn *in = &g->code.insns[insn];
  bool behind = f->where == FACT_BEHIND_REG && f->subject == SUBJECT_VALUE;
  if (in->op == OP_RETURN && behind && f->reg == RAX) return_pointer(g, f, block, position);
  if (in->op == OP_RETURN) return false;
  bool calls = insn_calls(in) || in->op == OP_TAIL;
  if (behind && calls) give_pointer(g, f, block, position);
  bool known = f->where == FACT_PLACE && (f->element || f->imm) && f->subject == SUBJECT_VALUE;
  if (known && calls) give_place(g, f, block, position);
  if (f->where == FACT_ERRNO && f->subject == SUBJECT_ERRNO && in->op == OP_CALL) leave_errno(g, f, block, position);
  if (in->op == OP_POP) pop(g, f, block, position);
  copy_pointer(g, f, block, position);
  bool match = matches(g, f, block, position), dst = in->dst_kind == OPERAND_MEM;
  if (match && !(dst && in->op == OP_MOVE)) {
    struct fact operand = *f;
    follow_operand(g, &operand, block, position, dst);
  }
  int32_t slot;
  if (f->where == FACT_ELEMENT && takes_address(in, &slot) && follow_is_shown(f, slot)) {
    struct fact shown = *f;
    shown.shown = true;
    follow_push(g, block, position + 1, &shown);
    return false;
  }
  return !ends(g, f, insn, match);
}

/* Is the slot a part of a structure whose address others get? */
static bool in_escaped(const struct follow_graph *g, int32_t slot) {
  for (uint32_t i = g->code.n_escaped; i-- > 0;)
    if (g->code.escaped[i] <= slot) return slot - g->code.escaped[i] < ESCAPED_MAX;
  return false;
}

/* Behind what a function returned that returns its argument: behind what it was given. */
static void see_through_call(struct follow_graph *g, struct flow_place *p) {
  struct flow_value v;
  unsigned arg;
  int64_t offset;
  if (p->kind != PLACE_CALL || p->raw || p->call >= g->function.call_insn.n) return;
  uint32_t insn = g->function.call_insn.at[p->call];
  if (!follow_identity(g, insn, &arg, &offset) || !follow_graph_argument(g, insn, arg, &v)) return;
  if (v.kind != VALUE_ARG || v.ops) return;
  *p = (struct flow_place){.kind = PLACE_ARG, .arg = v.arg, .offset = p->offset + offset};
}

#define ELEMENT_MIN 4 /* bytes: in an array of characters, no error is told from what else is there */

/* ELEMENT is written: if its array lies behind an argument, callers find it there. */
static bool store_behind_argument(struct follow_graph *g, const struct fact *element, uint32_t block, uint32_t position,
                                  struct follow_event *e) {
  struct fact behind;
  if (element->size < ELEMENT_MIN || !follow_is_behind_argument(element, &behind)) return false;
  e->place = STORE_BEHIND_ARGUMENT;
  e->element = true;
  e->arg = behind.place.arg;
  e->imm = (uint64_t)behind.place.offset;
  e->width = behind.size;
  follow_push(g, block, position + 1, &behind);
  return true;
}

/* "*q = x" where q is "&y" and nothing else, unoptimised: it is in y. */
static void store_in_variable(struct follow_graph *g, struct fact at, uint32_t block, uint32_t position) {
  const struct insn *in = &g->code.insns[g->code.blocks[block].first + position];
  if (!follow_stack_address(g, block, position, in->base, true, &at.slot)) return;
  at.where = FACT_SLOT;
  at.slot += (int32_t)in->disp;
  at.disp = 0;
  follow_push(g, block, position + 1, &at);
}

void follow_store(struct follow_graph *g, const struct fact *f, uint32_t block, uint32_t position) {
  uint32_t insn = g->code.blocks[block].first + position;
  const struct insn *in = &g->code.insns[insn];
  struct fact at = *f;
  at.reg = 0;
  at.size = in->size;
  at.slot = 0;
  at.disp = 0;
  if (in->size < 8 && !follow_append(g, &at, XF_ZERO, in->size, 0)) return;
  struct follow_event e = {.kind = EVENT_STORE, .insn = insn, .block = block, .at = in->address};
  if (insn_slot(in, &at.slot)) {
    at.where = FACT_SLOT;
    follow_push(g, block, position + 1, &at);
    if (in->base == RSP && in_escaped(g, at.slot)) follow_note(g, f, e);
    return;
  }
  at.slot = 0;
  struct fact element = at; /* of an array, any element stands for this one */
  if (follow_element(g, block, position, &element)) follow_push(g, block, position + 1, &element);
  bool placed = flow_operand_place(&g->function, insn, &at.place);
  bool handed = !placed && store_behind_argument(g, &element, block, position, &e);
  if (in->index != NO_REG) {
    if (!handed && follow_graph_array(g, insn, &e.imm)) e.place = STORE_GLOBAL;
    e.width = in->size;
    follow_note(g, f, e);
    return;
  }
  at.disp = in->disp;
  if (follow_is_errno(g, insn)) { /* where it is asked for again */
    struct fact number = at;
    number.where = FACT_ERRNO;
    number.disp = 0;
    follow_push(g, block, position + 1, &number);
  }
  if (placed) {
    see_through_call(g, &at.place);
    bool global = at.place.kind == PLACE_GLOBAL && !at.place.raw, behind = at.place.kind == PLACE_ARG;
    e.place = global ? STORE_GLOBAL : behind ? STORE_BEHIND_ARGUMENT : STORE_ELSEWHERE;
    e.imm = global ? at.place.where : (uint64_t)at.place.offset;
    e.arg = at.place.arg;
    e.width = in->size;
    at.where = FACT_PLACE;
    follow_push(g, block, position + 1, &at);
    if (in->base == NO_REG) follow_named_element(g, &at, block, position);
  } else if (!handed && element.where == FACT_ELEMENT && follow_image_array(g, block, position, &e.imm)) {
    e.place = STORE_GLOBAL;
    e.width = in->size;
  }
  follow_note(g, f, e);
  at.place = (struct flow_place){0};
  if (in->base == NO_REG || in->flags & INSN_FS) return;
  struct fact behind = at;
  uint32_t load;
  const struct insn *by = loaded_by(g, insn, in->base, &load);
  if (follow_base_slot(g, block, position, &behind.slot) || (by && insn_slot(by, &behind.slot))) {
    behind.where = FACT_BEHIND_SLOT;
    follow_push(g, block, position + 1, &behind);
    store_in_variable(g, at, block, position);
  }
  at.where = FACT_BEHIND_REG;
  at.imm = insn + 1u;
  at.reg = in->base;
  follow_push(g, block, position + 1, &at);
}

/* --- behind an argument ------------------------------------------------------------------------------------------- */

/* How a register's value came to be just before. */
struct pointer {
  bool on_stack; /* it is a stack address: SLOT */
  int32_t slot;
  bool held; /* it was read from HELD_IN, a slot of the stack, which holds it still */
  int32_t held_in;
  uint8_t copy; /* a register that calls keep and that holds it, too; NO_REG if there is none */
};

/* A register that calls keep and that holds what REG does before INSN; or NO_REG. */
static uint8_t copy_of(const struct follow_graph *g, uint32_t insn, uint8_t reg) {
  uint64_t identity = flow_origin_identity(&g->function, insn, reg);
  for (uint8_t i = 0; i < REGISTERS; i++)
    if (CALL_KEEPS & REG_BIT(i) && i != RSP && flow_origin_identity(&g->function, insn, i) == identity) return i;
  return NO_REG;
}

static struct pointer pointer_of(const struct follow_graph *g, uint32_t block, uint32_t position, uint8_t reg) {
  uint32_t first = g->code.blocks[block].first;
  struct pointer p = {.copy = copy_of(g, first + position, reg)};
  for (uint32_t i = position; i-- > 0;) {
    const struct insn *def = &g->code.insns[first + i];
    if (insn_calls(def) && CALL_CLOBBERS & REG_BIT(reg)) return p;
    if (!(def->defs & REG_BIT(reg))) continue;
    p.on_stack = def->op == OP_LEA && insn_slot(def, &p.slot);
    if (p.on_stack || def->op != OP_MOVE || def->size != 8) return p;
    p.held = def->src_kind == OPERAND_MEM && insn_slot(def, &p.held_in);
    if (p.held || def->src_kind != OPERAND_REG) return p;
    if (def->src == RSP && def->sp != SP_UNKNOWN) {
      p.on_stack = true;
      p.slot = def->sp;
      return p;
    }
    reg = def->src;
    if (CALL_KEEPS & REG_BIT(reg)) p.copy = reg;
  }
  return p;
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

/* The value is in memory with a known address, where others find it, too. */
static void note_stored(struct follow_graph *g, const struct fact *f, const struct follow_start *start,
                        uint32_t block) {
  struct follow_event e = {.kind = EVENT_STORE, .insn = start->insn, .block = block, .width = start->size};
  bool global = f->place.kind == PLACE_GLOBAL && !f->place.raw;
  if (!global && f->place.kind != PLACE_ARG) return;
  e.at = g->code.insns[start->insn].address;
  e.behind = true;
  e.place = global ? STORE_GLOBAL : STORE_BEHIND_ARGUMENT;
  e.imm = global ? f->place.where : (uint64_t)f->place.offset;
  e.arg = f->place.arg;
  follow_note(g, f, e);
}

void follow_behind(struct follow_graph *g, const struct follow_start *start, uint32_t block, uint32_t position) {
  struct fact f = {.size = start->size, .element = start->element}, element = {0};
  struct flow_value v;
  if (start->arg >= FLOW_ARGS || start->offset > INT32_MAX / 2 || start->offset < INT32_MIN / 2) return;
  uint8_t reg = code_argument_registers[start->arg];
  struct pointer p = pointer_of(g, block, position, reg);
  if (!p.on_stack) p.on_stack = follow_stack_address(g, block, position, reg, false, &p.slot);
  f.disp = start->offset;
  if (p.on_stack) {
    f.where = FACT_SLOT;
    f.slot = p.slot + (int32_t)start->offset;
    f.given = true;
    follow_push(g, block, position + 1, &f);
    f.given = false;
  }
  if (p.held) { /* unoptimised code reads it from there again */
    f.where = FACT_BEHIND_SLOT;
    f.slot = p.held_in;
    follow_push(g, block, position + 1, &f);
  }
  f.slot = 0;
  if (p.copy != NO_REG) { /* which is where compilers may read even what is on the stack */
    f.where = FACT_BEHIND_REG;
    f.reg = p.copy;
    follow_push(g, block, position + 1, &f);
  }
  if ((!p.on_stack || start->element) && follow_element_behind(g, block, position, reg, start, &element))
    follow_push(g, block, position + 1, &element);
  if (p.on_stack) return;
  if (!follow_graph_argument(g, start->insn, start->arg, &v) || !place_of(v, start->offset, &f.place)) return;
  bool global = f.place.kind == PLACE_GLOBAL && !f.place.raw;
  f.where = FACT_PLACE;
  f.reg = 0;
  f.disp = global ? (int64_t)f.place.where : start->offset;
  f.imm = global ? v.value : 0;
  follow_push(g, block, position + 1, &f);
  note_stored(g, &f, start, block);
}
