/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one call tells of the next. A descriptor that was just closed is the one that the next opening gets, so that to
 * compare with it is a check: "close(0); if (open(tty, O_RDWR) != 0)". And a call that gets the error of the one before
 * and refuses it, which is looked at, has noticed it: "if (fstat(open(path, O_RDONLY), &st) < 0)".
 */
#include "site/program.h"

#include <stdlib.h>

#define BLOCKS_BACK 4
#define STANDARD 3 /* descriptors with a meaning of their own */

/* --- the lowest descriptor ---------------------------------------------------------------------------------------- */

static const struct import *called(const struct program *p, struct flow_graph *g, uint32_t insn) {
  struct flow_call c = flow_graph_call(g, insn);
  return c.kind == CALL_SLOT ? program_import(p, c.target) : NULL;
}

/* The standard descriptor that the call closes; STANDARD if it closes none. */
static uint64_t closed_by(const struct program *p, struct flow_graph *g, uint32_t insn, const struct import *m) {
  struct flow_value v;
  if (!relevance_closes(p->relevance, m->written)) return STANDARD;
  if (!flow_graph_argument(g, insn, 0, &v) || v.kind != VALUE_CONST || v.value >= STANDARD) return STANDARD;
  return v.value;
}

bool neighbours_lowest(const struct program *p, struct flow_graph *g, uint32_t insn, const struct import *m,
                       uint64_t *ret) {
  const struct code *code = flow_graph_code(g);
  const struct relevance_opener *o = relevance_opens(p->relevance, m->written);
  uint32_t block = flow_graph_block(g, insn), at = insn;
  *ret = STANDARD;
  if (!o || !o->result) return false;
  for (unsigned n = 0; n < BLOCKS_BACK; n++) {
    const struct block *b = &code->blocks[block];
    while (at-- > b->first) {
      if (!insn_calls(&code->insns[at])) continue;
      const struct import *before = called(p, g, at);
      if (!before || relevance_opens(p->relevance, before->written)) return *ret < STANDARD;
      uint64_t closed = closed_by(p, g, at, before);
      if (closed < *ret) *ret = closed;
    }
    if (b->n_preds != 1) break;
    block = code->edges[b->preds].from;
    at = code->blocks[block].first + code->blocks[block].n;
  }
  return *ret < STANDARD;
}

/* --- what the next call notices ----------------------------------------------------------------------------------- */

static int by_address(const void *key, const void *element) {
  uint64_t at = *(const uint64_t *)key;
  const struct found *f = element;
  return (at > f->at) - (at < f->at);
}

/* What is done with the value first, in the order of the code. */
static const struct flow_event *first_use(const struct found *f) {
  const struct flow_event *first = NULL;
  for (uint32_t i = 0; i < f->n_events; i++) {
    const struct flow_event *e = &f->events[i];
    if (e->subject != SUBJECT_VALUE || e->kind == EVENT_COMPARE || e->at <= f->at) continue;
    if (!first || e->at < first->at) first = e;
  }
  return first;
}

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

/* Is NEXT a call that gets the error of F, and refuses it? In other registers, the value may be a left-over. */
static bool is_refused(const struct program *p, const struct found *f, const struct found *next) {
  for (uint32_t i = 0; i < f->n_events; i++) {
    const struct flow_event *e = &f->events[i];
    bool given = e->at == next->at && e->kind == EVENT_ARGUMENT && e->subject == SUBJECT_VALUE && judge_itself(e);
    if (given && refuses(p, &p->imports.at[next->import], e->arg, &p->imports.at[f->import])) return true;
  }
  return false;
}

void neighbours_notice(struct program *p, const struct judgement *js) {
  for (size_t i = 0; i < p->found.n; i++) {
    struct found *f = &p->found.at[i];
    const struct flow_event *e = js[i].noticed == judge_every(&p->imports.at[f->import]) ? NULL : first_use(f);
    if (!e || e->kind != EVENT_ARGUMENT) continue;
    const struct found *next = bsearch(&e->at, p->found.at, p->found.n, sizeof *p->found.at, by_address);
    if (!next || !is_refused(p, f, next)) continue;
    f->passed_on = js[next - p->found.at].noticed == judge_every(&p->imports.at[next->import]);
  }
}
