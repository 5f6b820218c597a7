/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of murphy run share. */
#pragma once

#include "profile/profile.h"
#include "run/run.h"
#include "scenario/scenario.h"
#include "site/site.h"

/* --- what a scenario is compiled against (run_world.c) ------------------------------------------------------------ */

struct run_world {
  struct scenario_world world;
  struct run_modules *modules;
  bool follow;
  VEC(struct wire_module) wire;
  VEC(const char *) names;
  VEC(struct wire_row) rows;
  struct profile *profiles; /* what was found, then each file and what it makes of the profile so far */
  size_t n_profiles;
  /* Asked for again with each rule: where a function's versions begin in `versions`, and how many there are. */
  struct map asked;
  VEC(const char *) versions;
  size_t asked_modules; /* of so many */
};

struct run_world_request {
  const char *data;
  const char *const *profiles; /* files, put over what is found in the libraries */
  size_t n_profiles;
  bool follow; /* modules may also be of programs that the command starts */
  void (*progress)(void *context, size_t done, size_t total);
  void *context;
};

/* The profile of what S names, and the modules, for M, which must live as long. */
int run_world_make(const struct run_world_request *request, struct run_modules *m, const struct scenario *s,
                   struct run_world *ret, struct err *e) MUST_USE;
void run_world_done(struct run_world *w);

/* For scenario_world.find_variable; CONTEXT is a struct run_world (run_variables.c). */
int run_world_variable(void *context, const char *function, const char *name, unsigned parameter,
                       struct scenario_variable *ret, struct err *e) MUST_USE;

/* For scenario_world.within (run_within.c). */
int run_world_within(void *context, const struct scenario_frame *frames, size_t n, size_t inner_at, size_t outer_at,
                     struct scenario_places *ret) MUST_USE;

/* For scenario_world.calls, only_jumps and call_sites (run_sites.c). */
bool run_world_calls(void *context, const struct wire_place *p, const char *function);
bool run_world_only_jumps(void *context, const struct wire_place *p, const char *function);
int run_world_sites(void *context, const char *function, struct scenario_sites *ret, struct err *e) MUST_USE;

/* --- what is told while it runs (run_watch.c) --------------------------------------------------------------------- */

struct run_watch {
  struct run_log log;
  struct run_area *area;
  int file; /* of --log, or -1 */
  const char *path;
  struct text ready;  /* to be written there */
  bool terminal;      /* a line for each injection on standard error */
  struct text missed; /* the first place that a fault should have set and could not */
  uint64_t misses;    /* how many faults have left such a place alone */
};

/* For run_request.tick; CONTEXT is a struct run_watch. */
int run_watch_tick(void *context, bool final, struct err *e);
/* -ECANCELED, and says that the area cannot be read any more. */
int run_watch_damaged(struct err *e);
/* Says, if there were such faults, that not all of them were whole. */
void run_watch_say_missed(const struct run_watch *w);
/* Appends T to the log, if there is one. */
int run_watch_write(struct run_watch *w, const struct text *t, struct err *e) MUST_USE;

/* --- what could not be reached (run_reach.c) ---------------------------------------------------------------------- */

struct run_reach_request {
  const struct run_modules *modules;
  const struct wire_plan *plan; /* checked */
  const struct run_area *area;
  const char *const *functions; /* as the scenario names them */
  size_t n_functions;
  const struct site_names *aliases;
  bool follow;
};

/* Appends the report for people to TEXT, and the same as a line of the log to JSON. */
int run_reach(const struct run_reach_request *request, struct text *text, struct text *json) MUST_USE;
