/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One experiment after another, on all processors, until all are done or the budget is used up.
 */
#include "campaign/sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What runs when the time is over may come to its end. */
#define GRACE_NS 500000000u

uint64_t sweep_now(void) {
  struct timespec t = {0};
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

bool sweep_stopped(const struct sweep *s) { return s->stop && *s->stop; }
/* ... or is its time over? */
bool sweep_is_over(const struct sweep *s) { return sweep_stopped(s) || (s->deadline && sweep_now() >= s->deadline); }
uint64_t sweep_latest(const struct sweep *s) { return s->deadline ? s->deadline + GRACE_NS : 0; }

/* A run that was ended for lack of budget tells nothing. */
bool sweep_is_cut(const struct sweep *s, const struct lab_result *r) { return r->timed_out && sweep_is_over(s); }
struct lab_order sweep_order(const struct sweep *s, size_t experiment) {
  return (struct lab_order){.x = s->candidates[experiment].x, .wall_ns = s->wall_ns, .until_ns = sweep_latest(s)};
}

const struct observation *sweep_reference(const struct sweep *s, const struct experiment *x) {
  uint64_t at = 0;
  if (x->n < 2 || !s->references || !map_get(s->references, experiment_prefix_key(x), &at)) return NULL;
  return (const struct observation *)(uintptr_t)at;
}

enum outcome sweep_judge(const struct sweep_state *st, size_t experiment, const struct lab_result *r, struct text *what,
                         bool *ret_failed) {
  const struct sweep *s = st->s;
  const struct candidate *c = &s->candidates[experiment];
  struct campaign_case is = {.baseline = s->baseline,
                             .mask = __atomic_load_n(&st->mask, __ATOMIC_ACQUIRE),
                             .expect = c->expect,
                             .reference = sweep_reference(s, &c->x)};
  return campaign_judge(&is, r, what, ret_failed);
}

/* --- all of them -------------------------------------------------------------------------------------------------- */

/* Those of one batch have the same injections before their last one. */
static bool fits(const struct sweep *s, size_t i, const size_t *with) {
  if (!with) return true;
  const struct experiment *a = &s->candidates[i].x, *b = &s->candidates[*with].x;
  return a->n == b->n && (a->n < 2 || experiment_prefix_key(a) == experiment_prefix_key(b));
}

/* What waits for others stays where it is; what is taken, or not to be tried at all, goes. */
static bool take_later(struct sweep_state *st, const size_t *with, size_t *ret) {
  const struct sweep *s = st->s;
  for (size_t i = st->next_later; i < st->later.n; i++) {
    size_t *first = &st->later.at[st->next_later], experiment = st->later.at[i];
    size_t place = s->candidates[experiment].place;
    if (st->waits[place] && !st->hung[place]) continue;
    if (!fits(s, experiment, with)) return false;
    memmove(first + 1, first, (i - st->next_later) * sizeof *first);
    st->next_later++;
    if (st->hung[place]) continue;
    *ret = experiment;
    return true;
  }
  return false;
}

/*
 * In their order, but what is known to fail at a point, or to hang at a call, waits until everything else was tried.
 * WITH: in one batch with this one; NULL for any. The lock is held.
 */
static bool take_one(struct sweep_state *st, const size_t *with, size_t *ret) {
  const struct sweep *s = st->s;
  while (st->next < s->n_candidates) {
    size_t i = st->next;
    bool known = s->before && s->before[i] != BEFORE_NOTHING;
    if (!known && !fits(s, i, with)) return false;
    st->next++;
    if (known) continue;
    if (!st->failed[s->candidates[i].place] || vec_push(&st->later, i) < 0) {
      *ret = i;
      return true;
    }
  }
  return take_later(st, with, ret);
}

/* The next experiment, if there is one and the budget allows it. */
bool sweep_take(struct sweep_state *st, const size_t *with, size_t *ret) {
  const struct sweep *s = st->s;
  (void)pthread_mutex_lock(&st->lock);
  bool more = st->r == 0 && !(s->runs && st->taken >= s->runs) && !sweep_is_over(s);
  if (more) more = take_one(st, with, ret);
  st->taken += more;
  (void)pthread_mutex_unlock(&st->lock);
  return more;
}

void sweep_fail(struct sweep_state *st, int r) {
  (void)pthread_mutex_lock(&st->lock);
  if (st->r == 0) st->r = r;
  (void)pthread_mutex_unlock(&st->lock);
}

static void work(void *context, unsigned worker) {
  struct sweep_state *st = context;
  size_t experiment;
  struct lab *l = st->s->labs[worker];
  struct processors before = lab_settle(l);
  if (st->s->branch) sweep_work_in_batches(st, l);
  for (bool more = true; more;) {
    more = sweep_make_waiting(st, l, false);
    if (more) continue;
    more = sweep_take(st, NULL, &experiment);
    int r = more ? sweep_make(st, l, experiment, NULL, KNOWN_NOT) : 0;
    if (r < 0) sweep_fail(st, r);
    if (!more) more = sweep_make_waiting(st, l, true) || sweep_await_made(st);
  }
  lab_leave(&before);
}

/* What is known from before. */
static int take_known(struct sweep_state *st) {
  const struct sweep *s = st->s;
  for (size_t i = 0; i < s->n_known; i++) {
    struct finding f = {.failure = s->known[i]};
    size_t n = f.failure.inject.n < COUNT(f.inject) ? f.failure.inject.n : COUNT(f.inject), number;
    if (n) memcpy(f.inject, f.failure.inject.at, n * sizeof *f.inject);
    f.failure.inject.n = n;
    n = f.failure.crash.n < COUNT(f.crash) ? f.failure.crash.n : COUNT(f.crash);
    if (n) memcpy(f.crash, f.failure.crash.at, n * sizeof *f.crash);
    f.failure.crash.n = n;
    if (sweep_add_finding(st, &f, &number) < 0) return -ENOMEM;
  }
  for (size_t i = 0; s->before && i < s->n_candidates; i++)
    if (s->before[i] == BEFORE_FAILED) st->failed[s->candidates[i].place] = true;
  return 0;
}

int sweep_run(const struct sweep *s, size_t *ret_done, struct err *e) {
  struct sweep_state st = {
      .s = s, .lock = PTHREAD_MUTEX_INITIALIZER, .made = PTHREAD_COND_INITIALIZER, .mask = &s->baseline->mask};
  size_t n_places = 0;
  for (size_t i = 0; i < s->n_candidates; i++)
    if (s->candidates[i].place >= n_places) n_places = s->candidates[i].place + 1;
  st.failed = calloc(3 * (n_places + 1), sizeof *st.failed);
  st.sites = calloc(n_places + 1, sizeof *st.sites);
  if (!st.failed || !st.sites) {
    free(st.failed);
    free(st.sites);
    return err_set(e, -ENOMEM, "out of memory");
  }
  for (size_t i = 0; i < s->n_candidates; i++)
    st.sites[s->candidates[i].place] = s->candidates[i].site;
  st.hung = st.failed + n_places + 1;
  st.waits = st.hung + n_places + 1;
  st.n_places = n_places;
  st.started = sweep_now();
  st.r = take_known(&st);
  worker_run((unsigned)s->n_labs, work, &st);
  int told = sweep_end_waiting(&st);
  if (st.r == 0) st.r = told;
  free(st.failed);
  free(st.sites);
  vec_done(&st.later);
  map_done(&st.counting);
  for (size_t i = 0; i < st.findings.n; i++)
    free(st.findings.at[i]);
  vec_done(&st.findings);
  for (size_t i = 0; i < st.learnt.n; i++) {
    observe_mask_done(st.learnt.at[i]);
    free(st.learnt.at[i]);
  }
  vec_done(&st.learnt);
  for (size_t i = 0; i < st.seen.n; i++)
    observation_done(&st.seen.at[i]);
  vec_done(&st.seen);
  *ret_done = st.done;
  if (st.r < 0 && e) *e = st.e;
  return st.r;
}
