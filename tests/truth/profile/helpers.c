/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers that are told which code to return, and positive codes of an enumeration. */
#include "truth.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum db_code { DB_OK, DB_ERROR, DB_INTERNAL, DB_BUSY = 5, DB_LOCKED, DB_NOMEM, DB_READONLY, DB_CORRUPT = 11, DB_FULL = 13, DB_MISUSE = 21 };

struct db {
  int open, readers, writers;
  enum db_code code;
  char message[80];
  unsigned char *page;
  unsigned long pages, limit;
};

static NOINLINE int db_set(struct db *db, enum db_code code) {
  db->code = code;
  return (int)code;
}

static NOINLINE int db_say(struct db *db, enum db_code code, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(db->message, sizeof db->message, format, args);
  va_end(args);
  return db_set(db, code);
}

/* errors: 5 6 21 | side: arg1=5,6 */
EXPORT int db_begin(struct db *db, int write) {
  if (!db->open)
    return DB_MISUSE;
  if (write && db->readers)
    return db_set(db, DB_LOCKED);
  if (db->writers)
    return db_set(db, DB_BUSY);
  if (write)
    db->writers = 1;
  else
    db->readers++;
  return db_set(db, DB_OK);
}

/* errors: 8 13 | side: arg1=8,13 */
EXPORT int db_extend(struct db *db, unsigned long by) {
  if (!db->writers)
    return db_say(db, DB_READONLY, "no writer");
  if (db->pages + by > db->limit)
    return db_say(db, DB_FULL, "%lu pages are the most", db->limit);
  db->pages += by;
  return 0;
}

static NOINLINE int db_header(struct db *db) {
  if (memcmp(db->page, "DB01", 4) != 0)
    return DB_CORRUPT;
  if (db->page[5] > 2)
    return DB_ERROR;
  return DB_OK;
}

/* errors: 1 7[@malloc] 11 */
EXPORT int db_open(const unsigned char *bytes, size_t n, struct db **ret) {
  struct db *db = calloc(1, sizeof *db);
  int rc;
  if (db == NULL)
    return DB_NOMEM;
  db->page = malloc(4096);
  if (db->page == NULL) {
    rc = DB_NOMEM;
    goto fail;
  }
  memcpy(db->page, bytes, n < 4096 ? n : 4096);
  rc = db_header(db);
  if (rc != DB_OK)
    goto fail;
  db->open = 1;
  *ret = db;
  return DB_OK;
fail:
  free(db->page);
  free(db);
  return rc;
}

/* errors: none */
EXPORT void db_close(struct db *db) {
  if (!db)
    return;
  free(db->page);
  free(db);
}

/* errors: none */
EXPORT const char *db_message(const struct db *db) {
  return db->message;
}

/* errors: none */
EXPORT const char *db_code_text(int code) {
  static const char *const text[] = {"ok", "error", "internal", NULL, NULL, "busy", "locked", "out of memory", "read only"};
  const char *t = "unknown code";
  if (code >= 0 && code < 9 && text[code])
    t = text[code];
  return t;
}
