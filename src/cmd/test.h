/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of murphy test share. */
#pragma once

#include "campaign/campaign.h"
#include "cmd/cmd.h"
#include "cmd/run.h"
#include "site/site.h"
#include "store/store.h"

/* What can fail in a command, and where it was seen to be called. */
struct test_space {
  const char *data, *runtime;
  struct run_target target;
  struct run_modules modules;
  struct scenario *scenario; /* a rule for each function, with all its errors */
  struct run_world world;
  struct text plan; /* without area and preload: for its faults and names */
  struct site_likely *likely;
  struct profile_facts *facts;
  struct map verdicts; /* of call sites, by module and return address */
  VEC(struct campaign_fault) faults;
  VEC(struct campaign_point) points;
  VEC(struct wire_point) seen; /* as many as points */
  struct arena arena;
};

struct test_scope {
  const char *const *from; /* modules whose calls may fail beside the program's own; NULL for those outside of the
                              system's folders */
  size_t n_from;
  const char *const *functions, *const *errnos; /* only these, if there are any */
  size_t n_functions, n_errnos;
  bool follow;
};

/* Finds the program, its modules and all their faults. */
int test_space_make(char *const *command, const struct test_scope *scope, struct test_space *ret,
                    struct err *e) MUST_USE;
void test_space_done(struct test_space *s);
/* For lab_request.write; CONTEXT is a struct test_writer. */
struct test_writer {
  struct test_space *space;
  bool points, follow;
};
int test_write_shim(void *context, const char *area, const char *shim, struct text *ret_shim, struct text *ret_preload,
                    struct err *e);
/* Takes the points that the lab's last run recorded. */
int test_take_points(struct test_space *s, const struct lab *l, struct err *e) MUST_USE;
/* For campaign_order.likely; CONTEXT is a struct test_space. */
int test_likely(void *context, const struct campaign_point *p, const struct campaign_fault *f);
/* Name of function I of the plan. */
const char *test_function(const struct test_space *s, uint32_t i);

/* --- what was found (test_record.c, test_write.c) ----------------------------------------------------------------- */

struct test_summary {
  struct test_space *space;
  const struct baseline *baseline;
  const struct campaign_experiment *experiments;
  size_t n_experiments;
  char *const *command;
  bool follow;
};

struct test_frame {
  const char *module, *path, *function, *file;
  uint64_t offset;
  unsigned line;
};

struct test_stack {
  const struct test_frame *frames;
  size_t n;
};

struct test_finding {
  enum outcome kind;
  int signal;
  const char *function;
  uint64_t call, nth;
  uint32_t process;
  int64_t retval;
  int error;
  bool onwards;
  struct test_stack inject, crash;
  const char *difference;
  uint64_t count;
  double precision;
  size_t experiment;
};

struct test_record {
  struct test_summary about;
  struct arena arena;
  VEC(struct test_finding) findings;
  size_t outcomes[OUTCOMES];
  size_t modes[LAB_MODES];
  char why[SANDBOX_WHY]; /* the first reason why an experiment was not made in the fastest way */
  size_t done, unconfirmed;
  bool *was_done; /* of each experiment */
  double seconds;
};

int test_record_start(struct test_record *r, const struct test_summary *about, struct err *e) MUST_USE;
int test_record_add(struct test_record *r, const struct sweep_done *d, struct err *e) MUST_USE;
/* Nothing is added any more: puts the findings in order. */
void test_record_finish(struct test_record *r);
void test_record_done(struct test_record *r);

void test_write_text(const struct test_record *r, struct text *to);
void test_write_json(const struct test_record *r, struct text *to);
