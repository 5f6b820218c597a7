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
#include <time.h>

/* A hang is repeated with more time, and less often. */
enum { REPEATS = 3, HANG_REPEATS = 1, LEARNT_MAX = 16 };
/* What runs when the time is over may come to its end. */
#define GRACE_NS 500000000u

struct finding {
  struct campaign_failure failure;
  uint64_t inject[WIRE_FRAMES], crash[SANDBOX_FRAMES];
  bool numbered; /* inject is there */
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
  char why[SANDBOX_WHY]; /* the first reason why an experiment was not made by a branch */
  struct campaign_costs costs;
  int r;
  struct err e;
  /* What varies without faults: the baseline's, then what was learnt of it; the last one counts. */
  const struct observe_mask *mask;
  VEC(struct observe_mask *) learnt;
  VEC(struct observation) seen; /* the runs that it was learnt of, beside the baseline's */
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

/* The stack is numbered once: the lab's list of modules is that of its last run. */
static void describe(struct finding *f, enum outcome outcome, const struct lab *l, const struct lab_result *result) {
  bool ended = outcome == OUTCOME_CRASH || outcome == OUTCOME_ABORT || outcome == OUTCOME_SANITIZER;
  size_t n = f->numbered ? f->failure.inject.n : number_inject(lab_area(l), &result->event, f->inject);
  f->failure = (struct campaign_failure){.outcome = outcome, .signal = ended ? campaign_signal(result) : 0};
  f->failure.inject = (struct campaign_stack){.at = f->inject, .n = n};
  f->numbered = true;
}

static void add_crash(struct finding *f, const struct lab_result *traced) {
  f->failure.crash = (struct campaign_stack){.at = f->crash, .n = number_crash(traced, f->crash)};
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

/* What is told of an experiment by a branch that is no failure, until it is known that the branch can be trusted. */
struct held {
  size_t experiment;
  enum outcome outcome;
  char *difference;
  struct wire_event event, first;
  int status;
  bool injected, attached;
  unsigned left;
  uint64_t wall_ns, memory;
};
typedef VEC(struct held) held_list;

/* --- one experiment ----------------------------------------------------------------------------------------------- */

static bool stopped(const struct sweep *s) { return s->stop && *s->stop; }
/* ... or is its time over? */
static bool is_over(const struct sweep *s) { return stopped(s) || (s->deadline && now_ns() >= s->deadline); }
static uint64_t latest(const struct sweep *s) { return s->deadline ? s->deadline + GRACE_NS : 0; }

/* A run that was ended for lack of budget tells nothing. */
static bool is_cut(const struct sweep *s, const struct lab_result *r) { return r->timed_out && is_over(s); }
static struct lab_first first_of(const struct sweep *s, const struct campaign_experiment *x) {
  if (!x->first) return (struct lab_first){0};
  const struct campaign_experiment *before = &s->experiments[x->first - 1];
  const struct campaign_fault *f = &s->faults[before->fault];
  return (struct lab_first){
      .hash = s->points[before->point].hash, .nth = before->nth, .rule = f->rule, .fault = f->fault, .armed = true};
}

static struct lab_order order_of(const struct sweep *s, size_t experiment) {
  const struct campaign_experiment *x = &s->experiments[experiment];
  const struct campaign_fault *f = &s->faults[x->fault];
  return (struct lab_order){.hash = s->points[x->point].hash,
                            .nth = x->nth,
                            .rule = f->rule,
                            .fault = f->fault,
                            .armed = true,
                            .onwards = x->onwards,
                            .wall_ns = s->wall_ns,
                            .until_ns = latest(s),
                            .first = first_of(s, x)};
}

static enum outcome judge(const struct state *st, size_t experiment, const struct lab_result *r, struct text *what,
                          bool *ret_failed) {
  const struct sweep *s = st->s;
  const struct campaign_experiment *x = &s->experiments[experiment];
  struct campaign_case c = {.baseline = s->baseline,
                            .mask = __atomic_load_n(&st->mask, __ATOMIC_ACQUIRE),
                            .point = &s->points[x->point],
                            .fault = &s->faults[x->fault],
                            .traits = x->traits};
  if (x->first && s->alone) c.alone = &s->alone[x->first - 1];
  return campaign_judge(&c, r, what, ret_failed);
}

/*
 * One more run without faults, which looks like none before: what varies is learnt anew, of this one too, which is
 * kept. False if it is too much. The lock is held.
 */
static bool learn_of(struct state *st, struct observation *again) {
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

static bool learn(struct state *st, struct observation *again) {
  (void)pthread_mutex_lock(&st->lock);
  bool learnt = st->seen.n < LEARNT_MAX && learn_of(st, again);
  (void)pthread_mutex_unlock(&st->lock);
  return learnt;
}

enum steadiness { STEADY, UNSTEADY, LEARNT };

/* Does the command still look as in the baseline, when nothing fails? What varies rarely may not have shown before. */
static int check_baseline(struct state *st, struct lab *l, bool may_learn, enum steadiness *ret, struct err *e) {
  const struct sweep *s = st->s;
  struct lab_order order = {.wall_ns = s->wall_ns, .until_ns = latest(s)};
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

/* What looks different may be so by chance, and what is slow is not yet stuck; a crash is a crash. */
static bool is_confirmed(enum outcome outcome, double precision) {
  return outcome == OUTCOME_HANG ? precision >= 1 : outcome == OUTCOME_SILENT ? precision > 0.5 : precision > 0;
}

/* What came of repeating a failure. */
struct repeats {
  unsigned same, n;
  bool cut;    /* the time was over; then TRACED is not there */
  bool learnt; /* it must be judged again, since more varies than was known; likewise */
  bool steady;
  struct lab_result traced; /* the last run */
};

static double precision_of(const struct repeats *t) { return t->steady ? (double)t->same / t->n : 0; }

static int repeat_runs(struct state *st, struct lab *l, size_t experiment, enum outcome outcome, struct repeats *ret,
                       struct err *e) {
  struct lab_order order = order_of(st->s, experiment);
  if (outcome == OUTCOME_HANG) campaign_be_patient(&order);
  bool last = false;
  /* The last one may be traced: what it leaves in the area has the names for both stacks. */
  for (unsigned i = 0; i < ret->n; i++) {
    last = i + 1 == ret->n;
    order.trace = last && campaign_traced(outcome);
    int r = lab_run(l, &order, &ret->traced, e);
    if (r < 0) return r;
    bool failed;
    ret->cut = is_cut(st->s, &ret->traced);
    ret->same += judge(st, experiment, &ret->traced, NULL, &failed) == outcome && failed;
    if (!last || ret->cut) lab_result_done(&ret->traced);
    if (ret->cut) return 0;
  }
  int r = outcome == OUTCOME_SANITIZER ? lab_take_stack(l, &order, &ret->traced, e) : 0;
  if (r < 0) lab_result_done(&ret->traced);
  return r;
}

/* A process beside the first has crashed: do such crash without faults, too, now and then? */
static int check_others(struct state *st, struct lab *l, int died, enum steadiness *ret, struct err *e) {
  for (unsigned i = 0; i < REPEATS && *ret == STEADY; i++) {
    struct lab_order order = {.wall_ns = st->s->wall_ns, .until_ns = latest(st->s)};
    struct lab_result again;
    int r = lab_run(l, &order, &again, e);
    if (r < 0) return r;
    if (again.tree.died == died) *ret = UNSTEADY;
    lab_result_done(&again);
  }
  return 0;
}

static int repeat(struct state *st, struct lab *l, const struct sweep_done *d, bool may_learn, struct repeats *ret,
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

/* Why it is no finding. */
static void add_doubt(const struct repeats *t, enum outcome outcome, struct text *to) {
  if (!t)
    text_add(to, "no time was left to make sure of it");
  else if (outcome == OUTCOME_HANG)
    text_add(to, "it came to its end when it was given more time");
  else if (!t->steady)
    text_add(to, "the command is different by itself from time to time");
  else
    text_addf(to, "it came again in %u of %u repeats", t->same, t->n);
}

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
  return outcome != OUTCOME_HANG || !s->deadline || now_ns() + CAMPAIGN_PATIENCE_NS / 2 < s->deadline;
}

static int keep_error(struct state *st, int r, const struct err *e) {
  (void)pthread_mutex_lock(&st->lock);
  st->e = *e;
  (void)pthread_mutex_unlock(&st->lock);
  return r;
}

static int tell_doubt(struct state *st, struct sweep_done *d, const struct repeats *t) {
  struct text doubt = {0};
  add_doubt(t, d->outcome, &doubt);
  d->doubt = doubt.at ? doubt.at : "";
  int r = tell(st, d);
  d->doubt = NULL;
  text_done(&doubt);
  return r;
}

/* It was repeated: a finding, or not. */
static int tell_repeated(struct state *st, struct sweep_done *d, struct finding *f, const struct repeats *t) {
  int r = 0;
  /* The modules of the first run may not be in the area any more: its stack was numbered before. */
  add_crash(f, &t->traced);
  d->traced = &t->traced;
  d->failure = &f->failure;
  d->precision = precision_of(t);
  (void)pthread_mutex_lock(&st->lock);
  bool confirmed = is_confirmed(d->outcome, d->precision);
  if (confirmed && !(d->finding = find_cause(st, f))) {
    d->is_new = true;
    r = add_finding(st, f, &d->finding);
  }
  if (r == 0) r = confirmed ? tell(st, d) : tell_doubt(st, d, t);
  (void)pthread_mutex_unlock(&st->lock);
  return r;
}

enum { AGAIN = 1, JUDGE_AGAIN = 2 };

/* A failure: known, or to be confirmed. */
static int handle_failure(struct state *st, struct lab *l, struct sweep_done *d, struct finding *f, bool busy,
                          bool may_learn) {
  describe(f, d->outcome, l, d->result);
  /* If it was traced, where it ended is known already; to make sure of one more hang there would take long. */
  if (d->outcome != OUTCOME_SILENT) add_crash(f, d->result);
  (void)pthread_mutex_lock(&st->lock);
  d->finding = find_cause(st, f);
  bool unsure = !d->finding && !busy && !has_time(st->s, d->outcome);
  int r = d->finding ? tell(st, d) : unsure ? tell_doubt(st, d, NULL) : 0;
  (void)pthread_mutex_unlock(&st->lock);
  if (d->finding || unsure) return r;
  if (busy) return AGAIN;

  struct repeats t;
  struct err e = {0};
  r = repeat(st, l, d, may_learn, &t, &e);
  if (r < 0) return keep_error(st, r, &e);
  if (t.learnt) return JUDGE_AGAIN;
  bool stop = stopped(st->s);
  if (t.cut && !stop) {
    (void)pthread_mutex_lock(&st->lock);
    r = tell_doubt(st, d, NULL);
    (void)pthread_mutex_unlock(&st->lock);
  }
  if (t.cut) return r;
  r = stop ? 0 : tell_repeated(st, d, f, &t);
  lab_result_done(&t.traced);
  return r;
}

static int tell_locked(struct state *st, const struct sweep_done *d) {
  (void)pthread_mutex_lock(&st->lock);
  int r = tell(st, d);
  (void)pthread_mutex_unlock(&st->lock);
  return r;
}

static int hold(held_list *held, const struct sweep_done *d) {
  const struct lab_result *r = d->result;
  struct held add = {.experiment = d->experiment,
                     .outcome = d->outcome,
                     .difference = strdup(d->difference),
                     .event = r->event,
                     .first = r->first,
                     .status = r->seen.status,
                     .injected = r->injected,
                     .attached = r->attached,
                     .left = r->left,
                     .wall_ns = r->wall_ns,
                     .memory = r->memory};
  if (add.difference && vec_push(held, add) == 0) return 0;
  free(add.difference);
  return -ENOMEM;
}

static int tell_held(struct state *st, const struct lab *l, const struct held *h, struct lab_result *result) {
  result->event = h->event;
  result->first = h->first;
  result->seen.status = h->status;
  result->injected = h->injected;
  result->attached = h->attached;
  result->left = h->left;
  result->wall_ns = h->wall_ns;
  result->memory = h->memory;
  result->mode = LAB_BRANCH;
  struct sweep_done d = {
      .experiment = h->experiment, .outcome = h->outcome, .lab = l, .result = result, .difference = h->difference};
  return tell_locked(st, &d);
}

static int take_judged(struct state *st, struct lab *l, struct sweep_done *d, struct finding *f, held_list *held,
                       bool may_learn) {
  struct text what = {0};
  bool failed = false;
  int r = 0;
  d->outcome = judge(st, d->experiment, d->result, &what, &failed);
  d->difference = what.at ? what.at : "";
  if (stopped(st->s) || is_cut(st->s, d->result)) {
    /* It may have ended because everything is to end. */
  } else if (failed) {
    r = handle_failure(st, l, d, f, held != NULL, may_learn);
  } else {
    r = held ? hold(held, d) : tell_locked(st, d);
  }
  text_done(&what);
  return r;
}

/*
 * HELD: the lab is busy with branches. Then AGAIN if it must be made again, since a failure is new and cannot be
 * repeated now; what is no failure is held.
 */
static int take_result(struct state *st, struct lab *l, size_t experiment, const struct lab_result *result,
                       held_list *held) {
  int r = JUDGE_AGAIN;
  struct finding f;
  f.numbered = false;
  for (unsigned i = 0; i < REPEATS && r == JUDGE_AGAIN; i++) {
    struct sweep_done d = {.experiment = experiment, .lab = l, .result = result};
    r = take_judged(st, l, &d, &f, held, i + 1 < REPEATS);
  }
  return r;
}

static const char *reason(const struct state *st) {
  if (!st->s->branch) return st->s->why ? st->s->why : "";
  return st->why[0] ? st->why : "what changes files ends the run that others branch from";
}

/* WHY: it is not made by a branch; NULL for the reason that the sweep has met. */
/* What hangs says nothing about the way that it was made. */
static void note_cost(struct state *st, enum campaign_choice way, uint64_t ns, size_t n) {
  (void)pthread_mutex_lock(&st->lock);
  campaign_cost_add(&st->costs, way, ns, n);
  (void)pthread_mutex_unlock(&st->lock);
}

static int make_experiment(struct state *st, struct lab *l, size_t experiment, const char *why) {
  struct lab_order order = order_of(st->s, experiment);
  struct lab_result result;
  struct err e = {0};
  uint64_t start = now_ns();
  int r = lab_run(l, &order, &result, &e);
  if (r < 0) return keep_error(st, r, &e);
  if (!result.timed_out) note_cost(st, CHOICE_RUN, now_ns() - start, 1);
  if (!result.why[0]) (void)snprintf(result.why, sizeof result.why, "%s", why ? why : reason(st));
  r = take_result(st, l, experiment, &result, NULL);
  lab_result_done(&result);
  return r;
}

/* --- all of them -------------------------------------------------------------------------------------------------- */

/* Those of one batch have one fault before them, or none. */
static bool fits(const struct sweep *s, size_t i, const size_t *with) {
  return !with || s->experiments[i].first == s->experiments[*with].first;
}

/*
 * In their order, but what is known to fail at a point waits until everything else was tried. WITH: in one batch with
 * this one; NULL for any. The lock is held.
 */
static bool take_one(struct state *st, const size_t *with, size_t *ret) {
  const struct sweep *s = st->s;
  while (st->next < s->n_experiments) {
    size_t i = st->next;
    bool known = s->before && s->before[i] != BEFORE_NOTHING;
    if (!known && !fits(s, i, with)) return false;
    st->next++;
    if (known) continue;
    if (!st->failed[s->experiments[i].point] || vec_push(&st->later, i) < 0) {
      *ret = i;
      return true;
    }
  }
  while (st->next_later < st->later.n && fits(s, st->later.at[st->next_later], with)) {
    *ret = st->later.at[st->next_later++];
    if (!st->hung[s->experiments[*ret].point]) return true;
  }
  return false;
}

/* The next experiment, if there is one and the budget allows it. */
static bool take(struct state *st, const size_t *with, size_t *ret) {
  const struct sweep *s = st->s;
  (void)pthread_mutex_lock(&st->lock);
  bool more = st->r == 0 && !(s->runs && st->taken >= s->runs) && !is_over(s);
  if (more) more = take_one(st, with, ret);
  st->taken += more;
  (void)pthread_mutex_unlock(&st->lock);
  return more;
}

static void fail(struct state *st, int r) {
  (void)pthread_mutex_lock(&st->lock);
  if (st->r == 0) st->r = r;
  (void)pthread_mutex_unlock(&st->lock);
}

/* --- many at once ------------------------------------------------------------------------------------------------- */

/* A batch should take about so long, since the order in which experiments are made in it is the program's. */
enum { BATCH_FIRST = 64, BATCH_NS = 1000000000 };

struct batch {
  struct state *st;
  struct lab *l;
  size_t n, taken[LAB_BRANCHES];
  bool made[LAB_BRANCHES];
  struct lab_order orders[LAB_BRANCHES];
  size_t index[LAB_BRANCHES]; /* of those that are not made yet */
  size_t again;               /* a new failure, which is to be made sure of before others are made */
  held_list held;
  size_t later; /* of the n, those that were put off */
  uint64_t hung_ns;
};

/* What else is to be made where a failure is known waits until everything else was tried. */
static void put_off(struct batch *b) {
  struct state *st = b->st;
  (void)pthread_mutex_lock(&st->lock);
  for (size_t i = 0; i < b->n; i++) {
    if (b->made[i] || !st->failed[st->s->experiments[b->taken[i]].point] || vec_push(&st->later, b->taken[i]) < 0)
      continue;
    b->made[i] = true;
    b->later++;
    st->taken--;
  }
  (void)pthread_mutex_unlock(&st->lock);
}

static int branch_done(void *context, size_t i, const struct lab_result *result, struct err *e) {
  struct batch *b = context;
  (void)e;
  size_t at = b->index[i];
  if (result->timed_out) b->hung_ns += result->wall_ns;
  int r = take_result(b->st, b->l, b->taken[at], result, &b->held);
  if (r < 0) return r;
  b->made[at] = r == 0;
  if (r > 0) {
    b->again = at;
    return -EAGAIN;
  }
  const struct sweep *s = b->st->s;
  return is_over(s) ? -ECANCELED : 0;
}

/* The run from which they branched is over. If it cannot be trusted they are to be made again, in another way. */
static int release(struct batch *b, bool trusted) {
  struct lab_result *result = calloc(1, sizeof *result);
  int r = result ? 0 : -ENOMEM;
  for (size_t i = 0; i < b->held.n; i++) {
    const struct held *h = &b->held.at[i];
    if (r == 0 && trusted) r = tell_held(b->st, b->l, h, result);
    for (size_t k = 0; !trusted && k < b->n; k++)
      if (b->taken[k] == h->experiment) b->made[k] = false;
    free(h->difference);
  }
  b->held.n = 0;
  free(result);
  return r;
}

/* The run from which they branch looks as without faults, or as with the first alone. */
static const struct observation *expected_of(const struct batch *b) {
  const struct sweep *s = b->st->s;
  size_t first = b->n ? s->experiments[b->taken[0]].first : 0;
  return !first ? &s->baseline->runs[0].seen : s->alone ? &s->alone[first - 1] : NULL;
}

/* All that were not made yet; how many of them were now. */
static int branch_once(struct batch *b, size_t *ret_made) {
  struct err e = {0};
  size_t n = 0, made = 0;
  for (size_t i = 0; i < b->n; i++)
    if (!b->made[i]) {
      b->index[n] = i;
      b->orders[n++] = order_of(b->st->s, b->taken[i]);
    }
  struct lab_branch branch = {.orders = b->orders,
                              .n = n,
                              .wall_ns = b->st->s->wall_ns,
                              .until_ns = latest(b->st->s),
                              .done = branch_done,
                              .context = b,
                              .expected = expected_of(b),
                              .mask = __atomic_load_n(&b->st->mask, __ATOMIC_ACQUIRE),
                              .first = b->orders[0].first};
  uint64_t start = now_ns();
  int r = n ? lab_branch(b->l, &branch, &e) : 0;
  uint64_t took = now_ns() - start;
  int told = release(b, !branch.unlike);
  if (told < 0 && (r == 0 || r == -EAGAIN || r == -ECANCELED)) r = told;
  (void)pthread_mutex_lock(&b->st->lock);
  if (r < 0 && r != -ECANCELED && r != -EAGAIN && e.text[0]) b->st->e = e;
  if (!b->st->why[0]) memcpy(b->st->why, branch.why, sizeof b->st->why);
  (void)pthread_mutex_unlock(&b->st->lock);
  for (size_t i = 0; i < n; i++)
    made += b->made[b->index[i]];
  note_cost(b->st, CHOICE_BRANCH, took > b->hung_ns ? took - b->hung_ns : 0, made);
  b->hung_ns = 0;
  *ret_made = made;
  if (r != -EAGAIN) return r == -ECANCELED ? 0 : r;
  r = make_experiment(b->st, b->l, b->taken[b->again], "a new failure is looked at by itself");
  b->made[b->again] = true;
  *ret_made = made + 1;
  put_off(b);
  return r;
}

/* Is a branch worth it? A child that changes files ends the trunk, and then it is no better than a fork. */
static int branch_batch(struct batch *b, size_t *ret_made) {
  size_t made = 0, runs = 0, more = 1;
  int r = 0;
  for (; r == 0 && more > 0 && made >= runs && !is_over(b->st->s); runs++, made += more)
    r = branch_once(b, &more);
  *ret_made = made;
  return r;
}

static int make_rest(struct batch *b) {
  int r = 0;
  for (size_t i = 0; i < b->n && r == 0; i++) {
    const struct sweep *s = b->st->s;
    if (is_over(s)) break;
    if (!b->made[i]) r = make_experiment(b->st, b->l, b->taken[i], NULL);
  }
  return r;
}

static size_t next_size(size_t size, uint64_t took) {
  if (took > BATCH_NS) return size > 2 * BATCH_FIRST ? size / 2 : BATCH_FIRST;
  return took < BATCH_NS / 4 && size * 2 <= LAB_BRANCHES ? size * 2 : size;
}

static void take_batch(struct batch *b, size_t size) {
  memset(b->made, 0, sizeof b->made);
  b->later = 0;
  for (b->n = 0; b->n < size && take(b->st, b->n ? &b->taken[0] : NULL, &b->taken[b->n]);)
    b->n++;
}

static enum campaign_choice choose(struct state *st) {
  (void)pthread_mutex_lock(&st->lock);
  enum campaign_choice choice = campaign_choose(&st->costs, st->s->baseline->wall_ns);
  if (choice == CHOICE_RUN && !st->why[0])
    (void)snprintf(st->why, sizeof st->why, "a branch takes longer than a run from the start");
  (void)pthread_mutex_unlock(&st->lock);
  return choice;
}

/* Are branches cheaper than runs that begin at main? If there is doubt, a few such runs tell. */
static bool is_worth_it(struct batch *b) {
  struct state *st = b->st;
  if (choose(st) == CHOICE_PROBE) {
    take_batch(b, CAMPAIGN_PROBE);
    int r = make_rest(b);
    if (r < 0) fail(st, r);
  }
  return choose(st) != CHOICE_RUN;
}

/* Batches, as long as branches are cheaper. */
static void work_in_batches(struct state *st, struct lab *l) {
  struct batch *b = calloc(1, sizeof *b);
  if (!b) return; /* one by one, then */
  size_t size = BATCH_FIRST, made = 0;
  *b = (struct batch){.st = st, .l = l};
  do {
    uint64_t start = now_ns();
    take_batch(b, size);
    int r = b->n ? branch_batch(b, &made) : 0;
    if (r == 0) r = make_rest(b);
    if (r < 0) fail(st, r);
    size = next_size(size, now_ns() - start);
  } while (b->n > 0 && is_worth_it(b));
  vec_done(&b->held);
  free(b);
}

static void work(void *context, unsigned worker) {
  struct state *st = context;
  size_t experiment;
  if (st->s->branch) work_in_batches(st, st->s->labs[worker]);
  while (take(st, NULL, &experiment)) {
    int r = make_experiment(st, st->s->labs[worker], experiment, NULL);
    if (r < 0) fail(st, r);
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
  struct state st = {.s = s, .lock = PTHREAD_MUTEX_INITIALIZER, .mask = &s->baseline->mask};
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
