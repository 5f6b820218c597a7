/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables, and a statement for each thing that is done with them. A change of the tables is a new version (TABLES in
 * store.c).
 */
#include "store/inside.h"

const char store_tables[] =
    "CREATE TABLE fact (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE point (id INTEGER PRIMARY KEY, hash INTEGER NOT NULL, function TEXT NOT NULL, count INTEGER NOT NULL,"
    " module TEXT, offset INTEGER, \"in\" TEXT, file TEXT, line INTEGER, verdict TEXT);"
    "CREATE TABLE planned (function TEXT PRIMARY KEY, experiments INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE experiment (id INTEGER PRIMARY KEY, point INTEGER NOT NULL REFERENCES point, nth INTEGER NOT NULL,"
    " onwards INTEGER NOT NULL, retval INTEGER NOT NULL, errno INTEGER NOT NULL, mode TEXT NOT NULL,"
    " outcome TEXT NOT NULL, status INTEGER NOT NULL, call INTEGER, process INTEGER, seconds REAL, precision REAL,"
    " difference TEXT, finding INTEGER REFERENCES finding DEFERRABLE INITIALLY DEFERRED, act TEXT, doubt TEXT,"
    " first INTEGER REFERENCES experiment);"
    "CREATE INDEX experiment_of_finding ON experiment (finding) WHERE finding IS NOT NULL;"
    "CREATE TABLE finding (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, signal INTEGER,"
    " experiment INTEGER NOT NULL REFERENCES experiment, precision REAL NOT NULL, difference TEXT, inject_key BLOB,"
    " crash_key BLOB);"
    "CREATE TABLE frame (finding INTEGER NOT NULL REFERENCES finding, stack TEXT NOT NULL, n INTEGER NOT NULL,"
    " module TEXT, path TEXT, function TEXT, file TEXT, line INTEGER, offset INTEGER NOT NULL,"
    " PRIMARY KEY (finding, stack, n)) WITHOUT ROWID;";

const char *const store_stack_words[] = {[STORE_INJECT] = "inject", [STORE_CRASH] = "crash", [STORE_FIRST] = "first"};

const char *const store_sql[STATEMENTS] = {
    [BEGIN] = "BEGIN IMMEDIATE",
    [COMMIT] = "COMMIT",
    [SET] = "INSERT INTO fact (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = ?2",
    [GET] = "SELECT value FROM fact WHERE name = ?1",
    [ADD_POINT] = "INSERT INTO point (hash, function, count, module, offset, \"in\", file, line, verdict) "
                  "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    [PLAN] = "INSERT INTO planned (function, experiments) VALUES (?1, ?2) "
             "ON CONFLICT (function) DO UPDATE SET experiments = ?2",
    [ADD_EXPERIMENT] =
        "INSERT OR REPLACE INTO experiment (point, nth, onwards, retval, errno, mode, outcome, status, call, process,"
        " seconds, precision, difference, finding, act, doubt, first, id) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
    [ADD_FINDING] = "INSERT INTO finding (id, kind, signal, experiment, precision, difference, inject_key, crash_key) "
                    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    [UPDATE_FINDING] =
        "UPDATE finding SET experiment = ?2, precision = coalesce((SELECT precision FROM experiment WHERE id = ?2 "
        "AND precision >= 0), precision) WHERE id = ?1",
    [ADD_FRAME] = "INSERT INTO frame (finding, stack, n, module, path, function, file, line, offset) "
                  "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    [POINTS] = "SELECT id, hash, function, count, module, offset, \"in\", file, line, verdict FROM point ORDER BY id",
    [EXPERIMENTS] = "SELECT x.id, x.point, x.nth, x.onwards, x.retval, x.errno, x.mode, x.outcome, x.status, x.call, "
                    "x.process, x.seconds, x.precision, x.difference, x.finding, p.hash, x.act, x.first, x.doubt "
                    "FROM experiment x JOIN point p ON p.id = x.point ORDER BY x.id",
    [FINDINGS] =
        "SELECT f.id, f.kind, f.signal, f.experiment, f.precision, f.difference, f.inject_key, f.crash_key, "
        "(SELECT COUNT(*) FROM experiment WHERE finding = f.id), p.function, p.hash, x.nth, x.call, x.process, "
        "x.onwards, x.retval, x.errno, x.status, x.act, q.function, y.retval, y.errno, y.act, y.call, y.process, y.nth "
        "FROM finding f JOIN experiment x ON x.id = f.experiment JOIN point p ON p.id = x.point "
        "LEFT JOIN experiment y ON y.id = x.first LEFT JOIN point q ON q.id = y.point ORDER BY f.id",
    [DOUBTS] = "SELECT x.outcome, p.function, x.act, x.retval, x.errno, x.precision, p.\"in\", p.file, p.module, "
               "p.offset, p.line, x.doubt FROM experiment x JOIN point p ON p.id = x.point WHERE x.doubt IS NOT NULL "
               "ORDER BY x.id",
    [FRAMES] = "SELECT module, path, function, file, line, offset FROM frame WHERE finding = ?1 AND stack = ?2 "
               "ORDER BY n",
    [COUNT_OUTCOMES] = "SELECT outcome, COUNT(*) FROM experiment GROUP BY outcome",
    [COUNT_MODES] = "SELECT mode, COUNT(*) FROM experiment GROUP BY mode",
    [COUNT_REASONS] = "SELECT name, CAST(value AS INTEGER) FROM fact WHERE name GLOB 'why_*: *' ORDER BY 2 DESC, 1",
    [COUNT_LEFT] = "SELECT l.function, l.experiments - IFNULL(d.n, 0) AS missing FROM planned l LEFT JOIN "
                   "(SELECT p.function AS function, COUNT(*) AS n FROM experiment x JOIN point p ON p.id = x.point "
                   "GROUP BY p.function) d ON d.function = l.function WHERE missing > 0 "
                   "ORDER BY missing DESC, l.function",
    [COUNT_FUNCTIONS] = "SELECT function, experiments FROM planned ORDER BY function",
    [COUNT_TOTALS] =
        "SELECT 'points', COUNT(*) FROM point "
        "UNION ALL SELECT 'planned', IFNULL(SUM(experiments), 0) FROM planned "
        "UNION ALL SELECT 'done', COUNT(*) FROM experiment "
        "UNION ALL SELECT 'unconfirmed', COUNT(*) FROM experiment WHERE doubt IS NOT NULL "
        "UNION ALL SELECT 'excused', COUNT(*) FROM experiment WHERE outcome = 'silent' AND finding IS NULL "
        "AND doubt IS NULL "
        "UNION ALL SELECT 'pairs', COUNT(*) FROM experiment WHERE first IS NOT NULL",
};
