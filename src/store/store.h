/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The campaign's database: what was planned, what was done, what was found. An SQLite file that anybody can query.
 *
 * Killed at any moment, it holds everything up to the last store_flush; a disk that is full is an error of the call
 * that noticed, and what is in the file stays readable. One thread at a time.
 */
#pragma once

#include "base/base.h"

struct store;

/* FOLDER/campaign.db. CREATE: a new one, -EEXIST if there is one already; else -ENOENT if there is none. A file that is
 * damaged, of another program or of another version is refused with a message and left as it is. */
int store_open(const char *folder, bool create, struct store **ret, struct err *e) MUST_USE;
/* Writes what is left, if it can; call store_flush before to know that it could. NULL is fine. */
void store_close(struct store *s);
/* Everything so far is in the file. */
int store_flush(struct store *s, struct err *e) MUST_USE;

/* Facts about the campaign by name: command, baseline, times. The value lives until the next call; NULL if none. */
int store_set(struct store *s, const char *name, const char *value, struct err *e) MUST_USE;
const char *store_get(struct store *s, const char *name);

/* A call stack that reached a function. Texts may be NULL. */
struct store_point {
  int64_t id; /* from 1, given by store_add_point */
  uint64_t hash;
  const char *function;
  uint64_t count;                 /* how often it was reached in the baseline */
  const char *module, *in, *file; /* of the call */
  uint64_t offset;
  unsigned line;
  const char *stack;   /* JSON array of frames, innermost first */
  const char *verdict; /* of the call site: all, some, none */
};

/* A fault at a point: planned, then done. */
struct store_experiment {
  int64_t id, point; /* id: given by store_plan */
  uint64_t nth;      /* which time the point is reached */
  int64_t retval;
  int error;           /* errno; 0 if it is not set */
  const char *mode;    /* exec, fork, branch; NULL while it was not done */
  const char *outcome; /* same, handled, crash, abort, hang, silent, sanitizer, missed; NULL while it was not done */
  int status;          /* as of waitpid */
  uint64_t call;       /* number of the call in its process */
  double seconds;
  const char *crash;      /* JSON array of frames, or NULL */
  const char *difference; /* for people: how it looked different */
  int64_t finding;        /* 0 if none */
};

struct store_finding {
  int64_t id;
  const char *kind; /* as an outcome */
  int64_t experiment;
  uint64_t count;   /* experiments in it */
  double precision; /* share of repeats that came out the same */
  const char *replay;
};

int store_add_point(struct store *s, struct store_point *p, struct err *e) MUST_USE;
/* Plans an experiment; only point, nth, retval and error are read. */
int store_plan(struct store *s, struct store_experiment *x, struct err *e) MUST_USE;
/* Its result, by id: all from mode on. */
int store_done(struct store *s, const struct store_experiment *x, struct err *e) MUST_USE;
int store_add_finding(struct store *s, struct store_finding *f, struct err *e) MUST_USE;
/* Its count, precision, replay and experiment, by id. */
int store_update_finding(struct store *s, const struct store_finding *f, struct err *e) MUST_USE;

/* Each in the order of their ids; strings are valid during the call. What FUNCTION returns, if not 0, ends it. */
int store_points(struct store *s, int (*function)(void *context, const struct store_point *p), void *context,
                 struct err *e) MUST_USE;
int store_experiments(struct store *s, int (*function)(void *context, const struct store_experiment *x), void *context,
                      struct err *e) MUST_USE;
int store_findings(struct store *s, int (*function)(void *context, const struct store_finding *f), void *context,
                   struct err *e) MUST_USE;
