/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The database: opening, facts, transactions.
 *
 * Writes are gathered into transactions, so that an experiment costs microseconds and not a disk's turn; store_flush
 * ends one. The write-ahead log keeps the file whole if murphy is killed; a power cut may lose the last transactions,
 * not the file.
 */
#include "store/inside.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* "mrph", and the version of the tables. */
enum { APPLICATION = 0x6d727068, TABLES = 4 };

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

/* What SQLite calls an error of input and output may be a file beside the database that could not grow. */
static bool is_full(struct store *s, int r) {
  int error = (r & 0xff) == SQLITE_IOERR && s->db ? sqlite3_system_errno(s->db) : 0;
  return error == ENOSPC || error == EDQUOT;
}

int store_failed(struct store *s, int r, struct err *e) {
  int code = is_full(s, r) ? -ENOSPC : code_of(r);
  if (code == -EBUSY) return err_set(e, code, "%s: in use by another murphy (wait for it, or use --campaign)", s->path);
  if (code == -EUCLEAN) return err_set(e, code, "%s: damaged, or not a campaign (move it away to begin anew)", s->path);
  if (code == -ENOSPC)
    return err_set(e, code, "%s: the disk is full%s", s->path, s->kept ? " (what was written before is kept)" : "");
  return err_set(e, code, "%s: %s", s->path, s->db ? sqlite3_errmsg(s->db) : sqlite3_errstr(r));
}

static int run_sql(struct store *s, const char *text, struct err *e) {
  int r = sqlite3_exec(s->db, text, NULL, NULL, NULL);
  return r == SQLITE_OK ? 0 : store_failed(s, r, e);
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
  return r == SQLITE_OK ? 0 : store_failed(s, r, e);
}

static int open_database(struct store *s, const char *path, int flags, struct err *e) {
  int r = sqlite3_open_v2(path, &s->db, flags | SQLITE_OPEN_NOMUTEX, NULL);
  if (r != SQLITE_OK) return store_failed(s, r, e);
  (void)sqlite3_busy_timeout(s->db, 2000);
  (void)sqlite3_extended_result_codes(s->db, 1);
  return 0;
}

static int make_tables(struct store *s, struct err *e) {
  char text[160];
  (void)snprintf(text, sizeof text, "PRAGMA application_id = %d; PRAGMA user_version = %d;", APPLICATION, TABLES);
  int r = run_sql(s, "BEGIN IMMEDIATE", e);
  if (r == 0) r = run_sql(s, store_tables, e);
  if (r == 0) r = run_sql(s, text, e);
  return r < 0 ? r : run_sql(s, "COMMIT", e);
}

/* Under another name until it is whole, so that who is killed meanwhile leaves nothing that looks like a campaign. */
static int create_file(struct store *s, struct err *e) {
  char *path = NULL;
  if (asprintf(&path, "%s.new", s->path) < 0) return err_set(e, -ENOMEM, "%s: out of memory", s->path);
  (void)unlink(path);
  int r = open_database(s, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, e);
  if (r == 0) r = make_tables(s, e);
  (void)sqlite3_close(s->db);
  s->db = NULL;
  if (r == 0 && rename(path, s->path) < 0) r = err_set(e, -errno, "%s: %m", s->path);
  if (r < 0) (void)unlink(path);
  free(path);
  return r;
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
  return good ? 0 : store_failed(s, q == SQLITE_ROW ? SQLITE_CORRUPT : q, e);
}

static int prepare_all(struct store *s, struct err *e) {
  for (size_t i = 0; i < STATEMENTS; i++) {
    int r = sqlite3_prepare_v3(s->db, store_sql[i], -1, SQLITE_PREPARE_PERSISTENT, &s->statements[i], NULL);
    if (r == SQLITE_ERROR) r = SQLITE_CORRUPT; /* a table is missing */
    if (r != SQLITE_OK) return store_failed(s, r, e);
  }
  return 0;
}

/* May nobody write here, neither the file nor what SQLite puts beside it? */
static bool is_read_only(const struct store *s, const char *folder) {
  return access(folder, W_OK) < 0 || access(s->path, W_OK) < 0;
}

static bool has_log(const struct store *s) {
  struct stat st;
  char *path = NULL;
  if (asprintf(&path, "%s-wal", s->path) < 0) return true;
  bool has = stat(path, &st) == 0 && st.st_size > 0;
  free(path);
  return has;
}

/*
 * A campaign that can only be read: somebody else's, or what a build has left. SQLite reads a database with a log only
 * if it can write beside it, so it is told that nobody changes this one; a log that is not empty has changes, though.
 */
static int open_read_only(struct store *s, struct err *e) {
  static const char plain[] = "/-._~";
  struct text uri = {0};
  text_add(&uri, "file:");
  for (const char *p = s->path; *p; p++)
    text_addf(&uri, isalnum((unsigned char)*p) || strchr(plain, *p) ? "%c" : "%%%02X", (unsigned char)*p);
  text_add(&uri, has_log(s) ? "?mode=ro" : "?immutable=1");
  int r = uri.failed ? err_set(e, -ENOMEM, "%s: out of memory", s->path)
                     : open_database(s, uri.at, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, e);
  text_done(&uri);
  return r < 0 ? r : check_tables(s, e);
}

static int open_to_write(struct store *s, struct err *e) {
  int r = open_database(s, s->path, SQLITE_OPEN_READWRITE, e);
  if (r == 0) r = check_tables(s, e);
  return r < 0 ? r : run_sql(s, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;", e);
}

static int open_file(struct store *s, const char *folder, bool create, struct err *e) {
  struct stat st;
  bool there = stat(s->path, &st) == 0;
  if (create && there) return err_set(e, -EEXIST, "%s: there is a campaign already", s->path);
  if (!create && !there)
    return err_set(e, -ENOENT, "%s: no campaign here (murphy test makes one; --campaign says where else)", s->path);
  if (there && !S_ISREG(st.st_mode)) return err_set(e, -EUCLEAN, "%s: not a campaign of murphy's", s->path);
  int r = create ? create_file(s, e) : 0;
  s->kept = !create;
  if (r == 0) r = !create && is_read_only(s, folder) ? open_read_only(s, e) : open_to_write(s, e);
  return r < 0 ? r : prepare_all(s, e);
}

int store_open(const char *folder, bool create, struct store **ret, struct err *e) {
  struct store *s = calloc(1, sizeof *s);
  if (!s || asprintf(&s->path, "%s/campaign.db", folder) < 0) {
    free(s);
    return err_set(e, -ENOMEM, "%s: out of memory", folder);
  }
  int r = open_file(s, folder, create, e);
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

const char *store_get(struct store *s, const char *name) {
  sqlite3_stmt *st = s->statements[GET];
  (void)sqlite3_reset(st);
  (void)sqlite3_bind_text(st, 1, name, -1, SQLITE_STATIC);
  return sqlite3_step(st) == SQLITE_ROW ? (const char *)sqlite3_column_text(st, 0) : NULL;
}
