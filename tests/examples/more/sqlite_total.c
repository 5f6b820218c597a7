/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loop over the rows of a query ends when there is no row, which it takes for the end.
 *
 * build: -lsqlite3
 * expect: silent
 */
#include <sqlite3.h>
#include <stdio.h>

int main(void) {
  sqlite3 *db = NULL;
  if (sqlite3_open("stock.db", &db) != SQLITE_OK) {
    fprintf(stderr, "stock.db: %s\n", db ? sqlite3_errmsg(db) : "no memory");
    sqlite3_close(db);
    return 1;
  }
  char *why = NULL;
  const char *sql = "CREATE TABLE stock(name TEXT, n INT);"
                    "INSERT INTO stock VALUES('screw',100),('nut',80),('bolt',70);";
  if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK) {
    fprintf(stderr, "stock.db: %s\n", why ? why : sqlite3_errmsg(db));
    sqlite3_free(why);
    sqlite3_close(db);
    return 1;
  }
  sqlite3_stmt *rows = NULL;
  if (sqlite3_prepare_v2(db, "SELECT n FROM stock", -1, &rows, NULL) != SQLITE_OK) {
    fprintf(stderr, "stock.db: %s\n", sqlite3_errmsg(db));
    sqlite3_close(db);
    return 1;
  }
  long total = 0;
  int r;
  while ((r = sqlite3_step(rows)) == SQLITE_ROW)
    total += sqlite3_column_int(rows, 0);
#ifdef FIXED
  if (r != SQLITE_DONE) {
    fprintf(stderr, "stock.db: %s\n", sqlite3_errmsg(db));
    sqlite3_finalize(rows);
    sqlite3_close(db);
    return 1;
  }
#endif
  sqlite3_finalize(rows);
  sqlite3_close(db);
  FILE *f = fopen("total", "w");
  if (!f || fprintf(f, "%ld\n", total) < 0 || fclose(f)) {
    perror("total");
    return 1;
  }
  return 0;
}
