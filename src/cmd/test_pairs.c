/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pairs of faults: a second one inside of what the program does about the first.
 *
 * A program that survives a fault has taken another way than in the baseline, and made calls that the baseline does not
 * make: stacks that it never had. These are the points of the second fault. Which they are is seen by making the first
 * one once more, where points are recorded; a stack belongs to the first fault, in the order of the campaign, that led
 * to it, so that each recovery is tried once.
 */
#include "cmd/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* A failure is a finding by itself, and what stays or comes late leads to what the first time has led to. */
static bool is_eligible(const struct test_pairs *p, size_t i) {
  const struct inject_call *call = inject_last_call(&p->experiments[i].x);
  if (call->persistent || call->nth != 1) return false;
  if (!p->outcomes[i]) return p->keeper->before[i] == BEFORE_DONE;
  enum outcome o = (enum outcome)(p->outcomes[i] - 1);
  return o == OUTCOME_SAME || o == OUTCOME_HANDLED;
}

static int add(struct test_pairs *p, struct candidate x) {
  struct candidate *more = realloc(p->experiments, (p->n + 1) * sizeof *more);
  if (!more) return -ENOMEM;
  p->experiments = more;
  p->experiments[p->n++] = x;
  return 0;
}

/* All faults of the points from number FROM on, behind experiment I. */
static int add_pairs(struct test_pairs *p, size_t i, size_t from) {
  struct test_space *space = &p->setup->space;
  struct inject_plan order = {.points = space->points.at,
                              .n_points = space->points.n,
                              .from = from,
                              .behind = &p->experiments[i],
                              .arena = &space->arena,
                              .faults = space->faults.at,
                              .n_faults = space->faults.n,
                              .likely = test_likely,
                              .traits = test_traits,
                              .context = space};
  struct candidate *found = NULL;
  size_t n = 0;
  int r = inject_plan(&order, &found, &n);
  for (size_t k = 0; k < n && r == 0; k++)
    r = add(p, found[k]);
  free(found);
  return r;
}

static bool has_survived(const struct lab_result *r) {
  return r->injected && !r->timed_out && WIFEXITED(r->seen.status);
}

static int keep_alone(struct test_pairs *p, const struct experiment *x, struct lab_result *from) {
  struct observation *alone = malloc(sizeof *alone);
  if (!alone || vec_push(&p->alone, alone) < 0) {
    free(alone);
    return -ENOMEM;
  }
  *alone = from->seen;
  from->seen = (struct observation){0};
  return map_put(&p->references, experiment_key(x), (uintptr_t)alone);
}

/* One first fault: what it leads to. */
static int follow(struct test_pairs *p, size_t i, struct err *e) {
  struct test_space *space = &p->setup->space;
  struct lab *l = p->setup->recorder;
  const struct experiment x = p->experiments[i].x; /* there may be more, in another place, soon */
  struct lab_order order = {.x = x, .wall_ns = test_setup_wall(p->setup)};
  struct lab_result result;
  size_t from = space->points.n;
  int r = lab_run(l, &order, &result, e);
  if (r < 0) return r;
  if (has_survived(&result)) r = test_take_points(space, l, e);
  if (r == 0 && space->points.n > from) {
    r = test_keeper_points(p->keeper, l, e);
    if (r == 0) r = add_pairs(p, i, from);
    if (r == 0) r = keep_alone(p, &x, &result);
  }
  lab_result_done(&result);
  return r;
}

static bool is_over(const struct test_pairs *p) {
  return *test_interrupted() || (p->deadline && test_now() >= p->deadline);
}

int test_pairs_find(struct test_pairs *p, struct err *e) {
  p->n_single = p->n;
  int r = 0;
  for (size_t i = 0; i < p->n_single && r == 0 && !is_over(p); i++)
    if (is_eligible(p, i)) r = follow(p, i, e);
  return r == -ENOMEM ? err_set(e, r, "out of memory") : r;
}

void test_pairs_done(struct test_pairs *p) {
  for (size_t i = 0; i < p->alone.n; i++) {
    observation_done(p->alone.at[i]);
    free(p->alone.at[i]);
  }
  vec_done(&p->alone);
  map_done(&p->references);
}
