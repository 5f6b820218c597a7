/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one call tells of the next. A descriptor that was just closed is the one that the next opening gets, so that to
 * compare with it is a check: "close(0); if (open(tty, O_RDWR) != 0)"; so it is if a loop has closed them all. And a
 * call that gets the error of the one before and refuses it, which is looked at, has noticed it:
 * "if (fstat(open(path, O_RDONLY), &st) < 0)".
 */
#include "site/site_program.h"

#include <stdlib.h>

#define BLOCKS_BACK 4
#define BLOCKS_ON 16
#define CALLS_BACK 24
#define STANDARD 3 /* descriptors with a meaning of their own */

/* --- the lowest descriptor ---------------------------------------------------------------------------------------- */

static const struct import *called(const struct program *p, struct follow_graph *g, uint32_t insn) {
  struct flow_call c = follow_graph_call(g, insn);
  return c.kind == CALL_SLOT ? site_program_import(p, c.target) : NULL;
}

/* The standard descriptor that the call closes; STANDARD if it closes none. */
static uint64_t closed_by(const struct program *p, struct follow_graph *g, uint32_t insn, const struct import *m) {
  struct flow_value v;
  if (!relevance_closes(p->relevance, m->written)) return STANDARD;
  if (!follow_graph_argument(g, insn, 0, &v) || v.kind != VALUE_CONST || v.value >= STANDARD) return STANDARD;
  return v.value;
}

/* Does one of the calls between CLOSE and INSN, as they stand in the code, open something on the way? */
static bool opens_between(const struct program *p, struct follow_graph *g, uint32_t close, uint32_t insn) {
  const struct code *code = follow_graph_code(g);
  for (uint32_t i = close + 1; i < insn; i++) {
    const struct import *m = insn_calls(&code->insns[i]) ? called(p, g, i) : NULL;
    if (!m || !relevance_opens(p->relevance, m->written)) continue;
    if (follow_graph_leads(g, close, i) && follow_graph_leads(g, i, insn)) return true;
  }
  return false;
}

/*
 * Is CLOSE in a loop before INSN, which is not in it? What it closes is a number that changes: not one constant, nor
 * what was opened in the same loop, or was kept somewhere since it was opened.
 */
static bool closes_many(struct follow_graph *g, uint32_t close, uint32_t insn) {
  struct flow_value v;
  bool one = follow_graph_argument(g, close, 0, &v);
  if (one && (v.kind == VALUE_CONST || v.kind == VALUE_CALL || v.kind == VALUE_MEMORY)) return false;
  return follow_graph_leads(g, close, close) && follow_graph_leads(g, close, insn) &&
         !follow_graph_leads(g, insn, close);
}

bool neighbours_renewed(const struct program *p, struct follow_graph *g, uint32_t insn, const struct import *m) {
  const struct code *code = follow_graph_code(g);
  const struct relevance_opener *o = relevance_opens(p->relevance, m->written);
  unsigned looked = 0;
  for (uint32_t i = insn; o && o->result && i-- > 0 && looked < CALLS_BACK;) {
    const struct import *before = insn_calls(&code->insns[i]) ? called(p, g, i) : NULL;
    looked += insn_calls(&code->insns[i]);
    if (!before || !relevance_closes(p->relevance, before->written) || !closes_many(g, i, insn)) continue;
    return !opens_between(p, g, i, insn);
  }
  return false;
}

/* Of the calls right before INSN, the lowest standard descriptor that one closes; STANDARD if none does. */
static uint64_t closed_before(const struct program *p, struct follow_graph *g, uint32_t insn) {
  const struct code *code = follow_graph_code(g);
  uint32_t block = follow_graph_block(g, insn), at = insn;
  uint64_t lowest = STANDARD;
  for (unsigned n = 0; n < BLOCKS_BACK; n++) {
    const struct block *b = &code->blocks[block];
    while (at-- > b->first) {
      if (!insn_calls(&code->insns[at])) continue;
      const struct import *before = called(p, g, at);
      if (!before || relevance_opens(p->relevance, before->written)) return lowest;
      uint64_t closed = closed_by(p, g, at, before);
      if (closed < lowest) lowest = closed;
    }
    if (b->n_preds != 1) break;
    block = code->edges[b->preds].from;
    at = code->blocks[block].first + code->blocks[block].n;
  }
  return lowest;
}

bool neighbours_lowest(const struct program *p, struct follow_graph *g, uint32_t insn, const struct import *m,
                       uint64_t *ret) {
  const struct relevance_opener *o = relevance_opens(p->relevance, m->written);
  if (!o || !o->result) return false;
  *ret = closed_before(p, g, insn);
  return *ret < STANDARD;
}

/* --- what the next call notices ----------------------------------------------------------------------------------- */

/* Does the function refuse each error of the import as its argument, and do no harm? */
static bool refuses(const struct program *p, const struct import *to, unsigned arg, const struct import *m) {
  int written = relevance_argument(p->relevance, to->name, arg);
  for (unsigned i = 0; written >= 0 && i < m->n_errors; i++) {
    bool known = m->errors[i] == 0 || m->errors[i] == -1;
    if (!known || relevance_effect(p->relevance, to->written, (unsigned)written, m->errors[i] == 0) != EFFECT_ERROR)
      return false;
  }
  return written >= 0 && m->n_errors;
}

static bool is_use(const struct follow_event *e) { return e->subject == SUBJECT_VALUE && e->kind != EVENT_COMPARE; }

/* Is E the value as an argument that is refused there? In other registers, it may be a left-over. */
static bool is_refused(const struct program *p, struct follow_graph *g, const struct follow_event *e,
                       const struct import *m, uint32_t *ret) {
  if (!is_use(e) || e->kind != EVENT_ARGUMENT || !judge_itself(e) || !code_find(follow_graph_code(g), e->at, ret))
    return false;
  const struct import *to = insn_calls(&follow_graph_code(g)->insns[*ret]) ? called(p, g, *ret) : NULL;
  return to && refuses(p, to, e->arg, m);
}

struct ways {
  struct follow_graph *g;
  const struct code *code;
  const struct follow_event *events;
  size_t n_events;
  uint64_t wanted, made; /* the call that every way is to pass, and the one that made the value */
};

enum pass { PASS_ON, PASS_WANTED, PASS_ELSE };

/* What comes first in the block, from the instruction AT on: the call, another use, or neither. */
static enum pass pass_block(const struct ways *w, uint32_t block, uint32_t at) {
  const struct block *b = &w->code->blocks[block];
  if (at >= b->first + b->n) return PASS_ON;
  uint64_t from = w->code->insns[at].address, to = w->code->insns[b->first + b->n - 1].address, first = UINT64_MAX;
  for (size_t i = 0; i < w->n_events; i++) {
    uint64_t use = w->events[i].at;
    if (is_use(&w->events[i]) && use >= from && use <= to && use < first) first = use;
  }
  if (w->made >= from && w->made <= to && w->made < first) return PASS_ELSE; /* a loop: another value */
  return first == UINT64_MAX ? PASS_ON : first == w->wanted ? PASS_WANTED : PASS_ELSE;
}

/* Does every way from behind INSN pass the call before the value is used otherwise? */
static bool is_always_next(const struct ways *w, uint32_t insn) {
  uint32_t todo[BLOCKS_ON], n_todo = 1, at = insn + 1;
  todo[0] = follow_graph_block(w->g, insn);
  for (uint32_t done = 0; done < n_todo; done++) {
    const uint32_t *next;
    enum pass pass = pass_block(w, todo[done], at);
    if (pass == PASS_ELSE) return false;
    uint32_t n = pass == PASS_ON ? follow_graph_next(w->g, todo[done], &next, NULL) : 0;
    if (pass == PASS_ON && !n) return false; /* the end of the function */
    for (uint32_t i = 0; i < n; i++) {
      uint32_t k = 0;
      while (k < n_todo && todo[k] != next[i])
        k++;
      if (k == BLOCKS_ON) return false;
      if (k == n_todo) todo[n_todo++] = next[i];
    }
    if (done + 1 < n_todo) at = w->code->blocks[todo[done + 1]].first;
  }
  return true;
}

uint64_t neighbours_refusing(const struct program *p, struct follow_graph *g, uint32_t insn, const struct import *m,
                             const struct follow_events *events) {
  struct ways w = {.g = g, .code = follow_graph_code(g), .events = events->at.at, .n_events = events->at.n};
  w.made = w.code->insns[insn].address;
  const struct follow_event *first = NULL; /* in the order of the code: of many, only that one is looked at */
  for (size_t i = 0; i < w.n_events; i++) {
    const struct follow_event *e = &w.events[i];
    if (is_use(e) && e->at > w.made && (!first || e->at < first->at)) first = e;
  }
  uint32_t to;
  bool refused = false;
  for (size_t i = 0; first && i < w.n_events && !refused; i++)
    refused = w.events[i].at == first->at && is_refused(p, g, &w.events[i], m, &to);
  w.wanted = first ? first->at : 0;
  return refused && is_always_next(&w, insn) ? w.wanted : 0;
}

static int by_address(const void *key, const void *element) {
  uint64_t at = *(const uint64_t *)key;
  const struct found *f = element;
  return (at > f->at) - (at < f->at);
}

void neighbours_notice(struct program *p, const struct judgement *js) {
  for (size_t i = 0; i < p->found.n; i++) {
    struct found *f = &p->found.at[i];
    if (!f->refused_at || js[i].noticed == judge_every(&p->imports.at[f->import])) continue;
    const struct found *next = bsearch(&f->refused_at, p->found.at, p->found.n, sizeof *p->found.at, by_address);
    f->passed_on = next && js[next - p->found.at].noticed == judge_every(&p->imports.at[next->import]);
  }
}
