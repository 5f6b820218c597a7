/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small functions of the same image that return one of their arguments, or an address a fixed way behind it.
 *
 * Unoptimised C++ reaches every member through a row of such functions. Only code without branches is carried out, with
 * the arguments as symbols.
 */
#include "follow/fact.h"

#include <errno.h>
#include <string.h>

#define SMALL 40
#define DEPTH 5
#define SLOTS 12

/* ARG is 1 + the number of an argument, or 0 if the content is not known. */
struct symbol {
  uint8_t arg;
  int32_t offset;
};

struct machine {
  struct flow_worker *worker;
  const struct image *image;
  struct symbol regs[REGISTERS];
  struct symbol slots[SLOTS];
  int32_t slot_at[SLOTS];
  unsigned n_slots, depth;
};

static struct symbol look(struct flow_worker *k, const struct image *img, uint64_t address, unsigned depth);

static struct symbol *slot_of(struct machine *m, int32_t at) {
  for (unsigned i = 0; i < m->n_slots; i++)
    if (m->slot_at[i] == at) return &m->slots[i];
  if (m->n_slots == SLOTS) return NULL;
  m->slot_at[m->n_slots] = at;
  m->slots[m->n_slots] = (struct symbol){0};
  return &m->slots[m->n_slots++];
}

static void call(struct machine *m, const struct insn *in) {
  struct symbol result = {0};
  if (in->op == OP_CALL || in->op == OP_TAIL) result = look(m->worker, m->image, (uint64_t)in->imm, m->depth + 1);
  if (result.arg) {
    struct symbol given = m->regs[code_argument_registers[result.arg - 1]];
    given.offset += result.offset;
    result = given;
  }
  for (unsigned i = 0; i < REGISTERS; i++)
    if (CALL_CLOBBERS >> i & 1) m->regs[i] = (struct symbol){0};
  m->regs[RAX] = result;
}

static void move(struct machine *m, const struct insn *in) {
  struct symbol v = {0}, *slot;
  int32_t at;
  if (in->size == 8 && in->src_kind == OPERAND_REG) v = m->regs[in->src];
  if (in->size == 8 && in->from_size == 8 && in->src_kind == OPERAND_MEM && insn_slot(in, &at)) {
    slot = slot_of(m, at);
    if (slot) v = *slot;
  }
  if (in->dst_kind == OPERAND_REG) m->regs[in->dst] = v;
  if (in->dst_kind == OPERAND_MEM && insn_slot(in, &at) && (slot = slot_of(m, at))) *slot = v;
}

static void step(struct machine *m, const struct insn *in) {
  struct symbol v = {0};
  switch (in->op) {
  case OP_MOVE:
    move(m, in);
    return;
  case OP_LEA:
    if (in->base != NO_REG && in->index == NO_REG && in->size == 8) v = m->regs[in->base];
    v.offset += (int32_t)in->disp;
    m->regs[in->dst] = v;
    return;
  case OP_ADD:
    if (in->dst_kind == OPERAND_REG && in->size == 8 && in->src_kind == OPERAND_IMM) {
      m->regs[in->dst].offset += (int32_t)in->imm;
      return;
    }
    break;
  case OP_CALL:
  case OP_CALL_SLOT:
  case OP_CALL_INDIRECT:
    call(m, in);
    return;
  default:
    break;
  }
  for (unsigned i = 0; i < REGISTERS; i++)
    if (in->defs >> i & 1) m->regs[i] = (struct symbol){0};
}

/* What the code, if it is one straight way, leaves in rax. */
static struct symbol carry_out(struct machine *m, const struct code *c) {
  for (unsigned i = 0; i < FLOW_ARGS; i++)
    m->regs[code_argument_registers[i]] = (struct symbol){.arg = (uint8_t)(i + 1)};
  for (uint32_t i = 0; c->n_blocks == 1 && i < c->n_insns; i++) {
    const struct insn *in = &c->insns[i];
    if (in->op == OP_TAIL) call(m, in);
    if (in->op == OP_TAIL || in->op == OP_RETURN) return m->regs[RAX];
    step(m, in);
  }
  return (struct symbol){0};
}

static struct symbol look(struct flow_worker *k, const struct image *img, uint64_t address, unsigned depth) {
  struct symbol found = {0};
  if (depth > DEPTH || code_follow_plt(img, address).slot) return found;
  /* The depth is in the key, so that the answer does not depend on what was asked before, and a circle ends. */
  uint64_t key = (hash_mix(address) ^ hash_mix((uintptr_t)img + 1)) + depth, known;
  if (map_get(&k->identities, key, &known)) {
    memcpy(&found, &known, sizeof found);
    return found;
  }
  struct arena arena = {0};
  struct code c;
  struct code_options o = {.max_insns = SMALL};
  struct machine m = {.worker = k, .image = img, .depth = depth};
  int r = code_build(img, address, &o, &arena, &c);
  if (r >= 0 && !c.problems) found = carry_out(&m, &c);
  arena_done(&arena);
  known = 0;
  memcpy(&known, &found, sizeof found);
  if (r == -ENOMEM || map_put(&k->identities, key, known) < 0) k->failed = true;
  return found;
}

bool follow_identity(struct follow_graph *g, uint32_t insn, unsigned *ret_arg, int64_t *ret_offset) {
  struct flow_call c = follow_graph_call(g, insn);
  if (c.kind != CALL_ADDRESS) return false;
  struct symbol s = look(g->function.worker, g->code.image, c.target, 0);
  if (!s.arg) return false;
  *ret_arg = s.arg - 1u;
  *ret_offset = s.offset;
  return true;
}
