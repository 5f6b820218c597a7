/* SPDX-License-Identifier: Apache-2.0 */
/*
 * While the command runs: events leave the ring at once, so that the target never waits for symbols to be looked up,
 * and are then written one by one.
 */
#include "cmd/cmd.h"
#include "cmd/run_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum { EVENTS_AT_ONCE = 256, READY_MAX = 1 << 16 };

int cmd_watch_write(struct cmd_watch *w, const struct text *t, struct err *e) {
  if (t->failed) return err_set(e, -ENOMEM, "out of memory");
  int r = w->file >= 0 ? cmd_write(w->file, t->at, t->n) : 0;
  return r < 0 ? err_set(e, r, "%s: %s (the log is not complete)", w->path, strerror(-r)) : 0;
}

/* What is ready to be written, now or when there is more of it. */
static int flush(struct cmd_watch *w, struct err *e) {
  int r = cmd_watch_write(w, &w->ready, e);
  w->ready.n = 0;
  return r;
}

static void note_missed(struct cmd_watch *w, const struct wire_event *event) {
  struct text t = {0};
  run_log_missed(w->log.plan, event, &t);
  w->misses += t.n > 0;
  if (t.n > 0 && w->misses == 1) {
    text_done(&w->missed);
    w->missed = t;
  } else {
    text_done(&t);
  }
}

void cmd_watch_say_missed(const struct cmd_watch *w) {
  struct text t = {0};
  if (w->misses == 0 || w->missed.failed) return;
  text_addf(&t, "%s was not set", w->missed.at);
  if (w->misses > 1) text_addf(&t, ", the first of %" PRIu64 " faults of which something was not", w->misses);
  text_add(&t, ": there is no such variable, or the pointer leads to nothing that can be written");
  if (!t.failed) cmd_complain(t.at);
  text_done(&t);
}

static int write_event(struct cmd_watch *w, const struct wire_event *event, struct err *e) {
  w->log.events++;
  if (event->missed) note_missed(w, event);
  if (w->terminal) {
    struct text t = {0};
    run_log_line(&w->log, event, &t);
    if (!t.failed) cmd_complain(t.at);
    text_done(&t);
  }
  if (w->file < 0) return 0;
  run_log_json(&w->log, event, &w->ready);
  return w->ready.failed || w->ready.n >= READY_MAX ? flush(w, e) : 0;
}

int cmd_watch_damaged(struct err *e) {
  return err_set(e, -ECANCELED, "the program has damaged the area that it shares with murphy (the log ends there)");
}

static int drain(struct cmd_watch *w, bool final, struct err *e) {
  int r = run_area_drain(w->area, final);
  if (r == -EIO) return cmd_watch_damaged(e);
  return r < 0 ? err_set(e, r, "out of memory") : 0;
}

/* For people, whether there is a log or not. */
static void say_lost(const struct run_totals *totals) {
  struct text t = {0};
  if (totals->lost)
    text_addf(&t, "%" PRIu64 " more calls were made to fail, which could not be recorded", totals->lost);
  if (totals->unnamed)
    text_addf(&t, "%s%" PRIu64 " frames of stacks are without a name: too many modules", t.n ? "; " : "",
              totals->unnamed);
  if (!t.failed) cmd_complain(t.at);
  text_done(&t);
}

static int write_lost(struct cmd_watch *w, struct err *e) {
  struct text t = {0};
  struct run_totals totals;
  int r = run_area_totals(w->area, &totals);
  if (r < 0) return cmd_watch_damaged(e);
  if (totals.lost == 0 && totals.unnamed == 0) return 0;
  if (w->terminal) say_lost(&totals);
  run_log_lost(&totals, &t);
  r = cmd_watch_write(w, &t, e);
  text_done(&t);
  return r;
}

/* At most a few at a time: there are signals to pass on. 1 if there were any. */
static int tick(struct cmd_watch *w, bool final, struct err *e) {
  struct wire_event event;
  int n = 0, r = drain(w, final, e);
  while (r >= 0 && (n < EVENTS_AT_ONCE || final) && run_area_take(w->area, &event)) {
    n++;
    r = write_event(w, &event, e);
    if (r >= 0) r = drain(w, final, e);
  }
  if (r >= 0) r = flush(w, e);
  if (r >= 0 && final) return write_lost(w, e);
  return r < 0 ? r : n > 0;
}

/* Where nothing can be written any more nothing is made to fail either, and nobody waits for events to be read. */
int cmd_watch_tick(void *context, bool final, struct err *e) {
  struct cmd_watch *w = context;
  int r = tick(w, final, e);
  if (r < 0) (void)run_area_stop(w->area);
  return r;
}
