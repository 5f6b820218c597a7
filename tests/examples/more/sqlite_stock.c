/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What goes into a database may not fit on the disk any more, which is not looked at. Whether all rows have come is told
 * by sqlite3_finalize.
 *
 * build: -lsqlite3
 * expect: silent
 */
#include <sqlite3.h>
#include <stdio.h>

static int fails(sqlite3 *db) {
  fprintf(stderr, "stock.db: %s\n", sqlite3_errmsg(db));
  sqlite3_close(db);
  return 1;
}

int main(void) {
  sqlite3 *db;
  if (sqlite3_open("stock.db", &db) != SQLITE_OK) return fails(db);
  if (sqlite3_exec(db, "CREATE TABLE stock(name TEXT, n INT)", NULL, NULL, NULL) != SQLITE_OK) return fails(db);
  const char *sql = "INSERT INTO stock VALUES('screw',100),('nut',80),('bolt',70)";
#ifdef FIXED
  if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) return fails(db);
#else
  sqlite3_exec(db, sql, NULL, NULL, NULL);
#endif
  sqlite3_stmt *rows;
  if (sqlite3_prepare_v2(db, "SELECT n FROM stock", -1, &rows, NULL) != SQLITE_OK) return fails(db);
  long total = 0;
  while (sqlite3_step(rows) == SQLITE_ROW)
    total += sqlite3_column_int(rows, 0);
  if (sqlite3_finalize(rows) != SQLITE_OK) return fails(db);
  sqlite3_close(db);
  printf("%ld\n", total);
  return fflush(stdout) ? 1 : 0;
}
