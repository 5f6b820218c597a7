/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of experiments. A budget always ends somewhere, so what is likely to be found comes first.
 *
 * An experiment's weight is what speaks for its point and its fault. What was tried tells something about what is like
 * it, so everything is tried once before anything is tried again: of the faults of one stack, most are handled by the
 * same lines, and from one call instruction there may come thousands of stacks that fail in the same way. Each further
 * one tells less, and is put back by a step, more and more.
 */
#include "inject/inject.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
  WEIGHT_VERDICT = 1000,    /* for each step of inject_point.verdict */
  WEIGHT_LIKELY = 300,      /* for each step of likelihood */
  WEIGHT_MEMORY = -100,     /* among what is as likely */
  WEIGHT_SHORT = -450,      /* no error at all: who looks for one has found those first */
  WEIGHT_PERSISTENT = -700, /* a fault that stays */
  WEIGHT_REPEATED = -700,   /* a stack that failed before, at a later time */
  WEIGHT_BETWEEN = -1000,   /* ... which is not the last one either */
  WEIGHT_SAME_STACK = -350, /* for each doubling of the faults of one stack, the likeliest first */
  WEIGHT_SAME_SITE = -100,  /* for each doubling of the stacks from one place */
};

/*
 * Each stack is made to fail the first time it is reached; from then on, every time, where it is reached again or may
 * be tried again, unless the error is one that passes; and the last time. The second time something is there from
 * before, and in the middle something is still to come: the likeliest fault is made then, too.
 */
enum when { FIRST, SECOND, MIDDLE, LAST };
static const struct {
  enum when when;
  bool persistent, likeliest;
  int weight;
} times[] = {{FIRST, false, false, 0},
             {FIRST, true, false, WEIGHT_PERSISTENT},
             {LAST, false, false, WEIGHT_REPEATED},
             {SECOND, false, true, WEIGHT_BETWEEN},
             {MIDDLE, false, true, WEIGHT_BETWEEN}};

/* 0 if it is another one as well. */
static uint64_t nth_of(enum when when, uint64_t count) {
  if (when == FIRST) return 1;
  if (when == LAST) return count > 1 ? count : 0;
  if (when == SECOND) return count > 2 ? 2 : 0;
  return count > 3 ? count / 2 + 1 : 0;
}

static int weight_of(const struct inject_point *p, const struct inject_fault *f, int likely) {
  int weight = (p->usual ? 0 : p->verdict * WEIGHT_VERDICT) + likely * WEIGHT_LIKELY;
  if (f->act == WIRE_ACT_SHORT) weight += WEIGHT_SHORT;
  return f->error == ENOMEM ? weight + WEIGHT_MEMORY : weight;
}

static const char *const acts[] = {[WIRE_ACT_SHORT] = "short", [WIRE_ACT_THROW] = "throw"};

const char *inject_act_word(unsigned act) { return act < COUNT(acts) ? acts[act] : NULL; }

unsigned inject_act_named(const char *word) {
  for (unsigned i = 0; word && i < COUNT(acts); i++)
    if (acts[i] && strcmp(acts[i], word) == 0) return i;
  return WIRE_ACT_RETURN;
}

static int log2_of(uint64_t n) {
  int k = 0;
  while (n >>= 1)
    k++;
  return k;
}

struct likely_fault {
  size_t fault;
  int likely;
  bool memory;
};

/* A candidate whose injection is not written down yet. */
struct draft {
  struct inject_call call;
  int weight;
  unsigned traits;
};

struct planner {
  const struct inject_plan *plan;
  VEC(struct likely_fault) faults; /* of a point */
  VEC(struct draft) all;
  struct map seen; /* (site, fault) → how many stacks had it */
};

/* RANK: how many faults of the point come before it. */
static int add_fault(struct planner *p, size_t point, const struct likely_fault *which, size_t rank) {
  size_t fault = which->fault;
  const struct inject_point *at = &p->plan->points[point];
  const struct inject_fault *f = &p->plan->faults[fault];
  uint64_t key = hash_mix(at->site) ^ hash_mix(fault + 1), before = 0;
  (void)map_get(&p->seen, key, &before);
  if (map_put(&p->seen, key, before + 1) < 0) return -ENOMEM;
  int weight = weight_of(at, f, which->likely) + log2_of(before + 1) * WEIGHT_SAME_SITE;
  weight += log2_of(rank + 1) * WEIGHT_SAME_STACK;
  unsigned traits = p->plan->traits ? p->plan->traits(p->plan->context, at, f) : 0;
  for (size_t i = 0; i < COUNT(times); i++) {
    uint64_t nth = nth_of(times[i].when, at->count);
    if (!nth || (times[i].persistent && (traits & TRAIT_PASSES)) || (times[i].likeliest && rank)) continue;
    struct draft x = {
        .call = {.point = (uint32_t)point, .fault = (uint32_t)fault, .nth = nth, .persistent = times[i].persistent},
        .weight = weight + times[i].weight,
        .traits = traits};
    if (vec_push(&p->all, x) < 0) return -ENOMEM;
  }
  return 0;
}

static int by_likelihood(const void *a, const void *b) {
  const struct likely_fault *x = a, *y = b;
  if (x->likely != y->likely) return x->likely > y->likely ? -1 : 1;
  if (x->memory != y->memory) return x->memory ? 1 : -1;
  return x->fault < y->fault ? -1 : x->fault > y->fault;
}

static int add_point(struct planner *p, size_t point) {
  const struct inject_plan *o = p->plan;
  p->faults.n = 0;
  for (size_t i = 0; i < o->n_faults; i++) {
    if (o->faults[i].function != o->points[point].function) continue;
    struct likely_fault add = {.fault = i,
                               .likely = o->likely(o->context, &o->points[point], &o->faults[i]),
                               .memory = o->faults[i].error == ENOMEM};
    if (add.likely > 0 && vec_push(&p->faults, add) < 0) return -ENOMEM;
  }
  if (p->faults.n) qsort(p->faults.at, p->faults.n, sizeof *p->faults.at, by_likelihood);
  for (size_t i = 0; i < p->faults.n; i++) {
    int r = add_fault(p, point, &p->faults.at[i], i);
    if (r < 0) return r;
  }
  return 0;
}

/* Ties in the order of points and faults, so that the same baseline gives the same plan. */
static int by_weight(const void *a, const void *b) {
  const struct draft *i = a, *k = b;
  const struct inject_call *x = &i->call, *y = &k->call;
  if (i->weight != k->weight) return i->weight > k->weight ? -1 : 1;
  if (x->point != y->point) return x->point < y->point ? -1 : 1;
  if (x->fault != y->fault) return x->fault < y->fault ? -1 : 1;
  if (x->persistent != y->persistent) return x->persistent ? 1 : -1;
  return x->nth < y->nth ? -1 : x->nth > y->nth;
}

/* --- injections --------------------------------------------------------------------------------------------------- */

const struct inject_call *inject_call_of(const struct injection *i) { return i->bytes; }

const struct inject_call *inject_last_call(const struct experiment *x) { return x->injections[x->n - 1].bytes; }

uint64_t inject_key(uint64_t hash, uint64_t nth, bool persistent, const struct inject_fault *f) {
  uint64_t key = hash_mix(hash);
  key = hash_mix(key + nth * 2 + persistent);
  key = hash_mix(key + (uint64_t)f->retval);
  return hash_mix(key + (uint64_t)f->error * WIRE_ACT_COUNT + f->act);
}

struct wire_order inject_order(const struct inject_point *points, const struct inject_fault *faults,
                               const struct injection *i) {
  const struct inject_call *call = inject_call_of(i);
  const struct inject_fault *f = &faults[call->fault];
  return (struct wire_order){.hash = points[call->point].hash,
                             .nth = call->nth,
                             .rule = f->rule,
                             .fault = f->fault,
                             .persistent = call->persistent};
}

struct expectation inject_expect(const struct inject_point *p, const struct inject_fault *f, unsigned traits) {
  return (struct expectation){
      .error = f->error, .traits = traits, .quiet = p->quiet, .excused = p->excused, .indirect = p->indirect};
}

static int write_candidate(const struct inject_plan *plan, const struct draft *d, struct candidate *ret) {
  const struct inject_point *point = &plan->points[d->call.point];
  const struct inject_fault *fault = &plan->faults[d->call.fault];
  const struct candidate *behind = plan->behind;
  const uint32_t before = behind ? behind->x.n : 0;
  struct injection *list = arena_alloc(plan->arena, (before + 1) * sizeof *list);
  const struct inject_call *call = arena_memdup(plan->arena, &d->call, sizeof d->call);
  if (!list || !call) return -ENOMEM;
  for (uint32_t i = 0; i < before; i++)
    list[i] = behind->x.injections[i];
  list[before] = (struct injection){
      .size = sizeof *call, .key = inject_key(point->hash, call->nth, call->persistent, fault), .bytes = call};
  struct expectation last = inject_expect(point, fault, d->traits);
  *ret = (struct candidate){.x = {.n = before + 1, .injections = list},
                            .place = d->call.point,
                            .site = point->site,
                            .time = call->nth * 2 + call->persistent,
                            .weight = d->weight,
                            .expect = behind ? expectation_join(&behind->expect, &last) : last};
  return 0;
}

/* Behind other injections, each comes once and the first time. */
static int write_candidates(const struct planner *p, struct candidate **ret, size_t *ret_n) {
  struct candidate *all = calloc(p->all.n + 1, sizeof *all);
  size_t n = 0;
  int r = all ? 0 : -ENOMEM;
  for (size_t i = 0; i < p->all.n && r == 0; i++) {
    const struct inject_call *call = &p->all.at[i].call;
    if (p->plan->behind && (call->persistent || call->nth != 1)) continue;
    r = write_candidate(p->plan, &p->all.at[i], &all[n++]);
  }
  if (r < 0) {
    free(all);
    return r;
  }
  *ret = all;
  *ret_n = n;
  return 0;
}

int inject_plan(const struct inject_plan *plan, struct candidate **ret, size_t *ret_n) {
  struct planner p = {.plan = plan};
  int r = 0;
  for (size_t i = plan->from; i < plan->n_points && r == 0; i++)
    r = add_point(&p, i);
  for (size_t i = 0; plan->random && i < p.all.n; i++)
    p.all.at[i].weight = (int)(hash_mix(i + 1) >> 33);
  if (r == 0 && p.all.n) qsort(p.all.at, p.all.n, sizeof *p.all.at, by_weight);
  if (r == 0) r = write_candidates(&p, ret, ret_n);
  map_done(&p.seen);
  vec_done(&p.faults);
  vec_done(&p.all);
  return r;
}
