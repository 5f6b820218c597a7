/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A failure is repeated at once in the same lab: under the supervisor, which takes its stack, and twice more to see how
 * often it comes out the same. What varies by itself may not have shown before: then it is learnt.
 */
#include "campaign/sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A hang is repeated with more time, and less often. */
enum { HANG_REPEATS = 1, LEARNT_MAX = 16 };

/*
 * One more run without faults, which looks like none before: what varies is learnt anew, of this one too, which is
 * kept. False if it is too much. The lock is held.
 */
static bool learn_of(struct sweep_state *st, struct observation *again) {
  const struct baseline *b = st->s->baseline;
  struct observe_mask *mask = calloc(1, sizeof *mask);
  struct observation *runs = calloc(b->n + st->seen.n + 1, sizeof *runs);
  struct text what = {0};
  size_t n = 0;
  for (size_t i = 0; runs && i < b->n; i++)
    runs[n++] = b->runs[i].seen;
  for (size_t i = 0; runs && i < st->seen.n; i++)
    runs[n++] = st->seen.at[i];
  if (runs) runs[n++] = *again;
  bool good = mask && runs && observe_learn(runs, n, mask, &what) == 0;
  bool kept = good && vec_push(&st->learnt, mask) == 0;
  if (kept && vec_push(&st->seen, *again) == 0) *again = (struct observation){0};
  if (kept) __atomic_store_n(&st->mask, mask, __ATOMIC_RELEASE);
  if (good && !kept) observe_mask_done(mask);
  if (!kept) free(mask);
  free(runs);
  text_done(&what);
  return kept;
}

static bool learn(struct sweep_state *st, struct observation *again) {
  (void)pthread_mutex_lock(&st->lock);
  bool learnt = st->seen.n < LEARNT_MAX && learn_of(st, again);
  (void)pthread_mutex_unlock(&st->lock);
  return learnt;
}

enum steadiness { STEADY, UNSTEADY, LEARNT };

/* Does the command still look as in the baseline, when nothing fails? What varies rarely may not have shown before. */
static int check_baseline(struct sweep_state *st, struct lab *l, bool may_learn, enum steadiness *ret, struct err *e) {
  const struct sweep *s = st->s;
  struct lab_order order = {.wall_ns = s->wall_ns, .until_ns = sweep_latest(s)};
  struct lab_result again;
  campaign_be_patient(&order);
  int r = lab_run(l, &order, &again, e);
  if (r < 0) return r;
  const struct observe_mask *mask = __atomic_load_n(&st->mask, __ATOMIC_ACQUIRE);
  bool same = !again.timed_out && !observe_compare(&s->baseline->runs[0].seen, &again.seen, mask, NULL);
  *ret = same ? STEADY : may_learn && !again.timed_out && learn(st, &again.seen) ? LEARNT : UNSTEADY;
  lab_result_done(&again);
  return 0;
}

double sweep_precision(const struct repeats *t) { return t->steady ? (double)t->same / t->n : 0; }

static int repeat_runs(struct sweep_state *st, struct lab *l, size_t experiment, enum outcome outcome,
                       struct repeats *ret, struct err *e) {
  struct lab_order order = sweep_order(st->s, experiment);
  if (outcome == OUTCOME_HANG) campaign_be_patient(&order);
  order.brief = outcome == OUTCOME_HANG;
  bool last = false;
  /* The last one may be traced. */
  for (unsigned i = 0; i < ret->n; i++) {
    last = i + 1 == ret->n;
    order.trace = last && campaign_traced(outcome);
    int r = lab_run(l, &order, &ret->traced, e);
    if (r < 0) return r;
    bool failed;
    ret->cut = sweep_is_cut(st->s, &ret->traced);
    ret->asks_ns = ret->traced.asks_ns;
    ret->same += sweep_judge(st, experiment, &ret->traced, NULL, &failed) == outcome && failed;
    if (!last || ret->cut) lab_result_done(&ret->traced);
    if (ret->cut) return 0;
  }
  int r = outcome == OUTCOME_SANITIZER ? lab_take_stack(l, &order, &ret->traced, e) : 0;
  if (r < 0) lab_result_done(&ret->traced);
  return r;
}

/* A process beside the first has crashed: do such crash without faults, too, now and then? */
static int check_others(struct sweep_state *st, struct lab *l, int died, enum steadiness *ret, struct err *e) {
  for (unsigned i = 0; i < REPEATS && *ret == STEADY; i++) {
    struct lab_order order = {.wall_ns = st->s->wall_ns, .until_ns = sweep_latest(st->s)};
    struct lab_result again;
    int r = lab_run(l, &order, &again, e);
    if (r < 0) return r;
    if (again.tree.died == died) *ret = UNSTEADY;
    lab_result_done(&again);
  }
  return 0;
}

int sweep_repeat(struct sweep_state *st, struct lab *l, const struct sweep_done *d, bool may_learn, struct repeats *ret,
                 struct err *e) {
  enum outcome outcome = d->outcome;
  enum steadiness steady = STEADY;
  *ret = (struct repeats){.n = outcome == OUTCOME_HANG ? HANG_REPEATS : REPEATS};
  int r = outcome == OUTCOME_SILENT ? check_baseline(st, l, may_learn, &steady, e) : 0;
  if (outcome == OUTCOME_CRASH || outcome == OUTCOME_ABORT)
    r = d->result->tree.died ? check_others(st, l, d->result->tree.died, &steady, e) : 0;
  ret->learnt = steady == LEARNT;
  ret->steady = steady != UNSTEADY;
  return r < 0 || ret->learnt ? r : repeat_runs(st, l, d->experiment, outcome, ret, e);
}
