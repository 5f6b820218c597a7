/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A campaign: which experiment next, what became of it, and which experiments have one cause.
 *
 * Everything here is decided from data: points, faults, observations. Who runs the experiments, and who keeps the
 * results, are the caller's (struct campaign_runner, struct campaign_sink).
 */
#pragma once

#include "base/base.h"
#include "observe/observe.h"
#include "run/run.h"

/* --- outcomes ----------------------------------------------------------------------------------------------------- */

enum outcome {
  OUTCOME_SAME,      /* nothing visible changed */
  OUTCOME_HANDLED,   /* a clean error: another exit status, or a message */
  OUTCOME_CRASH,     /* a signal */
  OUTCOME_ABORT,     /* an assertion, abort(3) */
  OUTCOME_HANG,      /* past its limit */
  OUTCOME_SILENT,    /* exit status as ever, no message, and yet output or files differ */
  OUTCOME_SANITIZER, /* a report of a sanitizer */
  OUTCOME_MISSED,    /* the fault was not injected: the run did not come there */
  OUTCOMES,
};

extern const char *const outcome_words[OUTCOMES];

/* Is it worth telling? */
bool outcome_is_failure(enum outcome o);

struct outcome_facts {
  const struct observation *baseline, *run;
  const struct observe_mask *mask;
  bool injected, timed_out;
  int error; /* of the fault */
};

/* What became of a run. For people, in WHAT (may be NULL): how it looked different from the baseline. */
enum outcome outcome_of(const struct outcome_facts *f, struct text *what);

/* --- which experiment next ---------------------------------------------------------------------------------------- */

/* A fault that can be tried at a point. */
struct campaign_fault {
  uint32_t function, rule; /* of the plan */
  int64_t retval;
  int error;
};

/* A call stack that reached a function in the baseline. */
struct campaign_point {
  uint64_t hash, count;
  uint32_t function;
  uint64_t site; /* what calls from the same instruction have in common */
  int verdict;   /* 0: the call's errors are checked, 1: not known, 2: some are not, 3: none is */
};

struct campaign_experiment {
  size_t point, fault;
  uint64_t nth;
  int weight; /* the higher the sooner */
};

/*
 * All experiments for the points, best first: unchecked calls, then by how likely the error is, then new stacks before
 * repeated ones, input and output before memory. LIKELY says how likely a fault is at a point: 0 never, 3 common.
 */
struct campaign_order {
  const struct campaign_point *points;
  size_t n_points;
  const struct campaign_fault *faults;
  size_t n_faults;
  int (*likely)(void *context, const struct campaign_point *p, const struct campaign_fault *f);
  void *context;
};
int campaign_plan(const struct campaign_order *order, struct campaign_experiment **ret, size_t *ret_n) MUST_USE;

/* --- one cause ---------------------------------------------------------------------------------------------------- */

/* A call stack as a row of numbers, one for each frame, innermost first. */
struct campaign_stack {
  const uint64_t *at;
  size_t n;
};

struct campaign_failure {
  enum outcome outcome;
  int signal;
  struct campaign_stack inject, crash; /* crash may be empty */
};

/* How many frames must be changed, added or taken away to make one of the other. */
size_t campaign_distance(const struct campaign_stack *a, const struct campaign_stack *b);
/* Have the two one cause: the same outcome, and the same place of the fault or of the crash, or nearly so? */
bool campaign_same_cause(const struct campaign_failure *a, const struct campaign_failure *b);
