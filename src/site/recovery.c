/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recovery code: the blocks that run only if a check says failure. They are those that the entry of the function does
 * not reach once all failing edges are taken away.
 */
#include "site/site_program.h"

#include <errno.h>
#include <stdlib.h>

#define RECOVERY_CALLERS 64 /* of a function, in which what runs only if it fails is looked for */

struct coloring {
  const struct follow_graph *g;
  uint8_t *cut;   /* by block: kinds of its edges that only failure takes, as bits */
  uint8_t *plain; /* reached without failure */
  uint8_t *mine;  /* reached from the failing edges of the site at hand */
  uint32_t *todo;
  uint32_t *found; /* the blocks of MINE */
  size_t n_found;
};

static void spread(struct coloring *c, uint8_t *color, uint32_t start, bool cutting) {
  size_t n_todo = 0;
  if (color[start]) return;
  color[start] = 1;
  for (c->todo[n_todo++] = start; n_todo > 0;) {
    uint32_t block = c->todo[--n_todo];
    if (!cutting) c->found[c->n_found++] = block;
    const uint32_t *next;
    const uint8_t *kinds;
    uint32_t n = follow_graph_next(c->g, block, &next, &kinds);
    for (uint32_t i = 0; i < n; i++) {
      if (color[next[i]] || (cutting && c->cut[block] >> kinds[i] & 1)) continue;
      if (!cutting && c->plain[next[i]]) continue;
      color[next[i]] = 1;
      c->todo[n_todo++] = next[i];
    }
  }
}

static int by_start(const void *x, const void *y) {
  const struct range *a = x, *b = y;
  return (a->from > b->from) - (a->from < b->from);
}

/* The blocks that were found, as ranges of addresses. */
static int keep(struct worker *w, const struct code *code, const struct coloring *c, const struct range **ret,
                uint32_t *ret_n) {
  struct range *ranges = arena_alloc(&w->arena, (c->n_found + 1) * sizeof *ranges);
  if (!ranges) return -ENOMEM;
  for (size_t i = 0; i < c->n_found; i++) {
    const struct block *b = &code->blocks[c->found[i]];
    const struct insn *first = &code->insns[b->first], *last = &code->insns[b->first + b->n - 1];
    ranges[i] = (struct range){first->address, last->address + last->length};
  }
  qsort(ranges, c->n_found, sizeof *ranges, by_start);
  *ret_n = (uint32_t)c->n_found;
  *ret = ranges;
  return 0;
}

/* From one failing edge; what is reached without failure is not recovery. */
static void color_edge(struct coloring *c, const struct failing *e) {
  const uint32_t *next;
  const uint8_t *kinds;
  uint32_t n = e->ordinary ? 0 : follow_graph_next(c->g, e->block, &next, &kinds);
  for (uint32_t k = 0; k < n; k++)
    if (kinds[k] == e->kind && !c->plain[next[k]]) spread(c, c->mine, next[k], false);
}

static int start_coloring(struct coloring *c, struct arena *a, uint32_t n_blocks) {
  c->cut = arena_zalloc(a, n_blocks + 1);
  c->plain = arena_zalloc(a, n_blocks + 1);
  c->mine = arena_zalloc(a, n_blocks + 1);
  c->todo = arena_alloc(a, (n_blocks + 1) * sizeof *c->todo);
  c->found = arena_alloc(a, (n_blocks + 1) * sizeof *c->found);
  return c->cut && c->plain && c->mine && c->todo && c->found ? 0 : -ENOMEM;
}

static int cut_edges(struct worker *w, const failing_vec *edges, struct coloring *c) {
  const struct code *code = follow_graph_code(c->g);
  int r = start_coloring(c, &w->flow.scratch, code->n_blocks);
  if (r < 0) return r;
  for (size_t i = 0; i < edges->n; i++)
    if (!edges->at[i].ordinary) c->cut[edges->at[i].block] |= (uint8_t)(1u << edges->at[i].kind);
  spread(c, c->plain, code->entry_block, true);
  return 0;
}

/* The edges of a site follow each other. */
int recovery_find(struct worker *w, const struct follow_graph *g, const failing_vec *edges, size_t first) {
  const struct code *code = follow_graph_code(g);
  struct coloring c = {.g = g};
  int r = edges->n ? cut_edges(w, edges, &c) : 0;
  if (r < 0) return r;
  for (size_t i = 0; i < edges->n && r >= 0;) {
    uint32_t site = edges->at[i].site;
    for (; i < edges->n && edges->at[i].site == site; i++)
      color_edge(&c, &edges->at[i]);
    struct found *f = site >= first && site < w->found.n ? &w->found.at[site] : NULL;
    if (f) r = keep(w, code, &c, &f->recovery, &f->n_recovery);
    while (c.n_found > 0)
      c.mine[c.found[--c.n_found]] = 0;
  }
  return r;
}

/* --- failing edges ------------------------------------------------------------------------------------------------ */

#define A_VARIABLE 4096 /* stands for one that a value is compared with */

static uint8_t side_of(const struct image *img, const struct follow_event *e, uint64_t value) {
  return follow_event_holds(e, img, value, A_VARIABLE) ? EDGE_TAKEN : EDGE_FALL;
}

/*
 * Does an ordinary answer take the error's SIDE of the branch as well? The end of the input does, behind
 * "read(...) > 0" and wherever a loop ends if less comes than was asked for, and so does NULL for what is not there.
 */
static bool is_ordinary(const struct program *p, struct follow_graph *g, const struct import *m,
                        const struct follow_event *e, uint8_t side) {
  const struct image *img = p->image;
  bool reads = relevance_reads(p->relevance, m->written), nothing = relevance_nothing(p->relevance, m->written);
  if (m->answers) return true;
  if (m->success != SUCCESS_COUNT) return nothing && (reads || m->success == SUCCESS_POINTER);
  if (!reads || side_of(img, e, 0) != side) return false;
  bool one = judge_equality(e) && !e->variable && e->imm == 1; /* of which all was asked for, perhaps */
  return (!one && side_of(img, e, 1) != side) || follow_graph_leads(g, e->insn, e->insn);
}

/* Which side of the branch do the errors take that it tells from success? False if it tells none. */
static bool failing_side(const struct program *p, struct follow_graph *g, const struct sample *s,
                         const struct follow_event *e, struct failing *ret) {
  if (e->subject == SUBJECT_ERRNO) { /* is it 0, or any other? That tells a failure from the end of the input. */
    if (!relevance_nothing(p->relevance, s->import->written)) return false;
    ret->kind = side_of(p->image, e, EPERM);
    bool any = ret->kind == side_of(p->image, e, EIO) && ret->kind == side_of(p->image, e, ERRNO_MAX);
    return any && !e->variable && ret->kind != side_of(p->image, e, 0);
  }
  uint64_t told = judge_compare(p, s, e);
  if (!told) return false;
  ret->kind = side_of(p->image, e, s->errors[__builtin_ctzll(told)]);
  ret->ordinary = is_ordinary(p, g, s->import, e, ret->kind);
  return true;
}

int recovery_note_checks(const struct program *p, struct follow_graph *g, const struct follow_events *events,
                         const struct sample *s, uint32_t site, uint32_t insn, failing_vec *ret) {
  const struct code *code = follow_graph_code(g);
  int r = 0;
  for (uint32_t i = 0; i < events->at.n && r >= 0; i++) {
    const struct follow_event *e = &events->at.at[i];
    struct failing f = {.block = e->block, .site = site, .insn = insn};
    f.import = (uint32_t)(s->import - p->imports.at);
    if (e->kind != EVENT_COMPARE || code->insns[e->insn].op != OP_BRANCH) continue;
    if (failing_side(p, g, s, e, &f)) r = vec_push(ret, f);
  }
  return r;
}

/* --- in callers --------------------------------------------------------------------------------------------------- */

int recovery_answer(struct program *p, struct worker *w, struct follow_graph *g, struct question *q) {
  failing_vec edges = {0};
  struct coloring c = {.g = g};
  const struct code *code = follow_graph_code(g);
  int r = recovery_note_checks(p, g, &w->events, q->sample, 0, 0, &edges);
  if (r >= 0 && edges.n) r = cut_edges(w, &edges, &c);
  for (size_t i = 0; i < edges.n && r >= 0; i++)
    color_edge(&c, &edges.at[i]);
  if (r >= 0 && edges.n) r = keep(w, code, &c, &q->recovery, &q->n_recovery);
  vec_done(&edges);
  return r;
}

/* The question of each caller that the site's value is returned to; N of them in RET, those that are answered. */
static size_t ask_callers(struct program *p, const struct found *f, const struct question **ret, size_t max) {
  const struct inner_call *c;
  struct sample s, there;
  size_t n = functions_callers(p, f->entry, &c), found = 0;
  sample_start(&s, &p->imports.at[f->import], &f->call);
  for (uint32_t i = 0; i < f->n_events; i++) {
    const struct follow_event *e = &f->events[i];
    if (e->kind != EVENT_RETURN || e->subject != SUBJECT_VALUE || e->mixed || e->arg) continue;
    sample_step(&there, &s, e->ops, p->image);
    for (size_t k = 0; k < n && k < max && found < max; k++) {
      const struct question *q = ask_guard(p, c[k].entry, c[k].at, &there);
      if (q && q->answered && !q->lost) ret[found++] = q;
    }
  }
  return found;
}

/* Adds the ranges of a caller, each once. */
static int add_ranges(struct program *p, struct found *f, const struct range *more, uint32_t n) {
  struct range *all = arena_alloc(&p->workers[0].arena, (f->n_recovery + n + 1) * sizeof *all);
  uint32_t kept = 0, total = f->n_recovery + n;
  if (!all) return -ENOMEM;
  for (uint32_t i = 0; i < total; i++)
    all[i] = i < f->n_recovery ? f->recovery[i] : more[i - f->n_recovery];
  if (total) qsort(all, total, sizeof *all, by_start);
  for (uint32_t i = 0; i < total; i++)
    if (!kept || all[kept - 1].from != all[i].from) all[kept++] = all[i];
  f->recovery = all;
  f->n_recovery = kept;
  return 0;
}

int recovery_ask_callers(struct program *p) {
  const struct question *q[RECOVERY_CALLERS];
  for (size_t i = 0; i < p->found.n; i++)
    (void)ask_callers(p, &p->found.at[i], q, RECOVERY_CALLERS);
  return p->error;
}

int recovery_find_in_callers(struct program *p) {
  const struct question *q[RECOVERY_CALLERS];
  int r = p->error < 0 ? p->error : ask_answer(p); /* those that nobody needed for a verdict */
  for (size_t i = 0; i < p->found.n && r >= 0; i++) {
    size_t n = ask_callers(p, &p->found.at[i], q, RECOVERY_CALLERS);
    for (size_t k = 0; k < n && r >= 0; k++)
      if (q[k]->n_recovery) r = add_ranges(p, &p->found.at[i], q[k]->recovery, q[k]->n_recovery);
  }
  return r < 0 ? r : p->error;
}
