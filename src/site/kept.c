/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Failures that a stream keeps: who asks for them afterwards, as ferror does, need not look at each call that writes or
 * reads. All ways from the call to the end of its function must pass the question, or a flush that has failed and whose
 * failure was noticed, before they come to a call that makes the stream forget, as clearerr does. Who reads must ask at
 * once, since what was not read may be used before: no other call may come in between, but for those of the same
 * stream, and the result may be no address or index. The end of a file is no failure: nobody has to ask for that.
 */
#include "site/site_program.h"
#include "site/relevance_rules.h"

#include <errno.h>
#include <string.h>

#define CALLS_LOOKED_AT 512
#define ALL_EDGES 0xff

enum { UNSEEN, SEEN, SEEN_ENDING }; /* ENDING: a way leads to an edge that is cut */

/* A call that asks a stream for a failure that it has kept, or that makes it forget. */
struct telling {
  uint32_t insn;
  bool returned; /* it asks, and the answer only goes to who called the function, if that returns something */
};

struct keeping {
  const struct looking *t;
  struct follow_events *events; /* for what becomes of an answer */
  const failing_vec *edges;
  VEC(struct telling) told; /* in order */
  bool asking, returning;   /* one of them asks; one is RETURNED */
  uint8_t *cut;             /* by block: kinds of edges behind which the failure is known, as bits */
  uint8_t *forgotten;       /* by block: the stream has forgotten before it is asked there */
  uint8_t *seen;
  uint32_t *todo;
  bool again; /* a way leads back to the block that was looked at last, before anybody asks */
};

/* The stream of a call: stdout, what came from one place, or what is held in one. */
struct stream {
  bool is_stdout;
  bool read; /* the call reads from it */
  struct thing thing;
  struct home home; /* if where it came from is not known, as "name ? fopen(name, "w") : stdout" */
};

static const struct import *called(const struct keeping *k, uint32_t insn) {
  if (!insn_calls(&k->t->code->insns[insn])) return NULL;
  struct flow_call c = follow_graph_call(k->t->g, insn);
  return c.kind == CALL_SLOT ? site_program_import(k->t->p, c.target) : NULL;
}

/* Is the value given to somebody who may ask for it? Who writes it somewhere does not. */
static bool is_passed_on(const struct keeping *k, const struct follow_event *e) {
  if (e->kind != EVENT_ARGUMENT) return false;
  const struct import *m = e->call_kind == CALL_SLOT ? site_program_import(k->t->p, e->target) : NULL;
  return !m || relevance_writes(k->t->p->relevance, m->written) < 0;
}

/* Is something done according to what the call INSN returns? To print it is not enough. */
static int is_answer_used(struct keeping *k, uint32_t insn, struct telling *ret) {
  struct follow_start start = {.kind = START_RESULT, .insn = insn};
  bool used = false, returned = false;
  k->events->at.n = 0;
  k->events->torn = false;
  int r = follow_value(k->t->g, &start, NULL, k->events);
  for (size_t i = 0; i < k->events->at.n && r >= 0; i++) {
    const struct follow_event *e = &k->events->at.at[i];
    if (e->subject != SUBJECT_VALUE) continue;
    used |= e->kind == EVENT_COMPARE || e->kind == EVENT_SWITCH || e->kind == EVENT_STORE || e->kind == EVENT_USE;
    used |= is_passed_on(k, e);
    returned |= e->kind == EVENT_RETURN;
  }
  used |= k->events->torn; /* not all is known of it */
  *ret = (struct telling){insn, !used};
  return r < 0 ? r : used || returned;
}

/* Is the written argument ARG of the call INSN of M the stream? */
static bool gets(const struct keeping *k, uint32_t insn, const struct import *m, int arg, const struct stream *s) {
  struct relevance_call c = {.name = m->written};
  if (arg < 0 || arg >= FLOW_ARGS) return false;
  int at = relevance_argument_of(k->t->p->relevance, m->name, (unsigned)arg);
  if (!s->is_stdout && s->thing.known) return descriptor_gets(k->t, insn, at, &s->thing);
  if (!s->is_stdout) {
    if (at < 0 || at >= FLOW_ARGS) return false;
    struct home home = descriptor_home(k->t, insn, (unsigned)at);
    return descriptor_is_at_home(k->t, &s->home, &home, insn);
  }
  descriptor_look(k->t->p, k->t->g, insn, m->name, (unsigned)arg, &c);
  return c.about[ABOUT_STDOUT] == TRUE_FOR_CALL;
}

/*
 * What the calls that ask and that make forget do to this stream; of a block the first one behind SITE counts. NOTHING:
 * the function returns nothing.
 */
static bool look_at_told(struct keeping *k, const struct stream *s, uint32_t site, bool nothing) {
  const struct relevance *r = k->t->p->relevance;
  uint32_t here = follow_graph_block(k->t->g, site);
  bool any = false;
  for (size_t i = 0; i < k->told.n && i < CALLS_LOOKED_AT; i++) {
    uint32_t insn = k->told.at[i].insn, block = follow_graph_block(k->t->g, insn);
    const struct import *m = called(k, insn);
    int forgets = relevance_forgets(r, m->written);
    if ((block == here && insn < site) || k->cut[block] || k->forgotten[block]) continue;
    if (nothing && k->told.at[i].returned) continue;
    if (!gets(k, insn, m, forgets >= 0 ? forgets : 0, s)) continue;
    k->forgotten[block] = forgets >= 0;
    if (forgets < 0) k->cut[block] = ALL_EDGES;
    any |= forgets < 0;
  }
  return any;
}

/* Which edges are gone for this stream. SITE: the call; a question in its block before it is none. */
static bool cut_edges(struct keeping *k, const struct stream *s, uint32_t site, bool nothing) {
  const struct relevance *r = k->t->p->relevance;
  memset(k->cut, 0, k->t->code->n_blocks);
  memset(k->forgotten, 0, k->t->code->n_blocks);
  bool any = look_at_told(k, s, site, nothing);
  for (size_t i = 0; i < k->edges->n && any; i++) {
    const struct failing *f = &k->edges->at[i];
    const struct import *m = called(k, f->insn);
    if (m && gets(k, f->insn, m, relevance_flushes(r, m->written), s)) k->cut[f->block] |= (uint8_t)(1u << f->kind);
  }
  return any;
}

/* Does an edge from BLOCK lead out of what was seen, or to where an edge is known to? */
static bool comes_to_cut(const struct keeping *k, uint32_t block) {
  const uint32_t *next;
  const uint8_t *kinds;
  if (k->cut[block] == ALL_EDGES) return true;
  uint32_t n = follow_graph_next(k->t->g, block, &next, &kinds);
  for (uint32_t i = 0; i < n; i++)
    if (k->cut[block] >> kinds[i] & 1 || k->seen[next[i]] == SEEN_ENDING) return true;
  return false;
}

/* Is there a way to an edge that is cut from each block that was seen? A server that goes round for ever never asks. */
static bool none_circles(struct keeping *k) {
  uint32_t left;
  bool more = true;
  while (more) {
    left = 0;
    more = false;
    for (uint32_t i = k->t->code->n_blocks; i-- > 0;) {
      if (k->seen[i] != SEEN) continue;
      bool ending = comes_to_cut(k, i);
      if (ending) k->seen[i] = SEEN_ENDING;
      more |= ending;
      left += !ending;
    }
  }
  return !left;
}

/* Do all ways from BLOCK end in an edge that is cut? */
static bool all_cut(struct keeping *k, uint32_t block) {
  const struct code *code = k->t->code;
  uint32_t n_todo = 0, first = block;
  memset(k->seen, 0, code->n_blocks);
  k->again = false;
  k->seen[block] = SEEN;
  k->todo[n_todo++] = block;
  while (n_todo > 0) {
    const uint32_t *next;
    const uint8_t *kinds;
    block = k->todo[--n_todo];
    if (k->forgotten[block]) return false;
    if (k->cut[block] == ALL_EDGES) continue;
    uint32_t n = follow_graph_next(k->t->g, block, &next, &kinds);
    if (!n) return false; /* the end of the function, or of the program */
    for (uint32_t i = 0; i < n; i++) {
      bool known = k->cut[block] >> kinds[i] & 1;
      k->again |= !known && next[i] == first;
      if (k->seen[next[i]] || known) continue;
      k->seen[next[i]] = SEEN;
      k->todo[n_todo++] = next[i];
    }
  }
  return none_circles(k);
}

/*
 * Is the result an address that something is done with, or an index? Perhaps before the question; a count may be one.
 */
static bool is_address_used(const struct found *f, const struct import *m) {
  for (uint32_t i = 0; i < f->n_events && m->success != SUCCESS_COUNT; i++) {
    uint8_t kind = (uint8_t)f->events[i].kind;
    if (kind == EVENT_DEREFERENCE || (kind == EVENT_ARGUMENT && m->success == SUCCESS_POINTER)) return true;
  }
  return false;
}

static bool stream_of(const struct keeping *k, const struct found *f, uint32_t insn, struct stream *ret) {
  const struct relevance *r = k->t->p->relevance;
  const struct import *m = &k->t->p->imports.at[f->import];
  int kept = relevance_kept(r, m->written);
  ret->read = relevance_writes(r, m->written) < 0 && relevance_flushes(r, m->written) < 0;
  if (ret->read && (kept < 0 || is_address_used(f, m))) return false;
  ret->is_stdout =
      relevance_writes(r, m->written) == ARG_STDOUT || (kept >= 0 && f->call.about[ABOUT_STDOUT] == TRUE_FOR_CALL);
  if (ret->is_stdout) return true;
  int at = kept >= 0 && kept < FLOW_ARGS ? relevance_argument_of(r, m->name, (unsigned)kept) : -1;
  if (at < 0 || at >= FLOW_ARGS) return false;
  ret->thing = descriptor_thing(k->t, insn, (unsigned)at);
  ret->home = ret->thing.known ? (struct home){0} : descriptor_home(k->t, insn, (unsigned)at);
  return ret->thing.known || ret->home.known;
}

static int find_told(struct keeping *k) {
  for (uint32_t i = 0; i < k->t->code->n_insns; i++) {
    const struct import *m = called(k, i);
    struct telling told = {.insn = i};
    int asks = m && relevance_tells_kept(k->t->p->relevance, m->written) ? is_answer_used(k, i, &told) : 0;
    if (asks < 0) return asks;
    if (!asks && (!m || relevance_forgets(k->t->p->relevance, m->written) < 0)) continue;
    if (vec_push(&k->told, told) < 0) return -ENOMEM;
    k->asking |= asks;
    k->returning |= asks && told.returned;
  }
  return 0;
}

/* Where the stream is asked in the block of FROM or behind it there, or the end of the block. */
static uint32_t asked_in(const struct keeping *k, const struct stream *s, uint32_t from) {
  const struct block *b = &k->t->code->blocks[follow_graph_block(k->t->g, from)];
  for (size_t i = 0; i < k->told.n && i < CALLS_LOOKED_AT; i++) {
    uint32_t insn = k->told.at[i].insn;
    if (insn < from || insn >= b->first + b->n) continue;
    if (gets(k, insn, called(k, insn), 0, s)) return insn;
  }
  return b->first + b->n;
}

/* Do no calls but those of the stream come between the call SITE and the question, in the blocks that were seen? */
static bool is_asked_at_once(const struct keeping *k, const struct stream *s, uint32_t site) {
  const struct code *code = k->t->code;
  uint32_t here = follow_graph_block(k->t->g, site);
  for (uint32_t block = 0; block < code->n_blocks; block++) {
    if (!k->seen[block]) continue;
    /* In a loop, what stands before the call comes behind it, too. */
    uint32_t first = block == here && !k->again ? site + 1 : code->blocks[block].first;
    uint32_t end = first < code->blocks[block].first + code->blocks[block].n ? asked_in(k, s, first) : first;
    for (uint32_t i = first; i < end; i++) {
      const struct import *m = called(k, i);
      if (!insn_calls(&code->insns[i])) continue;
      if (!m || !gets(k, i, m, relevance_kept(k->t->p->relevance, m->written), s)) return false;
    }
  }
  return true;
}

/* Is the stream asked on all ways behind INSN? NOTHING as in look_at_told. */
static bool is_asked(struct keeping *k, const struct stream *s, uint32_t insn, bool nothing) {
  if (!cut_edges(k, s, insn, nothing) || !all_cut(k, follow_graph_block(k->t->g, insn))) return false;
  return !s->read || is_asked_at_once(k, s, insn);
}

int kept_find(const struct looking *t, struct worker *w, const failing_vec *edges, size_t first) {
  struct keeping k = {.t = t, .events = &w->events, .edges = edges};
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
    if (!code_find(t->code, f->at, &insn) || !stream_of(&k, f, insn, &s)) continue;
    f->kept = is_asked(&k, &s, insn, false);
    f->kept_returned = f->kept && k.returning && !is_asked(&k, &s, insn, true);
  }
  vec_done(&k.told);
  return r;
}
