/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the room: what data/relevance and data/aliases know of a call. Their headers say what the facts mean.
 */
#pragma once

#include "base/base.h"

#define RELEVANCE_ARGS 6

enum likelihood { LIKELY_CONTRIVED, LIKELY_RARE, LIKELY_POSSIBLE, LIKELY_COMMON };
enum consequence { WORST_HARMLESS, WORST_LEAK, WORST_WRONG_RESULT, WORST_CRASH, WORST_SECURITY, WORST_DATA_LOSS };
enum effect { EFFECT_UNKNOWN, EFFECT_OK, EFFECT_ERROR, EFFECT_CRASH, EFFECT_WRONG };
/* Where an error comes from: the words behind `when`. */
enum cause {
  CAUSE_NONE,
  CAUSE_MEMORY,
  CAUSE_LIMIT,
  CAUSE_DISK,
  CAUSE_HARDWARE,
  CAUSE_NETWORK,
  CAUSE_PEER,
  CAUSE_PERMISSION,
  CAUSE_MISSING,
  CAUSE_RACE,
  CAUSE_SIGNAL,
  CAUSE_INPUT,
  CAUSE_CONFIG,
  CAUSE_BUG,
};
enum answer { NOT_KNOWN, TRUE_FOR_CALL, FALSE_FOR_CALL };

/* Words that tests use; what is known of a call is one answer for each. */
enum subject {
  ABOUT_FILE,
  ABOUT_DIR,
  ABOUT_SOCKET,
  ABOUT_PIPE,
  ABOUT_TTY,
  ABOUT_NONBLOCKING,
  ABOUT_WRITTEN,
  ABOUT_UNWRITTEN,
  ABOUT_STDOUT,
  ABOUT_STDERR,
  ABOUT_HANDLER,
  ABOUT_ANY_HANDLER,
  ABOUT_FLUSHED,
  ABOUT_FAILED,
  ABOUT_PENDING,
  ABOUT_REMOTE,
  SUBJECTS
};

/* One call: the name as written, and what is known of its arguments. */
struct relevance_call {
  const char *name;
  unsigned known; /* bit I: argument I is the constant ARGS[I] */
  uint64_t args[RELEVANCE_ARGS];
  uint8_t lowest;          /* 1 + the descriptor that it gets if it succeeds; 0 if that is not known */
  bool renewed;            /* the descriptor may be 0, since a loop has closed many */
  unsigned current;        /* bit I: argument I points to the current time */
  unsigned fixed;          /* bit I: argument I points to what the program has in memory that nobody writes to */
  uint8_t about[SUBJECTS]; /* enum answer */
};

enum open_access { ACCESS_READ, ACCESS_WRITE, ACCESS_FLAGS, ACCESS_MODE, ACCESS_LIKE, ACCESS_BOTH };

/* What a function opens; KIND is the subject that its result is then, or SUBJECTS if that is none of them. */
struct relevance_opener {
  uint8_t kind, access, access_arg;
  bool result; /* it is the return value */
  bool path;   /* it is what a path names: no socket */
};

struct relevance;

/* Reads both files of the data folder. An error says where. */
int relevance_load(const char *data, struct relevance **ret, struct err *e) MUST_USE;
/* data/aliases alone. */
int relevance_load_aliases(const char *data, struct relevance **ret, struct err *e) MUST_USE;
/* The same from memory, of which BYTES is written to. */
int relevance_parse(struct relevance *r, const char *name, char *bytes, struct err *e) MUST_USE;
int relevance_parse_aliases(struct relevance *r, const char *name, char *bytes, struct err *e) MUST_USE;
int relevance_new(struct relevance **ret) MUST_USE;
/* After all is read, and before anything is asked. */
int relevance_ready(struct relevance *r) MUST_USE;
void relevance_free(struct relevance *r);

/* The name that the programmer wrote for an imported one. */
const char *relevance_written(const struct relevance *r, const char *imported);
/*
 * The alias of WRITTEN that stands behind the alias AFTER in the file, or the first one if AFTER is NULL; NULL if none.
 */
const char *relevance_alias(const struct relevance *r, const char *written, const char *after);
/* The number of the written function's argument that IMPORTED has as argument ARG, or -1. */
int relevance_argument(const struct relevance *r, const char *imported, unsigned arg);
/* The other way round: where the imported function has the written one's argument ARG, or -1. */
int relevance_argument_of(const struct relevance *r, const char *imported, unsigned arg);

bool relevance_knows(const struct relevance *r, const char *name);
bool relevance_answers(const struct relevance *r, const char *name);
bool relevance_nothing(const struct relevance *r, const char *name);
/* Does it answer the same if it is asked again? */
bool relevance_again(const struct relevance *r, const char *name);
/* Does a call of OTHER end that? */
bool relevance_ends_again(const struct relevance *r, const char *name, const char *other);
/* Does it fail only because there is not what it is asked for? */
bool relevance_absent(const struct relevance *r, const char *name);
/* Does it return the current time? */
bool relevance_tells_now(const struct relevance *r, const char *name);
/* The argument behind which it puts the current time or times of a file, or -1. */
int relevance_now_behind(const struct relevance *r, const char *name);
/* Does it put one of them OFFSET bytes behind that? */
bool relevance_now_offset(const struct relevance *r, const char *name, int64_t offset);
/* The argument whose time is asked for in tests, or -1. */
int relevance_date(const struct relevance *r, const char *name);
/* The argument with the stream that keeps the failure, or -1. */
int relevance_kept(const struct relevance *r, const char *name);
/* The argument with the stream that it makes forget such a failure, or -1. */
int relevance_forgets(const struct relevance *r, const char *name);
/* What the function does with NULL, or with -1, as its argument ARG. */
enum effect relevance_effect(const struct relevance *r, const char *name, unsigned arg, bool null);
const struct relevance_opener *relevance_opens(const struct relevance *r, const char *name);
/* The argument with the descriptor or stream that the function works on, or -1; 6 and more: a variable of libc. */
int relevance_descriptor(const struct relevance *r, const char *name);
/* The argument with the descriptor or stream that it writes to, likewise. */
int relevance_writes(const struct relevance *r, const char *name);
/* The argument with the descriptor or stream whose data it brings out, likewise. */
int relevance_flushes(const struct relevance *r, const char *name);
/* Does it tell whether a stream has kept a failure? */
bool relevance_tells_kept(const struct relevance *r, const char *name);
/* Does OTHER tell it of a stream that NAME has failed on? */
bool relevance_told_by(const struct relevance *r, const char *name, const char *other);
/* Does it read? */
bool relevance_reads(const struct relevance *r, const char *name);
/* Does a rule ask whether it is called only after a failure? */
bool relevance_asks_failed(const struct relevance *r, const char *name);
/* Does it end a descriptor or stream? */
bool relevance_closes(const struct relevance *r, const char *name);

/* ERROR: an errno; 0 for a failure without; RETVAL is the returned code. */
enum likelihood relevance_likelihood(const struct relevance *r, const struct relevance_call *c, int error,
                                     int64_t retval);
/* Is there a line about this error of this very function? */
bool relevance_names(const struct relevance *r, const char *name, int error, int64_t retval);
/* Do the arguments of this call rule the error out, by a line about it of this very function? */
bool relevance_rules_out(const struct relevance *r, const struct relevance_call *c, int error, int64_t retval);
enum cause relevance_cause(const struct relevance *r, const char *name, int error, int64_t retval);
bool relevance_is_inside(enum cause cause);
/* Does it not stay: a signal is over, and who was faster or slower than the program may not be the next time? */
bool relevance_passes(enum cause cause, int error);
/* Does this error mean that what was written before may be gone, which nothing shows? */
bool relevance_lost(const struct relevance *r, const struct relevance_call *c, int error);
/* How likely the call does only a part of what it is asked for. */
enum likelihood relevance_short(const struct relevance *r, const struct relevance_call *c);
bool relevance_shortens(const struct relevance *r, const char *name);
/* The likeliest failure that the function has a line of its own for. */
enum likelihood relevance_fails(const struct relevance *r, const struct relevance_call *c);
/* The likeliest with an errno that comes from the world, and not from the input or from a mistake. */
enum likelihood relevance_fails_outside(const struct relevance *r, const struct relevance_call *c);
enum consequence relevance_unnoticed(const struct relevance *r, const struct relevance_call *c);
bool relevance_ignored(const struct relevance *r, const struct relevance_call *c);
