/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables, and a statement for each thing that is done with them.
 *
 * Writes are gathered into transactions, so that an experiment costs microseconds and not a disk's turn; store_flush
 * ends one. The write-ahead log keeps the file whole if murphy is killed; a power cut may lose the last transactions,
 * not the file.
 */
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* "mrph", and the version of the tables. */
enum { APPLICATION = 0x6d727068, TABLES = 1 };

enum statement {
  BEGIN,
  COMMIT,
  SET,
  GET,
  ADD_POINT,
  PLAN,
  DONE,
  ADD_FINDING,
  UPDATE_FINDING,
  POINTS,
  EXPERIMENTS,
  FINDINGS,
  STATEMENTS,
};

static const char *const sql[STATEMENTS] = {
    [BEGIN] = "BEGIN IMMEDIATE",
    [COMMIT] = "COMMIT",
    [SET] = "INSERT INTO fact (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = ?2",
    [GET] = "SELECT value FROM fact WHERE name = ?1",
    [ADD_POINT] = "INSERT INTO point (hash, function, count, module, offset, \"in\", file, line, stack, verdict) "
                  "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    [PLAN] = "INSERT INTO experiment (point, nth, retval, errno) VALUES (?1, ?2, ?3, ?4)",
    [DONE] = "UPDATE experiment SET mode = ?2, outcome = ?3, status = ?4, call = ?5, seconds = ?6, crash = ?7, "
             "difference = ?8, finding = ?9 WHERE id = ?1",
    [ADD_FINDING] = "INSERT INTO finding (kind, experiment, count, precision, replay) VALUES (?1, ?2, ?3, ?4, ?5)",
    [UPDATE_FINDING] = "UPDATE finding SET experiment = ?2, count = ?3, precision = ?4, replay = ?5 WHERE id = ?1",
    [POINTS] = "SELECT id, hash, function, count, module, offset, \"in\", file, line, stack, verdict FROM point "
               "ORDER BY id",
    [EXPERIMENTS] = "SELECT id, point, nth, retval, errno, mode, outcome, status, call, seconds, crash, difference, "
                    "finding FROM experiment ORDER BY id",
    [FINDINGS] = "SELECT id, kind, experiment, count, precision, replay FROM finding ORDER BY id",
};

static const char tables[] =
    "CREATE TABLE fact (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE point (id INTEGER PRIMARY KEY, hash INTEGER NOT NULL, function TEXT NOT NULL, count INTEGER NOT NULL,"
    " module TEXT, offset INTEGER, \"in\" TEXT, file TEXT, line INTEGER, stack TEXT, verdict TEXT);"
    "CREATE TABLE experiment (id INTEGER PRIMARY KEY, point INTEGER NOT NULL REFERENCES point, nth INTEGER NOT NULL,"
    " retval INTEGER NOT NULL, errno INTEGER NOT NULL, mode TEXT, outcome TEXT, status INTEGER, call INTEGER,"
    " seconds REAL, crash TEXT, difference TEXT, finding INTEGER);"
    "CREATE TABLE finding (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, experiment INTEGER NOT NULL, count INTEGER,"
    " precision REAL, replay TEXT);";

struct store {
  sqlite3 *db;
  char *path;
  sqlite3_stmt *statements[STATEMENTS];
  bool open; /* a transaction */
};

/* --- errors ------------------------------------------------------------------------------------------------------- */

static int code_of(int r) {
  switch (r & 0xff) {
  case SQLITE_FULL:
    return -ENOSPC;
  case SQLITE_NOMEM:
    return -ENOMEM;
  case SQLITE_BUSY:
  case SQLITE_LOCKED:
    return -EBUSY;
  case SQLITE_READONLY:
  case SQLITE_PERM:
  case SQLITE_AUTH:
    return -EACCES;
  case SQLITE_CORRUPT:
  case SQLITE_NOTADB:
    return -EUCLEAN;
  default:
    return -EIO;
  }
}

static int failed(struct store *s, int r, struct err *e) {
  int code = code_of(r);
  if (code == -EBUSY) return err_set(e, code, "%s: in use by another murphy (wait for it, or use --campaign)", s->path);
  if (code == -EUCLEAN) return err_set(e, code, "%s: damaged, or not a campaign (move it away to begin anew)", s->path);
  return err_set(e, code, "%s: %s", s->path, s->db ? sqlite3_errmsg(s->db) : sqlite3_errstr(r));
}

static int run_sql(struct store *s, const char *text, struct err *e) {
  int r = sqlite3_exec(s->db, text, NULL, NULL, NULL);
  return r == SQLITE_OK ? 0 : failed(s, r, e);
}

/* --- opening ------------------------------------------------------------------------------------------------------ */

static int pragma(struct store *s, const char *name, int64_t *ret, struct err *e) {
  char text[64];
  sqlite3_stmt *st = NULL;
  (void)snprintf(text, sizeof text, "PRAGMA %s", name);
  int r = sqlite3_prepare_v2(s->db, text, -1, &st, NULL);
  if (r == SQLITE_OK && (r = sqlite3_step(st)) == SQLITE_ROW) {
    *ret = sqlite3_column_int64(st, 0);
    r = SQLITE_OK;
  }
  (void)sqlite3_finalize(st);
  return r == SQLITE_OK ? 0 : failed(s, r, e);
}

static int make_tables(struct store *s, struct err *e) {
  char text[160];
  (void)snprintf(text, sizeof text, "PRAGMA application_id = %d; PRAGMA user_version = %d;", APPLICATION, TABLES);
  int r = run_sql(s, "BEGIN IMMEDIATE", e);
  if (r == 0) r = run_sql(s, tables, e);
  if (r == 0) r = run_sql(s, text, e);
  return r < 0 ? r : run_sql(s, "COMMIT", e);
}

static int check_tables(struct store *s, struct err *e) {
  int64_t application = 0, version = 0;
  int r = pragma(s, "application_id", &application, e);
  if (r == 0) r = pragma(s, "user_version", &version, e);
  if (r < 0) return r;
  if (application != APPLICATION) return err_set(e, -EUCLEAN, "%s: not a campaign of murphy's", s->path);
  if (version != TABLES)
    return err_set(e, -EUCLEAN, "%s: tables of version %lld, this murphy knows %d", s->path, (long long)version,
                   TABLES);
  sqlite3_stmt *st = NULL;
  int q = sqlite3_prepare_v2(s->db, "PRAGMA quick_check(1)", -1, &st, NULL);
  if (q == SQLITE_OK) q = sqlite3_step(st);
  const char *said = q == SQLITE_ROW ? (const char *)sqlite3_column_text(st, 0) : NULL;
  bool good = said && strcmp(said, "ok") == 0;
  (void)sqlite3_finalize(st);
  return good ? 0 : failed(s, q == SQLITE_ROW ? SQLITE_CORRUPT : q, e);
}

static int prepare_all(struct store *s, struct err *e) {
  for (size_t i = 0; i < STATEMENTS; i++) {
    int r = sqlite3_prepare_v3(s->db, sql[i], -1, SQLITE_PREPARE_PERSISTENT, &s->statements[i], NULL);
    if (r != SQLITE_OK) return failed(s, r, e);
  }
  return 0;
}

static int open_file(struct store *s, bool create, struct err *e) {
  struct stat st;
  bool there = stat(s->path, &st) == 0;
  if (create && there) return err_set(e, -EEXIST, "%s: there is a campaign already", s->path);
  if (!create && !there) return err_set(e, -ENOENT, "%s: no campaign here", s->path);
  int flags = SQLITE_OPEN_READWRITE | (create ? SQLITE_OPEN_CREATE : 0) | SQLITE_OPEN_NOMUTEX;
  int r = sqlite3_open_v2(s->path, &s->db, flags, NULL);
  if (r != SQLITE_OK) return failed(s, r, e);
  (void)sqlite3_busy_timeout(s->db, 2000);
  (void)sqlite3_extended_result_codes(s->db, 1);
  int code = create ? 0 : check_tables(s, e);
  if (code == 0) code = run_sql(s, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;", e);
  if (code == 0 && create) code = make_tables(s, e);
  return code < 0 ? code : prepare_all(s, e);
}

int store_open(const char *folder, bool create, struct store **ret, struct err *e) {
  struct store *s = calloc(1, sizeof *s);
  if (!s || asprintf(&s->path, "%s/campaign.db", folder) < 0) {
    free(s);
    return err_set(e, -ENOMEM, "%s: out of memory", folder);
  }
  int r = open_file(s, create, e);
  if (r < 0) {
    store_close(s);
    return r;
  }
  *ret = s;
  return 0;
}

void store_close(struct store *s) {
  if (!s) return;
  (void)!store_flush(s, NULL); /* who must know has called it before */
  for (size_t i = 0; i < STATEMENTS; i++)
    (void)sqlite3_finalize(s->statements[i]);
  (void)sqlite3_close(s->db);
  free(s->path);
  free(s);
}

/* --- statements --------------------------------------------------------------------------------------------------- */

static void bind_text(sqlite3_stmt *st, int i, const char *text) {
  (void)sqlite3_bind_text(st, i, text, -1, SQLITE_STATIC); /* NULL is SQL's NULL */
}

/* Carries out a statement that gives no rows. */
static int step(struct store *s, enum statement which, struct err *e) {
  sqlite3_stmt *st = s->statements[which];
  int r = sqlite3_step(st), again = sqlite3_reset(st);
  (void)sqlite3_clear_bindings(st);
  return r == SQLITE_DONE && again == SQLITE_OK ? 0 : failed(s, r == SQLITE_DONE ? again : r, e);
}

static int change(struct store *s, enum statement which, struct err *e) {
  if (!s->open) {
    int r = step(s, BEGIN, e);
    if (r < 0) {
      (void)sqlite3_clear_bindings(s->statements[which]);
      return r;
    }
    s->open = true;
  }
  int r = step(s, which, e);
  /* On a full disk SQLite may have rolled the transaction back by itself. */
  if (r < 0 && sqlite3_get_autocommit(s->db)) s->open = false;
  return r;
}

int store_flush(struct store *s, struct err *e) {
  if (!s->open) return 0;
  int r = step(s, COMMIT, e);
  if (r < 0) (void)sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
  s->open = false;
  return r;
}

int store_set(struct store *s, const char *name, const char *value, struct err *e) {
  bind_text(s->statements[SET], 1, name);
  bind_text(s->statements[SET], 2, value);
  return change(s, SET, e);
}

const char *store_get(struct store *s, const char *name) {
  sqlite3_stmt *st = s->statements[GET];
  (void)sqlite3_reset(st);
  bind_text(st, 1, name);
  return sqlite3_step(st) == SQLITE_ROW ? (const char *)sqlite3_column_text(st, 0) : NULL;
}

int store_add_point(struct store *s, struct store_point *p, struct err *e) {
  sqlite3_stmt *st = s->statements[ADD_POINT];
  (void)sqlite3_bind_int64(st, 1, (int64_t)p->hash);
  bind_text(st, 2, p->function);
  (void)sqlite3_bind_int64(st, 3, (int64_t)p->count);
  bind_text(st, 4, p->module);
  (void)sqlite3_bind_int64(st, 5, (int64_t)p->offset);
  bind_text(st, 6, p->in);
  bind_text(st, 7, p->file);
  (void)sqlite3_bind_int64(st, 8, p->line);
  bind_text(st, 9, p->stack);
  bind_text(st, 10, p->verdict);
  int r = change(s, ADD_POINT, e);
  if (r == 0) p->id = sqlite3_last_insert_rowid(s->db);
  return r;
}

int store_plan(struct store *s, struct store_experiment *x, struct err *e) {
  sqlite3_stmt *st = s->statements[PLAN];
  (void)sqlite3_bind_int64(st, 1, x->point);
  (void)sqlite3_bind_int64(st, 2, (int64_t)x->nth);
  (void)sqlite3_bind_int64(st, 3, x->retval);
  (void)sqlite3_bind_int64(st, 4, x->error);
  int r = change(s, PLAN, e);
  if (r == 0) x->id = sqlite3_last_insert_rowid(s->db);
  return r;
}

int store_done(struct store *s, const struct store_experiment *x, struct err *e) {
  sqlite3_stmt *st = s->statements[DONE];
  (void)sqlite3_bind_int64(st, 1, x->id);
  bind_text(st, 2, x->mode);
  bind_text(st, 3, x->outcome);
  (void)sqlite3_bind_int64(st, 4, x->status);
  (void)sqlite3_bind_int64(st, 5, (int64_t)x->call);
  (void)sqlite3_bind_double(st, 6, x->seconds);
  bind_text(st, 7, x->crash);
  bind_text(st, 8, x->difference);
  (void)sqlite3_bind_int64(st, 9, x->finding);
  return change(s, DONE, e);
}

int store_add_finding(struct store *s, struct store_finding *f, struct err *e) {
  sqlite3_stmt *st = s->statements[ADD_FINDING];
  bind_text(st, 1, f->kind);
  (void)sqlite3_bind_int64(st, 2, f->experiment);
  (void)sqlite3_bind_int64(st, 3, (int64_t)f->count);
  (void)sqlite3_bind_double(st, 4, f->precision);
  bind_text(st, 5, f->replay);
  int r = change(s, ADD_FINDING, e);
  if (r == 0) f->id = sqlite3_last_insert_rowid(s->db);
  return r;
}

int store_update_finding(struct store *s, const struct store_finding *f, struct err *e) {
  sqlite3_stmt *st = s->statements[UPDATE_FINDING];
  (void)sqlite3_bind_int64(st, 1, f->id);
  (void)sqlite3_bind_int64(st, 2, f->experiment);
  (void)sqlite3_bind_int64(st, 3, (int64_t)f->count);
  (void)sqlite3_bind_double(st, 4, f->precision);
  bind_text(st, 5, f->replay);
  return change(s, UPDATE_FINDING, e);
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static const char *text_at(sqlite3_stmt *st, int i) { return (const char *)sqlite3_column_text(st, i); }

/* Each row goes to ROW, until it returns something else than 0. */
static int each(struct store *s, enum statement which, int (*row)(sqlite3_stmt *st, void *closure), void *closure,
                struct err *e) {
  sqlite3_stmt *st = s->statements[which];
  int r, code = 0;
  while ((r = sqlite3_step(st)) == SQLITE_ROW && code == 0)
    code = row(st, closure);
  (void)sqlite3_reset(st);
  return code || r == SQLITE_DONE ? code : failed(s, r, e);
}

struct point_reader {
  int (*function)(void *, const struct store_point *);
  void *context;
};

static int point_row(sqlite3_stmt *st, void *closure) {
  struct point_reader *reader = closure;
  struct store_point p = {.id = sqlite3_column_int64(st, 0),
                          .hash = (uint64_t)sqlite3_column_int64(st, 1),
                          .function = text_at(st, 2),
                          .count = (uint64_t)sqlite3_column_int64(st, 3),
                          .module = text_at(st, 4),
                          .offset = (uint64_t)sqlite3_column_int64(st, 5),
                          .in = text_at(st, 6),
                          .file = text_at(st, 7),
                          .line = (unsigned)sqlite3_column_int64(st, 8),
                          .stack = text_at(st, 9),
                          .verdict = text_at(st, 10)};
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
  struct store_experiment x = {.id = sqlite3_column_int64(st, 0),
                               .point = sqlite3_column_int64(st, 1),
                               .nth = (uint64_t)sqlite3_column_int64(st, 2),
                               .retval = sqlite3_column_int64(st, 3),
                               .error = sqlite3_column_int(st, 4),
                               .mode = text_at(st, 5),
                               .outcome = text_at(st, 6),
                               .status = sqlite3_column_int(st, 7),
                               .call = (uint64_t)sqlite3_column_int64(st, 8),
                               .seconds = sqlite3_column_double(st, 9),
                               .crash = text_at(st, 10),
                               .difference = text_at(st, 11),
                               .finding = sqlite3_column_int64(st, 12)};
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
                            .experiment = sqlite3_column_int64(st, 2),
                            .count = (uint64_t)sqlite3_column_int64(st, 3),
                            .precision = sqlite3_column_double(st, 4),
                            .replay = text_at(st, 5)};
  return reader->function(reader->context, &f);
}

int store_findings(struct store *s, int (*function)(void *, const struct store_finding *), void *context,
                   struct err *e) {
  return each(s, FINDINGS, finding_row, &(struct finding_reader){function, context}, e);
}
