/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One experiment after another, on all processors, until all are done or the budget is used up.
 *
 * A failure is repeated at once in the same lab: under the supervisor, which takes its stack, and twice more to see how
 * often it comes out the same. Then it joins a finding with the same cause, or becomes a new one. Findings are few and
 * experiments many, so a list under one lock does.
 */
#include "campaign/campaign.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

/* A hang is repeated with more time, and less often; who sleeps and tries again has HANG_NS to give up. */
enum { REPEATS = 3, HANG_REPEATS = 1, PATIENCE = 2 };
#define HANG_NS 10000000000u

struct finding {
  struct campaign_failure failure;
  uint64_t inject[WIRE_FRAMES], crash[SANDBOX_FRAMES];
};

struct state {
  const struct sweep *s;
  pthread_mutex_t lock;
  size_t next, done, taken;
  bool *failed;      /* of each point: a finding is known there */
  bool *hung;        /* ... and it is a hang: to wait once more would tell nothing */
  VEC(size_t) later; /* experiments at such points, for when all others are done */
  size_t next_later;
  VEC(struct finding *) findings;
  int r;
  struct err e;
};

static uint64_t now_ns(void) {
  struct timespec t = {0};
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* --- failures ----------------------------------------------------------------------------------------------------- */

/* Stacks as numbers that are the same in every run: hash of the module's path, and the address in it. */
static size_t number_inject(const struct run_area *area, const struct wire_event *event, uint64_t ret[WIRE_FRAMES]) {
  size_t n = event->n_frames < WIRE_FRAMES ? event->n_frames : WIRE_FRAMES;
  for (size_t i = 0; i < n; i++) {
    struct wire_loaded loaded;
    bool known = run_area_loaded(area, event->frames[i].module, &loaded);
    ret[i] = hash_mix((known ? hash_string(loaded.path) : 0) + event->frames[i].at);
  }
  return n;
}

static size_t number_crash(const struct lab_result *r, uint64_t ret[SANDBOX_FRAMES]) {
  for (size_t i = 0; i < r->n_frames; i++)
    ret[i] = hash_mix(hash_string(r->frames[i].path) + r->frames[i].at);
  return r->n_frames;
}

static void describe(struct finding *f, enum outcome outcome, const struct lab *l, const struct lab_result *result,
                     const struct lab_result *traced) {
  int status = result->seen.status;
  bool ended = WIFSIGNALED(status) && outcome != OUTCOME_HANG; /* not by murphy */
  f->failure = (struct campaign_failure){.outcome = outcome, .signal = ended ? WTERMSIG(status) : 0};
  f->failure.inject =
      (struct campaign_stack){.at = f->inject, .n = number_inject(lab_area(l), &result->event, f->inject)};
  if (traced) f->failure.crash = (struct campaign_stack){.at = f->crash, .n = number_crash(traced, f->crash)};
}

/* The number of the finding with the same cause, from 1; 0 if there is none. The lock is held. */
static size_t find_cause(const struct state *st, const struct finding *f) {
  for (size_t i = 0; i < st->findings.n; i++)
    if (campaign_same_cause(&st->findings.at[i]->failure, &f->failure)) return i + 1;
  return 0;
}

static int add_finding(struct state *st, const struct finding *f, size_t *ret) {
  struct finding *copy = malloc(sizeof *copy);
  if (!copy) return -ENOMEM;
  *copy = *f;
  copy->failure.inject.at = copy->inject;
  copy->failure.crash.at = copy->crash;
  if (vec_push(&st->findings, copy) < 0) {
    free(copy);
    return -ENOMEM;
  }
  *ret = st->findings.n;
  return 0;
}

/* --- one experiment ----------------------------------------------------------------------------------------------- */

static struct lab_order order_of(const struct sweep *s, size_t experiment) {
  const struct campaign_experiment *x = &s->experiments[experiment];
  const struct campaign_fault *f = &s->faults[x->fault];
  return (struct lab_order){.hash = s->points[x->point].hash,
                            .nth = x->nth,
                            .rule = f->rule,
                            .fault = f->fault,
                            .armed = true,
                            .onwards = x->onwards,
                            .wall_ns = s->wall_ns};
}

static enum outcome judge(const struct sweep *s, size_t experiment, const struct lab_result *r, struct text *what,
                          unsigned *ret_differs) {
  struct outcome_facts facts = {.baseline = &s->baseline->runs[0].seen,
                                .run = &r->seen,
                                .mask = &s->baseline->mask,
                                .injected = r->injected,
                                .timed_out = r->timed_out,
                                .error = s->faults[s->experiments[experiment].fault].error,
                                .traits = s->experiments[experiment].traits};
  return outcome_of(&facts, what, ret_differs);
}

/* Does the command still look as in the baseline, when nothing fails? What varies rarely may not have shown before. */
static int check_baseline(const struct sweep *s, struct lab *l, bool *ret, struct err *e) {
  struct lab_order order = {.wall_ns = s->wall_ns * PATIENCE};
  struct lab_result again;
  int r = lab_run(l, &order, &again, e);
  if (r < 0) return r;
  *ret = !again.timed_out && !observe_compare(&s->baseline->runs[0].seen, &again.seen, &s->baseline->mask, NULL);
  lab_result_done(&again);
  return 0;
}

/* What looks different may be so by chance, and what is slow is not yet stuck; a crash is a crash. */
static bool is_confirmed(enum outcome outcome, double precision) {
  return outcome == OUTCOME_HANG ? precision >= 1 : outcome == OUTCOME_SILENT ? precision > 0.5 : precision > 0;
}

/* How many of the repeats came out the same; the last stays in *ret. */
static int repeat(const struct sweep *s, struct lab *l, size_t experiment, enum outcome outcome, struct lab_result *ret,
                  double *ret_precision, struct err *e) {
  struct lab_order order = order_of(s, experiment);
  unsigned same = 0, n = outcome == OUTCOME_HANG ? HANG_REPEATS : REPEATS;
  bool stable = true;
  int r = outcome == OUTCOME_SILENT ? check_baseline(s, l, &stable, e) : 0;
  if (r < 0) return r;
  if (outcome == OUTCOME_HANG) {
    order.wall_ns *= PATIENCE;
    order.patience_ns = HANG_NS;
  }
  /* The last one is traced: what it leaves in the area has the names for both stacks. */
  for (unsigned i = 0; i < n; i++) {
    order.trace = i + 1 == n;
    r = lab_run(l, &order, ret, e);
    if (r < 0) return r;
    same += judge(s, experiment, ret, NULL, NULL) == outcome;
    if (!order.trace) lab_result_done(ret);
  }
  *ret_precision = stable ? (double)same / n : 0;
  return 0;
}

static bool stopped(const struct sweep *s) { return s->stop && *s->stop; }

static int tell(struct state *st, const struct sweep_done *d) {
  const struct sweep *s = st->s;
  st->done++;
  if (d->finding) st->failed[s->experiments[d->experiment].point] = true;
  if (d->finding && d->outcome == OUTCOME_HANG) st->hung[s->experiments[d->experiment].point] = true;
  int r = s->sink.done(s->sink.context, d, &st->e);
  if (s->sink.progress) s->sink.progress(s->sink.context, st->done, s->n_experiments, st->findings.n);
  return r;
}

/* To make sure of a hang takes long: is there time for it, or for most of it? */
static bool has_time(const struct sweep *s, enum outcome outcome) {
  return outcome != OUTCOME_HANG || !s->deadline || now_ns() + HANG_NS / 2 < s->deadline;
}

/* A failure: known, or to be confirmed. */
static int handle_failure(struct state *st, struct lab *l, struct sweep_done *d) {
  struct finding f;
  describe(&f, d->outcome, l, d->result, NULL);
  (void)pthread_mutex_lock(&st->lock);
  d->finding = find_cause(st, &f);
  bool over = d->finding || !has_time(st->s, d->outcome);
  int r = over ? tell(st, d) : 0;
  (void)pthread_mutex_unlock(&st->lock);
  if (over) return r;

  struct lab_result traced;
  struct err e = {0};
  r = repeat(st->s, l, d->experiment, d->outcome, &traced, &d->precision, &e);
  if (r < 0) {
    st->e = e;
    return r;
  }
  if (stopped(st->s)) {
    lab_result_done(&traced);
    return 0;
  }
  describe(&f, d->outcome, l, d->result, &traced);
  d->traced = &traced;
  d->failure = &f.failure;
  (void)pthread_mutex_lock(&st->lock);
  if (is_confirmed(d->outcome, d->precision) && !(d->finding = find_cause(st, &f))) {
    d->is_new = true;
    r = add_finding(st, &f, &d->finding);
  }
  if (r == 0) r = tell(st, d);
  (void)pthread_mutex_unlock(&st->lock);
  lab_result_done(&traced);
  return r;
}

/* Nobody expects a program to notice this. */
static bool is_custom(const struct campaign_point *p, unsigned differs) {
  return p->excused || (p->quiet && !(differs & DIFFERS_LOSS));
}

static int make_experiment(struct state *st, struct lab *l, size_t experiment) {
  struct lab_order order = order_of(st->s, experiment);
  struct lab_result result;
  struct text what = {0};
  struct err e = {0};
  int r = lab_run(l, &order, &result, &e);
  if (r < 0) {
    st->e = e;
    return r;
  }
  struct sweep_done d = {.experiment = experiment, .lab = l, .result = &result};
  unsigned differs = 0;
  d.outcome = judge(st->s, experiment, &result, &what, &differs);
  d.difference = what.at ? what.at : "";
  bool custom = d.outcome == OUTCOME_SILENT && is_custom(&st->s->points[st->s->experiments[experiment].point], differs);
  if (stopped(st->s)) {
    /* It may have ended because somebody wants everything to end. */
  } else if (outcome_is_failure(d.outcome) && !custom) {
    r = handle_failure(st, l, &d);
  } else {
    (void)pthread_mutex_lock(&st->lock);
    r = tell(st, &d);
    (void)pthread_mutex_unlock(&st->lock);
  }
  text_done(&what);
  lab_result_done(&result);
  return r;
}

/* --- all of them -------------------------------------------------------------------------------------------------- */

/* In their order, but what is known to fail at a point waits until everything else was tried. The lock is held. */
static bool take_one(struct state *st, size_t *ret) {
  const struct sweep *s = st->s;
  while (st->next < s->n_experiments) {
    size_t i = st->next++;
    if (s->before && s->before[i] != BEFORE_NOTHING) continue;
    if (!st->failed[s->experiments[i].point] || vec_push(&st->later, i) < 0) {
      *ret = i;
      return true;
    }
  }
  while (st->next_later < st->later.n) {
    *ret = st->later.at[st->next_later++];
    if (!st->hung[s->experiments[*ret].point]) return true;
  }
  return false;
}

/* The next experiment, if there is one and the budget allows it. */
static bool take(struct state *st, size_t *ret) {
  const struct sweep *s = st->s;
  (void)pthread_mutex_lock(&st->lock);
  bool more =
      st->r == 0 && !(s->runs && st->taken >= s->runs) && !(s->deadline && now_ns() >= s->deadline) && !stopped(s);
  if (more) more = take_one(st, ret);
  st->taken += more;
  (void)pthread_mutex_unlock(&st->lock);
  return more;
}

static void work(void *context, unsigned worker) {
  struct state *st = context;
  size_t experiment;
  while (take(st, &experiment)) {
    int r = make_experiment(st, st->s->labs[worker], experiment);
    if (r == 0) continue;
    (void)pthread_mutex_lock(&st->lock);
    if (st->r == 0) st->r = r;
    (void)pthread_mutex_unlock(&st->lock);
  }
}

/* What is known from before. */
static int take_known(struct state *st) {
  const struct sweep *s = st->s;
  for (size_t i = 0; i < s->n_known; i++) {
    struct finding f = {.failure = s->known[i]};
    size_t n = f.failure.inject.n < COUNT(f.inject) ? f.failure.inject.n : COUNT(f.inject), number;
    if (n) memcpy(f.inject, f.failure.inject.at, n * sizeof *f.inject);
    f.failure.inject.n = n;
    n = f.failure.crash.n < COUNT(f.crash) ? f.failure.crash.n : COUNT(f.crash);
    if (n) memcpy(f.crash, f.failure.crash.at, n * sizeof *f.crash);
    f.failure.crash.n = n;
    if (add_finding(st, &f, &number) < 0) return -ENOMEM;
  }
  for (size_t i = 0; s->before && i < s->n_experiments; i++)
    if (s->before[i] == BEFORE_FAILED) st->failed[s->experiments[i].point] = true;
  return 0;
}

int sweep_run(const struct sweep *s, size_t *ret_done, struct err *e) {
  struct state st = {.s = s, .lock = PTHREAD_MUTEX_INITIALIZER};
  size_t n_points = 0;
  for (size_t i = 0; i < s->n_experiments; i++)
    if (s->experiments[i].point >= n_points) n_points = s->experiments[i].point + 1;
  st.failed = calloc(2 * (n_points + 1), sizeof *st.failed);
  if (!st.failed) return err_set(e, -ENOMEM, "out of memory");
  st.hung = st.failed + n_points + 1;
  st.r = take_known(&st);
  worker_run((unsigned)s->n_labs, work, &st);
  free(st.failed);
  vec_done(&st.later);
  for (size_t i = 0; i < st.findings.n; i++)
    free(st.findings.at[i]);
  vec_done(&st.findings);
  *ret_done = st.done;
  if (st.r < 0 && e) *e = st.e;
  return st.r;
}
