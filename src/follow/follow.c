/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values are followed forward: LFI's algorithm 3.
 *
 * What is known at a point is a fact: "the value, after these operations, is here". Facts do not depend on each other,
 * so each (instruction, fact) is looked at once and the work is linear; where ways meet, all facts go on.
 */
#include "follow/fact.h"

#include <errno.h>
#include <string.h>

#define STEPS_MAX 60000 /* instructions times facts */
#define EVENTS_MAX 400

/* --- graphs ------------------------------------------------------------------------------------------------------- */

/* The edges once more, by where they come from. */
static int turn_edges(struct follow_graph *g, struct arena *arena) {
  const struct code *c = &g->code;
  uint32_t *first = arena_zalloc(arena, (c->n_blocks + 2) * sizeof *first);
  uint32_t *next = arena_alloc(arena, (c->n_edges + 1) * sizeof *next);
  uint8_t *kinds = arena_alloc(arena, c->n_edges + 1);
  uint32_t *fill = arena_alloc(arena, (c->n_blocks + 1) * sizeof *fill);
  if (!first || !next || !kinds || !fill) return -ENOMEM;
  for (uint32_t i = 0; i < c->n_edges; i++)
    first[c->edges[i].from + 1]++;
  for (uint32_t k = 0; k < c->n_blocks; k++)
    first[k + 1] += first[k];
  memcpy(fill, first, c->n_blocks * sizeof *fill);
  for (uint32_t k = 0; k < c->n_blocks; k++)
    for (uint32_t i = 0; i < c->blocks[k].n_preds; i++) {
      const struct edge *e = &c->edges[c->blocks[k].preds + i];
      uint32_t at = fill[e->from]++;
      next[at] = k;
      kinds[at] = (uint8_t)e->kind;
    }
  g->next = next;
  g->next_kinds = kinds;
  g->next_first = first;
  return 0;
}

int follow_graph_open(struct flow_worker *worker, const struct image *img, uint64_t entry,
                      const struct follow_graph_options *options, struct follow_graph **ret) {
  arena_reset(&worker->scratch);
  worker->failed = false;
  struct follow_graph *g = arena_zalloc(&worker->scratch, sizeof *g);
  if (!g) return -ENOMEM;
  int r = code_build(img, entry, &options->code, &worker->scratch, &g->code);
  if (r < 0) return r;
  g->errno_at = options->errno_at;
  g->keeps_errno = options->keeps_errno;
  g->context = options->context;
  r = flow_function_start(&g->function, worker, &g->code);
  if (r < 0) return r;
  g->function.own = true;
  r = turn_edges(g, &worker->scratch);
  if (r < 0)
    flow_function_done(&g->function);
  else
    *ret = g;
  return r;
}

void follow_graph_close(struct follow_graph *g) {
  if (!g) return;
  flow_function_done(&g->function);
  vec_done(&g->work);
  arena_done(&g->met);
  map_done(&g->met_by);
  map_done(&g->passages);
  vec_done(&g->recording.notes);
  vec_done(&g->recording.pushes);
  map_done(&g->seen);
  map_done(&g->noted);
  map_done(&g->addressed);
}

const struct code *follow_graph_code(const struct follow_graph *g) { return &g->code; }

uint32_t follow_graph_next(const struct follow_graph *g, uint32_t k, const uint32_t **ret, const uint8_t **ret_kinds) {
  *ret = g->next + g->next_first[k];
  if (ret_kinds) *ret_kinds = g->next_kinds + g->next_first[k];
  return g->next_first[k + 1] - g->next_first[k];
}

bool follow_graph_same_argument(const struct follow_graph *g, uint32_t x, unsigned arg, uint32_t y, unsigned other) {
  const uint8_t *regs = code_argument_registers;
  return flow_origin_identity(&g->function, x, regs[arg]) == flow_origin_identity(&g->function, y, regs[other]);
}

bool follow_graph_is_behind(struct follow_graph *g, uint32_t insn, const struct flow_value *v) {
  const struct insn *in = &g->code.insns[insn];
  if (in->base == NO_REG || in->index != NO_REG || (v->kind != VALUE_ARG && v->kind != VALUE_CALL)) return false;
  struct flow_loc base = flow_loc_reg(in->base);
  struct flow_value w = flow_origin(&g->function, insn, &base);
  return w.kind == v->kind && w.arg == v->arg && w.call == v->call && w.ops == v->ops;
}

uint32_t follow_graph_block(const struct follow_graph *g, uint32_t insn) { return code_block_of(&g->code, insn); }

struct flow_call follow_graph_call(struct follow_graph *g, uint32_t insn) {
  const struct insn *in = &g->code.insns[insn];
  if (in->op == OP_TAIL || in->op == OP_CALL) { /* the common case needs no memory */
    struct code_target t = code_follow_plt(g->code.image, (uint64_t)in->imm);
    struct flow_call c = {.at = in->address, .kind = t.slot ? CALL_SLOT : CALL_ADDRESS, .target = t.address};
    c.args = flow_args_unasked;
    flow_call_bind_own(&g->function, &c);
    return c;
  }
  unsigned n = flow_call_number(&g->function, insn);
  if (n < g->function.calls.n) return g->function.calls.at[n];
  return (struct flow_call){.at = in->address, .kind = CALL_POINTER, .args = flow_args_unasked};
}

bool follow_graph_argument(struct follow_graph *g, uint32_t insn, unsigned arg, struct flow_value *ret) {
  if (arg >= FLOW_ARGS) return false;
  struct flow_loc loc = flow_loc_reg(code_argument_registers[arg]);
  *ret = flow_origin(&g->function, insn, &loc);
  return ret->kind != VALUE_NONE;
}

unsigned follow_graph_sources(struct follow_graph *g, uint32_t insn, unsigned arg, struct flow_value *ret,
                              unsigned max) {
  if (arg >= FLOW_ARGS || !max) return 0;
  struct flow_loc loc = flow_loc_reg(code_argument_registers[arg]);
  *ret = flow_origin(&g->function, insn, &loc); /* which is remembered */
  if (ret->kind != VALUE_NONE) return 1;
  struct flow_value v = flow_origin_choice(&g->function, insn, &loc);
  if (v.kind != VALUE_CHOICE || v.value > max) return 0;
  memcpy(ret, v.choices, v.value * sizeof *ret);
  return (unsigned)v.value;
}

/* Is nothing done to a value but that it gets more bits? */
static bool is_extended(const struct transform *t) {
  while (t && (t->kind == XF_SIGN || t->kind == XF_ZERO))
    t = t->next;
  return !t;
}

uint32_t follow_graph_call_insn(const struct follow_graph *g, const struct flow_value *v) {
  if (v->kind != VALUE_CALL || v->call >= g->function.call_insn.n) return UINT32_MAX;
  return is_extended(v->ops) ? g->function.call_insn.at[v->call] : UINT32_MAX;
}

uint64_t follow_identity_of(const struct follow_graph *g, const struct flow_value *v) {
  const uint64_t no_address = 1ull << 63;
  uint32_t call = follow_graph_call_insn(g, v);
  if (call != UINT32_MAX) return g->code.insns[call].address;
  if (v->kind == VALUE_ARG && is_extended(v->ops)) return no_address | (v->arg + 1u);
  if ((v->kind == VALUE_MEMORY || v->kind == VALUE_COMPUTED) && v->at) return no_address | hash_mix(v->at);
  return 0;
}

uint64_t follow_graph_argument_identity(struct follow_graph *g, uint32_t insn, unsigned arg) {
  struct flow_value v;
  return follow_graph_argument(g, insn, arg, &v) ? follow_identity_of(g, &v) : 0;
}

bool follow_graph_leads(struct follow_graph *g, uint32_t insn, uint32_t to) {
  uint32_t from = follow_graph_block(g, insn), target = follow_graph_block(g, to), n_todo = 0;
  if (from == target && insn < to) return true;
  struct arena *a = &g->function.worker->scratch;
  uint8_t *seen = arena_zalloc(a, g->code.n_blocks + 1);
  uint32_t *todo = arena_alloc(a, (g->code.n_blocks + 1) * sizeof *todo);
  if (!seen || !todo) g->function.failed = true;
  if (!seen || !todo) return false;
  for (todo[n_todo++] = from; n_todo > 0;) {
    const uint32_t *next;
    uint32_t n = follow_graph_next(g, todo[--n_todo], &next, NULL);
    for (uint32_t i = 0; i < n; i++) {
      if (next[i] == target) return true;
      if (seen[next[i]]) continue;
      seen[next[i]] = 1;
      todo[n_todo++] = next[i];
    }
  }
  return false;
}

#define RETURNS_MAX 8

bool follow_graph_returns_nothing(struct follow_graph *g) {
  unsigned n = 0;
  struct flow_loc rax = flow_loc_reg(RAX);
  for (uint32_t k = 0; k < g->code.n_blocks && n < RETURNS_MAX; k++) {
    uint32_t last = g->code.blocks[k].first + g->code.blocks[k].n - 1;
    if (g->code.insns[last].op != OP_RETURN) continue;
    n++;
    struct flow_value choice = flow_origin_choice(&g->function, last, &rax);
    if (choice.kind == VALUE_UNDEFINED) return true;
    for (uint64_t i = 0; choice.kind == VALUE_CHOICE && i < choice.value; i++)
      if (choice.choices[i].kind == VALUE_UNDEFINED) return true;
  }
  return false;
}

#define ALWAYS_BLOCKS 4096 /* that are looked at: who has not crashed by then gets away */

/* Marks the blocks with a stop that counts; true if one is in BLOCK, from POSITION on. */
static bool mark_stops(struct follow_graph *g, const struct map *stops, uint32_t block, uint32_t position) {
  bool here = false;
  uint64_t key;
  for (size_t i = 0; map_next(stops, &i, &key);) {
    if (!map_get(&g->addressed, key, NULL)) continue;
    uint32_t insn = (uint32_t)key, k = follow_graph_block(g, insn);
    g->marks[k] = g->mark + 1;
    here |= k == block && insn - g->code.blocks[k].first >= position;
  }
  return here;
}

bool follow_graph_always(struct follow_graph *g, uint32_t insn, const struct map *stops) {
  uint32_t block = follow_graph_block(g, insn), n_todo = 0, seen = 0;
  if (!g->marks) g->marks = arena_zalloc(&g->function.worker->scratch, (g->code.n_blocks + 1) * sizeof *g->marks);
  if (!g->todo) g->todo = arena_alloc(&g->function.worker->scratch, (g->code.n_blocks + 1) * sizeof *g->todo);
  if (!g->marks || !g->todo) return false;
  g->mark += 2; /* this: seen; one more: has a stop */
  if (mark_stops(g, stops, block, insn - g->code.blocks[block].first + 1)) return true;
  for (g->todo[n_todo++] = block; n_todo > 0;) {
    const uint32_t *next;
    uint32_t n = follow_graph_next(g, g->todo[--n_todo], &next, NULL);
    if (n == 0 || ++seen > ALWAYS_BLOCKS) return false;
    for (uint32_t i = 0; i < n; i++) {
      if (g->marks[next[i]] >= g->mark) continue;
      g->marks[next[i]] = g->mark;
      g->todo[n_todo++] = next[i];
    }
  }
  return true;
}

/* --- facts -------------------------------------------------------------------------------------------------------- */

static uint64_t fact_hash(const struct fact *f) {
  uint64_t h = f->where | (uint64_t)f->subject << 8 | (uint64_t)f->reg << 16 | (uint64_t)f->size << 24;
  h |= (uint64_t)f->op << 32 | (uint64_t)f->width << 40 | (uint64_t)f->swapped << 48 | (uint64_t)f->variable << 49;
  h |= (uint64_t)f->mixed << 50 | (uint64_t)f->again << 51 | (uint64_t)f->sum << 52 | (uint64_t)f->rest << 53 |
       (uint64_t)f->differs << 54 | (uint64_t)f->element << 55 | (uint64_t)f->shown << 56 | (uint64_t)f->given << 57;
  /* One by one: chains lie beside each other as slots do, and the sum of one pair would be that of another. */
  h = hash_mix(h ^ hash_mix((uintptr_t)f->ops));
  h = hash_mix(h ^ ((uint32_t)f->slot | (uint64_t)(uint16_t)f->pinned << 32));
  h = hash_mix(h ^ f->imm);
  h = hash_mix(h + (uint64_t)f->disp);
  if (f->where != FACT_PLACE) return h;
  struct flow_loc place = {.kind = LOC_PLACE, .place = f->place};
  return hash_mix(h ^ flow_loc_hash(&place));
}

/* The fact as it was met before, or met now. NULL if there is no memory. */
static struct fact_met *meet_fact(struct follow_graph *g, const struct fact *f) {
  uint64_t hash = fact_hash(f), at;
  if (map_get(&g->met_by, hash, &at)) return (struct fact_met *)(uintptr_t)at;
  struct fact_met *m = arena_alloc(&g->met, sizeof *m);
  if (!m) return NULL;
  *m = (struct fact_met){.fact = *f, .number = (uint32_t)g->met_by.n, .round = g->round};
  m->blocks = arena_zalloc(&g->met, (g->code.n_blocks / 64 + 1) * sizeof *m->blocks);
  return m->blocks && map_put(&g->met_by, hash, (uintptr_t)m) >= 0 ? m : NULL;
}

/* Is the fact new there? It is not, from now on. */
static bool is_new(struct follow_graph *g, struct fact_met *m, uint32_t block, uint32_t position) {
  if (m->round != g->round) { /* it was met in another following */
    memset(m->blocks, 0, (g->code.n_blocks / 64 + 1) * sizeof *m->blocks);
    m->round = g->round;
    m->known = true;
  }
  uint64_t *bits = &m->blocks[block / 64], bit = 1ull << block % 64;
  uint64_t key = (uint64_t)m->number << 32 | (g->code.blocks[block].first + position);
  if (position == 0) {
    bool fresh = !(*bits & bit);
    *bits |= bit;
    return fresh;
  }
  if (map_get(&g->seen, key, NULL)) return false;
  if (map_put(&g->seen, key, 1) < 0) g->function.failed = true;
  return true;
}

static void push_met(struct follow_graph *g, uint32_t block, uint32_t position, struct fact_met *m) {
  if (g->recording.on && vec_push(&g->recording.pushes, (struct follow_work){block, position, m}) < 0)
    g->function.failed = true;
  if (!is_new(g, m, block, position)) return;
  struct follow_work *w = vec_more(&g->work);
  if (w)
    *w = (struct follow_work){block, position, m};
  else
    g->function.failed = true;
}

void follow_push(struct follow_graph *g, uint32_t block, uint32_t position, const struct fact *f) {
  struct fact_met *m = meet_fact(g, f);
  if (m)
    push_met(g, block, position, m);
  else
    g->function.failed = true;
}

/* AGAIN: of a fact that is of an earlier round of the loop. */
static void note_event(struct follow_graph *g, const struct follow_event *e, bool again) {
  if (g->recording.on && vec_push(&g->recording.notes, (struct passage_note){*e, again}) < 0) g->function.failed = true;
  if (!g->stops && !again && (e->kind == EVENT_DEREFERENCE || e->kind == EVENT_ARGUMENT) &&
      map_put(&g->addressed, e->insn, 1) < 0)
    g->function.failed = true;
  uint64_t key = hash_mix(e->at ^ hash_mix(e->kind | (uint64_t)e->subject << 8 | (uint64_t)e->arg << 16));
  key = hash_mix(key ^ hash_mix((uintptr_t)e->ops));
  key = hash_mix(key ^ e->imm);
  key = hash_mix(key ^ (e->op | (uint64_t)e->cc << 8 | (uint64_t)e->mixed << 16 | (uint64_t)e->variable << 17 |
                        (uint64_t)e->lost << 18 | (uint64_t)e->rest << 19 | (uint64_t)e->sum << 20 |
                        (uint64_t)e->swapped << 21 | (uint64_t)e->indexed << 22 | (uint64_t)e->element << 23 |
                        (uint64_t)e->width << 24 | (uint64_t)(uint16_t)e->pinned << 32));
  if (map_get(&g->noted, key, NULL)) return;
  if (g->events->at.n >= EVENTS_MAX) {
    g->events->torn = true;
    return;
  }
  if (map_put(&g->noted, key, 1) < 0 || vec_push(&g->events->at, *e) < 0) g->function.failed = true;
}

void follow_note(struct follow_graph *g, const struct fact *f, struct follow_event e) {
  e.subject = f->subject;
  e.ops = f->ops;
  e.mixed = f->mixed;
  e.sum = f->sum;
  e.rest = f->rest;
  e.pinned = f->pinned;
  e.element |= f->element;
  note_event(g, &e, f->again);
}

/*
 * Does the instruction end the following? In a loop, what crashes with the value of an earlier round says nothing of
 * this round's.
 */
static bool stops_at(const struct follow_graph *g, const struct fact *f, uint32_t insn) {
  if (!g->stops || !map_get(g->stops, insn, NULL)) return false;
  return f->again || map_get(&g->addressed, insn, NULL);
}

/* Which instructions matter to a fact, but for the last one of a block, which may leave the function. */
struct concern {
  uint16_t touched;
  uint8_t notes;
};

static struct concern concern_of(const struct fact *f) {
  switch (f->where) {
  case FACT_REG:
    return (struct concern){REG_BIT(f->reg), 0};
  case FACT_BEHIND_REG:
    return (struct concern){REG_BIT(f->reg), NOTE_OPERAND};
  case FACT_ERRNO:
    return (struct concern){0, NOTE_OPERAND | NOTE_MEMORY};
  case FACT_SLOT:
  case FACT_ELEMENT:
    return (struct concern){0, NOTE_OPERAND | NOTE_STACK};
  case FACT_PLACE:
    return (struct concern){0, f->element || f->imm ? NOTE_OPERAND | NOTE_CALL : NOTE_OPERAND};
  default:
    return (struct concern){0, NOTE_OPERAND};
  }
}

/* Must every fact be told of it, since control may not come out behind it? */
static bool may_leave(const struct insn *in) { return in->op >= OP_CALL && in->op != OP_JUMP && in->op != OP_BRANCH; }

/* What the instructions of each block have in common: most facts pass most blocks by. */
static int unite_blocks(struct follow_graph *g) {
  const struct code *c = &g->code;
  g->unions = arena_zalloc(&g->function.worker->scratch, (c->n_blocks + 1) * sizeof *g->unions);
  if (!g->unions) return -ENOMEM;
  for (uint32_t k = 0; k < c->n_blocks; k++) {
    const struct block *b = &c->blocks[k];
    struct block_union *u = &g->unions[k];
    for (uint32_t i = b->first; i < b->first + b->n; i++) {
      u->touched |= c->touched[i];
      u->notes |= c->notes[i];
    }
    u->leaves = b->n && may_leave(&c->insns[b->first + b->n - 1]);
  }
  return 0;
}

/* Marks the blocks in which something ends the following, or takes the marks away. */
static void mark_stopping(struct follow_graph *g, bool on) {
  uint64_t key;
  for (size_t i = 0; g->stops && map_next(g->stops, &i, &key);)
    g->unions[follow_graph_block(g, (uint32_t)key)].stops = on;
}

/* The first instruction from number I of the block on that must be looked at; the number behind the last if none. */
static uint32_t next_concern(const struct follow_graph *g, const struct follow_work *w, uint32_t i, struct concern c) {
  const struct block *b = &g->code.blocks[w->block];
  const struct block_union *u = &g->unions[w->block];
  if (u->stops || w->met->fact.where == FACT_FLAGS) return i;
  uint32_t end = u->leaves ? b->n - 1 : b->n;
  if (g->start >= b->first + i && g->start < b->first + end) end = g->start - b->first;
  if (!(u->touched & c.touched) && !(u->notes & c.notes)) return end;
  const uint16_t *touched = g->code.touched + b->first;
  const uint8_t *notes = g->code.notes + b->first;
  uint64_t four, registers = c.touched * 0x0001000100010001ull;
  uint32_t kinds, wanted = c.notes * 0x01010101u;
  for (; i + 4 <= end; i += 4) { /* four at once */
    memcpy(&four, touched + i, sizeof four);
    memcpy(&kinds, notes + i, sizeof kinds);
    if (four & registers || kinds & wanted) break;
  }
  while (i < end && !(touched[i] & c.touched) && !(notes[i] & c.notes))
    i++;
  return i;
}

/* One instruction. True if the fact holds behind it, and is followed there. */
static bool pass(struct follow_graph *g, const struct follow_work *w, uint32_t position) {
  const struct fact *f = &w->met->fact;
  uint32_t insn = g->code.blocks[w->block].first + position;
  if (!follow_step(g, f, w->block, position) || stops_at(g, f, insn)) return false;
  if (insn != g->start || f->again) return true;
  struct fact again = *f;
  again.again = true;
  follow_push(g, w->block, position + 1, &again);
  return false;
}

/* Follows one fact to the end of its block. True if it holds there. */
static bool pass_block(struct follow_graph *g, const struct follow_work *w, struct concern c) {
  uint32_t n = g->code.blocks[w->block].n;
  for (uint32_t i = w->position, at; i < n; i = at + 1) {
    at = next_concern(g, w, i, c);
    g->steps += at - i + (at < n);
    if (g->steps > STEPS_MAX) {
      g->events->torn = true;
      return false;
    }
    if (at < n && !pass(g, w, at)) return false;
  }
  return true;
}

/* --- what was followed before ------------------------------------------------------------------------------------- */

#define PASSAGES_AFTER 2     /* followings in one function, */
#define PASSAGES_BLOCKS 32   /* of so many blocks: in others, it is not worth while */
#define FACTS_MAX 20000      /* that are remembered */
#define WORDS_MAX (1u << 22) /* of the blocks that facts have come to */
#define PASSAGES_MAX (1u << 19)

/* Is what happens in the block the same for every following? Not where this one began, or is stopped. */
static bool is_common(const struct follow_graph *g, const struct follow_work *w) {
  const struct block *b = &g->code.blocks[w->block];
  if (w->position == b->n) return false; /* behind the last one, there is nothing to find out */
  bool begins = g->start >= b->first && g->start < b->first + b->n;
  return g->round > PASSAGES_AFTER && g->code.n_blocks >= PASSAGES_BLOCKS && !begins && !g->unions[w->block].stops;
}

/* True if the fact holds at the end of the block. */
static bool play_back(struct follow_graph *g, const struct passage *p) {
  g->steps += p->steps;
  for (uint32_t i = 0; i < p->n_notes; i++)
    note_event(g, &p->notes[i].event, p->notes[i].again);
  for (uint32_t i = 0; i < p->n_pushes; i++)
    push_met(g, p->pushes[i].block, p->pushes[i].position, p->pushes[i].met);
  return p->goes_on;
}

/* Where the passage is kept or looked for: NULL if there is none yet and no room for one. */
static const struct passage **passage_at(struct follow_graph *g, const struct follow_work *w) {
  struct fact_met *m = w->met;
  if (w->position > 0) {
    uint64_t at, key = (uint64_t)m->number << 32 | (g->code.blocks[w->block].first + w->position);
    if (map_get(&g->passages, key, &at)) return (const struct passage **)(uintptr_t)at;
    if (g->n_passages++ >= PASSAGES_MAX) return NULL;
    const struct passage **p = arena_zalloc(&g->met, sizeof *p);
    if (!p || map_put(&g->passages, key, (uintptr_t)p) < 0) g->function.failed = true;
    return g->function.failed ? NULL : p;
  }
  if (!m->passages && g->n_passages < PASSAGES_MAX) {
    m->passages = arena_zalloc(&g->met, g->code.n_blocks * sizeof *m->passages);
    if (!m->passages) g->function.failed = true;
    g->n_passages += g->code.n_blocks;
  }
  return m->passages ? &m->passages[w->block] : NULL;
}

static const struct passage *keep_passage(struct follow_graph *g, uint32_t steps, bool goes_on) {
  const struct recording *r = &g->recording;
  struct passage *p = arena_zalloc(&g->met, sizeof *p);
  if (!p) return NULL;
  *p = (struct passage){goes_on, steps, (uint32_t)r->notes.n, (uint32_t)r->pushes.n, NULL, NULL};
  p->notes = arena_memdup(&g->met, r->notes.at, r->notes.n * sizeof *r->notes.at);
  p->pushes = arena_memdup(&g->met, r->pushes.at, r->pushes.n * sizeof *r->pushes.at);
  return p->notes && p->pushes ? p : NULL;
}

/* pass_block, but what another following has found out is not found out again. */
static bool pass_common(struct follow_graph *g, const struct follow_work *w, struct concern c) {
  /* Most facts are one following's alone: only what is met again is kept. */
  const struct passage **place = w->met->known ? passage_at(g, w) : NULL;
  uint32_t before = g->steps;
  if (!place) return pass_block(g, w, c);
  if (*place) return g->steps + (*place)->steps <= STEPS_MAX ? play_back(g, *place) : pass_block(g, w, c);
  g->recording.on = true;
  g->recording.own = false;
  g->recording.notes.n = g->recording.pushes.n = 0;
  bool goes_on = pass_block(g, w, c);
  g->recording.on = false;
  if (!g->events->torn && !g->recording.own) {
    *place = keep_passage(g, g->steps - before, goes_on);
    if (!*place) g->function.failed = true;
  }
  return goes_on;
}

/* Is what the fact is about the operand that INSN compares? */
static bool is_compared(const struct fact *f, const struct insn *in) {
  int32_t slot;
  if (f->where == FACT_REG) return in->dst_kind == OPERAND_REG && in->dst == f->reg;
  return f->where == FACT_SLOT && in->dst_kind == OPERAND_MEM && insn_slot(in, &slot) && slot == f->slot;
}

/*
 * The edge at the end of BLOCK behind which the value is one number, as that of one error, and the number; 0 if there
 * is none. 0 and -1 are not told: most values are compared with these, and it would say nothing new.
 */
static int16_t pinned_by(const struct follow_graph *g, uint32_t block, const struct fact *f, uint8_t *ret_edge) {
  const struct block *b = &g->code.blocks[block];
  const struct insn *last = &g->code.insns[b->first + b->n - 1];
  if (last->op != OP_BRANCH || (last->cc != CC_E && last->cc != CC_NE)) return 0;
  if (f->pinned || f->mixed || f->element || f->subject != SUBJECT_VALUE) return 0;
  for (uint32_t i = b->n - 1; i-- > 0;) {
    const struct insn *in = &g->code.insns[b->first + i];
    if (in->flags & INSN_SETS_FLAGS) {
      bool number = in->op == OP_CMP && in->src_kind == OPERAND_IMM && in->imm > -200 && in->imm < 200;
      if (!number || in->imm == 0 || in->imm == -1 || !is_compared(f, in)) return 0;
      *ret_edge = last->cc == CC_E ? EDGE_TAKEN : EDGE_FALL;
      return (int16_t)in->imm;
    }
    if (f->where == FACT_REG ? in->defs & REG_BIT(f->reg) : in->flags & INSN_WRITES_MEM) return 0;
  }
  return 0;
}

#define PINNED_MAX 8 /* each is followed to the end of the function */

static bool is_itself(const struct fact *f) {
  for (const struct transform *t = f->ops; t; t = t->next)
    if ((t->kind != XF_ZERO && t->kind != XF_SIGN) || t->width < 4) return false;
  return true;
}

/* The fact, which is of this round, comes to the starts of the blocks behind BLOCK: push_met, made cheap. */
static void push_next(struct follow_graph *g, uint32_t block, struct fact_met *m) {
  uint8_t edge = 0;
  int16_t pinned = pinned_by(g, block, &m->fact, &edge);
  if (pinned && (!is_itself(&m->fact) || g->pinned++ >= PINNED_MAX)) pinned = 0;
  for (uint32_t i = g->next_first[block]; i < g->next_first[block + 1]; i++) {
    uint32_t to = g->next[i];
    if (pinned && g->next_kinds[i] == edge) {
      struct fact one = m->fact;
      one.pinned = pinned;
      follow_push(g, to, 0, &one);
      continue;
    }
    uint64_t *bits = &m->blocks[to / 64], bit = 1ull << to % 64;
    if (*bits & bit) continue;
    *bits |= bit;
    struct follow_work *w = vec_more(&g->work);
    if (w)
      *w = (struct follow_work){to, 0, m};
    else
      g->function.failed = true;
  }
}

/* Follows one fact to the end of its block, and into the next ones. */
static void follow_block(struct follow_graph *g, const struct follow_work *w) {
  const struct fact *f = &w->met->fact;
  const struct block_union *u = &g->unions[w->block];
  const struct block *b = &g->code.blocks[w->block];
  struct concern c = concern_of(f);
  bool concerned = u->touched & c.touched || u->notes & c.notes || u->leaves || f->where == FACT_FLAGS;
  bool begins = g->start - b->first < b->n;
  if (!concerned && !begins && !u->stops) { /* most blocks, to most facts, are only a way to others */
    g->steps += b->n - w->position;
    g->events->torn |= g->steps > STEPS_MAX;
    if (!g->events->torn) push_next(g, w->block, w->met);
    return;
  }
  if (concerned && is_common(g, w) ? pass_common(g, w, c) : pass_block(g, w, c)) push_next(g, w->block, w->met);
}

/* A new following. Facts and passages are kept for it, unless there are too many. */
static void begin_following(struct follow_graph *g) {
  g->round++;
  g->pinned = 0;
  map_clear(&g->seen);
  map_clear(&g->noted);
  size_t words = g->met_by.n * (g->code.n_blocks / 64 + 1);
  if (g->met_by.n < FACTS_MAX && words < WORDS_MAX && g->n_passages < PASSAGES_MAX) return;
  g->n_passages = 0;
  map_clear(&g->met_by);
  map_clear(&g->passages);
  arena_reset(&g->met);
}

/* --- starts ------------------------------------------------------------------------------------------------------- */

/* SECOND: what is returned beside the first eight bytes of a structure. */
static void start_result(struct follow_graph *g, uint32_t block, uint32_t insn, bool second) {
  struct fact f = {.where = FACT_REG, .reg = second ? RDX : RAX};
  uint32_t position = insn - g->code.blocks[block].first + 1;
  uint8_t op = g->code.insns[insn].op;
  if (op == OP_TAIL || op == OP_TAIL_SLOT || op == OP_TAIL_INDIRECT) {
    follow_note(g, &f, (struct follow_event){.kind = EVENT_RETURN, .arg = second, .insn = insn, .block = block});
    return;
  }
  follow_push(g, block, position, &f);
  if (!second) follow_push(g, block, position, &(struct fact){.where = FACT_ERRNO, .subject = SUBJECT_ERRNO});
}

/* The value lies in memory behind a register. */
static void start_behind(struct follow_graph *g, const struct follow_start *start, uint8_t reg, uint32_t block,
                         uint32_t position) {
  struct fact f = {.where = FACT_BEHIND_REG, .reg = reg, .size = start->size, .disp = start->offset};
  f.element = start->element;
  follow_push(g, block, position, &f);
}

static void start_given(struct follow_graph *g, const struct follow_start *start) {
  struct fact f = {.where = FACT_PLACE, .size = start->size, .disp = start->offset, .element = start->element};
  if (start->arg >= FLOW_ARGS) return;
  start_behind(g, start, code_argument_registers[start->arg], g->code.entry_block, 0);
  if (start->element) {
    struct fact any = follow_element_of_argument(start);
    follow_push(g, g->code.entry_block, 0, &any);
  }
  f.place = (struct flow_place){.kind = PLACE_ARG, .arg = start->arg, .offset = start->offset};
  follow_push(g, g->code.entry_block, 0, &f);
}

static void start_argument(struct follow_graph *g, unsigned arg) {
  struct fact f = {.where = FACT_REG};
  if (arg < FLOW_ARGS) {
    f.reg = code_argument_registers[arg];
  } else {
    f.where = FACT_SLOT;
    f.slot = 8 + 8 * (int32_t)(arg - FLOW_ARGS);
    f.size = 8;
  }
  follow_push(g, g->code.entry_block, 0, &f);
}

/* "left -= write(fd, p, left)" until nothing is left: to the code, an error is one more short write. */
static bool is_end_of_rest(const struct follow_event *e) {
  bool equality = e->cc == CC_E || e->cc == CC_NE;
  return e->kind == EVENT_COMPARE && e->op == OP_SUB && e->variable && e->swapped && equality;
}

#define RETRY_BLOCKS 8

/* Does the branch lead back to the call that is followed, with nothing in between, if something is left? */
static bool leads_back(const struct follow_graph *g, const struct follow_event *e) {
  uint32_t block = e->block, n;
  const uint32_t *next;
  const uint8_t *kinds;
  uint8_t kind = e->cc == CC_NE ? EDGE_TAKEN : EDGE_FALL;
  if (g->code.insns[e->insn].op != OP_BRANCH) return false;
  for (unsigned steps = 0; steps < RETRY_BLOCKS; steps++) {
    uint32_t i = 0;
    n = follow_graph_next(g, block, &next, &kinds);
    if (steps > 0 && n != 1) return false;
    while (steps == 0 && i < n && kinds[i] != kind)
      i++;
    if (i == n) return false;
    const struct block *b = &g->code.blocks[block = next[i]];
    for (uint32_t k = b->first; k < b->first + b->n; k++)
      if (insn_calls(&g->code.insns[k])) return k == g->start;
  }
  return false;
}

/* Where the next round of the call gets what is left, that something is left tells no error. */
static void drop_ends_of_rests(const struct follow_graph *g, struct follow_events *events) {
  bool loops = false;
  size_t kept = 0;
  for (size_t i = 0; i < events->at.n; i++) {
    const struct follow_event *e = &events->at.at[i];
    loops |= e->kind == EVENT_ARGUMENT && e->rest && e->insn == g->start;
  }
  for (size_t i = 0; loops && i < events->at.n; i++)
    if (!is_end_of_rest(&events->at.at[i]) || !leads_back(g, &events->at.at[i]))
      events->at.at[kept++] = events->at.at[i];
  if (loops) events->at.n = kept;
}

/* Are the registers up to argument ARG set for the call INSN, and not only left over from before? */
static bool sets_arguments(const struct follow_graph *g, uint32_t insn, unsigned arg) {
  uint32_t first = g->code.blocks[follow_graph_block(g, insn)].first, left = 0;
  for (unsigned i = 0; i <= arg && i < FLOW_ARGS; i++)
    left |= REG_BIT(code_argument_registers[i]);
  for (uint32_t i = insn; left && i-- > first && !insn_calls(&g->code.insns[i]);)
    left &= ~(uint32_t)g->code.insns[i].defs;
  return !left;
}

/* Is the other operand what a call has made of the value itself? */
static bool is_echo(const struct follow_graph *g, const struct follow_events *events, const struct follow_event *e) {
  for (size_t i = 0; i < events->at.n; i++) {
    const struct follow_event *given = &events->at.at[i];
    bool itself = given->kind == EVENT_ARGUMENT && given->subject == SUBJECT_VALUE && !given->mixed;
    if (!itself || given->at != e->imm || !is_extended(given->ops)) continue;
    if (sets_arguments(g, given->insn, given->arg)) return true;
  }
  return false;
}

/* "write(fd, p, n) != n" asks whether write has failed, and says nothing of how N came to be. */
static void use_echoes(const struct follow_graph *g, struct follow_events *events) {
  for (size_t i = 0; i < events->at.n; i++) {
    struct follow_event *e = &events->at.at[i];
    if (e->kind == EVENT_COMPARE && e->subject == SUBJECT_VALUE && e->variable && e->imm && is_echo(g, events, e))
      e->kind = EVENT_USE;
  }
}

static uint64_t identity_of_start(const struct follow_graph *g, const struct follow_start *start) {
  struct flow_value argument = {.kind = VALUE_ARG, .arg = start->arg};
  if (start->kind == START_ARGUMENT) return follow_identity_of(g, &argument);
  return start->kind == START_RESULT && !start->arg ? g->code.insns[start->insn].address : 0;
}

int follow_value(struct follow_graph *g, const struct follow_start *start, const struct map *stops,
                 struct follow_events *ret) {
  uint32_t block = follow_graph_block(g, start->insn);
  uint32_t position = start->insn - g->code.blocks[block].first;
  g->events = ret;
  g->stops = stops;
  g->start = start->kind == START_RESULT ? start->insn : UINT32_MAX;
  g->identity = identity_of_start(g, start);
  g->steps = 0;
  g->work.n = 0;
  if (!g->unions && unite_blocks(g) < 0) return -ENOMEM;
  mark_stopping(g, true);
  if (!stops) map_clear(&g->addressed);
  begin_following(g);
  switch ((enum follow_start_kind)start->kind) {
  case START_RESULT:
    start_result(g, block, start->insn, start->arg == RETURN_SECOND);
    break;
  case START_ARGUMENT:
    start_argument(g, start->arg);
    break;
  case START_BEHIND:
    follow_behind(g, start, block, position);
    break;
  case START_GIVEN:
    start_given(g, start);
    break;
  case START_MADE:
    start_behind(g, start, RAX, block, position + 1);
    break;
  case START_ERRNO:
    follow_push(g, g->code.entry_block, 0, &(struct fact){.where = FACT_ERRNO, .subject = SUBJECT_ERRNO});
    break;
  case START_GLOBAL: {
    struct fact f = {.where = FACT_PLACE, .size = start->size, .disp = start->offset};
    f.place = (struct flow_place){.kind = PLACE_GLOBAL, .where = (uint64_t)start->offset};
    const struct insn *in = &g->code.insns[start->insn];
    if (in->index != NO_REG || in->base != NO_REG) /* an element of it */
      follow_operand(g, &f, block, position, in->dst_kind == OPERAND_MEM);
    else
      follow_push(g, block, position, &f);
    break;
  }
  }
  /* What is near comes first: if there is too much, it is what matters, and a reason names the first use. */
  for (size_t i = 0; i < g->work.n && !ret->torn && !g->function.failed; i++) {
    struct follow_work w = g->work.at[i];
    follow_block(g, &w);
  }
  mark_stopping(g, false);
  drop_ends_of_rests(g, ret);
  use_echoes(g, ret);
  return g->function.failed || g->function.worker->failed ? -ENOMEM : 0;
}
