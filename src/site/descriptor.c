/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The descriptor or stream that a call works on: what it refers to, and whether anything was written to it, as far as
 * the function itself tells.
 *
 * Written is what was opened for writing only, what the function gives to one that writes, and what was opened for both
 * and is handed on to code that is not known. What was opened for both and only read here is not.
 */
#include "site/site_program.h"
#include "site/relevance_rules.h"

#include <string.h>

#define BLOCKS_BEFORE 6 /* a call, in which its stream may have been loaded */
#define STEPS_BEFORE 8
#define FLAGS_NEAR 12
#define SOURCES 8
#define CALLS_LOOKED_AT 512

enum access { OPEN_UNKNOWN, OPEN_READ, OPEN_WRITE, OPEN_BOTH };

/* The last instruction before END of block K, on the one way there, that sets REG; false if there are several ways. */
static bool set_before_end(const struct looking *t, uint32_t k, uint32_t end, uint8_t reg, uint32_t *ret) {
  for (unsigned blocks = 0; blocks < BLOCKS_BEFORE; blocks++) {
    const struct block *b = &t->code->blocks[k];
    while (end > b->first)
      if (t->code->insns[--end].defs & REG_BIT(reg)) {
        *ret = end;
        return true;
      }
    if (b->n_preds != 1 || k == t->code->entry_block) return false;
    k = t->code->edges[b->preds].from;
    end = t->code->blocks[k].first + t->code->blocks[k].n;
  }
  return false;
}

static bool set_before(const struct looking *t, uint32_t *insn, uint8_t reg) {
  return set_before_end(t, follow_graph_block(t->g, *insn), *insn, reg, insn);
}

/* The name of the variable that the register was loaded from, as stdout is; NULL if it was not. */
static const char *loaded_variable(const struct looking *t, uint32_t insn, uint8_t reg) {
  struct image_slot slot;
  for (unsigned steps = 0; steps < STEPS_BEFORE && set_before(t, &insn, reg); steps++) {
    const struct insn *in = &t->code->insns[insn];
    if (in->op == OP_MOVE && in->src_kind == OPERAND_REG && in->size == 8) {
      reg = in->src;
      continue;
    }
    if (in->op != OP_MOVE || in->src_kind != OPERAND_MEM || in->index != NO_REG) return NULL;
    if (in->base == NO_REG) return image_slot(t->code->image, (uint64_t)in->disp, &slot) ? slot.name : NULL;
    if (in->disp != 0) return NULL;
    reg = in->base;
  }
  return NULL;
}

static void tell(struct relevance_call *c, unsigned subject, bool holds) {
  c->about[subject] = holds ? TRUE_FOR_CALL : FALSE_FOR_CALL;
}

/* --- how it was opened -------------------------------------------------------------------------------------------- */

/* The two low bits of a register, as far as they are known. */
struct low_bits {
  unsigned known, value;
};

/*
 * Those that REG has before INSN, from the instructions of its block: "O_WRONLY | (again ? 0 : O_TRUNC)" is no
 * constant, but says how the file is opened.
 */
static struct low_bits low_bits(const struct looking *t, uint32_t insn, uint8_t reg) {
  uint32_t first = t->code->blocks[follow_graph_block(t->g, insn)].first, i = insn;
  const struct insn *in = NULL;
  while (i-- > first && insn - i < FLAGS_NEAR && !in)
    if (t->code->insns[i].defs & REG_BIT(reg)) in = &t->code->insns[i];
  if (!in) return (struct low_bits){0};
  uint32_t at = (uint32_t)(in - t->code->insns);
  unsigned imm = in->imm & 3;
  if (insn_zeroes(in)) return (struct low_bits){3, 0};
  if (in->op == OP_MOVE && in->src_kind == OPERAND_IMM) return (struct low_bits){3, imm};
  if (in->op == OP_MOVE && in->src_kind == OPERAND_REG && in->size >= 4) return low_bits(t, at, in->src);
  if (in->dst_kind != OPERAND_REG || in->dst != reg || in->src_kind != OPERAND_IMM) return (struct low_bits){0};
  struct low_bits before = low_bits(t, at, reg);
  if (in->op == OP_OR) return (struct low_bits){before.known | imm, before.value | imm};
  if (in->op == OP_AND) return (struct low_bits){before.known | (~imm & 3), before.value & imm};
  if (in->op == OP_ADD && before.known == 3) return (struct low_bits){3, (before.value + imm) & 3};
  return (struct low_bits){0};
}

static enum access access_of(unsigned flags) {
  static const enum access by_bits[] = {OPEN_READ, OPEN_WRITE, OPEN_BOTH, OPEN_BOTH};
  return by_bits[flags & 3];
}

/* From the flags of open(2); of several possible ones all must say the same. */
static enum access access_by_flags(const struct looking *t, uint32_t insn, unsigned arg) {
  struct flow_value v[SOURCES];
  unsigned n = follow_graph_sources(t->g, insn, arg, v, SOURCES);
  enum access all = OPEN_UNKNOWN;
  for (unsigned i = 0; i < n; i++) {
    enum access one = v[i].kind == VALUE_CONST ? access_of((unsigned)v[i].value) : OPEN_UNKNOWN;
    if (!i) all = one;
    if (one != all) all = OPEN_UNKNOWN;
  }
  struct low_bits bits = all ? (struct low_bits){0} : low_bits(t, insn, code_argument_registers[arg]);
  if (bits.known & bits.value & 1) return OPEN_WRITE;
  return bits.known == 3 ? access_of(bits.value) : all;
}

static enum access access_by_mode(const struct looking *t, uint32_t insn, unsigned arg) {
  struct flow_value v;
  if (!follow_graph_argument(t->g, insn, arg, &v) || v.kind != VALUE_ADDRESS || v.raw) return OPEN_UNKNOWN;
  const char *mode = image_bytes(t->code->image, v.value, 4);
  if (!mode) return OPEN_UNKNOWN;
  bool both = memchr(mode, '+', strnlen(mode, 4));
  if (mode[0] == 'r') return both ? OPEN_BOTH : OPEN_READ;
  return OPEN_WRITE; /* a file that is made anew, or gets longer, is meant to be written */
}

static enum access opened_for(const struct looking *t, const struct import *m, uint32_t insn,
                              const struct relevance_opener *o) {
  if (o->access == ACCESS_READ) return OPEN_READ;
  if (o->access == ACCESS_WRITE) return OPEN_WRITE;
  if (o->access == ACCESS_BOTH) return OPEN_BOTH;
  int arg = relevance_argument_of(t->p->relevance, m->name, o->access_arg);
  if (o->access == ACCESS_LIKE || arg < 0 || arg >= FLOW_ARGS) return OPEN_UNKNOWN;
  return o->access == ACCESS_FLAGS ? access_by_flags(t, insn, (unsigned)arg) : access_by_mode(t, insn, (unsigned)arg);
}

/* Is the file that is opened this device? Its path stands before the flags or the mode. */
static bool is_device(const struct looking *t, const struct import *m, uint32_t insn, const struct relevance_opener *o,
                      const char *device) {
  size_t size = strlen(device) + 1;
  struct flow_value v;
  if (!o->path || !o->access_arg) return false;
  int arg = relevance_argument_of(t->p->relevance, m->name, o->access_arg - 1u);
  if (arg < 0 || arg >= FLOW_ARGS || !follow_graph_argument(t->g, insn, (unsigned)arg, &v)) return false;
  if (v.kind != VALUE_ADDRESS || v.raw) return false;
  const char *path = image_bytes(t->code->image, v.value, size);
  return path && memcmp(path, device, size) == 0;
}

/* --- what was done with it ---------------------------------------------------------------------------------------- */

/* Constants beside the one origin are what the variable was before: -1, NULL. */
struct thing descriptor_thing(const struct looking *t, uint32_t insn, unsigned arg) {
  struct flow_value v[SOURCES];
  struct thing thing = {0};
  unsigned n = follow_graph_sources(t->g, insn, arg, v, SOURCES), origins = 0;
  for (unsigned i = 0; i < n; i++) {
    if (v[i].kind == VALUE_CONST) continue;
    bool argument = v[i].kind == VALUE_ARG;
    uint32_t maker = argument ? v[i].arg : follow_graph_call_insn(t->g, &v[i]);
    if (origins && thing.known && thing.argument == argument && thing.maker == maker) continue;
    thing = (struct thing){argument || maker != UINT32_MAX, argument, maker};
    origins++;
  }
  if (origins != 1) thing.known = false;
  return thing;
}

static bool same_thing(const struct thing *a, const struct thing *b) {
  return a->known && b->known && a->argument == b->argument && a->maker == b->maker;
}

bool descriptor_gets(const struct looking *t, uint32_t insn, int arg, const struct thing *thing) {
  if (arg < 0 || arg >= FLOW_ARGS) return false;
  struct thing there = descriptor_thing(t, insn, (unsigned)arg);
  return same_thing(&there, thing);
}

/* Is the slot one that only this function writes to? */
static bool is_own_slot(const struct looking *t, const struct insn *in, int32_t *ret) {
  if (in->op != OP_MOVE || in->src_kind != OPERAND_MEM || in->size != 8 || !insn_slot(in, ret)) return false;
  for (uint32_t i = 0; i < t->code->n_escaped; i++)
    if (t->code->escaped[i] == *ret) return false;
  return true;
}

/* Where REG, before END of block K, has what it holds from. */
static struct home home_of(const struct looking *t, uint32_t k, uint32_t end, uint8_t reg) {
  struct home home = {.reg = reg, .read = end};
  uint32_t insn;
  bool set = set_before_end(t, k, end, reg, &insn);
  for (unsigned steps = 0; steps < STEPS_BEFORE && set; steps++) {
    const struct insn *in = &t->code->insns[insn];
    home.on_stack = is_own_slot(t, in, &home.slot);
    if (home.on_stack) home.read = insn;
    if (home.on_stack || in->op != OP_MOVE || in->src_kind != OPERAND_REG || in->size != 8) break;
    home.reg = in->src;
    home.read = insn;
    set = set_before(t, &insn, home.reg);
  }
  home.known = home.on_stack || (CALL_KEEPS & REG_BIT(home.reg) && home.reg != RSP);
  return home;
}

static bool writes_home(const struct insn *in, const struct home *h) {
  int32_t slot;
  if (!h->on_stack) return in->defs & REG_BIT(h->reg);
  if (!(in->flags & INSN_WRITES_MEM) || !insn_slot(in, &slot)) return false;
  return slot < h->slot + 8 && h->slot < slot + (int32_t)(in->size ? in->size : 8);
}

static bool same_home(const struct home *x, const struct home *y) {
  if (!x->known || !y->known || x->on_stack != y->on_stack) return false;
  return x->on_stack ? x->slot == y->slot : x->reg == y->reg;
}

/* Does an instruction from FIRST on and before END write there? */
static bool is_written_between(const struct looking *t, const struct home *h, uint32_t first, uint32_t end) {
  for (uint32_t i = first; i < end; i++)
    if (writes_home(&t->code->insns[i], h)) return true;
  return false;
}

/* Two calls that compilers have made one: each way there has got it from the same place just before. */
static struct home home_on_all_ways(const struct looking *t, uint32_t insn, uint8_t reg) {
  const struct block *b = &t->code->blocks[follow_graph_block(t->g, insn)];
  struct home all = {0};
  if (b == &t->code->blocks[t->code->entry_block]) return all; /* the caller is one more way */
  for (uint32_t i = b->first; i < insn; i++)
    if (t->code->insns[i].defs & REG_BIT(reg)) return all;
  for (uint32_t i = 0; i < b->n_preds; i++) {
    uint32_t k = t->code->edges[b->preds + i].from, first = t->code->blocks[k].first,
             end = first + t->code->blocks[k].n;
    struct home one = home_of(t, k, end, reg);
    bool near = one.known && one.read >= first && one.read < end && !is_written_between(t, &one, one.read + 1, end);
    if (!near || (i && !same_home(&all, &one))) return (struct home){0};
    all = one;
  }
  all.read = insn;
  if (all.known && is_written_between(t, &all, b->first, insn)) all.known = false;
  return all;
}

struct home descriptor_home(const struct looking *t, uint32_t insn, unsigned arg) {
  uint8_t reg = code_argument_registers[arg];
  struct home home = home_of(t, follow_graph_block(t->g, insn), insn, reg);
  return home.known ? home : home_on_all_ways(t, insn, reg);
}

bool descriptor_is_at_home(const struct looking *t, const struct home *x, const struct home *y, uint32_t later) {
  if (!same_home(x, y)) return false;
  for (uint32_t i = 0; i < t->code->n_insns; i++) {
    if (!writes_home(&t->code->insns[i], x) || !follow_graph_leads(t->g, i, later)) continue;
    if (follow_graph_leads(t->g, x->read, i) || follow_graph_leads(t->g, y->read, i)) return false;
  }
  return true;
}

enum treatment descriptor_treatment(const struct looking *t, uint32_t insn, const struct thing *thing) {
  struct flow_call call = follow_graph_call(t->g, insn);
  const struct import *m = call.kind == CALL_SLOT ? site_program_import(t->p, call.target) : NULL;
  const struct relevance *r = t->p->relevance;
  int arg = m ? relevance_writes(r, m->written) : -1;
  if (arg >= 0)
    return descriptor_gets(t, insn, relevance_argument_of(r, m->name, (unsigned)arg), thing) ? WRITTEN_TO : NOT_TOUCHED;
  if (m && (relevance_knows(r, m->written) || !m->n_errors)) return NOT_TOUCHED;
  for (int i = 0; i < FLOW_ARGS; i++)
    if (descriptor_gets(t, insn, i, thing)) return HANDED_ON;
  return NOT_TOUCHED;
}

/* The worst that is done with the thing before INSN. */
static enum treatment treated(const struct looking *t, uint32_t insn, const struct thing *thing) {
  enum treatment worst = NOT_TOUCHED;
  unsigned looked = 0;
  for (uint32_t i = 0; i < t->code->n_insns && worst < WRITTEN_TO; i++) {
    if (i == insn || !insn_calls(&t->code->insns[i]) || (!thing->argument && i == thing->maker)) continue;
    if (looked++ == CALLS_LOOKED_AT) return worst > HANDED_ON ? worst : HANDED_ON; /* nobody knows */
    enum treatment one = descriptor_treatment(t, i, thing);
    if (one > worst && follow_graph_leads(t->g, i, insn)) worst = one;
  }
  return worst;
}

static enum answer is_written(enum access access, enum treatment treatment) {
  if (access == OPEN_READ) return FALSE_FOR_CALL;
  if (access == OPEN_WRITE || treatment == WRITTEN_TO) return TRUE_FOR_CALL;
  if (access == OPEN_BOTH) return treatment == HANDED_ON ? TRUE_FOR_CALL : FALSE_FOR_CALL;
  return NOT_KNOWN;
}

static void tell_written(struct relevance_call *c, enum answer written) {
  if (written == NOT_KNOWN) return;
  tell(c, ABOUT_WRITTEN, written == TRUE_FOR_CALL);
  tell(c, ABOUT_UNWRITTEN, written == FALSE_FOR_CALL);
}

static void tell_kind(struct relevance_call *c, const struct relevance_opener *o) {
  for (unsigned i = ABOUT_FILE; o->kind < SUBJECTS && i <= ABOUT_TTY; i++)
    tell(c, i, i == o->kind);
  if (o->path) tell(c, ABOUT_FILE, true);
  if (o->path) tell(c, ABOUT_SOCKET, false);
}

static void look_at_thing(const struct looking *t, uint32_t insn, const struct thing *thing, bool closes,
                          struct relevance_call *c) {
  struct flow_call made = {.kind = CALL_POINTER};
  if (!thing->argument) made = follow_graph_call(t->g, thing->maker);
  const struct import *m = made.kind == CALL_SLOT ? site_program_import(t->p, made.target) : NULL;
  const struct relevance_opener *o = m ? relevance_opens(t->p->relevance, m->written) : NULL;
  if (o && !o->result) o = NULL;
  enum access access = o ? opened_for(t, m, thing->maker, o) : OPEN_UNKNOWN;
  if (o) tell_kind(c, o);
  if (o && is_device(t, m, thing->maker, o, "/dev/tty")) {
    tell(c, ABOUT_FILE, false);
    tell(c, ABOUT_TTY, true);
  }
  if (o && is_device(t, m, thing->maker, o, "/dev/null")) { /* it forgets what is written */
    tell(c, ABOUT_FILE, false);
    tell_written(c, FALSE_FOR_CALL);
    return;
  }
  /* What ends it is about all that was done with it; so is all else, where it is known that it can be written to. */
  bool look = access == OPEN_BOTH || (closes && access == OPEN_UNKNOWN);
  tell_written(c, is_written(access, look ? treated(t, insn, thing) : HANDED_ON));
}

void descriptor_look(struct program *p, struct follow_graph *g, uint32_t insn, const char *name, unsigned arg,
                     struct relevance_call *c) {
  struct looking t = {p, g, follow_graph_code(g)};
  int at = relevance_argument_of(p->relevance, name, arg);
  if (at < 0 || at >= FLOW_ARGS) return;
  const char *variable = loaded_variable(&t, insn, code_argument_registers[at]);
  if (variable && (strcmp(variable, "stdout") == 0 || strcmp(variable, "stderr") == 0)) {
    tell(c, ABOUT_STDOUT, variable[3] == 'o');
    tell(c, ABOUT_STDERR, variable[3] == 'e');
    return;
  }
  struct thing thing = descriptor_thing(&t, insn, (unsigned)at);
  if (thing.known) look_at_thing(&t, insn, &thing, relevance_closes(p->relevance, c->name), c);
}
