/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What becomes of one experiment: it is judged, repeated if it is a failure, joins a finding with the same cause or
 * becomes a new one, and is told. Findings are few and experiments many, so a list under one lock does.
 */
#include "campaign/sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- failures ----------------------------------------------------------------------------------------------------- */

/* Stacks as numbers that are the same in every run: hash of the module's path, and the address in it. */
static size_t number_inject(const struct sweep *s, const struct run_area *area, const struct wire_event *event,
                            uint64_t ret[WIRE_FRAMES]) {
  size_t n = event->n_frames < WIRE_FRAMES ? event->n_frames : WIRE_FRAMES, used = 0;
  for (size_t i = 0; i < n; i++) {
    struct wire_loaded loaded;
    bool known = run_area_loaded(area, event->frames[i].module, &loaded);
    if (!used && known && i + 1 < n && s->is_language && s->is_language(s->language_context, loaded.path)) continue;
    ret[used++] = hash_mix((known ? hash_string(loaded.path) : 0) + event->frames[i].at);
  }
  return used;
}

/* How many of the inner frames are of libc. */
static size_t count_libc(const struct sweep *s, const struct lab_result *r) {
  for (size_t i = 0; i < r->n_frames; i++)
    if (!s->is_libc || !s->is_libc(s->language_context, r->frames[i].path)) return i;
  return 0;
}

static uint64_t number_frame(const struct image_process_frame *f) { return hash_mix(hash_string(f->path) + f->at); }

/*
 * Frames of libc count as one, which is that of who called: abort(3) is five frames deep, whatever was asserted. Where
 * in a loop a hang was met is chance, so that is from where to where.
 */
static size_t number_crash(const struct sweep *s, const struct lab_result *r,
                           uint64_t ret[CAMPAIGN_LOOP_HEAD + SANDBOX_FRAMES]) {
  bool loop = r->n_frames > 1 && r->frames[0].moves;
  size_t first = loop ? 1 : count_libc(s, r), n = 0;
  if (loop) {
    ret[n++] = CAMPAIGN_LOOP;
    ret[n++] = r->frames[0].from;
    ret[n++] = r->frames[0].to;
  }
  if (first) ret[n++] = hash_mix(number_frame(&r->frames[first]) + (loop ? hash_string(r->frames[0].path) : 1));
  for (size_t i = first; i < r->n_frames; i++)
    ret[n++] = number_frame(&r->frames[i]);
  return n;
}

/* The stack is numbered once: the lab's list of modules is that of its last run. */
static void describe(const struct sweep *s, struct finding *f, enum outcome outcome, const struct lab *l,
                     const struct lab_result *result) {
  bool ended = outcome == OUTCOME_CRASH || outcome == OUTCOME_ABORT || outcome == OUTCOME_SANITIZER;
  if (!f->numbered) {
    f->modules.n = 0;
    for (size_t i = result->n_events; i-- > 0;)
      run_area_keep(lab_area(l), &result->events[i], &f->modules);
  }
  size_t n = f->numbered ? f->failure.inject.n : number_inject(s, lab_area(l), lab_last_event(result), f->inject);
  f->failure = (struct campaign_failure){.outcome = outcome, .signal = ended ? campaign_signal(result) : 0};
  f->failure.inject = (struct campaign_stack){.at = f->inject, .n = n};
  f->numbered = true;
}

static void add_crash(const struct sweep *s, struct finding *f, const struct lab_result *traced) {
  f->failure.crash = (struct campaign_stack){.at = f->crash, .n = number_crash(s, traced, f->crash)};
}

size_t sweep_find_cause(const struct sweep_state *st, const struct finding *f) {
  for (size_t i = 0; i < st->findings.n; i++)
    if (campaign_same_cause(&st->findings.at[i]->failure, &f->failure)) return i + 1;
  return 0;
}

int sweep_add_finding(struct sweep_state *st, const struct finding *f, size_t *ret) {
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

/* What looks different may be so by chance, and what is slow is not yet stuck; a crash is a crash. */
static bool is_confirmed(enum outcome outcome, double precision) {
  return outcome == OUTCOME_HANG ? precision >= 1 : outcome == OUTCOME_SILENT ? precision > 0.5 : precision > 0;
}

const char sweep_no_time[] = "no time was left to make sure of it";

/* Why it is no finding. */
static void add_doubt(const struct repeats *t, enum outcome outcome, struct text *to) {
  if (!t)
    text_add(to, sweep_no_time);
  else if (outcome == OUTCOME_HANG)
    text_add(to, "it came to its end when it was given more time");
  else if (!t->steady)
    text_add(to, "the command is different by itself from time to time");
  else
    text_addf(to, "it came again in %u of %u repeats", t->same, t->n);
}

void sweep_put_call_off(struct sweep_state *st, size_t place) {
  uint64_t site = st->sites[place];
  st->failed[place] = true;
  for (size_t i = 0; site && i < st->n_places; i++)
    if (st->sites[i] == site) st->failed[i] = true;
}

static int tell(struct sweep_state *st, const struct sweep_done *d) {
  const struct sweep *s = st->s;
  st->done++;
  if (d->finding) st->failed[s->candidates[d->experiment].place] = true;
  if (d->finding && d->outcome == OUTCOME_HANG) {
    st->hung[s->candidates[d->experiment].place] = true;
    sweep_put_call_off(st, s->candidates[d->experiment].place);
  }
  int r = s->sink.done(s->sink.context, d, &st->e);
  if (s->sink.progress) s->sink.progress(s->sink.context, st->done, s->n_candidates, st->findings.n);
  return r;
}

/* To look at a hang once more takes long: is there time for it? */
static bool has_time(const struct sweep *s, enum outcome outcome) {
  struct lab_order order = {.wall_ns = s->wall_ns};
  campaign_be_patient(&order);
  return outcome != OUTCOME_HANG || !s->deadline || sweep_now() + order.wall_ns < s->deadline;
}

static int keep_error(struct sweep_state *st, int r, const struct err *e) {
  (void)pthread_mutex_lock(&st->lock);
  st->e = *e;
  (void)pthread_mutex_unlock(&st->lock);
  return r;
}

static int tell_doubt(struct sweep_state *st, struct sweep_done *d, const struct repeats *t) {
  struct text doubt = {0};
  add_doubt(t, d->outcome, &doubt);
  d->doubt = doubt.at ? doubt.at : "";
  int r = tell(st, d);
  d->doubt = NULL;
  text_done(&doubt);
  return r;
}

/* It was repeated, the last time in TRACED: a finding, or not. */
static int tell_repeated(struct sweep_state *st, struct sweep_done *d, struct finding *f, const struct repeats *t,
                         const struct lab_result *traced) {
  int r = 0;
  /* The modules of the first run may not be in the area any more: its stack was numbered before. */
  add_crash(st->s, f, traced);
  d->traced = traced;
  d->failure = &f->failure;
  d->modules = &f->modules;
  d->precision = sweep_precision(t);
  (void)pthread_mutex_lock(&st->lock);
  bool confirmed = is_confirmed(d->outcome, d->precision);
  if (confirmed && !(d->finding = sweep_find_cause(st, f))) {
    d->is_new = true;
    r = sweep_add_finding(st, f, &d->finding);
  }
  if (r == 0) r = confirmed ? tell(st, d) : tell_doubt(st, d, t);
  (void)pthread_mutex_unlock(&st->lock);
  return r;
}

/* --- what waits --------------------------------------------------------------------------------------------------- */

void sweep_held_done(struct held *h) {
  free(h->difference);
  free(h->events);
  for (size_t i = 0; i < OBSERVE_STREAMS; i++)
    free((char *)(uintptr_t)h->streams[i].at);
}

/* As much as anybody keeps of a failure. */
static bool hold_stream(const struct observe_stream *from, struct observe_stream *to) {
  enum { MOST = 1 << 20 };
  to->n = from->n < MOST ? from->n : MOST;
  char *at = malloc(to->n + 1);
  if (!at) return false;
  if (to->n) memcpy(at, from->at, to->n);
  at[to->n] = '\0';
  to->at = at;
  return true;
}

int sweep_hold(const struct sweep_done *d, bool streams, struct held *ret) {
  const struct lab_result *r = d->result;
  struct held add = {.experiment = d->experiment,
                     .outcome = d->outcome,
                     .difference = strdup(d->difference),
                     .events = calloc(r->n_events + 1, sizeof *r->events),
                     .n_events = r->n_events,
                     .status = r->seen.status,
                     .injected = r->injected,
                     .attached = r->attached,
                     .mode = r->mode,
                     .left = r->left,
                     .wall_ns = r->wall_ns,
                     .memory = r->memory,
                     .finding = d->finding};
  memcpy(add.why, r->why, sizeof add.why);
  bool good = add.difference && add.events;
  if (good && r->n_events) memcpy(add.events, r->events, r->n_events * sizeof *r->events);
  for (size_t i = 0; i < OBSERVE_STREAMS && good && streams; i++)
    good = hold_stream(&r->seen.streams[i], &add.streams[i]);
  if (!good) sweep_held_done(&add);
  if (good) *ret = add;
  return good ? 0 : -ENOMEM;
}

static int hold(held_list *held, const struct sweep_done *d) {
  struct held add;
  if (sweep_hold(d, d->finding != 0, &add) < 0) return -ENOMEM;
  if (vec_push(held, add) == 0) return 0;
  sweep_held_done(&add);
  return -ENOMEM;
}

/* --- what became of it -------------------------------------------------------------------------------------------- */

enum { AGAIN = 1, JUDGE_AGAIN = 2 };

/* What is known of a hang that a branch has shown. */
enum branch_hang {
  HANG_NONE,   /* there was none */
  HANG_STAYED, /* it hung with more time, too: this is that run */
  HANG_ASKS,   /* ... but may give up later */
  HANG_ENDED,  /* it came to its end when it was given more time */
};

static int tell_ended(struct sweep_state *st, struct sweep_done *d) {
  d->traced = d->result; /* it was repeated, and none was the same */
  (void)pthread_mutex_lock(&st->lock);
  sweep_put_call_off(st, st->s->candidates[d->experiment].place);
  int r = tell_doubt(st, d, &(struct repeats){.n = 1, .steady = true});
  (void)pthread_mutex_unlock(&st->lock);
  return r;
}

/* A failure: known, or to be confirmed. HELD: the lab is busy; then AGAIN if it is not known. */
static int handle_failure(struct sweep_state *st, struct lab *l, struct sweep_done *d, struct finding *f,
                          held_list *held, bool may_learn, enum branch_hang hung) {
  bool sure = hung == HANG_STAYED && d->outcome == OUTCOME_HANG;
  if (hung == HANG_ENDED && d->outcome == OUTCOME_HANG) return tell_ended(st, d);
  describe(st->s, f, d->outcome, l, d->result);
  /* If it was traced, where it ended is known already; to make sure of one more hang there would take long. */
  if (d->outcome != OUTCOME_SILENT) add_crash(st->s, f, d->result);
  (void)pthread_mutex_lock(&st->lock);
  d->finding = sweep_find_cause(st, f);
  bool unsure = !d->finding && !held && hung == HANG_NONE && !has_time(st->s, d->outcome);
  int r = d->finding && !held ? tell(st, d) : unsure ? tell_doubt(st, d, NULL) : 0;
  (void)pthread_mutex_unlock(&st->lock);
  if (held) return d->finding ? hold(held, d) : AGAIN;
  if (d->finding || unsure) return r;
  if (hung == HANG_ASKS && d->outcome == OUTCOME_HANG) return sweep_wait(st, d, f, d->result->asks_ns);
  if (sure) return tell_repeated(st, d, f, &(struct repeats){.same = 1, .n = 1, .steady = true}, d->result);

  struct repeats t;
  struct err e = {0};
  r = sweep_repeat(st, l, d, may_learn, &t, &e);
  if (r < 0) return keep_error(st, r, &e);
  if (t.learnt) return JUDGE_AGAIN;
  bool stop = sweep_stopped(st->s);
  if (t.cut && !stop) {
    (void)pthread_mutex_lock(&st->lock);
    r = tell_doubt(st, d, NULL);
    (void)pthread_mutex_unlock(&st->lock);
  }
  if (t.cut) return r;
  if (t.asks_ns) add_crash(st->s, f, &t.traced);
  r = stop ? 0 : t.asks_ns ? sweep_wait(st, d, f, t.asks_ns) : tell_repeated(st, d, f, &t, &t.traced);
  lab_result_done(&t.traced);
  return r;
}

static int tell_locked(struct sweep_state *st, const struct sweep_done *d) {
  (void)pthread_mutex_lock(&st->lock);
  int r = tell(st, d);
  (void)pthread_mutex_unlock(&st->lock);
  return r;
}

int sweep_tell_held(struct sweep_state *st, const struct lab *l, const struct held *h, const char *doubt,
                    struct lab_result *result) {
  result->events = h->events;
  result->n_events = h->n_events;
  result->seen.status = h->status;
  result->injected = h->injected;
  result->attached = h->attached;
  result->left = h->left;
  result->wall_ns = h->wall_ns;
  result->memory = h->memory;
  result->mode = h->mode;
  memcpy(result->why, h->why, sizeof result->why);
  memcpy(result->seen.streams, h->streams, sizeof h->streams);
  struct sweep_done d = {.experiment = h->experiment,
                         .outcome = h->outcome,
                         .lab = l,
                         .result = result,
                         .difference = h->difference,
                         .finding = h->finding,
                         .doubt = doubt};
  return tell_locked(st, &d);
}

/* The run was ended for lack of budget: it had the time that each has, or a branch had it. */
static int tell_cut(struct sweep_state *st, struct sweep_done *d, enum branch_hang hung) {
  if (d->outcome != OUTCOME_HANG || (hung == HANG_NONE && d->result->wall_ns < st->s->wall_ns)) return 0;
  (void)pthread_mutex_lock(&st->lock);
  int r = tell_doubt(st, d, NULL);
  (void)pthread_mutex_unlock(&st->lock);
  return r;
}

static int take_judged(struct sweep_state *st, struct lab *l, struct sweep_done *d, struct finding *f, held_list *held,
                       bool may_learn, enum branch_hang hung) {
  struct text what = {0};
  bool failed = false;
  int r = 0;
  d->outcome = sweep_judge(st, d->experiment, d->result, &what, &failed);
  d->difference = what.at ? what.at : "";
  if (sweep_stopped(st->s)) {
    /* It may have ended because everything is to end. */
  } else if (sweep_is_cut(st->s, d->result)) {
    r = held ? 0 : tell_cut(st, d, hung);
  } else if (failed) {
    r = handle_failure(st, l, d, f, held, may_learn, hung);
  } else {
    r = held ? hold(held, d) : tell_locked(st, d);
  }
  text_done(&what);
  return r;
}

static int take_result(struct sweep_state *st, struct lab *l, size_t experiment, const struct lab_result *result,
                       held_list *held, enum branch_hang hung) {
  int r = JUDGE_AGAIN;
  struct finding f;
  f.numbered = false;
  for (unsigned i = 0; i < REPEATS && r == JUDGE_AGAIN; i++) {
    struct sweep_done d = {.experiment = experiment, .lab = l, .result = result};
    r = take_judged(st, l, &d, &f, held, i + 1 < REPEATS, hung);
  }
  return r;
}

int sweep_take_result(struct sweep_state *st, struct lab *l, size_t experiment, const struct lab_result *result,
                      held_list *held) {
  return take_result(st, l, experiment, result, held, HANG_NONE);
}

const char sweep_cut_short[] = "what changes files ends the run that others branch from";

static const char *reason(const struct sweep_state *st) {
  if (!st->s->branch) return st->s->why ? st->s->why : "";
  return st->why[0] ? st->why : sweep_cut_short;
}

/* What hangs says nothing about the way that it was made. */
void sweep_note_cost(struct sweep_state *st, enum campaign_choice way, uint64_t ns, size_t n) {
  (void)pthread_mutex_lock(&st->lock);
  campaign_cost_add(&st->costs, way, ns, n);
  (void)pthread_mutex_unlock(&st->lock);
}

/*
 * What has hung in a branch is made so that there is no doubt, at once; or LASTING, if it waited for that. If it ends,
 * what it is else is seen.
 */
static int run_again(struct sweep_state *st, struct lab *l, size_t experiment, bool lasting, struct lab_result *ret,
                     enum branch_hang *ret_hang, struct err *e) {
  struct lab_order order = sweep_order(st->s, experiment);
  campaign_be_patient(&order);
  order.trace = true;
  order.brief = !lasting;
  int r = lab_run(l, &order, ret, e);
  *ret_hang = r == 0 && ret->asks_ns ? HANG_ASKS : HANG_STAYED;
  if (r < 0 || ret->timed_out) return r;
  *ret_hang = HANG_ENDED;
  lab_result_done(ret);
  order = sweep_order(st->s, experiment);
  return lab_run(l, &order, ret, e);
}

int sweep_make(struct sweep_state *st, struct lab *l, size_t experiment, const char *why, enum sweep_known known) {
  struct lab_order order = sweep_order(st->s, experiment);
  struct lab_result result;
  struct err e = {0};
  enum branch_hang hang = HANG_NONE;
  uint64_t start = sweep_now();
  int r = known == KNOWN_NOT ? lab_run(l, &order, &result, &e)
                             : run_again(st, l, experiment, known == KNOWN_WAITS, &result, &hang, &e);
  if (r < 0) return keep_error(st, r, &e);
  if (!result.timed_out && known == KNOWN_NOT) sweep_note_cost(st, CHOICE_RUN, sweep_now() - start, 1);
  (void)pthread_mutex_lock(&st->lock); /* another lab may just find a reason */
  if (!result.why[0]) (void)snprintf(result.why, sizeof result.why, "%s", why ? why : reason(st));
  (void)pthread_mutex_unlock(&st->lock);
  r = take_result(st, l, experiment, &result, NULL, hang);
  lab_result_done(&result);
  return r;
}
