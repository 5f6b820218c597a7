/* SPDX-License-Identifier: Apache-2.0 */
/* What is put into the database. */
#include "store/inside.h"

#include <errno.h>

static void bind_text(sqlite3_stmt *st, int i, const char *text) {
  (void)sqlite3_bind_text(st, i, text, -1, SQLITE_STATIC); /* NULL is SQL's NULL */
}

static void bind_number(sqlite3_stmt *st, int i, int64_t n) { (void)sqlite3_bind_int64(st, i, n); }

/* Carries out a statement that gives no rows. */
static int step(struct store *s, enum statement which, struct err *e) {
  sqlite3_stmt *st = s->statements[which];
  int r = sqlite3_step(st), again = sqlite3_reset(st);
  (void)sqlite3_clear_bindings(st);
  return r == SQLITE_DONE && again == SQLITE_OK ? 0 : store_failed(s, r == SQLITE_DONE ? again : r, e);
}

static int change(struct store *s, enum statement which, struct err *e) {
  if (!s->open) {
    /* A reader that has not come to its end would keep the transaction from ending. */
    (void)sqlite3_reset(s->statements[GET]);
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
  (void)sqlite3_reset(s->statements[GET]); /* as a reader it would keep the log from being begun anew */
  int r = step(s, COMMIT, e);
  if (r < 0) (void)sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
  s->open = false;
  s->kept |= r == 0;
  return r;
}

int store_set(struct store *s, const char *name, const char *value, struct err *e) {
  bind_text(s->statements[SET], 1, name);
  bind_text(s->statements[SET], 2, value);
  return change(s, SET, e);
}

int store_add_point(struct store *s, struct store_point *p, struct err *e) {
  sqlite3_stmt *st = s->statements[ADD_POINT];
  bind_number(st, 1, (int64_t)p->hash);
  bind_text(st, 2, p->function);
  bind_number(st, 3, (int64_t)p->count);
  bind_text(st, 4, p->module);
  bind_number(st, 5, (int64_t)p->offset);
  bind_text(st, 6, p->in);
  bind_text(st, 7, p->file);
  if (p->line) bind_number(st, 8, p->line);
  bind_text(st, 9, p->verdict);
  int r = change(s, ADD_POINT, e);
  if (r == 0) p->id = sqlite3_last_insert_rowid(s->db);
  return r;
}

int store_plan(struct store *s, const char *function, uint64_t experiments, struct err *e) {
  bind_text(s->statements[PLAN], 1, function);
  bind_number(s->statements[PLAN], 2, (int64_t)experiments);
  return change(s, PLAN, e);
}

int store_add_experiment(struct store *s, struct store_experiment *x, struct err *e) {
  sqlite3_stmt *st = s->statements[ADD_EXPERIMENT];
  bind_number(st, 1, x->point);
  bind_number(st, 2, (int64_t)x->nth);
  bind_number(st, 3, x->onwards);
  bind_number(st, 4, x->retval);
  bind_number(st, 5, x->error);
  bind_text(st, 6, x->mode);
  bind_text(st, 7, x->outcome);
  bind_number(st, 8, x->status);
  bind_number(st, 9, (int64_t)x->call);
  bind_number(st, 10, x->process);
  (void)sqlite3_bind_double(st, 11, x->seconds);
  if (x->precision >= 0) (void)sqlite3_bind_double(st, 12, x->precision);
  bind_text(st, 13, x->difference);
  if (x->finding) bind_number(st, 14, x->finding);
  bind_text(st, 15, x->act);
  bind_text(st, 16, x->doubt);
  if (x->first) bind_number(st, 17, x->first);
  if (x->replaces) bind_number(st, 18, x->replaces);
  int r = change(s, ADD_EXPERIMENT, e);
  if (r == 0) x->id = sqlite3_last_insert_rowid(s->db);
  return r;
}

int store_add_finding(struct store *s, const struct store_finding *f, struct err *e) {
  sqlite3_stmt *st = s->statements[ADD_FINDING];
  bind_number(st, 1, f->id);
  bind_text(st, 2, f->kind);
  if (f->signal) bind_number(st, 3, f->signal);
  bind_number(st, 4, f->experiment);
  (void)sqlite3_bind_double(st, 5, f->precision);
  bind_text(st, 6, f->difference);
  for (int i = 0; i < 2; i++)
    (void)sqlite3_bind_blob64(st, 7 + i, f->keys[i], f->n_keys[i] * sizeof **f->keys, SQLITE_STATIC);
  return change(s, ADD_FINDING, e);
}

int store_update_finding(struct store *s, int64_t id, int64_t experiment, struct err *e) {
  bind_number(s->statements[UPDATE_FINDING], 1, id);
  bind_number(s->statements[UPDATE_FINDING], 2, experiment);
  return change(s, UPDATE_FINDING, e);
}

int store_add_frame(struct store *s, int64_t finding, enum store_stack stack, size_t n, const struct store_frame *f,
                    struct err *e) {
  sqlite3_stmt *st = s->statements[ADD_FRAME];
  bind_number(st, 1, finding);
  bind_text(st, 2, store_stack_words[stack]);
  bind_number(st, 3, (int64_t)n);
  bind_text(st, 4, f->module);
  bind_text(st, 5, f->path);
  bind_text(st, 6, f->function);
  bind_text(st, 7, f->file);
  if (f->line) bind_number(st, 8, f->line);
  bind_number(st, 9, (int64_t)f->offset);
  return change(s, ADD_FRAME, e);
}
