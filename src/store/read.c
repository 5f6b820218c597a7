/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked of the database. */
#include "store/inside.h"

#include <errno.h>

static const char *text_at(sqlite3_stmt *st, int i) { return (const char *)sqlite3_column_text(st, i); }

static uint64_t number_at(sqlite3_stmt *st, int i) { return (uint64_t)sqlite3_column_int64(st, i); }

/* Each row goes to ROW, until it returns something else than 0. */
static int each(struct store *s, enum statement which, int (*row)(sqlite3_stmt *st, void *closure), void *closure,
                struct err *e) {
  sqlite3_stmt *st = s->statements[which];
  int r, code = 0;
  while ((r = sqlite3_step(st)) == SQLITE_ROW && code == 0)
    code = row(st, closure);
  (void)sqlite3_reset(st);
  (void)sqlite3_clear_bindings(st);
  return code || r == SQLITE_DONE ? code : store_failed(s, r, e);
}

struct point_reader {
  int (*function)(void *, const struct store_point *);
  void *context;
};

static int point_row(sqlite3_stmt *st, void *closure) {
  struct point_reader *reader = closure;
  struct store_point p = {.id = sqlite3_column_int64(st, 0),
                          .hash = number_at(st, 1),
                          .function = text_at(st, 2),
                          .count = number_at(st, 3),
                          .module = text_at(st, 4),
                          .offset = number_at(st, 5),
                          .in = text_at(st, 6),
                          .file = text_at(st, 7),
                          .line = (unsigned)number_at(st, 8),
                          .verdict = text_at(st, 9)};
  return reader->function(reader->context, &p);
}

int store_points(struct store *s, int (*function)(void *, const struct store_point *), void *context, struct err *e) {
  return each(s, POINTS, point_row, &(struct point_reader){function, context}, e);
}

struct experiment_reader {
  int (*function)(void *, const struct store_experiment *);
  void *context;
};

static int experiment_row(sqlite3_stmt *st, void *closure) {
  struct experiment_reader *reader = closure;
  bool repeated = sqlite3_column_type(st, 12) != SQLITE_NULL;
  struct store_experiment x = {.id = sqlite3_column_int64(st, 0),
                               .point = sqlite3_column_int64(st, 1),
                               .nth = number_at(st, 2),
                               .onwards = sqlite3_column_int(st, 3) != 0,
                               .retval = sqlite3_column_int64(st, 4),
                               .error = sqlite3_column_int(st, 5),
                               .mode = text_at(st, 6),
                               .outcome = text_at(st, 7),
                               .status = sqlite3_column_int(st, 8),
                               .call = number_at(st, 9),
                               .process = (uint32_t)number_at(st, 10),
                               .seconds = sqlite3_column_double(st, 11),
                               .precision = repeated ? sqlite3_column_double(st, 12) : -1,
                               .difference = text_at(st, 13),
                               .finding = sqlite3_column_int64(st, 14),
                               .hash = number_at(st, 15),
                               .act = text_at(st, 16),
                               .first = sqlite3_column_int64(st, 17),
                               .doubt = text_at(st, 18)};
  return reader->function(reader->context, &x);
}

int store_experiments(struct store *s, int (*function)(void *, const struct store_experiment *), void *context,
                      struct err *e) {
  return each(s, EXPERIMENTS, experiment_row, &(struct experiment_reader){function, context}, e);
}

struct finding_reader {
  int (*function)(void *, const struct store_finding *);
  void *context;
};

static int finding_row(sqlite3_stmt *st, void *closure) {
  struct finding_reader *reader = closure;
  struct store_finding f = {.id = sqlite3_column_int64(st, 0),
                            .kind = text_at(st, 1),
                            .signal = sqlite3_column_int(st, 2),
                            .experiment = sqlite3_column_int64(st, 3),
                            .precision = sqlite3_column_double(st, 4),
                            .difference = text_at(st, 5),
                            .count = number_at(st, 8),
                            .function = text_at(st, 9),
                            .hash = number_at(st, 10),
                            .nth = number_at(st, 11),
                            .call = number_at(st, 12),
                            .process = (uint32_t)number_at(st, 13),
                            .onwards = sqlite3_column_int(st, 14) != 0,
                            .retval = sqlite3_column_int64(st, 15),
                            .error = sqlite3_column_int(st, 16),
                            .status = sqlite3_column_int(st, 17),
                            .act = text_at(st, 18),
                            .first = {.function = text_at(st, 19),
                                      .retval = sqlite3_column_int64(st, 20),
                                      .error = sqlite3_column_int(st, 21),
                                      .act = text_at(st, 22),
                                      .call = number_at(st, 23),
                                      .process = (uint32_t)number_at(st, 24),
                                      .nth = number_at(st, 25)}};
  for (int i = 0; i < 2; i++) {
    f.keys[i] = sqlite3_column_blob(st, 6 + i);
    f.n_keys[i] = (size_t)sqlite3_column_bytes(st, 6 + i) / sizeof **f.keys;
  }
  return reader->function(reader->context, &f);
}

int store_findings(struct store *s, int (*function)(void *, const struct store_finding *), void *context,
                   struct err *e) {
  return each(s, FINDINGS, finding_row, &(struct finding_reader){function, context}, e);
}

struct doubt_reader {
  int (*function)(void *, const struct store_doubt *);
  void *context;
};

static int doubt_row(sqlite3_stmt *st, void *closure) {
  struct doubt_reader *reader = closure;
  struct store_doubt d = {.outcome = text_at(st, 0),
                          .function = text_at(st, 1),
                          .act = text_at(st, 2),
                          .retval = sqlite3_column_int64(st, 3),
                          .error = sqlite3_column_int(st, 4),
                          .precision = sqlite3_column_type(st, 5) == SQLITE_NULL ? -1 : sqlite3_column_double(st, 5),
                          .in = text_at(st, 6),
                          .file = text_at(st, 7),
                          .module = text_at(st, 8),
                          .offset = number_at(st, 9),
                          .line = (unsigned)number_at(st, 10),
                          .why = text_at(st, 11)};
  return reader->function(reader->context, &d);
}

int store_doubts(struct store *s, int (*function)(void *, const struct store_doubt *), void *context, struct err *e) {
  return each(s, DOUBTS, doubt_row, &(struct doubt_reader){function, context}, e);
}

struct frame_reader {
  int (*function)(void *, const struct store_frame *);
  void *context;
};

static int frame_row(sqlite3_stmt *st, void *closure) {
  struct frame_reader *reader = closure;
  struct store_frame f = {.module = text_at(st, 0),
                          .path = text_at(st, 1),
                          .function = text_at(st, 2),
                          .file = text_at(st, 3),
                          .line = (unsigned)number_at(st, 4),
                          .offset = number_at(st, 5)};
  return reader->function(reader->context, &f);
}

int store_frames(struct store *s, int64_t finding, enum store_stack stack,
                 int (*function)(void *, const struct store_frame *), void *context, struct err *e) {
  sqlite3_stmt *st = s->statements[FRAMES];
  (void)sqlite3_bind_int64(st, 1, finding);
  (void)sqlite3_bind_text(st, 2, store_stack_words[stack], -1, SQLITE_STATIC);
  return each(s, FRAMES, frame_row, &(struct frame_reader){function, context}, e);
}

struct count_reader {
  int (*function)(void *, const char *, uint64_t);
  void *context;
};

static int count_row(sqlite3_stmt *st, void *closure) {
  struct count_reader *reader = closure;
  return reader->function(reader->context, text_at(st, 0), number_at(st, 1));
}

int store_counts(struct store *s, enum store_count what, int (*function)(void *, const char *, uint64_t), void *context,
                 struct err *e) {
  static const enum statement statements[] = {
      [STORE_OUTCOMES] = COUNT_OUTCOMES, [STORE_MODES] = COUNT_MODES,         [STORE_REASONS] = COUNT_REASONS,
      [STORE_LEFT] = COUNT_LEFT,         [STORE_FUNCTIONS] = COUNT_FUNCTIONS, [STORE_TOTALS] = COUNT_TOTALS};
  return each(s, statements[what], count_row, &(struct count_reader){function, context}, e);
}
