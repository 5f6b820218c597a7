/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The campaign's folder and database: what was planned, what was done, what was found. An SQLite file that anybody can
 * query.
 *
 * Killed at any moment, it holds everything up to the last store_flush; a disk that is full is an error of the call
 * that noticed, and what is in the file stays readable. One thread at a time.
 */
#pragma once

#include "base/base.h"

struct store;

/* --- the folder (folder.c) ---------------------------------------------------------------------------------------- */

/*
 * A campaign's folder, taken for writing: nobody else writes to it until store_folder_done. All zero, but for fd = -1,
 * is valid and empty.
 */
struct store_folder {
  char *path; /* absolute */
  int fd;
  bool made; /* by this process: it goes again if nothing was put into it */
};

/*
 * Makes the folder if it is not there. -EEXIST, -ENOTEMPTY with a message if it is something else than a campaign's
 * folder or an empty one; -EBUSY if another murphy works in it; as store_open if there is a campaign that cannot be
 * read. Nothing that is there is changed.
 */
int store_folder_take(const char *path, struct store_folder *ret, struct err *e) MUST_USE;
void store_folder_done(struct store_folder *f);
/*
 * Moves a campaign that is in the folder, with its findings, to campaign-N in it. *ret_kept is N, 0 if there was none.
 * A campaign that cannot be read is refused and left alone. git is told to leave out the folder.
 */
int store_folder_clear(const struct store_folder *f, unsigned *ret_kept, struct err *e) MUST_USE;
/* The folder of a finding: made, with its parents, if MAKE. *ret is malloc'ed. */
int store_folder_finding(const char *folder, int64_t id, bool make, char **ret, struct err *e) MUST_USE;

/* --- the database (store.c) --------------------------------------------------------------------------------------- */

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

/* --- what is in it ------------------------------------------------------------------------------------------------ */

/* A call stack that reached a function. Texts may be NULL. */
struct store_point {
  int64_t id; /* from 1, given by store_add_point */
  uint64_t hash;
  const char *function;
  uint64_t count;                 /* how often it was reached in the baseline */
  const char *module, *in, *file; /* of the call */
  uint64_t offset;
  unsigned line;
  const char *verdict; /* of the call site: all, some, none, unknown */
};

/* A fault at a point, and what became of it. */
struct store_experiment {
  int64_t id, point; /* id: given by store_add_experiment */
  uint64_t nth;      /* which time the point is reached */
  bool onwards;      /* from then on, every time */
  int64_t retval;
  int error;           /* errno; 0 if it is not set */
  const char *mode;    /* exec, fork, branch */
  const char *outcome; /* same, handled, crash, abort, hang, silent, sanitizer, missed */
  int status;          /* as of waitpid */
  uint64_t call;       /* number of the call in its process */
  uint32_t process;    /* number of the process, from 1 */
  double seconds;
  double precision;       /* share of repeats that came out the same; negative if it was not repeated */
  const char *difference; /* for people: how it looked different; NULL if that does not matter */
  int64_t finding;        /* 0 if none */
  uint64_t hash;          /* of the point; only read */
  const char *act;        /* what is done to the call, if that is no error: short, throw; else NULL */
  const char *doubt;      /* it is a failure but no finding: why; else NULL */
  int64_t first;          /* the experiment whose fault came before, in one run with this one; 0 if none */
  int64_t replaces;       /* the id of one that this takes the place of, and the id; 0 if none. Only written */
};

struct store_frame {
  const char *module, *path, *function, *file; /* NULL if not known */
  uint64_t offset;
  unsigned line;
};

enum store_stack { STORE_INJECT, STORE_CRASH, STORE_FIRST };

/* The fault that came before, of an experiment with two; function is NULL if there is none. */
struct store_first {
  const char *function, *act;
  int64_t retval;
  int error;
  uint64_t nth, call;
  uint32_t process;
};

/* Experiments with one cause. What is not marked otherwise is written; the rest is that of its experiment. */
struct store_finding {
  int64_t id; /* given by the caller, from 1 */
  const char *kind;
  int signal;
  int64_t experiment; /* the one that stands for all */
  double precision;
  const char *difference;
  const uint64_t *keys[2]; /* the stacks as numbers, by enum store_stack */
  size_t n_keys[2];
  /* only read: */
  uint64_t count;
  const char *function;
  uint64_t hash, nth, call;
  uint32_t process;
  bool onwards;
  int64_t retval;
  int error, status;
  const char *act;
  struct store_first first;
};

/* A failure that is no finding, since it did not come again or was not repeated; only read. */
struct store_doubt {
  const char *outcome, *function, *act, *in, *file, *module, *why;
  int64_t retval;
  int error;
  double precision; /* negative if it was not repeated */
  uint64_t offset;
  unsigned line;
};

int store_add_point(struct store *s, struct store_point *p, struct err *e) MUST_USE;
/* How many experiments are planned for calls of a function, in all; replaces what was said before. */
int store_plan(struct store *s, const char *function, uint64_t experiments, struct err *e) MUST_USE;
int store_add_experiment(struct store *s, struct store_experiment *x, struct err *e) MUST_USE;
int store_add_finding(struct store *s, const struct store_finding *f, struct err *e) MUST_USE;
/* Another experiment stands for the finding. */
int store_update_finding(struct store *s, int64_t id, int64_t experiment, struct err *e) MUST_USE;
/* Frame number N, from 0, of a stack of a finding. */
int store_add_frame(struct store *s, int64_t finding, enum store_stack stack, size_t n, const struct store_frame *f,
                    struct err *e) MUST_USE;

/* Each in the order of their ids; strings are valid during the call. What FUNCTION returns, if not 0, ends it. */
int store_points(struct store *s, int (*function)(void *context, const struct store_point *p), void *context,
                 struct err *e) MUST_USE;
int store_experiments(struct store *s, int (*function)(void *context, const struct store_experiment *x), void *context,
                      struct err *e) MUST_USE;
int store_findings(struct store *s, int (*function)(void *context, const struct store_finding *f), void *context,
                   struct err *e) MUST_USE;
int store_doubts(struct store *s, int (*function)(void *context, const struct store_doubt *d), void *context,
                 struct err *e) MUST_USE;
int store_frames(struct store *s, int64_t finding, enum store_stack stack,
                 int (*function)(void *context, const struct store_frame *f), void *context, struct err *e) MUST_USE;

/* Numbers of experiments by name. */
enum store_count {
  STORE_OUTCOMES,
  STORE_MODES,
  STORE_REASONS,   /* the facts "why_MODE: REASON"; most first */
  STORE_LEFT,      /* planned and not made, by function; most first */
  STORE_FUNCTIONS, /* planned, by function */
  STORE_TOTALS,    /* "points", "planned", "done", "unconfirmed", "excused" */
};
int store_counts(struct store *s, enum store_count what, int (*function)(void *context, const char *name, uint64_t n),
                 void *context, struct err *e) MUST_USE;
