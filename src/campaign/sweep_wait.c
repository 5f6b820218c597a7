/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hangs of commands that sleep and try again. To make sure of one takes half a minute and hardly any processor, so they
 * wait until everything else was tried, or until it is the last moment for them: a campaign that has more experiments
 * than time spends most of its time on these, but not all. What there is no time for is told as such.
 */
#include "campaign/sweep.h"

#include <errno.h>
#include <stdlib.h>

/* Experiments that are under way when it is the last moment take so long, about. */
#define SLACK_NS 2000000000u

static void waiting_free(struct waiting *w) {
  if (!w) return;
  sweep_held_done(&w->is);
  free(w);
}

/* All of the same call. The lock is held. */
static void set_waits(struct sweep_state *st, size_t experiment, bool waits) {
  size_t place = st->s->candidates[experiment].place;
  uint64_t site = st->sites[place];
  st->waits[place] = waits;
  for (size_t i = 0; site && i < st->n_places; i++)
    if (st->sites[i] == site) st->waits[i] = waits;
}

int sweep_wait(struct sweep_state *st, const struct sweep_done *d, const struct finding *f, uint64_t ns) {
  struct waiting *w = calloc(1, sizeof *w);
  if (!w || sweep_hold(d, true, &w->is) < 0) {
    free(w);
    return -ENOMEM;
  }
  w->ns = ns;
  w->failure = *f;
  w->failure.failure.inject.at = w->failure.inject;
  w->failure.failure.crash.at = w->failure.crash;
  (void)pthread_mutex_lock(&st->lock);
  int r = vec_push(&st->waiting, w);
  if (r == 0) sweep_put_call_off(st, st->s->candidates[d->experiment].place);
  if (r == 0) set_waits(st, d->experiment, true);
  (void)pthread_mutex_unlock(&st->lock);
  if (r < 0) waiting_free(w);
  return r;
}

static bool has_time(const struct sweep *s, const struct waiting *w) {
  return !s->deadline || sweep_now() + w->ns <= sweep_latest(s);
}

/* Is it the last moment for those that there is time for? They have two thirds of it all. The lock is held. */
static bool is_due(const struct sweep_state *st) {
  const struct sweep *s = st->s;
  uint64_t ns = 0, n = 0, most = s->deadline > st->started ? (s->deadline - st->started) / 3 * 2 : 0;
  for (size_t i = 0; i < st->waiting.n; i++) {
    const struct waiting *w = st->waiting.at[i];
    if (w->taken || !has_time(s, w)) continue;
    n++;
    ns += w->ns;
  }
  if (!n || !s->deadline) return false;
  uint64_t each = ns / n, all = (n + s->n_labs - 1) / s->n_labs * each;
  return sweep_now() + (all < most ? all : most) + SLACK_NS >= s->deadline;
}

/* As it was seen when it began to wait. */
static int tell_known(struct sweep_state *st, const struct lab *l, struct waiting *w, const char *doubt) {
  struct lab_result *result = calloc(1, sizeof *result);
  if (!result) return -ENOMEM;
  result->timed_out = true;
  int r = sweep_tell_held(st, l, &w->is, doubt, result);
  free(result);
  return r;
}

/* The next one; those that are told already, or for which there is no time, are not. */
static struct waiting *take(struct sweep_state *st, bool idle, bool *ret_late) {
  struct waiting *found = NULL;
  *ret_late = false;
  (void)pthread_mutex_lock(&st->lock);
  bool now = st->r == 0 && !sweep_is_over(st->s) && (idle || is_due(st));
  for (size_t i = 0; i < st->waiting.n && now && !found; i++) {
    struct waiting *w = st->waiting.at[i];
    if (w->taken || w->late) continue;
    w->is.finding = sweep_find_cause(st, &w->failure);
    if (w->is.finding || has_time(st->s, w)) found = w;
    if (found || !idle) continue;
    w->late = *ret_late = true;
    set_waits(st, w->is.experiment, false); /* others of the same call may come out otherwise */
  }
  if (found) {
    found->taken = true;
    st->making++;
  }
  (void)pthread_mutex_unlock(&st->lock);
  return found;
}

bool sweep_make_waiting(struct sweep_state *st, struct lab *l, bool idle) {
  bool late;
  struct waiting *w = take(st, idle, &late);
  if (!w) return late;
  int r = w->is.finding ? tell_known(st, l, w, NULL)
                        : sweep_make(st, l, w->is.experiment, "to make sure of a hang takes longer", KNOWN_WAITS);
  (void)pthread_mutex_lock(&st->lock);
  set_waits(st, w->is.experiment, false);
  if (r < 0 && st->r == 0) st->r = r;
  st->making--;
  (void)pthread_cond_broadcast(&st->made);
  (void)pthread_mutex_unlock(&st->lock);
  return true;
}

bool sweep_await_made(struct sweep_state *st) {
  (void)pthread_mutex_lock(&st->lock);
  bool more = st->making > 0 && st->next_later < st->later.n && st->r == 0 && !sweep_is_over(st->s);
  if (more) (void)pthread_cond_wait(&st->made, &st->lock);
  (void)pthread_mutex_unlock(&st->lock);
  return more;
}

int sweep_end_waiting(struct sweep_state *st) {
  int r = 0;
  for (size_t i = 0; i < st->waiting.n; i++) {
    struct waiting *w = st->waiting.at[i];
    bool tell = !w->taken && st->r == 0 && r == 0 && !sweep_stopped(st->s);
    if (tell) r = tell_known(st, st->s->n_labs ? st->s->labs[0] : NULL, w, sweep_no_time);
    waiting_free(w);
  }
  vec_done(&st->waiting);
  return r;
}
