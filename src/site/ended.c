/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the end of a descriptor or stream can still tell. Two things make it say nothing new: all that was written was
 * brought out before, by a flush whose failure was looked at; or the end is reached only because something failed
 * behind the opening, and the program knows that already. The latter is asked of what cleans up, too.
 */
#include "site/site_program.h"

#include <errno.h>
#include <string.h>

#define CALLS_LOOKED_AT 512
#define BLOCKS_LOOKED_AT (1u << 14) /* on the ways to one end; what lies behind more of them is not known */
#define ALL_EDGES 0xff

struct ending {
  const struct looking *t;
  struct worker *w;
  const failing_vec *edges;
  /* By block, kinds of edges that are not gone, as bits: failures; these and what streams tell; behind a flush. */
  uint8_t *failed, *cut, *passing;
  uint32_t *seen; /* by block: the last spread that came there */
  uint32_t *todo, stamp;
  VEC(uint32_t) asking;   /* calls that ask a stream for a failure that it has kept */
  VEC(uint32_t) flushing; /* numbers of the failing edges of calls that flush */
  uint32_t insn;          /* the call that ends THING */
  struct thing thing;
  bool any;         /* it is about no thing, but about all that was done */
  uint8_t *without; /* by block: reached from the entry without any failure; NULL until it is asked */
  bool any_out;     /* ... and so is the end of the function */
};

/* How a spread ends. */
enum spread { SPREAD_ARRIVED, SPREAD_NOT_OUT, SPREAD_OUT, SPREAD_UNKNOWN };

static bool leaves(const struct code *code, uint32_t block) {
  uint8_t op = code->insns[code->blocks[block].first + code->blocks[block].n - 1].op;
  return op == OP_RETURN || op == OP_TAIL || op == OP_TAIL_SLOT || op == OP_TAIL_INDIRECT;
}

/* Do ways that take no edge of CUT lead from BLOCK to END, or else out of the function? The nearest blocks first. */
static enum spread spread(struct ending *e, uint32_t block, const uint8_t *cut, uint32_t end, uint32_t most) {
  uint32_t n_todo = 0;
  bool out = false;
  e->seen[block] = ++e->stamp;
  e->todo[n_todo++] = block;
  for (uint32_t done = 0; done < n_todo; done++) {
    const uint32_t *next;
    const uint8_t *kinds;
    block = e->todo[done];
    if (block == end) return SPREAD_ARRIVED;
    if (done == most) return SPREAD_UNKNOWN;
    out |= leaves(e->t->code, block);
    uint32_t n = follow_graph_next(e->t->g, block, &next, &kinds);
    for (uint32_t i = 0; i < n; i++) {
      if (e->seen[next[i]] == e->stamp || cut[block] >> kinds[i] & 1) continue;
      e->seen[next[i]] = e->stamp;
      e->todo[n_todo++] = next[i];
    }
  }
  return out ? SPREAD_OUT : SPREAD_NOT_OUT;
}

static uint32_t block_of(const struct ending *e, uint32_t insn) { return follow_graph_block(e->t->g, insn); }

static const struct import *called(const struct ending *e, uint32_t insn) {
  if (!insn_calls(&e->t->code->insns[insn])) return NULL;
  struct flow_call c = follow_graph_call(e->t->g, insn);
  return c.kind == CALL_SLOT ? site_program_import(e->t->p, c.target) : NULL;
}

/* --- flushed ------------------------------------------------------------------------------------------------------ */

/* Does all that is written to the thing pass the call FLUSH, and then the edges that are not cut, before its end? */
static bool passes(struct ending *e, uint32_t flush) {
  const struct code *code = e->t->code;
  uint32_t looked = 0, here = block_of(e, flush), written = 0;
  for (uint32_t i = 0; i < code->n_insns; i++) {
    if (i == e->insn || i == flush || !insn_calls(&code->insns[i])) continue;
    if (!e->thing.argument && i == e->thing.maker) continue;
    if (looked++ == CALLS_LOOKED_AT) return false;
    if (!descriptor_treatment(e->t, i, &e->thing)) continue;
    written++;
    uint32_t block = block_of(e, i);
    if (block == here && i < flush) continue;
    if (block == here) return false;
    enum spread way = spread(e, block, e->passing, block_of(e, e->insn), BLOCKS_LOOKED_AT);
    if (way == SPREAD_ARRIVED || way == SPREAD_UNKNOWN) return false;
  }
  return written > 0;
}

static bool flushes(const struct ending *e, uint32_t insn) {
  const struct import *m = called(e, insn);
  int arg = m ? relevance_flushes(e->t->p->relevance, m->written) : -1;
  return arg >= 0 &&
         descriptor_gets(e->t, insn, relevance_argument_of(e->t->p->relevance, m->name, (unsigned)arg), &e->thing);
}

/* Is it this stream, or any one, that the call INSN, one of ASKING, is about? */
static bool asks_stream(const struct ending *e, uint32_t insn) {
  return e->any || descriptor_gets(e->t, insn, 0, &e->thing);
}

/* "fflush(f); if (ferror(f))": the call INSN, one of ASKING, asks in the block of a flush. */
static bool asks_after_flush(const struct ending *e, uint32_t insn, uint32_t *ret_flush) {
  if (!asks_stream(e, insn)) return false;
  for (uint32_t i = e->t->code->blocks[block_of(e, insn)].first; i < insn; i++)
    if (flushes(e, i)) {
      *ret_flush = i;
      return true;
    }
  return false;
}

/* The same, if of the edges out of BLOCK only those that CUT leaves are taken behind the flush. */
static bool passes_cut(struct ending *e, uint32_t flush, uint32_t block, uint8_t cut) {
  e->passing[block] = cut;
  bool all = passes(e, flush);
  e->passing[block] = 0;
  return all;
}

static bool is_flushed(struct ending *e) {
  uint32_t flush;
  for (size_t i = 0; i < e->flushing.n && i < CALLS_LOOKED_AT; i++) {
    const struct failing *f = &e->edges->at[e->flushing.at[i]];
    /* What goes on after a failure has not passed. */
    if (flushes(e, f->insn) && passes_cut(e, f->insn, f->block, (uint8_t) ~(1u << f->kind))) return true;
  }
  for (size_t i = 0; i < e->asking.n && i < CALLS_LOOKED_AT; i++)
    if (asks_after_flush(e, e->asking.at[i], &flush) && passes_cut(e, flush, block_of(e, e->asking.at[i]), ALL_EDGES))
      return true;
  return false;
}

/* --- failed ------------------------------------------------------------------------------------------------------- */

/* Is the failure of the call one, which happens, and not the end of the input or an answer? */
static bool is_failure(const struct ending *e, const struct failing *f) {
  const struct import *m = &e->t->p->imports.at[f->import];
  const struct relevance *r = e->t->p->relevance;
  if (m->answers || relevance_nothing(r, m->written) || relevance_reads(r, m->written)) return false;
  return relevance_fails(r, &(struct relevance_call){.name = m->written}) > LIKELY_CONTRIVED;
}

/* The stream tells of a failure by what is not 0: which edges out of the block of the call INSN are for that? */
static uint8_t told_edges(const struct ending *e, uint32_t insn) {
  const struct code *code = e->t->code;
  const struct block *b = &code->blocks[block_of(e, insn)];
  const struct insn *last = &code->insns[b->first + b->n - 1], *test = last - 1;
  if (last->op != OP_BRANCH || insn + 1 >= b->first + b->n - 1) return 0;
  if (test->op != OP_TEST || test->dst != RAX || test->src_kind != OPERAND_REG || test->src != RAX) return 0;
  if (last->cc != CC_E && last->cc != CC_NE) return 0;
  return (uint8_t)(1u << (last->cc == CC_E ? EDGE_FALL : EDGE_TAKEN));
}

/* The same from the entry, for all ends that are about no thing. */
static int find_without(struct ending *e) {
  const struct code *code = e->t->code;
  e->without = arena_zalloc(&e->w->flow.scratch, code->n_blocks + 1);
  if (!e->without) return -ENOMEM;
  memcpy(e->cut, e->failed, code->n_blocks);
  for (size_t i = 0; i < e->asking.n; i++)
    e->cut[block_of(e, e->asking.at[i])] |= told_edges(e, e->asking.at[i]);
  e->any_out = spread(e, code->entry_block, e->cut, UINT32_MAX, UINT32_MAX) == SPREAD_OUT;
  for (uint32_t k = 0; k < code->n_blocks; k++)
    e->without[k] = e->seen[k] == e->stamp;
  memcpy(e->cut, e->failed, code->n_blocks);
  return 0;
}

/* From the opening, no way without a failure leads to the end, and one leads out of the function. */
static int has_failed(struct ending *e) {
  uint32_t start = e->thing.argument ? e->t->code->entry_block : block_of(e, e->thing.maker);
  uint32_t end = block_of(e, e->insn);
  if (e->any) {
    int r = e->without ? 0 : find_without(e);
    return r < 0 ? r : !e->without[end] && e->any_out;
  }
  size_t n = e->asking.n < CALLS_LOOKED_AT ? e->asking.n : CALLS_LOOKED_AT;
  for (size_t i = 0; i < n; i++)
    if (asks_stream(e, e->asking.at[i])) e->cut[block_of(e, e->asking.at[i])] |= told_edges(e, e->asking.at[i]);
  enum spread way = spread(e, start, e->cut, end, BLOCKS_LOOKED_AT);
  for (size_t i = 0; i < n; i++)
    e->cut[block_of(e, e->asking.at[i])] = e->failed[block_of(e, e->asking.at[i])];
  return way == SPREAD_OUT;
}

/* --- all ends ----------------------------------------------------------------------------------------------------- */

/* Does it clean up, as unlink does? That may be about anything that the function has done. */
static bool cleans_up(struct ending *e, const struct found *f) {
  const char *name = e->t->p->imports.at[f->import].written;
  if (!relevance_asks_failed(e->t->p->relevance, name) || relevance_closes(e->t->p->relevance, name)) return false;
  e->thing = (struct thing){.argument = true};
  e->any = true;
  return code_find(e->t->code, f->at, &e->insn);
}

/* Does it end a thing that was written? */
static bool ends(struct ending *e, const struct found *f) {
  const struct import *m = &e->t->p->imports.at[f->import];
  const struct relevance *r = e->t->p->relevance;
  e->any = false;
  if (f->call.about[ABOUT_WRITTEN] != TRUE_FOR_CALL || !relevance_closes(r, m->written)) return false;
  int arg = relevance_argument_of(r, m->name, (unsigned)relevance_descriptor(r, m->written));
  if (arg < 0 || arg >= FLOW_ARGS || !code_find(e->t->code, f->at, &e->insn)) return false;
  e->thing = descriptor_thing(e->t, e->insn, (unsigned)arg);
  return e->thing.known;
}

/* What all ends of the function are asked about, once. */
static int ending_start(struct ending *e) {
  const struct code *code = e->t->code;
  const struct relevance *r = e->t->p->relevance;
  struct arena *a = &e->w->flow.scratch;
  if (e->todo) return 0;
  e->failed = arena_zalloc(a, code->n_blocks + 1);
  e->cut = arena_alloc(a, code->n_blocks + 1);
  e->passing = arena_zalloc(a, code->n_blocks + 1);
  e->seen = arena_zalloc(a, (code->n_blocks + 1) * sizeof *e->seen);
  e->todo = arena_alloc(a, (code->n_blocks + 1) * sizeof *e->todo);
  if (!e->failed || !e->cut || !e->passing || !e->seen || !e->todo) return -ENOMEM;
  for (size_t i = 0; i < e->edges->n; i++) {
    const struct failing *f = &e->edges->at[i];
    const struct import *m = called(e, f->insn);
    if (is_failure(e, f)) e->failed[f->block] |= (uint8_t)(1u << f->kind);
    if (m && relevance_flushes(r, m->written) >= 0 && vec_push(&e->flushing, (uint32_t)i) < 0) return -ENOMEM;
  }
  memcpy(e->cut, e->failed, code->n_blocks);
  for (uint32_t i = 0; i < code->n_insns; i++) {
    const struct import *m = called(e, i);
    if (m && relevance_tells_kept(r, m->written) && vec_push(&e->asking, i) < 0) return -ENOMEM;
  }
  return 0;
}

static int find_all(struct ending *e, size_t first) {
  for (size_t i = first; i < e->w->found.n; i++) {
    struct found *f = &e->w->found.at[i];
    bool end = ends(e, f);
    if (!end && !cleans_up(e, f)) continue;
    int r = ending_start(e);
    if (r >= 0) r = has_failed(e);
    if (r < 0) return r;
    f->call.about[ABOUT_FAILED] = r ? TRUE_FOR_CALL : FALSE_FOR_CALL;
    if (end) f->call.about[ABOUT_FLUSHED] = is_flushed(e) ? TRUE_FOR_CALL : FALSE_FOR_CALL;
  }
  return 0;
}

int ended_find(const struct looking *t, struct worker *w, const failing_vec *edges, size_t first) {
  struct ending e = {.t = t, .w = w, .edges = edges};
  int r = find_all(&e, first);
  vec_done(&e.asking);
  vec_done(&e.flushing);
  return r;
}
