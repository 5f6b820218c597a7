/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What people and CI read of a campaign: made from its database alone, while it runs or at any time later.
 */
#pragma once

#include "base/base.h"
#include "store/store.h"

struct report_stack {
  const struct store_frame *frames; /* innermost first */
  size_t n;
};

struct report_finding {
  struct store_finding is;
  struct report_stack inject, crash;
  struct report_stack first; /* of the call that failed before, if two did */
  bool foreign;              /* the call is one of the interpreter's, and not of the script or what that starts */
  const char *replay;        /* the command that repeats it */
  const char *run;           /* another one, that needs no campaign: by the number of the call */
};

struct report_count {
  const char *name;
  uint64_t n;
};

/* Everything lives in the arena; texts that are not there are "". */
struct report {
  struct arena arena;
  const char *line;     /* the command as a shell reads it */
  const char *command;  /* the same as a JSON array */
  const char *baseline; /* as a JSON object */
  const char *notes;    /* what varies without faults, a line each */
  const char *program, *build_id, *cwd, *kernel, *murphy, *started, *state;
  const char *interpreter;         /* path of the one that runs the command, a script, if it is the system's; or "" */
  const char *why_exec, *why_fork; /* experiments were made in no faster way; "" if none was, or it is not known */
  const char *left_why;            /* experiments are left, if it is finished */
  const char *resume;              /* the command that goes on with it */
  double seconds;
  uint64_t points, planned, done, unconfirmed, excused, pairs; /* pairs: done with two faults */
  VEC(struct report_count) outcomes, modes, left, functions;
  VEC(struct report_count) reasons;    /* "why_MODE: REASON", the most first: of each of the two above */
  VEC(struct report_finding) findings; /* the worst first */
  VEC(struct store_doubt) doubts;
  unsigned columns; /* of the terminal that report_text is for; 0 if it is for none */
};

/* FOLDER is the campaign's as the user names it, for the commands that are told. */
int report_load(struct store *s, const char *folder, struct report *ret, struct err *e) MUST_USE;
void report_done(struct report *r);

/* What a call does that fails: " returns -1 with EIO"; ACT and ERROR, the name of an errno, may be NULL. */
void report_fault(const char *act, int64_t retval, const char *error, struct text *to);

/* In each of these, a failed allocation sticks to the text. */
void report_text(const struct report *r, struct text *to);
void report_json(const struct report *r, struct text *to);
void report_junit(const struct report *r, struct text *to);
void report_sarif(const struct report *r, struct text *to);
void report_html(const struct report *r, struct text *to);

/* One finding as report_text has it. */
void report_text_finding(const struct report_finding *f, struct text *to);
