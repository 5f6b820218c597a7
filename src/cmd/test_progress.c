/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far a campaign is: on a terminal a line that is drawn over itself and gone at the end, elsewhere a plain line now
 * and then, so that who reads the log of a build sees that it goes on.
 *
 * Before the first experiment there is nothing to count, and nobody who comes by now and then: a thread tells what is
 * going on. It holds no lock that a process which is forked meanwhile could need, and allocates nothing.
 */
#include "cmd/test.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
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

/* --- before the first experiment ---------------------------------------------------------------------------------- */

#define STAGE_QUIET (SECOND / 2)
#define STAGE_PLAIN (3 * SECOND) /* who reads a log is not interested in what took no time */

static struct {
  pthread_mutex_t lock;
  pthread_cond_t wake;
  pthread_t thread;
  bool running, over, terminal;
  const char *what, *told; /* what is going on; what a log was told last */
  bool shown;
  uint64_t started, drawn;
} stage = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const char erase[] = "\r\033[K";

/* The lock is held. */
static void draw_stage(void) {
  char line[256];
  uint64_t now = test_now();
  bool again = now - stage.drawn >= PLAIN_STEP;
  if (!stage.what || now - stage.started < (stage.terminal ? STAGE_QUIET : STAGE_PLAIN)) return;
  if (!stage.terminal && stage.what == stage.told && !again) return;
  int n = snprintf(line, sizeof line, "%s%s, %.0f s%s", stage.terminal ? "\r" : "murphy: ", stage.what,
                   (double)(now - stage.started) / SECOND, stage.terminal ? "\033[K" : "\n");
  if (n > 0 && (size_t)n < sizeof line) (void)cmd_write(STDERR_FILENO, line, (size_t)n);
  stage.shown = stage.terminal;
  stage.told = stage.what;
  stage.drawn = now;
}

static void *draw_stages(void *context) {
  (void)context;
  (void)pthread_mutex_lock(&stage.lock);
  while (!stage.over) {
    struct timespec until = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)DRAW_STEP;
    until.tv_sec += until.tv_nsec / (long)SECOND;
    until.tv_nsec %= (long)SECOND;
    (void)pthread_cond_clockwait(&stage.wake, &stage.lock, CLOCK_MONOTONIC, &until);
    if (!stage.over) draw_stage();
  }
  (void)pthread_mutex_unlock(&stage.lock);
  return NULL;
}

void test_stages_start(void) {
  sigset_t all, before;
  (void)sigfillset(&all);
  stage.started = stage.drawn = test_now();
  stage.terminal = isatty(STDERR_FILENO) == 1;
  stage.over = stage.shown = false;
  stage.what = stage.told = NULL;
  (void)pthread_cond_init(&stage.wake, NULL);
  /* Signals are for the thread that works. Without this one, it works in silence. */
  if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0) return;
  stage.running = pthread_create(&stage.thread, NULL, draw_stages, NULL) == 0;
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void test_stage(const char *what) {
  (void)pthread_mutex_lock(&stage.lock);
  stage.what = what;
  if (!what && stage.shown) (void)cmd_write(STDERR_FILENO, erase, sizeof erase - 1);
  if (!what) stage.shown = false;
  (void)pthread_mutex_unlock(&stage.lock);
}

void test_stages_end(void) {
  test_stage(NULL);
  if (!stage.running) return;
  (void)pthread_mutex_lock(&stage.lock);
  stage.over = true;
  (void)pthread_cond_signal(&stage.wake);
  (void)pthread_mutex_unlock(&stage.lock);
  (void)pthread_join(stage.thread, NULL);
  (void)pthread_cond_destroy(&stage.wake);
  stage.running = false;
}

void test_complain(const char *message) {
  test_stage(NULL);
  cmd_complain(message);
}

/* --- experiments -------------------------------------------------------------------------------------------------- */

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
  if (!p->shown) test_stage(NULL);
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
  test_stage(NULL);
  if (p->shown && p->terminal) (void)cmd_write(STDERR_FILENO, erase, sizeof erase - 1);
  p->shown = false;
}
