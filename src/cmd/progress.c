/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The progress line. Drawn over itself with a carriage return, at most ten times a second, and gone at the end: what
 * stays on the terminal is the result alone.
 */
#include "cmd/cmd.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

enum { QUIET_MS = 1000, STEP_MS = 100 };

static uint64_t now_ms(void) {
  struct timespec t;

  if (clock_gettime(CLOCK_MONOTONIC, &t) < 0) return 0;
  return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void draw(const char *line, size_t n) {
  /* Only for the eye: a terminal that went away must not end the work. */
  ssize_t ignored = write(STDERR_FILENO, line, n);
  (void)ignored;
}

void cmd_progress_start(struct cmd_progress *p, const char *what) {
  *p = (struct cmd_progress){.what = what, .started = now_ms(), .terminal = isatty(STDERR_FILENO) == 1};
}

void cmd_progress_step(void *context, size_t done, size_t total) {
  struct cmd_progress *p = context;
  char line[80];

  if (!p->terminal || total == 0) return;
  uint64_t now = now_ms();
  if (now - p->started < QUIET_MS || now - p->drawn < STEP_MS) return;
  p->drawn = now;
  p->shown = true;
  int n = snprintf(line, sizeof line, "\r%s: %zu of %zu functions\033[K", p->what, done, total);
  if (n > 0) draw(line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
}

void cmd_progress_end(struct cmd_progress *p) {
  static const char erase[] = "\r\033[K";

  if (p->shown) draw(erase, sizeof erase - 1);
  p->shown = false;
}
