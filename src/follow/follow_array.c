/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements of arrays: one loop fills an array with results, the next one looks at them. Which element an operand is, is
 * not known; which array it is an element of, often is.
 *
 * The address is followed backward through copies and through what is added to it, on all ways, to one root: a place on
 * the stack, an argument, what a call has returned, a variable on the stack that holds a pointer, a member behind one
 * or behind an argument, or a place in the image.
 */
#include "follow/fact.h"

#define INSNS_MAX 4000 /* of a function that is looked through for who sets a slot */
#define TRACES_MAX 96
#define MEMBERS (1ll << 32) /* offsets of members behind one pointer */
#define NEAR 12             /* instructions in which an index is made */

enum root_kind {
  ROOT_NONE,
  ROOT_STACK,
  ROOT_ARGUMENT,
  ROOT_CALL,
  ROOT_VARIABLE,
  ROOT_MEMBER,
  ROOT_BEHIND,
  ROOT_IMAGE,
  ROOT_NUMBER, /* of an index */
};

struct trace {
  uint32_t block, position;
  uint8_t reg;
  int64_t added; /* constants, from there on to the operand */
};

struct search {
  struct follow_graph *g;
  struct trace traces[TRACES_MAX];
  unsigned n, done;
  bool indexed; /* something that is not known was added, or the same again and again */
  bool failed;
  bool aside;    /* it is followed through slots that are set once, too */
  bool number;   /* it is no address but an index */
  uint64_t step; /* what is added round a loop, if that is always the same; or 0 */
  uint8_t kind;
  int64_t root, added;
};

static void push(struct search *s, struct trace t) {
  for (unsigned i = 0; i < s->n; i++) {
    const struct trace *known = &s->traces[i];
    if (known->block != t.block || known->position != t.position || known->reg != t.reg) continue;
    uint64_t step = (uint64_t)known->added - (uint64_t)t.added;
    if ((int64_t)step < 0) step = 0 - step;
    s->failed |= s->number && s->step && step && step != s->step;
    if (step) s->step = step;
    s->indexed |= step != 0; /* round a loop */
    return;
  }
  s->failed |= s->n == TRACES_MAX;
  if (!s->failed) s->traces[s->n++] = t;
}

/* On to REG before the instruction that T has come to, to which ADDED was added there. */
static void go_on(struct search *s, struct trace t, uint8_t reg, int64_t added) {
  t.reg = reg;
  t.added += added;
  push(s, t);
}

static void found(struct search *s, enum root_kind kind, int64_t root, int64_t added) {
  s->failed |= s->kind != ROOT_NONE && (s->kind != kind || s->root != root || s->added != added);
  s->kind = (uint8_t)kind;
  s->root = root;
  s->added = added;
}

/* Was the register just made a multiple of something, or more bits of it? So are indices, and pointers are not. */
static bool is_index(const struct follow_graph *g, uint32_t block, uint32_t position, uint8_t reg) {
  uint32_t first = g->code.blocks[block].first;
  for (uint32_t i = position; i-- > 0 && position - i < NEAR;) {
    const struct insn *def = &g->code.insns[first + i];
    if (!(def->defs & REG_BIT(reg))) continue;
    if (def->op == OP_MOVE && def->src_kind == OPERAND_REG && def->size == 8 && !(def->flags & INSN_SIGNED)) {
      reg = def->src;
      continue;
    }
    if (def->op == OP_LEA) return def->base == NO_REG && def->index != NO_REG;
    return def->op == OP_SHL || def->op == OP_MUL || def->size < 8 || def->flags & INSN_SIGNED;
  }
  return false;
}

static bool find_origin(struct search *s);

/*
 * Where in each element the index points to: one in bytes that begins at 4 and gets 16 more each time round the loop is
 * that of the second member. 0 if that is not known; one that is scaled counts elements, perhaps every second one.
 */
static int64_t index_start(const struct search *s, struct trace t, uint8_t reg, unsigned scale) {
  struct search index = {.g = s->g, .number = true};
  if (scale > 1) return 0;
  t.added = 0;
  go_on(&index, t, reg, 0);
  if (!find_origin(&index) || !index.step) return 0;
  uint64_t start = (uint64_t)index.root + (uint64_t)index.added;
  return start >> 31 || index.step >> 31 ? 0 : (int64_t)(start % index.step);
}

/* The address is the sum of two registers, the second one times SCALE: one of them is the pointer. */
static void sum(struct search *s, struct trace t, uint8_t one, uint8_t other, unsigned scale) {
  s->indexed = true;
  bool swap = scale <= 1 && is_index(s->g, t.block, t.position, one);
  go_on(s, t, swap ? other : one, index_start(s, t, swap ? one : other, swap ? 1 : scale));
}

/* Where a memory operand with an index begins on the stack; false if that is not where it is. */
static bool frame_slot(const struct insn *in, int64_t *ret) {
  int32_t from = in->base == RSP ? in->sp : in->base == RBP ? in->fp : SP_UNKNOWN;
  if (from == SP_UNKNOWN || in->flags & INSN_FS) return false;
  *ret = from + in->disp;
  return true;
}

static void through_lea(struct search *s, const struct insn *in, struct trace t) {
  int64_t slot, start = in->index != NO_REG ? index_start(s, t, in->index, in->scale) : 0;
  if (frame_slot(in, &slot)) {
    s->indexed |= in->index != NO_REG;
    found(s, ROOT_STACK, slot, t.added + start);
  } else if (in->base == NO_REG) {
    s->failed |= in->flags & INSN_FS || !image_is_mapped(s->g->code.image, (uint64_t)in->disp);
    s->indexed |= in->index != NO_REG;
    found(s, ROOT_IMAGE, in->disp, t.added + start);
  } else if (in->index != NO_REG) {
    t.added += in->disp;
    sum(s, t, in->base, in->index, in->scale);
  } else
    go_on(s, t, in->base, in->disp);
}

/* Only programs that are linked to a fixed address have addresses as constants. */
static bool is_address(const struct image *img, uint64_t number) {
  uint64_t start, end;
  return image_fixed_data(img, 0, &start, &end) && image_is_mapped(img, number);
}

/* The one instruction that sets the stack slot, from a register; false if there are several, or others may set it. */
static bool set_once(const struct code *c, int32_t slot, uint32_t *ret) {
  int32_t at;
  bool found = false;
  if (c->n_insns > INSNS_MAX) return false;
  for (uint32_t i = 0; i < c->n_escaped; i++)
    if (c->escaped[i] == slot) return false;
  for (uint32_t i = 0; i < c->n_insns; i++) {
    const struct insn *in = &c->insns[i];
    if (!(in->flags & INSN_WRITES_MEM) || !insn_slot(in, &at) || at >= slot + 8 || at + in->size <= slot) continue;
    if (found || at != slot || in->op != OP_MOVE || in->src_kind != OPERAND_REG || in->size != 8) return false;
    *ret = i;
    found = true;
  }
  return found;
}

/* On to the register that was put aside in a slot: what was an argument or comes from the image is that still. */
static void through_slot(struct search *s, int32_t slot, struct trace t) {
  uint32_t insn;
  if (!s->aside || !set_once(&s->g->code, slot, &insn)) {
    found(s, ROOT_VARIABLE, slot, t.added);
    return;
  }
  t.block = follow_graph_block(s->g, insn);
  t.position = insn - s->g->code.blocks[t.block].first;
  go_on(s, t, s->g->code.insns[insn].src, 0);
}

/* Does the instruction read a member behind a pointer that was just read from a slot of the stack? */
static bool is_member(const struct follow_graph *g, uint32_t block, uint32_t position, int32_t *ret) {
  const struct insn *in = &g->code.insns[g->code.blocks[block].first + position];
  if (in->src_kind != OPERAND_MEM || in->base == NO_REG || in->index != NO_REG || in->flags & INSN_FS) return false;
  return follow_base_slot(g, block, position, ret);
}

/* Does it read a member behind what is an argument of the function? */
static bool is_behind_argument(struct follow_graph *g, const struct insn *in, struct flow_place *ret) {
  if (in->src_kind != OPERAND_MEM || in->base == NO_REG || in->index != NO_REG || in->flags & INSN_FS) return false;
  uint32_t insn = (uint32_t)(in - g->code.insns);
  return flow_operand_place(&g->function, insn, ret) && ret->kind == PLACE_ARG && !ret->raw && ret->offset >= 0;
}

/* The pointer is read from memory. */
static void through_load(struct search *s, const struct insn *in, struct trace t) {
  int32_t slot;
  struct flow_place place;
  if (insn_slot(in, &slot))
    through_slot(s, slot, t);
  else if (is_member(s->g, t.block, t.position, &slot))
    found(s, ROOT_MEMBER, (int64_t)slot * MEMBERS + in->disp, t.added);
  else if (is_behind_argument(s->g, in, &place))
    found(s, ROOT_BEHIND, place.arg * MEMBERS + place.offset, t.added);
  else
    s->failed = true;
}

/* ... and added to what must be an index. */
static void through_added(struct search *s, const struct insn *in, struct trace t) {
  s->failed |= !is_index(s->g, t.block, t.position, t.reg);
  s->indexed = true;
  t.added += index_start(s, t, t.reg, 1);
  through_load(s, in, t);
}

/* The instruction that T has come to has made the register; it is an index, of which only numbers are known. */
static void through_number(struct search *s, const struct insn *in, struct trace t) {
  if (insn_zeroes(in))
    found(s, ROOT_NUMBER, 0, t.added);
  else if (in->op == OP_MOVE && in->src_kind == OPERAND_IMM)
    found(s, ROOT_NUMBER, in->imm, t.added);
  else if (in->op == OP_MOVE && in->src_kind == OPERAND_REG && !(in->flags & INSN_SIGNED))
    go_on(s, t, in->src, 0);
  else if (in->op == OP_LEA && in->base != NO_REG && in->index == NO_REG)
    go_on(s, t, in->base, in->disp);
  else if ((in->op == OP_ADD || in->op == OP_SUB) && in->src_kind == OPERAND_IMM)
    go_on(s, t, t.reg, in->op == OP_SUB ? -in->imm : in->imm);
  else
    s->failed = true;
}

/* The instruction that T has come to has made the register. */
static void through(struct search *s, struct trace t) {
  const struct insn *in = &s->g->code.insns[s->g->code.blocks[t.block].first + t.position];
  if (s->number) {
    through_number(s, in, t);
    return;
  }
  bool moved = in->op == OP_MOVE && in->size == 8 && !(in->flags & INSN_SIGNED);
  bool added = in->op == OP_ADD || in->op == OP_SUB;
  bool number = in->op == OP_MOVE && in->src_kind == OPERAND_IMM && is_address(s->g->code.image, (uint64_t)in->imm);
  if (number)
    found(s, ROOT_IMAGE, in->imm, t.added);
  else if (in->op == OP_LEA)
    through_lea(s, in, t);
  else if (moved && in->src_kind == OPERAND_REG && in->src == RSP && in->sp != SP_UNKNOWN)
    found(s, ROOT_STACK, in->sp, t.added);
  else if (moved && in->src_kind == OPERAND_REG)
    go_on(s, t, in->src, 0);
  else if (moved && in->src_kind == OPERAND_MEM)
    through_load(s, in, t);
  else if (in->op == OP_ADD && in->size == 8 && in->src_kind == OPERAND_MEM)
    through_added(s, in, t);
  else if (added && in->src_kind == OPERAND_IMM)
    go_on(s, t, t.reg, in->op == OP_SUB ? -in->imm : in->imm);
  else if (in->op == OP_ADD && in->src_kind == OPERAND_REG)
    sum(s, t, t.reg, in->src, 1);
  else
    s->failed = true;
}

static void at_entry(struct search *s, const struct trace *t) {
  for (unsigned i = 0; i < FLOW_ARGS; i++)
    if (code_argument_registers[i] == t->reg) {
      found(s, ROOT_ARGUMENT, i, t->added);
      return;
    }
  s->failed = true;
}

static void backward(struct search *s, struct trace t) {
  const struct code *c = &s->g->code;
  const struct block *b = &c->blocks[t.block];
  while (t.position-- > 0) {
    const struct insn *in = &c->insns[b->first + t.position];
    if (insn_calls(in) && CALL_CLOBBERS & REG_BIT(t.reg)) {
      if (t.reg == RAX)
        found(s, ROOT_CALL, b->first + t.position, t.added);
      else
        s->failed = true;
      return;
    }
    if (!(in->defs & REG_BIT(t.reg))) continue;
    through(s, t);
    return;
  }
  if (t.block == c->entry_block) at_entry(s, &t);
  for (uint32_t i = 0; i < b->n_preds; i++) {
    uint32_t from = c->edges[b->preds + i].from;
    push(s, (struct trace){from, c->blocks[from].n, t.reg, t.added});
  }
}

/* Goes back to the one root of what was begun with. */
static bool find_origin(struct search *s) {
  while (s->done < s->n && !s->failed)
    backward(s, s->traces[s->done++]);
  return !s->failed && s->kind != ROOT_NONE;
}

static bool find_one(struct search *s) { return find_origin(s) && s->indexed; }

/* SWAPPED: the other one of two registers is the pointer. */
static bool find_root_by(struct search *s, uint32_t block, uint32_t position, bool swapped) {
  const struct insn *in = &s->g->code.insns[s->g->code.blocks[block].first + position];
  struct trace start = {.block = block, .position = position, .added = in->disp};
  int64_t slot;
  bool memory = in->dst_kind == OPERAND_MEM || in->src_kind == OPERAND_MEM;
  if (!memory || in->op == OP_LEA || in->flags & INSN_FS) return false;
  bool frame = frame_slot(in, &slot);
  if ((frame || in->base == NO_REG) && in->index == NO_REG) return false;
  if (frame || in->base == NO_REG) {
    s->indexed = true;
    found(s, frame ? ROOT_STACK : ROOT_IMAGE, frame ? slot : in->disp, index_start(s, start, in->index, in->scale));
  } else if (swapped) {
    s->indexed = true;
    go_on(s, start, in->index, index_start(s, start, in->base, 1));
  } else if (in->index != NO_REG)
    sum(s, start, in->base, in->index, in->scale);
  else
    go_on(s, start, in->base, 0);
  return find_one(s);
}

/* Looks for the array that the memory operand is an element of. */
static bool find_root(struct search *s, uint32_t block, uint32_t position) {
  const struct insn *in = &s->g->code.insns[s->g->code.blocks[block].first + position];
  if (find_root_by(s, block, position, false)) return true;
  if (in->base == NO_REG || in->index == NO_REG || in->scale > 1) return false;
  *s = (struct search){.g = s->g, .aside = s->aside};
  return find_root_by(s, block, position, true);
}

bool follow_image_array(struct follow_graph *g, uint32_t block, uint32_t position, uint64_t *ret) {
  struct search s = {.g = g, .aside = true};
  if (!find_root(&s, block, position) || s.kind != ROOT_IMAGE) return false;
  *ret = (uint64_t)(s.root + s.added);
  return image_is_mapped(g->code.image, *ret);
}

/* How many bytes the register, which was just made, moves on for each element; 0 if that is not seen. */
static unsigned multiple(const struct follow_graph *g, uint32_t block, uint32_t position, uint8_t reg) {
  uint32_t first = g->code.blocks[block].first;
  for (uint32_t i = position; reg != NO_REG && i-- > 0 && position - i < NEAR;) {
    const struct insn *def = &g->code.insns[first + i];
    if (!(def->defs & REG_BIT(reg))) continue;
    if (def->op == OP_LEA && def->base == NO_REG && def->index != NO_REG) return def->scale;
    return def->op == OP_SHL && def->src_kind == OPERAND_IMM && def->imm < 8 ? 1u << def->imm : 0;
  }
  return 0;
}

/* The same for one that is an index in bytes: what it gets more each time round the loop. */
static unsigned stride(struct follow_graph *g, uint32_t block, uint32_t position, uint8_t reg) {
  struct search s = {.g = g, .number = true};
  if (reg == NO_REG) return 0;
  go_on(&s, (struct trace){.block = block, .position = position}, reg, 0);
  return find_origin(&s) && s.step < UINT8_MAX ? (unsigned)s.step : 0;
}

/* The same for the memory operand, the array of which was found. */
static unsigned step_of(const struct search *s, uint32_t block, uint32_t position) {
  const struct insn *in = &s->g->code.insns[s->g->code.blocks[block].first + position];
  if (in->index == NO_REG) return s->step < UINT8_MAX ? (unsigned)s->step : 0;
  if (in->scale > 1) return in->scale;
  unsigned step = multiple(s->g, block, position, in->index);
  if (!step) step = multiple(s->g, block, position, in->base);
  if (!step) step = stride(s->g, block, position, in->index);
  return step ? step : stride(s->g, block, position, in->base);
}

static void fill_element(const struct search *s, unsigned size, struct fact *ret) {
  bool fixed = s->kind == ROOT_STACK || s->kind == ROOT_IMAGE;
  ret->where = FACT_ELEMENT;
  ret->reg = s->kind;
  ret->imm = (uint64_t)(fixed ? s->root + s->added : s->root);
  ret->disp = fixed ? 0 : s->added;
  ret->size = (uint8_t)size;
}

/* Roots that stay what they are when they were put aside in a slot for a while. */
static bool lasts(const struct search *s) {
  return s->kind == ROOT_IMAGE || s->kind == ROOT_CALL || s->kind == ROOT_ARGUMENT;
}

bool follow_element(struct follow_graph *g, uint32_t block, uint32_t position, struct fact *ret) {
  const struct insn *in = &g->code.insns[g->code.blocks[block].first + position];
  struct search s = {.g = g, .aside = true};
  bool made = find_root(&s, block, position) && lasts(&s);
  if (!made) s = (struct search){.g = g};
  if (!made && !find_root(&s, block, position)) return false;
  bool steps = ret->width;
  fill_element(&s, in->size, ret);
  if (steps) ret->width = (uint8_t)step_of(&s, block, position);
  return true;
}

/* --- elements that are written by their names --------------------------------------------------------------------- */

#define NAMED_MAX 16

/* What the function does by their names with the places before one, as bits: the nearest one first. */
struct named {
  uint32_t written, begun; /* BEGUN: an array may begin there */
};

static void look_at_named(const struct code *c, uint64_t where, unsigned size, struct named *ret) {
  for (uint32_t i = 0; i < c->n_insns; i++) {
    const struct insn *in = &c->insns[i];
    uint64_t distance = where - (uint64_t)in->disp, n = distance / size;
    if (in->base != NO_REG && in->op != OP_LEA && in->index == NO_REG) continue;
    if (distance == 0 || distance % size || n > NAMED_MAX || in->flags & INSN_FS) continue;
    bool plain = in->base == NO_REG && in->index == NO_REG;
    if (plain && in->op == OP_MOVE && in->dst_kind == OPERAND_MEM && in->size == size) ret->written |= 1u << (n - 1);
    if ((plain && in->op == OP_LEA) || (in->index != NO_REG && in->base == NO_REG)) ret->begun |= 1u << (n - 1);
  }
}

void follow_named_element(struct follow_graph *g, const struct fact *at, uint32_t block, uint32_t position) {
  struct named named = {0};
  struct fact element = *at;
  if (at->place.kind != PLACE_GLOBAL || at->place.raw || at->size < 4 || g->code.n_insns > INSNS_MAX) return;
  look_at_named(&g->code, at->place.where, at->size, &named);
  element.where = FACT_ELEMENT;
  element.reg = ROOT_IMAGE;
  element.disp = 0;
  element.width = at->size;
  element.place = (struct flow_place){0};
  for (unsigned i = 0; i < NAMED_MAX && named.written >> i & 1; i++) {
    element.slot = (int32_t)((i + 1) * at->size);
    element.imm = at->place.where - (uint64_t)element.slot;
    if (named.begun >> i & 1) follow_push(g, block, position + 1, &element);
  }
}

bool follow_stack_address(struct follow_graph *g, uint32_t block, uint32_t position, uint8_t reg, bool aside,
                          int32_t *ret) {
  struct search s = {.g = g, .aside = aside};
  go_on(&s, (struct trace){.block = block, .position = position}, reg, 0);
  if (!find_origin(&s) || s.indexed || s.kind != ROOT_STACK) return false;
  *ret = (int32_t)(s.root + s.added);
  return true;
}

bool follow_element_behind(struct follow_graph *g, uint32_t block, uint32_t position, uint8_t reg,
                           const struct follow_start *start, struct fact *ret) {
  struct search s = {.g = g, .aside = true, .indexed = start->element};
  struct trace from = {.block = block, .position = position};
  go_on(&s, from, reg, start->offset);
  bool made = find_one(&s) && lasts(&s);
  if (!made) {
    s = (struct search){.g = g, .indexed = start->element};
    go_on(&s, from, reg, start->offset);
  }
  if (!made && !find_one(&s)) return false;
  fill_element(&s, start->size, ret);
  return true;
}

struct fact follow_element_of_argument(const struct follow_start *start) {
  return (struct fact){FACT_ELEMENT, .reg = ROOT_ARGUMENT, .imm = start->arg, .disp = start->offset,
                       .size = start->size};
}

bool follow_is_behind_argument(const struct fact *f, struct fact *ret) {
  if (f->where != FACT_ELEMENT || f->reg != ROOT_ARGUMENT) return false;
  *ret = *f;
  ret->where = FACT_PLACE;
  ret->element = true;
  ret->reg = 0;
  ret->imm = 0;
  ret->place = (struct flow_place){.kind = PLACE_ARG, .arg = (uint8_t)f->imm, .offset = f->disp};
  return true;
}

bool follow_is_on_stack(const struct fact *f, int32_t *ret) {
  if (f->where != FACT_ELEMENT || f->reg != ROOT_STACK) return false;
  *ret = (int32_t)f->imm;
  return true;
}

/* How often a loop over an array is thought to be written out. */
#define UNROLLED_MAX 16

/*
 * Is the slot one of the elements behind the first one, which a loop that was written out reads one by one? A variable
 * of its own is written by its name somewhere, or its address is taken; and the element before it is read, too.
 */
static bool is_unrolled(const struct code *c, int64_t first, int32_t slot, unsigned size) {
  int64_t distance = slot - first;
  bool before = false;
  int32_t at;
  if (!size || distance <= 0 || distance % size || distance / size > UNROLLED_MAX || c->n_insns > INSNS_MAX)
    return false;
  for (uint32_t i = 0; i < c->n_escaped; i++)
    if (c->escaped[i] == slot) return false;
  for (uint32_t i = 0; i < c->n_insns; i++) {
    const struct insn *in = &c->insns[i];
    unsigned bytes = in->from_size ? in->from_size : in->size;
    if (!(c->notes[i] & NOTE_OPERAND) || !insn_slot(in, &at) || bytes != size) continue;
    if (at == slot && in->flags & INSN_WRITES_MEM) return false;
    before |= at == slot - (int32_t)size && !(in->flags & INSN_WRITES_MEM);
  }
  return before;
}

bool follow_is_in_array(struct follow_graph *g, uint32_t insn, int32_t slot, unsigned size) {
  const struct insn *in = &g->code.insns[insn];
  struct search s = {.g = g};
  if (in->index == NO_REG || in->size != size) return false;
  uint32_t block = follow_graph_block(g, insn);
  if (!find_root(&s, block, insn - g->code.blocks[block].first) || s.kind != ROOT_STACK) return false;
  return is_unrolled(&g->code, s.root + s.added, slot, size);
}

bool follow_is_shown(const struct fact *f, int32_t slot) {
  int32_t first;
  return !f->shown && follow_is_on_stack(f, &first) && slot >= first && slot - first <= UNROLLED_MAX * f->size;
}

bool follow_is_named(const struct follow_graph *g, const struct fact *f, const struct insn *in) {
  int32_t slot;
  if (insn_slot(in, &slot) && f->reg == ROOT_STACK)
    return (int64_t)f->imm == slot || (!f->shown && is_unrolled(&g->code, (int64_t)f->imm, slot, f->size));
  if (insn_slot(in, &slot)) return false;
  bool image = in->base == NO_REG && in->index == NO_REG && !(in->flags & INSN_FS);
  return image && f->reg == ROOT_IMAGE && (int64_t)f->imm == in->disp;
}
