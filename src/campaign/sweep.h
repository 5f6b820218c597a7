/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a sweep, between its files. */
#pragma once

#include "campaign/campaign.h"

#include <pthread.h>

/* How often a failure is repeated. */
enum { REPEATS = 3 };

struct finding {
  struct campaign_failure failure;
  uint64_t inject[WIRE_FRAMES], crash[CAMPAIGN_LOOP_HEAD + SANDBOX_FRAMES];
  bool numbered;           /* inject and modules are there */
  struct run_kept modules; /* of the stacks: the lab's list is that of its last run, which may not have come there */
};

struct sweep_state {
  const struct sweep *s;
  pthread_mutex_t lock;
  size_t next, done, taken;
  size_t n_places;
  uint64_t *sites;   /* of each place, as of struct candidate */
  bool *failed;      /* ... a finding is known there, or a hang of the same call */
  bool *hung;        /* ... and it is a hang: to wait once more would tell nothing */
  bool *waits;       /* ... and perhaps: one of these is in `waiting`, or somebody makes sure of it now */
  VEC(size_t) later; /* experiments at such places, for when all others are done */
  size_t next_later;
  uint64_t started;
  VEC(struct waiting *) waiting; /* none of it is taken away before the end */
  size_t making;                 /* so many of them somebody makes sure of now */
  pthread_cond_t made;           /* ... one less */
  VEC(struct finding *) findings;
  struct map counting;   /* lines, without their digits, that are others from second to second */
  char why[SANDBOX_WHY]; /* the first reason why an experiment was not made by a branch */
  size_t refused;        /* branches that there was such a reason against */
  struct campaign_costs costs;
  size_t held;   /* results of branches that are no failures, so far */
  bool distrust; /* one of them was otherwise when it was made from the start: there are no more branches */
  int r;
  struct err e;
  /* What varies without faults: the baseline's, then what was learnt of it; the last one counts. */
  const struct observe_mask *mask;
  VEC(struct observe_mask *) learnt;
  VEC(struct observation) seen; /* the runs that it was learnt of, beside the baseline's */
};

/* What is told of an experiment by a branch, once it is known that the branch can be trusted. */
struct held {
  size_t experiment;
  enum outcome outcome;
  char *difference;
  struct wire_event *events; /* as of struct lab_result */
  size_t n_events;
  int status;
  bool injected, attached;
  enum lab_mode mode;
  char why[SANDBOX_WHY]; /* as of struct lab_result */
  unsigned left;
  uint64_t wall_ns, memory;
  size_t finding;                                 /* of a failure whose cause is known; else 0 */
  struct observe_stream streams[OBSERVE_STREAMS]; /* of a failure: how they began */
};
typedef VEC(struct held) held_list;
void sweep_held_done(struct held *h);

/*
 * A hang of a command that sleeps and tries again, and may give up in the end: to make sure of it takes so long that it
 * is done when everything else was tried, or at the last moment.
 */
struct waiting {
  struct held is;
  struct finding failure;
  uint64_t ns; /* so long it takes, about */
  bool taken;  /* somebody has made sure of it, or does now */
  bool late;   /* there is no time for it any more */
};
/* Of what is held, a copy that is told with a finding has its output, too. */
int sweep_hold(const struct sweep_done *d, bool streams, struct held *ret) MUST_USE;
/* It waits. The lock is not held, as in all of these. */
int sweep_wait(struct sweep_state *st, const struct sweep_done *d, const struct finding *f, uint64_t ns) MUST_USE;
/* One of those that wait, if it is time for it; IDLE: there is nothing else to do. False if nothing has changed. */
bool sweep_make_waiting(struct sweep_state *st, struct lab *l, bool idle);
/* Until somebody has made sure of one, if others wait for that; false if there is nothing to wait for. */
bool sweep_await_made(struct sweep_state *st);
/* There is no time for those that are left. */
int sweep_end_waiting(struct sweep_state *st) MUST_USE;

/* What came of repeating a failure. */
struct repeats {
  unsigned same, n;
  bool cut;    /* the time was over; then TRACED is not there */
  bool learnt; /* it must be judged again, since more varies than was known; likewise */
  bool steady;
  uint64_t asks_ns;         /* of a hang: it is not sure yet, and takes so long; 0 otherwise */
  struct lab_result traced; /* the last run */
};

uint64_t sweep_now(void);
bool sweep_stopped(const struct sweep *s);
/* ... or is its time over? */
bool sweep_is_over(const struct sweep *s);
/* When what still runs is ended; 0 for never. */
uint64_t sweep_latest(const struct sweep *s);
/* A run that was ended for lack of budget tells nothing. */
bool sweep_is_cut(const struct sweep *s, const struct lab_result *r);

/* What the injections before the last did alone; NULL if there are none, or it is not known. */
const struct observation *sweep_reference(const struct sweep *s, const struct experiment *x);
struct lab_order sweep_order(const struct sweep *s, size_t experiment);
enum outcome sweep_judge(const struct sweep_state *st, size_t experiment, const struct lab_result *r, struct text *what,
                         bool *ret_failed);

/* Makes a failure again in the same lab (sweep_repeat.c); may learn of what varies by itself. */
int sweep_repeat(struct sweep_state *st, struct lab *l, const struct sweep_done *d, bool may_learn, struct repeats *ret,
                 struct err *e) MUST_USE;
double sweep_precision(const struct repeats *t);

/* Why an experiment is not made by a branch though nothing speaks against it, for people. */
extern const char sweep_cut_short[];
/* What is known of an experiment before it is made. */
enum sweep_known {
  KNOWN_NOT,
  KNOWN_HUNG,  /* a branch has shown a hang, which is worth telling even if no time is left for this run */
  KNOWN_WAITS, /* it has waited: now it has all the time that it takes */
};
/* One experiment (sweep_result.c). WHY: it is not made by a branch; NULL for the reason that the sweep has met. */
int sweep_make(struct sweep_state *st, struct lab *l, size_t experiment, const char *why,
               enum sweep_known known) MUST_USE;
/*
 * HELD: the lab is busy with branches. Then not 0 if it must be made again, since a failure is new and cannot be
 * repeated now; all others are held.
 */
int sweep_take_result(struct sweep_state *st, struct lab *l, size_t experiment, const struct lab_result *result,
                      held_list *held) MUST_USE;
/* DOUBT: as of struct sweep_done. */
int sweep_tell_held(struct sweep_state *st, const struct lab *l, const struct held *h, const char *doubt,
                    struct lab_result *result) MUST_USE;
extern const char sweep_no_time[];
/* The number of the finding with the same cause, from 1; 0 if there is none. The lock is held. */
size_t sweep_find_cause(const struct sweep_state *st, const struct finding *f);
int sweep_add_finding(struct sweep_state *st, const struct finding *f, size_t *ret) MUST_USE;
void sweep_note_cost(struct sweep_state *st, enum campaign_choice way, uint64_t ns, size_t n);

/* The next experiment, if there is one and the budget allows it; WITH: that fits into one batch with this one. */
bool sweep_take(struct sweep_state *st, const size_t *with, size_t *ret);
/* Each hang costs as much as hundreds of other experiments: those of the same call wait as well. The lock is held. */
void sweep_put_call_off(struct sweep_state *st, size_t place);
void sweep_fail(struct sweep_state *st, int r);
/* Batches of branches, as long as these are cheaper (sweep_batch.c). */
void sweep_work_in_batches(struct sweep_state *st, struct lab *l);
