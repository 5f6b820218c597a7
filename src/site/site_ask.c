/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions about values in other functions: they are collected while sites are judged, answered function by function
 * on all processors, and the sites judged again.
 */
#include "site/site_program.h"

#include <errno.h>
#include <stdlib.h>

static uint64_t question_key(uint64_t entry, uint64_t at, const struct follow_start *s) {
  uint64_t what = s->kind | (uint64_t)s->arg << 8 | (uint64_t)s->size << 16 | (uint64_t)s->element << 24;
  return hash_mix(entry ^ hash_mix(at + 1)) + hash_mix(what ^ hash_mix((uint64_t)s->offset));
}

const struct question *ask(struct program *p, uint64_t entry, uint64_t at, struct follow_start start) {
  uint64_t key = question_key(entry, at, &start), i;
  if (map_get(&p->question_of, key, &i)) return &p->questions.at[i];
  i = p->questions.n;
  struct question q = {.entry = entry, .at = at, .start = start};
  if (vec_push(&p->questions, q) < 0 || map_put(&p->question_of, key, i) < 0) p->error = -ENOMEM;
  return NULL;
}

static uint64_t sample_hash(const struct sample *s) {
  uint64_t h = (uintptr_t)s->import ^ s->count;
  for (unsigned i = 0; i < s->import->n_errors; i++)
    h = hash_mix(h ^ s->errors[i]);
  for (unsigned i = 0; i < s->n_successes; i++)
    h = hash_mix(h + s->successes[i]);
  return h;
}

const struct question *ask_guard(struct program *p, uint64_t entry, uint64_t at, const struct sample *s) {
  struct question q = {.entry = entry, .at = at, .start = {.kind = START_RESULT}};
  uint64_t key = hash_mix(question_key(entry, at, &q.start) ^ sample_hash(s)), i;
  if (map_get(&p->question_of, key, &i)) return &p->questions.at[i];
  q.nothing = functions_no_result(p, entry);
  q.sample = arena_memdup(&p->workers[0].arena, s, sizeof *s);
  i = p->questions.n;
  if (!q.sample || vec_push(&p->questions, q) < 0 || map_put(&p->question_of, key, i) < 0) p->error = -ENOMEM;
  return NULL;
}

/* --- answering ---------------------------------------------------------------------------------------------------- */

/* Is the same value followed? What becomes of it does not depend on the errors that are asked about. */
static bool follows_same(const struct question *a, const struct question *b) {
  const struct follow_start *x = &a->start, *y = &b->start;
  bool place = x->arg == y->arg && x->size == y->size && x->offset == y->offset && x->element == y->element;
  return a->at == b->at && x->kind == y->kind && place;
}

/* BEFORE: the question of this function that was answered just before, or NULL. */
static int answer_one(struct program *p, struct worker *w, struct follow_graph *g, const struct question *before,
                      struct question *q) {
  struct follow_start start = q->start;
  q->answered = true;
  q->lost = q->at && !code_find(follow_graph_code(g), q->at, &start.insn);
  if (q->lost) return 0;
  if (!before || !follows_same(before, q)) {
    w->events.at.n = 0;
    w->events.torn = false;
    int r = follow_value(g, &start, NULL, &w->events);
    if (r < 0) return r;
  }
  q->torn = w->events.torn;
  if (q->sample) {
    guard_look(g, start.insn, &w->events, q->sample, q->nothing, &q->guard);
    return recovery_answer(p, w, g, q);
  }
  q->n_events = (uint32_t)w->events.at.n;
  q->events = arena_memdup(&w->arena, w->events.at.at, q->n_events * sizeof *q->events);
  return q->events ? 0 : -ENOMEM;
}

/* The open questions of one function, which follow each other. */
struct batch {
  uint32_t first, n;
};

struct batches {
  VEC(struct batch) all;
  uint32_t *order;
};

static int by_entry(const void *x, const void *y, void *context) {
  const struct question *all = context, *a = &all[*(const uint32_t *)x], *b = &all[*(const uint32_t *)y];
  if (a->entry != b->entry) return a->entry < b->entry ? -1 : 1;
  if (a->at != b->at) return a->at < b->at ? -1 : 1;
  return (*(const uint32_t *)x > *(const uint32_t *)y) - (*(const uint32_t *)x < *(const uint32_t *)y);
}

static int answer_batch(struct program *p, struct worker *w, size_t i) {
  const struct batches *bs = p->batches;
  const struct batch *b = &bs->all.at[i];
  struct question *first = &p->questions.at[bs->order[b->first]];
  struct follow_graph_options o = gather_options(p, w);
  struct follow_graph *g = NULL;
  const struct question *before = NULL;
  int r = follow_graph_open(&w->flow, p->image, first->entry, &o, &g);
  for (uint32_t k = 0; k < b->n; k++) {
    struct question *q = &p->questions.at[bs->order[b->first + k]];
    q->answered = true;
    q->lost = r < 0;
    if (r >= 0) r = answer_one(p, w, g, before, q);
    before = q;
  }
  follow_graph_close(g);
  return r == -EFAULT ? 0 : r;
}

static int make_batches(struct program *p, struct batches *bs, uint32_t n) {
  qsort_r(bs->order, n, sizeof *bs->order, by_entry, p->questions.at);
  for (uint32_t i = 0; i < n; i++) {
    uint64_t entry = p->questions.at[bs->order[i]].entry;
    bool same = bs->all.n && p->questions.at[bs->order[bs->all.at[bs->all.n - 1].first]].entry == entry;
    if (same)
      bs->all.at[bs->all.n - 1].n++;
    else if (vec_push(&bs->all, (struct batch){i, 1}) < 0)
      return -ENOMEM;
  }
  return 0;
}

int ask_answer(struct program *p) {
  struct batches bs = {0};
  uint32_t n = 0;
  bs.order = calloc(p->questions.n + 1, sizeof *bs.order);
  if (!bs.order) return -ENOMEM;
  for (size_t i = 0; i < p->questions.n; i++)
    if (!p->questions.at[i].answered) bs.order[n++] = (uint32_t)i;
  int r = make_batches(p, &bs, n);
  p->batches = &bs;
  if (r >= 0) r = functions_each(p, bs.all.n, answer_batch);
  p->batches = NULL;
  vec_done(&bs.all);
  free(bs.order);
  return r < 0 ? r : (int)n;
}
