/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one leaf that a location holds, whatever way led there: LFI's algorithm 1 for a single question.
 *
 * Addresses, arguments and the operands of comparisons are asked for in this way. The answer is remembered for each
 * (instruction, location). Two different leaves, a choice, or too many blocks are "not known".
 */
#include "flow/backward.h"

#include <errno.h>
#include <string.h>

#define ORIGIN_BLOCKS 96
#define ARGUMENT_BLOCKS 48 /* arguments are made ready near the call */
#define ORIGIN_DEPTH 5
#define ORIGIN_INSNS 4096 /* instructions of all blocks together */
#define ORIGIN_CALLS 16   /* calls that a register is thought to outlive */
#define CALLS_MAX (UINT16_MAX - 1)
#define CHOICES_MAX 8

struct trace {
  uint32_t block, position;
  struct flow_loc loc;
  const struct transform *ops;
  bool moved; /* the location is not the one that was asked for */
};

struct search {
  struct trace todo[ORIGIN_BLOCKS];
  unsigned n_todo, n_pushed, most;
  uint32_t plain[ORIGIN_BLOCKS]; /* blocks at whose end the location itself is looked for */
  unsigned n_plain;
  unsigned insns, calls; /* looked at; left behind */
  uint32_t stamp;        /* marks blocks where the location itself was looked for */
  struct flow_value found;
  bool any, torn;
  bool several;               /* calls, arguments or constants, but not all the same */
  bool call;                  /* a call among them */
  struct flow_value *choices; /* room for CHOICES_MAX, or NULL if only one will do */
  unsigned n_choices;
};

struct flow_value value_at_entry(const struct flow_function *f, const struct flow_loc *loc) {
  struct flow_value v = {.kind = VALUE_MEMORY, .raw = loc->kind == LOC_PLACE && loc->size == 8};
  if (loc->kind == LOC_SLOT) {
    if (loc->slot >= 8 && loc->slot < 8 + 8 * 16) {
      v.kind = VALUE_ARG;
      v.arg = (uint8_t)(FLOW_ARGS + (loc->slot - 8) / 8);
    }
    return v;
  }
  if (loc->kind == LOC_PLACE) return v;
  v.kind = VALUE_UNDEFINED;
  for (unsigned i = 0; i < FLOW_ARGS; i++)
    if (code_argument_registers[i] == loc->reg) {
      v.kind = VALUE_ARG;
      v.arg = (uint8_t)i;
    }
  if (v.kind == VALUE_ARG && f->assume && f->assume->known >> v.arg & 1)
    v = (struct flow_value){.kind = VALUE_CONST, .value = f->assume->values[v.arg]};
  return v;
}

static bool slot_is_call(const struct flow_function *f, uint64_t at) {
  struct image_slot slot;
  if (!image_slot(f->image, at, &slot)) return false;
  return slot.kind == SLOT_IMPORT || slot.kind == SLOT_IFUNC ||
         (slot.kind == SLOT_LOCAL && image_is_readonly(f->image, at));
}

void flow_call_bind_own(const struct flow_function *f, struct flow_call *c) {
  uint64_t address;
  if (!f->own || c->kind != CALL_SLOT || !flow_own_slot(f->image, c->target, &address)) return;
  c->kind = CALL_ADDRESS;
  c->target = address;
}

/* A call through a register that holds a known address: a slot's content or a function of the image. */
static void through_register(struct flow_function *f, uint32_t insn, uint8_t reg, struct flow_call *c) {
  struct flow_loc loc = flow_loc_reg(reg);
  struct flow_value v = flow_origin(f, insn, &loc);
  if (v.kind != VALUE_ADDRESS) return;
  bool slot = slot_is_call(f, v.value);
  if (!slot && !image_is_code(f->image, v.value)) return;
  c->kind = slot ? CALL_SLOT : CALL_ADDRESS;
  c->target = v.value;
}

unsigned flow_call_number(struct flow_function *f, uint32_t insn) {
  uint64_t n = 0;
  if (map_get(f->call_of, insn, &n)) return (unsigned)n;
  const struct insn *in = &f->code->insns[insn];
  struct flow_call c = {.at = in->address, .kind = CALL_POINTER, .args = flow_args_unasked};
  if (in->op == OP_SYSCALL)
    c.kind = CALL_SYSTEM;
  else if (in->op == OP_CALL || in->op == OP_TAIL) {
    struct code_target t = code_follow_plt(f->image, (uint64_t)in->imm);
    c.kind = t.slot ? CALL_SLOT : CALL_ADDRESS;
    c.target = t.address;
  } else if (in->op == OP_CALL_SLOT || in->op == OP_TAIL_SLOT) {
    c.target = (uint64_t)in->disp;
    c.kind = slot_is_call(f, c.target) ? CALL_SLOT : CALL_POINTER;
  }
  if (c.kind == CALL_POINTER && in->dst_kind == OPERAND_REG) through_register(f, insn, in->dst, &c);
  flow_call_bind_own(f, &c);
  if (map_get(f->call_of, insn, &n)) return (unsigned)n;
  n = f->calls.n;
  if (n >= CALLS_MAX) { /* the last one stands for all the others, and nothing is known of it */
    c = (struct flow_call){.kind = CALL_POINTER, .args = flow_args_unasked};
    if (n > CALLS_MAX) return CALLS_MAX;
  }
  if (vec_push(&f->calls, c) < 0 || vec_push(&f->call_insn, insn) < 0 || map_put(f->call_of, insn, n) < 0)
    f->failed = true;
  return (unsigned)n;
}

static bool value_equal(const struct flow_value *a, const struct flow_value *b) {
  return a->kind == b->kind && a->arg == b->arg && a->call == b->call && a->value == b->value && a->ops == b->ops &&
         a->raw == b->raw;
}

static bool is_plain(const struct flow_value *v) {
  return v->kind == VALUE_CALL || v->kind == VALUE_ARG || v->kind == VALUE_CONST;
}

/* One of a few. */
static bool choose(struct search *s, const struct flow_value *v) {
  if (!s->choices || !(is_plain(v) || v->kind == VALUE_ADDRESS)) return false;
  for (unsigned i = 0; i < s->n_choices; i++)
    if (value_equal(&s->choices[i], v)) return true;
  if (s->n_choices == CHOICES_MAX) return false;
  s->choices[s->n_choices++] = *v;
  s->found = *v;
  s->any = true;
  return true;
}

static void found(struct search *s, struct flow_value v) {
  if (v.kind == VALUE_IMPOSSIBLE) return;
  s->call |= v.kind == VALUE_CALL;
  if (choose(s, &v)) return;
  if (v.kind == VALUE_MEMORY || v.kind == VALUE_COMPUTED || v.kind == VALUE_UNDEFINED || v.kind == VALUE_NONE)
    s->torn = true;
  else if (s->any && !value_equal(&s->found, &v)) {
    if (is_plain(&v) && is_plain(&s->found))
      s->several = true;
    else
      s->torn = true;
  }
  s->found = v;
  s->any = true;
}

/* What is looked for, wherever. */
static uint64_t trace_hash(const struct trace *t) {
  uint64_t h = flow_loc_hash(&t->loc);
  for (const struct transform *o = t->ops; o; o = o->next)
    h = hash_mix(h ^ hash_mix((uint64_t)o->imm ^ ((uint64_t)o->kind << 56 | (uint64_t)o->width << 48)));
  return h;
}

/* Two traces may want the same place in the table; then one is looked at twice. */
static bool been_there(struct flow_function *f, const struct search *s, uint64_t hash, uint32_t block) {
  uint64_t h = hash_mix(hash ^ block);
  struct flow_origin_mark *m = &f->worker->marks[h % ORIGIN_MARKS];
  bool seen = m->stamp == s->stamp && m->hash == h;
  *m = (struct flow_origin_mark){h, s->stamp};
  return seen;
}

/* The location itself before BLOCK: most questions are no more than this, so it is made cheap. */
static void push_plain(struct flow_function *f, struct search *s, uint32_t block) {
  const struct block *b = &f->code->blocks[block];
  for (uint32_t i = 0; i < b->n_preds; i++) {
    uint32_t from = f->code->edges[b->preds + i].from;
    if (f->stamps[from] == s->stamp) continue;
    f->stamps[from] = s->stamp;
    if (s->n_pushed++ == s->most || s->n_plain == ORIGIN_BLOCKS) {
      s->torn = true;
      return;
    }
    s->plain[s->n_plain++] = from;
  }
}

static void push_preds(struct flow_function *f, struct search *s, const struct trace *t) {
  const struct block *b = &f->code->blocks[t->block];
  if (!t->moved) {
    push_plain(f, s, t->block);
    return;
  }
  uint64_t hash = b->n_preds ? trace_hash(t) : 0;
  for (uint32_t i = 0; i < b->n_preds && !s->torn; i++) {
    uint32_t from = f->code->edges[b->preds + i].from;
    if (been_there(f, s, hash, from)) continue;
    if (s->n_pushed++ == s->most || s->n_todo == ORIGIN_BLOCKS) {
      s->torn = true;
      return;
    }
    struct trace *next = &s->todo[s->n_todo++];
    *next = *t;
    next->block = from;
    next->position = f->code->blocks[from].n;
  }
}

/* An instruction that chooses: both, if a few answers will do. */
static void fork_trace(struct flow_function *f, struct search *s, const struct trace *t, uint32_t position,
                       const struct step *step) {
  for (unsigned i = 0; i < 2 && s->choices; i++) {
    struct trace next = *t;
    if (step->alt[i].leaf) {
      found(s, value_finish(f, step->alt[i].value, step->alt[i].ops));
      continue;
    }
    next.loc = step->alt[i].loc;
    next.ops = step->alt[i].ops;
    next.position = position;
    next.moved = true;
    if (s->n_pushed++ == s->most || s->n_todo == ORIGIN_BLOCKS) s->torn = true;
    if (!s->torn) s->todo[s->n_todo++] = next;
  }
  if (!s->choices) s->torn = true;
}

/* The position behind the last of the first END instructions that changes a register of BITS; 0 if none does. */
static uint32_t last_change(const uint16_t *defs, uint32_t end, uint16_t bits) {
  uint64_t four, wanted = bits * 0x0001000100010001ull;
  for (; end >= 4; end -= 4) {
    memcpy(&four, defs + end - 4, sizeof four);
    if (four & wanted) break;
  }
  while (end > 0 && !(defs[end - 1] & bits))
    end--;
  return end;
}

/* The same of those that may change memory. */
static uint32_t last_write(const uint8_t *notes, uint32_t end) {
  uint64_t eight;
  for (; end >= 8; end -= 8) {
    memcpy(&eight, notes + end - 8, sizeof eight);
    if (eight & NOTE_MEMORY * 0x0101010101010101ull) break;
  }
  while (end > 0 && !(notes[end - 1] & NOTE_MEMORY))
    end--;
  return end;
}

/* Follows one trace to the start of its block. */
static void follow(struct flow_function *f, struct search *s, const struct trace *from) {
  struct trace t = *from;
  const struct block *b = &f->code->blocks[t.block];
  if (t.loc.kind == LOC_REG && t.position == b->n && !(b->defs & REG_BIT(t.loc.reg))) t.position = 0;
  if (t.loc.kind != LOC_REG && t.position == b->n && !b->stores && !b->calls) t.position = 0;
  for (uint32_t i = t.position, next; i > 0;) {
    struct step step;
    next = t.loc.kind == LOC_REG ? last_change(f->code->defs + b->first, i, REG_BIT(t.loc.reg))
                                 : last_write(f->code->notes + b->first, i);
    s->insns += i - next + (next > 0);
    if (s->insns > ORIGIN_INSNS || s->calls > ORIGIN_CALLS) {
      s->torn = true;
      return;
    }
    if (next == 0) break;
    i = next - 1;
    switch (step_item(f, &t.loc, t.ops, b->first + i, &step)) {
    case STEP_NONE:
      s->calls += t.loc.kind == LOC_REG;
      break;
    case STEP_MOVED:
      t.loc = step.now.loc;
      t.ops = step.now.ops;
      t.moved = true;
      break;
    case STEP_VALUE:
      found(s, value_finish(f, step.now.value, step.now.ops));
      return;
    case STEP_FORK:
      fork_trace(f, s, &t, i, &step);
      return;
    }
  }
  if (t.block == f->code->entry_block) found(s, value_finish(f, value_at_entry(f, &t.loc), t.ops));
  push_preds(f, s, &t);
}

static void follow_plain(struct flow_function *f, struct search *s, uint32_t block, const struct flow_loc *loc) {
  const struct block *b = &f->code->blocks[block];
  if (loc->kind == LOC_REG && !(b->defs & REG_BIT(loc->reg)) && block != f->code->entry_block) {
    push_plain(f, s, block);
    return;
  }
  struct trace t = {.block = block, .position = b->n, .loc = *loc};
  follow(f, s, &t);
}

static struct flow_value search(struct flow_function *f, uint32_t insn, const struct flow_loc *loc,
                                struct flow_value *choices, unsigned *ret_n) {
  struct search room, *s = &room;
  struct flow_value none = {.kind = VALUE_NONE};
  s->n_todo = s->n_plain = s->n_pushed = s->insns = s->calls = 0;
  s->most = choices ? ARGUMENT_BLOCKS : ORIGIN_BLOCKS;
  s->stamp = ++f->worker->stamp;
  s->any = s->torn = s->several = s->call = false;
  s->choices = choices;
  s->n_choices = 0;
  uint32_t block = code_block_of(f->code, insn);
  struct trace t = {.block = block, .position = insn - f->code->blocks[block].first, .loc = *loc};
  for (follow(f, s, &t); (s->n_plain || s->n_todo) && !s->torn;) {
    if (s->n_plain)
      follow_plain(f, s, s->plain[--s->n_plain], loc);
    else
      follow(f, s, &s->todo[--s->n_todo]);
  }
  if (ret_n) *ret_n = s->torn ? 0 : s->n_choices;
  none.raw = s->several && s->call && !s->torn;
  return s->any && !s->torn && !s->several ? s->found : none;
}

#define SAME_BLOCKS 16

/*
 * The first instruction before which the register holds what it holds before INSN: questions about one value are one
 * question, wherever they are asked.
 */
static uint32_t same_since(const struct flow_function *f, uint32_t insn, uint8_t reg) {
  uint32_t k = code_block_of(f->code, insn), end = insn - f->code->blocks[k].first;
  for (unsigned i = 0; i < SAME_BLOCKS; i++) {
    const struct block *b = &f->code->blocks[k];
    uint32_t at = last_change(f->code->defs + b->first, end, REG_BIT(reg));
    if (at == b->n) break; /* behind the last of another block: that place has no number */
    insn = b->first + at;
    if (at > 0 || k == f->code->entry_block || b->n_preds != 1) break;
    k = f->code->edges[b->preds].from;
    end = f->code->blocks[k].n;
  }
  return insn;
}

uint64_t flow_origin_identity(const struct flow_function *f, uint32_t insn, uint8_t reg) {
  for (unsigned i = 0; i < SAME_BLOCKS; i++) {
    uint32_t since = same_since(f, insn, reg);
    bool made = since > f->code->blocks[code_block_of(f->code, since)].first; /* by the instruction before */
    const struct insn *in = &f->code->insns[made ? since - 1 : since];
    insn = since;
    if (!made || in->op != OP_MOVE || in->src_kind != OPERAND_REG || in->size != 8 || in->from_size != 8) break;
    reg = in->src;
    insn = since - 1;
  }
  return (uint64_t)insn << 8 | reg;
}

/* Registers, which nearly all questions are about, have numbers that no hash is likely to be. */
static inline uint64_t question_key(uint32_t insn, const struct flow_loc *loc) {
  if (loc->kind == LOC_REG) return (uint64_t)insn << 8 | loc->reg;
  return hash_mix(flow_loc_hash(loc) ^ insn);
}

/* Searches, and notes the answer under KEY. */
static struct flow_value ask(struct flow_function *f, uint32_t insn, const struct flow_loc *loc, uint64_t key,
                             uint64_t *ret_i) {
  struct flow_value none = {.kind = VALUE_NONE};
  /* Questions inside this one that come back to it find "not known". */
  uint64_t i = *ret_i = f->origin_values.n;
  if (vec_push(&f->origin_values, (struct flow_origin_entry){key, none}) < 0 || map_put(f->origins, key, i) < 0) {
    f->failed = true;
    return none;
  }
  f->depth++;
  struct flow_value v = search(f, insn, loc, NULL, NULL);
  f->depth--;
  if (i < f->origin_values.n) f->origin_values.at[i].value = v;
  return v;
}

struct flow_value flow_origin(struct flow_function *f, uint32_t insn, const struct flow_loc *loc) {
  uint64_t key = question_key(insn, loc), i;
  if (map_get(f->origins, key, &i)) return f->origin_values.at[i].value;
  if (f->depth >= ORIGIN_DEPTH) return (struct flow_value){.kind = VALUE_NONE};
  uint32_t since = loc->kind == LOC_REG ? same_since(f, insn, loc->reg) : insn;
  uint64_t first = question_key(since, loc);
  struct flow_value v;
  if (first != key && map_get(f->origins, first, &i))
    v = f->origin_values.at[i].value;
  else
    v = ask(f, since, loc, first, &i);
  if (first != key && !f->failed && map_put(f->origins, key, i) < 0) f->failed = true;
  return v;
}

struct flow_value flow_origin_choice(struct flow_function *f, uint32_t insn, const struct flow_loc *loc) {
  struct flow_value choices[CHOICES_MAX];
  unsigned n = 0;
  struct flow_value v = search(f, insn, loc, choices, &n);
  if (n < 2) return v;
  v = (struct flow_value){.kind = VALUE_CHOICE, .value = n};
  v.choices = arena_memdup(&f->worker->keep, choices, n * sizeof *choices);
  if (v.choices) return v;
  f->failed = true;
  return (struct flow_value){.kind = VALUE_NONE};
}

bool flow_origin_constant(struct flow_function *f, uint32_t insn, uint8_t reg, uint64_t *ret) {
  struct flow_loc loc = flow_loc_reg(reg);
  struct flow_value v = flow_origin(f, insn, &loc);
  if (v.kind != VALUE_CONST) return false;
  *ret = v.value;
  return true;
}
