/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the room: what data/kernel/ways says about the inside of a kernel. */
#pragma once

#include "profile/analyse.h"

/* FUNCTION, or all that match the pattern, and ERRORS that it never returns, or also returns. */
struct way_errors {
  const char *function;
  struct errno_set errors;
  bool restarts; /* also those by which a call is begun anew */
};

typedef VEC(struct way_errors) way_errors_list;

/* Text to write behind an errno of a system call: the condition on an argument. */
struct way_condition {
  const char *call, *text;
  int error;
};

typedef VEC(const char *) word_list;

/* All zero is valid and says nothing. */
struct ways {
  struct arena arena;
  word_list tables, beyond; /* patterns as of fnmatch */
  word_list modules;
  way_errors_list never, gives;
  VEC(struct way_condition) conditions;
  VEC(const char *) calls; /* names by number; NULL where there is none */
  uint64_t hash;           /* of the files' bytes */
};

/* From the data folder's kernel/ways and kernel/x86_64.calls. Errors say file and line. */
int ways_load(const char *folder, struct ways *ret, struct err *e) MUST_USE;
void ways_done(struct ways *w);

/* For struct solver_ways. */
bool ways_table(void *ways, const char *name);
/* How early a table's pattern stands: the first are the most common. The number of patterns if there is none. */
size_t ways_table_rank(const struct ways *w, const char *name);
bool ways_beyond(void *ways, const char *name);
bool ways_never(void *ways, const char *name, unsigned error);
const uint64_t *ways_gives(void *ways, const char *name);
/* "[4!-1]" or "". */
const char *ways_condition(const struct ways *w, const char *call, int error);
