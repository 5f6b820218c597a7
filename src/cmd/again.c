/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A finding once more. Its call is found by the same number of the stack; where there is none, because the program was
 * built anew, by the names of the functions in it.
 */
#include "cmd/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct inject_fault *find_fault(const struct test_space *s, const struct test_finding *f) {
  for (size_t i = 0; i < s->faults.n; i++) {
    const struct inject_fault *at = &s->faults.at[i];
    if (at->retval == f->retval && at->error == f->error && at->act == inject_act_named(f->act) &&
        strcmp(test_function(s, at->function), f->function) == 0)
      return at;
  }
  return NULL;
}

/* --- the same stack in another build ------------------------------------------------------------------------------ */

static bool is_same(const char *a, const char *b) { return a && b ? strcmp(a, b) == 0 : a == b; }

static bool is_same_frame(const struct store_frame *a, const struct store_frame *b) {
  return is_same(a->function, b->function) && (a->function || is_same(a->module, b->module));
}

/* The more frames are alike the better, then the nearer the call is in the source, or in the code. */
static uint64_t likeness(const test_frames *a, const test_frames *b) {
  size_t n = 0;
  while (n < a->n && n < b->n && is_same_frame(&a->at[n], &b->at[n]))
    n++;
  if (n == 0) return 0;
  const struct store_frame *x = &a->at[0], *y = &b->at[0];
  bool lines = x->line && y->line && is_same(x->file, y->file);
  uint64_t i = lines ? x->line : x->offset, k = lines ? y->line : y->offset, far = i > k ? i - k : k - i;
  return (uint64_t)n << 32 | (UINT32_MAX - (far < UINT32_MAX ? far : UINT32_MAX));
}

static const struct inject_point *find_alike(struct test_setup *s, const struct test_finding *f) {
  struct test_space *space = &s->space;
  struct run_symbols *symbols = NULL;
  struct arena arena = {0};
  const struct inject_point *best = NULL;
  uint64_t most = 0;
  if (run_symbols_new(&space->modules, lab_area(s->recorder), &symbols) < 0) return NULL;
  for (size_t i = 0; i < space->points.n; i++) {
    test_frames frames = {0};
    if (strcmp(test_function(space, space->points.at[i].function), f->function) != 0) continue;
    uint64_t now =
        test_name_point(symbols, &space->seen.at[i], &arena, &frames) < 0 ? 0 : likeness(&frames, &f->inject);
    if (now > most) best = &space->points.at[i];
    if (now > most) most = now;
    vec_done(&frames);
  }
  run_symbols_free(symbols);
  arena_done(&arena);
  return best;
}

static const struct inject_point *find_point(struct test_setup *s, const struct test_finding *f) {
  for (size_t i = 0; i < s->space.points.n; i++)
    if (s->space.points.at[i].hash == f->hash) return &s->space.points.at[i];
  return find_alike(s, f);
}

/* --- the run ------------------------------------------------------------------------------------------------------ */

/* Adds an injection; the order has all that were added so far. */
static void add_injection(struct test_setup *s, const struct inject_point *point, const struct inject_fault *fault,
                          uint64_t nth, bool persistent, struct again *ret) {
  const struct test_space *space = &s->space;
  const uint32_t n = ret->order.x.n;
  ret->calls[n] = (struct inject_call){.point = (uint32_t)(point - space->points.at),
                                       .fault = (uint32_t)(fault - space->faults.at),
                                       .nth = nth,
                                       .persistent = persistent};
  ret->injections[n] = (struct injection){
      .size = sizeof ret->calls[n], .key = inject_key(point->hash, nth, persistent, fault), .bytes = &ret->calls[n]};
  struct expectation last = inject_expect(point, fault, test_traits(&s->space, point, fault));
  ret->is.expect = n ? expectation_join(&ret->is.expect, &last) : last;
  ret->order.x = (struct experiment){.n = n + 1, .injections = ret->injections};
}

/* Of two faults: makes the first one alone, which leads to where the second can be. */
static int locate_first(struct test_setup *s, const struct test_finding *f, struct again *ret, struct err *e) {
  const struct test_finding first = {.function = f->first.function,
                                     .act = f->first.act,
                                     .retval = f->first.retval,
                                     .error = f->first.error,
                                     .hash = f->first_hash,
                                     .inject = f->first_stack};
  const struct inject_fault *fault = find_fault(&s->space, &first);
  const struct inject_point *point = fault ? find_point(s, &first) : NULL;
  struct lab_result result;
  if (!point) return -ENOENT;
  add_injection(s, point, fault, f->first.nth, false, ret);
  int r = lab_run(s->recorder, &ret->order, &result, e);
  if (r < 0) return r == -ENOENT ? -EIO : r; /* that the command cannot be started tells nothing about its calls */
  r = test_take_points(&s->space, s->recorder, e);
  ret->alone = result.seen;
  result.seen = (struct observation){0};
  lab_result_done(&result);
  return r;
}

int again_locate(struct test_setup *s, const struct test_finding *f, struct again *ret, struct err *e) {
  *ret = (struct again){.order.wall_ns = test_setup_wall(s), .is.baseline = &s->baseline};
  int r = f->first.function ? locate_first(s, f, ret, e) : 0;
  if (r < 0) return r;
  const struct inject_fault *fault = find_fault(&s->space, f);
  const struct inject_point *point = fault ? find_point(s, f) : NULL;
  if (!point) return -ENOENT;
  add_injection(s, point, fault, f->nth < point->count || !point->count ? f->nth : point->count, f->onwards, ret);
  ret->patient = strcmp(f->kind, outcome_words[OUTCOME_HANG]) == 0;
  return 0;
}

void again_done(struct again *a) { observation_done(&a->alone); }

static int run_once(struct test_setup *s, const struct again *a, bool patient, struct again_result *ret,
                    struct err *e) {
  struct lab_order order = a->order;
  struct campaign_case is = a->is;
  if (order.x.n > 1) is.reference = &a->alone;
  if (patient) campaign_be_patient(&order);
  *ret = (struct again_result){0};
  int r = lab_run(s->labs.at[0], &order, &ret->run, e);
  if (r == 0) ret->outcome = campaign_judge(&is, &ret->run, &ret->difference, &ret->failed);
  return r;
}

/* Does the command without faults still look as in the baseline? What varies now and then may not have shown there. */
static int is_steady(struct test_setup *s, bool *ret, struct err *e) {
  struct lab_order order = {.wall_ns = test_setup_wall(s)};
  struct lab_result again;
  campaign_be_patient(&order);
  int r = lab_run(s->labs.at[0], &order, &again, e);
  if (r < 0) return r;
  const struct baseline *b = &s->baseline;
  *ret = !again.timed_out && !observe_compare(&b->runs[0].seen, &again.seen, &b->mask, NULL);
  lab_result_done(&again);
  return 0;
}

/* As a sweep does it: that something takes long is no hang before it had time to end. */
static int run_surely(struct test_setup *s, const struct again *a, struct again_result *ret, struct err *e) {
  int r = run_once(s, a, a->patient, ret, e);
  if (r == 0 && ret->failed && ret->outcome == OUTCOME_SILENT) r = is_steady(s, &ret->failed, e);
  if (r < 0 || ret->outcome != OUTCOME_HANG || a->patient) return r;
  again_result_done(ret);
  return run_once(s, a, true, ret, e);
}

int again_run(struct test_setup *s, const struct again *a, struct again_result *ret, struct err *e) {
  for (unsigned tries = 1;; tries++) {
    int r = run_surely(s, a, ret, e);
    if (r < 0) return r;
    ret->tries = tries;
    if (ret->failed || tries == AGAIN_TRIES) return 0;
    again_result_done(ret);
  }
}

void again_result_done(struct again_result *r) {
  lab_result_done(&r->run);
  text_done(&r->difference);
}
