/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters are allocated at start and bumped in a signal handler.  The
 * calloc() of the table is not checked, and nobody but the handler touches
 * it before the report: with ENOMEM the handler stores through NULL.
 * expect: crash
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct stats {
  unsigned long hits[2];
};

static struct stats *volatile stats;

static void on_signal(int sig) {
  struct stats *s = stats;
  s->hits[sig == SIGUSR2]++;
}

static void die(const char *what) {
  perror(what);
  exit(1);
}

static void install(int sig) {
  struct sigaction sa;
  memset(&sa, 0, sizeof sa);
  sa.sa_handler = on_signal;
  sa.sa_flags = SA_RESTART;
  if (sigemptyset(&sa.sa_mask) != 0 || sigaction(sig, &sa, NULL) != 0) die("sigaction");
}

int main(void) {
  char *title = malloc(32);
  if (title == NULL) die("malloc");
  if (snprintf(title, 32, "signals seen") < 0) die("format");

  stats = calloc(1, sizeof *stats);
#ifdef FIXED
  if (stats == NULL) die("calloc");
#endif
  install(SIGUSR1);
  install(SIGUSR2);
  for (int i = 0; i < 5; i++)
    if (raise(i % 2 ? SIGUSR2 : SIGUSR1) != 0) die("raise");
  if (printf("%s: %lu %lu\n", title, stats->hits[0], stats->hits[1]) < 0 || fflush(stdout) != 0 || ferror(stdout))
    die("stdout");
  free(stats);
  free(title);
  return 0;
}
