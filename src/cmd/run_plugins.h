/* SPDX-License-Identifier: Apache-2.0 */
/* What scenarios ask outside of their own rules: plugins by class name, the hub; and what was wrong with them. */
#pragma once

#include "base/base.h"
#include "run/run.h"
#include "scenario/scenario.h"

/* --- classes in shared objects (run_plugins.c) -------------------------------------------------------------------- */

/* A class that a shared object has. */
struct run_plugin {
  const char *class, *file;
  const char *bad; /* why it cannot be used, or NULL */
};

struct run_plugins {
  VEC(const char *) folders; /* in the order of search */
  VEC(struct run_plugin) known;
  VEC(const char *) names;
  VEC(struct run_plugin) empty; /* what is called a shared object, and has no class; `bad` says why */
  size_t others;                /* how many of `folders` are not murphy's own; what is in that is no mistake */
  bool looked;                  /* the folders have been read */
  struct arena arena;
};

/* DIR is one more folder, searched before those that come later. -ENOENT with a message if it is none. */
int run_plugins_add(struct run_plugins *p, const char *dir, struct err *e) MUST_USE;
/* Those of MURPHY_TRIGGERS, with colons between them, and the one that comes with murphy. */
int run_plugins_defaults(struct run_plugins *p, struct err *e) MUST_USE;
/* For scenario_set_plugins. P must live as long as the scenario. */
struct scenario_plugins run_plugins_for(struct run_plugins *p);
void run_plugins_done(struct run_plugins *p);

/* --- the hub (run_hub.c) ------------------------------------------------------------------------------------------ */

struct run_hub {
  const char *address; /* of --hub; NULL: MURPHY_HUB */
  bool probe;          /* somebody must be there */
  struct text name;
};

/* For scenario_world.hub; CONTEXT is a struct run_hub. */
int run_hub_find(void *context, const char *address, struct wire_trigger *ret, const char **ret_name, struct err *e);

/* --- what was wrong with them (run_trouble.c) --------------------------------------------------------------------- */

/* The path of the first plugin that the plan needs; NULL if it needs none. */
const char *run_plugins_first(const struct wire_plan *plan);
/*
 * After the run, which ended as END says: messages for people, and lines of the log. -ECANCELED with a message if a
 * plugin was no good, or if the program crashed while in one: then the run tells nothing about it.
 */
int run_trouble(const struct run_area *area, const struct wire_plan *plan, const struct run_ended *end,
                struct text *log, struct err *e) MUST_USE;
