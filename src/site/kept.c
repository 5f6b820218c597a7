/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Failures that a stream keeps: who asks for them afterwards, as ferror does, need not look at each call. All ways from
 * the call to the end of its function must pass the question, or a flush that has failed and whose failure was noticed,
 * before they come to a call that makes the stream forget, as clearerr does.
 */
#include "site/program.h"
#include "site/relevance_rules.h"

#include <errno.h>
#include <string.h>

#define CALLS_LOOKED_AT 512
#define ALL_EDGES 0xff

struct keeping {
  const struct looking *t;
  const failing_vec *edges;
  VEC(uint32_t) told; /* calls that ask a stream for a failure that it has kept, or that make it forget, in order */
  bool asking;        /* one of them asks */
  uint8_t *cut;       /* by block: kinds of edges behind which the failure is known, as bits */
  uint8_t *forgotten; /* by block: the stream has forgotten before it is asked there */
  uint8_t *seen;
  uint32_t *todo;
};

/* The stream of a call: stdout, or what came from one place. */
struct stream {
  bool is_stdout;
  struct thing thing;
};

static const struct import *called(const struct keeping *k, uint32_t insn) {
  if (!insn_calls(&k->t->code->insns[insn])) return NULL;
  struct flow_call c = flow_graph_call(k->t->g, insn);
  return c.kind == CALL_SLOT ? program_import(k->t->p, c.target) : NULL;
}

/* Is what the call INSN returns read in its block? */
static bool is_read(const struct keeping *k, uint32_t insn) {
  const struct block *b = &k->t->code->blocks[flow_graph_block(k->t->g, insn)];
  for (uint32_t i = insn + 1; i < b->first + b->n; i++) {
    const struct insn *in = &k->t->code->insns[i];
    if (in->uses & REG_BIT(RAX) && !insn_zeroes(in)) return true;
    if (in->defs & REG_BIT(RAX)) return false;
  }
  return k->t->code->insns[b->first + b->n - 1].op == OP_RETURN;
}

/* Is the written argument ARG of the call INSN of M the stream? */
static bool gets(const struct keeping *k, uint32_t insn, const struct import *m, int arg, const struct stream *s) {
  struct relevance_call c = {.name = m->written};
  if (arg < 0 || arg >= FLOW_ARGS) return false;
  if (!s->is_stdout)
    return descriptor_gets(k->t, insn, relevance_argument_of(k->t->p->relevance, m->name, (unsigned)arg), &s->thing);
  descriptor_look(k->t->p, k->t->g, insn, m->name, (unsigned)arg, &c);
  return c.about[ABOUT_STDOUT] == TRUE_FOR_CALL;
}

/* What the calls that ask and that make forget do to this stream; of a block the first one behind SITE counts. */
static bool look_at_told(struct keeping *k, const struct stream *s, uint32_t site) {
  const struct relevance *r = k->t->p->relevance;
  uint32_t here = flow_graph_block(k->t->g, site);
  bool any = false;
  for (size_t i = 0; i < k->told.n && i < CALLS_LOOKED_AT; i++) {
    uint32_t insn = k->told.at[i], block = flow_graph_block(k->t->g, insn);
    const struct import *m = called(k, insn);
    int forgets = relevance_forgets(r, m->written);
    if ((block == here && insn < site) || k->cut[block] || k->forgotten[block]) continue;
    if (!gets(k, insn, m, forgets >= 0 ? forgets : 0, s)) continue;
    k->forgotten[block] = forgets >= 0;
    if (forgets < 0) k->cut[block] = ALL_EDGES;
    any |= forgets < 0;
  }
  return any;
}

/* Which edges are gone for this stream. SITE: the call; a question in its block before it is none. */
static bool cut_edges(struct keeping *k, const struct stream *s, uint32_t site) {
  const struct relevance *r = k->t->p->relevance;
  memset(k->cut, 0, k->t->code->n_blocks);
  memset(k->forgotten, 0, k->t->code->n_blocks);
  bool any = look_at_told(k, s, site);
  for (size_t i = 0; i < k->edges->n && any; i++) {
    const struct failing *f = &k->edges->at[i];
    const struct import *m = called(k, f->insn);
    if (m && gets(k, f->insn, m, relevance_flushes(r, m->written), s)) k->cut[f->block] |= (uint8_t)(1u << f->kind);
  }
  return any;
}

/* Do all ways from BLOCK end in an edge that is cut? */
static bool all_cut(struct keeping *k, uint32_t block) {
  const struct code *code = k->t->code;
  uint32_t n_todo = 0;
  memset(k->seen, 0, code->n_blocks);
  k->seen[block] = 1;
  k->todo[n_todo++] = block;
  while (n_todo > 0) {
    const uint32_t *next;
    const uint8_t *kinds;
    block = k->todo[--n_todo];
    if (k->forgotten[block]) return false;
    if (k->cut[block] == ALL_EDGES) continue;
    uint32_t n = flow_graph_next(k->t->g, block, &next, &kinds);
    if (!n) return false; /* the end of the function, or of the program */
    for (uint32_t i = 0; i < n; i++) {
      if (k->seen[next[i]] || k->cut[block] >> kinds[i] & 1) continue;
      k->seen[next[i]] = 1;
      k->todo[n_todo++] = next[i];
    }
  }
  return true;
}

static bool stream_of(const struct keeping *k, const struct found *f, uint32_t insn, struct stream *ret) {
  const struct relevance *r = k->t->p->relevance;
  const struct import *m = &k->t->p->imports.at[f->import];
  int kept = relevance_kept(r, m->written);
  ret->is_stdout =
      relevance_writes(r, m->written) == ARG_STDOUT || (kept >= 0 && f->call.about[ABOUT_STDOUT] == TRUE_FOR_CALL);
  if (ret->is_stdout) return true;
  int at = kept >= 0 && kept < FLOW_ARGS ? relevance_argument_of(r, m->name, (unsigned)kept) : -1;
  if (at < 0 || at >= FLOW_ARGS) return false;
  ret->thing = descriptor_thing(k->t, insn, (unsigned)at);
  return ret->thing.known;
}

static int find_told(struct keeping *k) {
  for (uint32_t i = 0; i < k->t->code->n_insns; i++) {
    const struct import *m = called(k, i);
    bool asks = m && relevance_tells_kept(k->t->p->relevance, m->written) && is_read(k, i);
    if (!asks && (!m || relevance_forgets(k->t->p->relevance, m->written) < 0)) continue;
    if (vec_push(&k->told, i) < 0) return -ENOMEM;
    k->asking |= asks;
  }
  return 0;
}

int kept_find(const struct looking *t, struct worker *w, const failing_vec *edges, size_t first) {
  struct keeping k = {.t = t, .edges = edges};
  struct stream s;
  uint32_t insn;
  int r = first < w->found.n ? find_told(&k) : 0;
  if (r >= 0 && k.asking) {
    k.cut = arena_alloc(&w->flow.scratch, t->code->n_blocks + 1);
    k.forgotten = arena_alloc(&w->flow.scratch, t->code->n_blocks + 1);
    k.seen = arena_alloc(&w->flow.scratch, t->code->n_blocks + 1);
    k.todo = arena_alloc(&w->flow.scratch, (t->code->n_blocks + 1) * sizeof *k.todo);
    if (!k.cut || !k.forgotten || !k.seen || !k.todo) r = -ENOMEM;
  }
  for (size_t i = first; i < w->found.n && k.asking && r >= 0; i++) {
    struct found *f = &w->found.at[i];
    if (!code_find(t->code, f->at, &insn) || !stream_of(&k, f, insn, &s) || !cut_edges(&k, &s, insn)) continue;
    f->kept = all_cut(&k, flow_graph_block(t->g, insn));
  }
  vec_done(&k.told);
  return r;
}
