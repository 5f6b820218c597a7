/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the store share. */
#pragma once

#include "store/store.h"

#include <sqlite3.h>

enum statement {
  BEGIN,
  COMMIT,
  SET,
  GET,
  ADD_POINT,
  PLAN,
  ADD_EXPERIMENT,
  ADD_FINDING,
  UPDATE_FINDING,
  ADD_FRAME,
  POINTS,
  EXPERIMENTS,
  FINDINGS,
  DOUBTS,
  FRAMES,
  COUNT_OUTCOMES,
  COUNT_MODES,
  COUNT_REASONS,
  COUNT_LEFT,
  COUNT_FUNCTIONS,
  COUNT_TOTALS,
  STATEMENTS,
};

extern const char *const store_sql[STATEMENTS];
extern const char store_tables[];
extern const char *const store_stack_words[];

struct store {
  sqlite3 *db;
  char *path;
  sqlite3_stmt *statements[STATEMENTS];
  bool open; /* a transaction */
  bool kept; /* there is something in it, by now or from before */
};

/* The message for SQLite's error R, and its negative errno. */
int store_failed(struct store *s, int r, struct err *e);
