/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of murphy run share. */
#pragma once

#include "program/program.h"
#include "run/run.h"
#include "scenario/scenario.h"
#include "site/site.h"

/* --- what is told while it runs (cmd_watch.c) --------------------------------------------------------------------- */

struct cmd_watch {
  struct run_log log;
  struct run_area *area;
  int file; /* of --log, or -1 */
  const char *path;
  struct text ready;  /* to be written there */
  bool terminal;      /* a line for each injection on standard error */
  struct text missed; /* the first place that a fault should have set and could not */
  uint64_t misses;    /* how many faults have left such a place alone */
};

/* For run_request.tick; CONTEXT is a struct cmd_watch. */
int cmd_watch_tick(void *context, bool final, struct err *e);
/* -ECANCELED, and says that the area cannot be read any more. */
int cmd_watch_damaged(struct err *e);
/* Says, if there were such faults, that not all of them were whole. */
void cmd_watch_say_missed(const struct cmd_watch *w);
/* Appends T to the log, if there is one. */
int cmd_watch_write(struct cmd_watch *w, const struct text *t, struct err *e) MUST_USE;

/* --- what could not be reached (cmd_reach.c) ---------------------------------------------------------------------- */

struct cmd_reach_request {
  const struct program_modules *modules;
  const struct wire_plan *plan; /* checked */
  const struct run_area *area;
  const char *const *functions; /* as the scenario names them */
  size_t n_functions;
  const struct site_names *aliases;
  bool follow;
};

/* Appends the report for people to TEXT, and the same as a line of the log to JSON. */
int cmd_reach(const struct cmd_reach_request *request, struct text *text, struct text *json) MUST_USE;

/* --- the hub (cmd_hub.c) ------------------------------------------------------------------------------------------ */

struct cmd_hub {
  const char *address; /* of --hub; NULL: MURPHY_HUB */
  bool probe;          /* somebody must be there */
  struct text name;
};

/* For scenario_world.hub; CONTEXT is a struct cmd_hub. */
int cmd_hub_find(void *context, const char *address, struct wire_trigger *ret, const char **ret_name, struct err *e);

/* --- what was wrong with them (cmd_trouble.c) --------------------------------------------------------------------- */

/* The path of the first plugin that the plan needs; NULL if it needs none. */
const char *cmd_plugins_first(const struct wire_plan *plan);
/*
 * After the run, which ended as END says: messages for people, and lines of the log. -ECANCELED with a message if a
 * plugin was no good, or if the program crashed while in one: then the run tells nothing about it.
 */
int cmd_trouble(const struct run_area *area, const struct wire_plan *plan, const struct run_ended *end,
                struct text *log, struct err *e) MUST_USE;
