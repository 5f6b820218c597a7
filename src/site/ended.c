/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the end of a descriptor or stream can still tell. Two things make it say nothing new: all that was written was
 * brought out before, by a flush whose failure was looked at; or the end is reached only because something failed
 * behind the opening, and the program knows that already. The latter is asked of what cleans up, too.
 */
#include "site/program.h"

#include <errno.h>
#include <string.h>

#define CALLS_LOOKED_AT 512
#define ALL_EDGES 0xff

struct ending {
  const struct looking *t;
  struct worker *w;
  const failing_vec *edges;
  uint8_t *seen, *cut; /* by block; CUT: kinds of edges that are not gone, as bits */
  uint32_t *todo;
  uint32_t insn; /* the call that ends THING */
  struct thing thing;
  bool any; /* it is about no thing, but about all that was done */
};

static int ending_start(struct ending *e, uint32_t n_blocks) {
  struct arena *a = &e->w->flow.scratch;
  if (e->seen) return 0;
  e->seen = arena_alloc(a, n_blocks + 1);
  e->cut = arena_alloc(a, n_blocks + 1);
  e->todo = arena_alloc(a, (n_blocks + 1) * sizeof *e->todo);
  return e->seen && e->cut && e->todo ? 0 : -ENOMEM;
}

/* Marks the blocks to which ways lead from BLOCK that take no edge that is cut. */
static void spread(struct ending *e, uint32_t block) {
  uint32_t n_todo = 0;
  memset(e->seen, 0, e->t->code->n_blocks);
  e->seen[block] = 1;
  for (e->todo[n_todo++] = block; n_todo > 0;) {
    const uint32_t *next;
    const uint8_t *kinds;
    block = e->todo[--n_todo];
    uint32_t n = flow_graph_next(e->t->g, block, &next, &kinds);
    for (uint32_t i = 0; i < n; i++) {
      if (e->seen[next[i]] || e->cut[block] >> kinds[i] & 1) continue;
      e->seen[next[i]] = 1;
      e->todo[n_todo++] = next[i];
    }
  }
}

static uint32_t block_of(const struct ending *e, uint32_t insn) { return flow_graph_block(e->t->g, insn); }

static const struct import *called(const struct ending *e, uint32_t insn) {
  if (!insn_calls(&e->t->code->insns[insn])) return NULL;
  struct flow_call c = flow_graph_call(e->t->g, insn);
  return c.kind == CALL_SLOT ? program_import(e->t->p, c.target) : NULL;
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
    spread(e, block);
    if (e->seen[block_of(e, e->insn)]) return false;
  }
  return written > 0;
}

static bool flushes(const struct ending *e, uint32_t insn) {
  const struct import *m = called(e, insn);
  int arg = m ? relevance_flushes(e->t->p->relevance, m->written) : -1;
  return arg >= 0 &&
         descriptor_gets(e->t, insn, relevance_argument_of(e->t->p->relevance, m->name, (unsigned)arg), &e->thing);
}

/* Does the call INSN ask the stream for a failure that it has kept? */
static bool asks_stream(const struct ending *e, uint32_t insn) {
  const struct import *m = called(e, insn);
  if (!m || !relevance_tells_kept(e->t->p->relevance, m->written)) return false;
  return e->any || descriptor_gets(e->t, insn, 0, &e->thing);
}

/* "fflush(f); if (ferror(f))": the call INSN asks, in the block of a flush. */
static bool asks_after_flush(const struct ending *e, uint32_t insn, uint32_t *ret_flush) {
  if (!asks_stream(e, insn)) return false;
  for (uint32_t i = e->t->code->blocks[block_of(e, insn)].first; i < insn; i++)
    if (flushes(e, i)) {
      *ret_flush = i;
      return true;
    }
  return false;
}

static bool is_flushed(struct ending *e) {
  uint32_t flush;
  for (size_t i = 0; i < e->edges->n; i++) {
    const struct failing *f = &e->edges->at[i];
    if (!flushes(e, f->insn)) continue;
    memset(e->cut, 0, e->t->code->n_blocks);
    e->cut[f->block] = (uint8_t) ~(1u << f->kind); /* what goes on after a failure has not passed */
    if (passes(e, f->insn)) return true;
  }
  for (uint32_t i = 0; i < e->t->code->n_insns; i++) {
    if (!asks_after_flush(e, i, &flush)) continue;
    memset(e->cut, 0, e->t->code->n_blocks);
    e->cut[block_of(e, i)] = ALL_EDGES;
    if (passes(e, flush)) return true;
  }
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

static bool returns(const struct ending *e) {
  const struct code *code = e->t->code;
  for (uint32_t k = 0; k < code->n_blocks; k++) {
    uint8_t op = code->insns[code->blocks[k].first + code->blocks[k].n - 1].op;
    bool tail = op == OP_TAIL || op == OP_TAIL_SLOT || op == OP_TAIL_INDIRECT;
    if (e->seen[k] && (op == OP_RETURN || tail)) return true;
  }
  return false;
}

/* From the opening, no way without a failure leads to the end, and one leads out of the function. */
static bool has_failed(struct ending *e) {
  uint32_t start = e->thing.argument ? e->t->code->entry_block : block_of(e, e->thing.maker);
  memset(e->cut, 0, e->t->code->n_blocks);
  for (size_t i = 0; i < e->edges->n; i++)
    if (is_failure(e, &e->edges->at[i])) e->cut[e->edges->at[i].block] |= (uint8_t)(1u << e->edges->at[i].kind);
  for (uint32_t i = 0; i < e->t->code->n_insns; i++)
    if (asks_stream(e, i)) e->cut[block_of(e, i)] |= told_edges(e, i);
  spread(e, start);
  return !e->seen[block_of(e, e->insn)] && returns(e);
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

int ended_find(const struct looking *t, struct worker *w, const failing_vec *edges, size_t first) {
  struct ending e = {.t = t, .w = w, .edges = edges};
  for (size_t i = first; i < w->found.n; i++) {
    struct found *f = &w->found.at[i];
    bool end = ends(&e, f);
    if (!end && !cleans_up(&e, f)) continue;
    int r = ending_start(&e, t->code->n_blocks);
    if (r < 0) return r;
    f->call.about[ABOUT_FAILED] = has_failed(&e) ? TRUE_FOR_CALL : FALSE_FOR_CALL;
    if (end) f->call.about[ABOUT_FLUSHED] = is_flushed(&e) ? TRUE_FOR_CALL : FALSE_FOR_CALL;
  }
  return 0;
}
