/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far a campaign is: on a terminal a line that is drawn over itself and gone at the end, elsewhere a plain line now
 * and then, so that who reads the log of a build sees that it goes on.
 */
#include "cmd/test.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000ull
#define QUIET SECOND
#define DRAW_STEP (SECOND / 5)
#define PLAIN_STEP (20 * SECOND)

uint64_t test_now(void) {
  struct timespec t = {0};
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

void test_progress_start(struct test_progress *p) {
  p->terminal = isatty(STDERR_FILENO) == 1;
  p->shown = false;
  p->started = p->drawn = test_now();
}

/* Seconds until it ends by itself: all done, or the budget used up, whatever comes first. */
static double seconds_left(const struct test_progress *p, uint64_t now, double rate, size_t done, size_t total) {
  size_t all = total > p->before ? total - p->before : 0, last = p->runs && p->runs < all ? p->runs : all;
  double by_work = rate > 0 && last > done ? (double)(last - done) / rate : 0;
  double by_time = p->deadline > now ? (double)(p->deadline - now) / SECOND : 0;
  return p->deadline && by_time < by_work ? by_time : by_work;
}

void test_progress_step(struct test_progress *p, size_t done, size_t total, size_t findings) {
  uint64_t now = test_now();
  if (now - p->started < QUIET || now - p->drawn < (p->terminal ? DRAW_STEP : PLAIN_STEP)) return;
  p->drawn = now;
  p->shown = true;
  double rate = (double)done * SECOND / (double)(now - p->started);
  struct text t = {0};
  text_addf(&t, "%s%zu of %zu experiments, %.0f/s, %zu finding%s, %.0f s left%s",
            p->terminal ? "\r" : "murphy: ", p->before + done, total, rate, findings, findings == 1 ? "" : "s",
            seconds_left(p, now, rate, done, total), p->terminal ? "\033[K" : "\n");
  /* Only for the eye: a terminal that went away must not end the work. */
  if (!t.failed) (void)cmd_write(STDERR_FILENO, t.at, t.n);
  text_done(&t);
}

void test_progress_end(struct test_progress *p) {
  static const char erase[] = "\r\033[K";
  if (p->shown && p->terminal) (void)cmd_write(STDERR_FILENO, erase, sizeof erase - 1);
  p->shown = false;
}
