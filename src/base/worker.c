/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that share one job: started together, joined together, with no state that outlives the call.
 *
 * The caller works too, as worker 0. The others take no signals, so that an interrupt reaches the thread that knows
 * what to do with it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity */
#endif

#include "base/base.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { MANY_PROCESSORS = 8192 };

struct worker {
  pthread_t thread;
  unsigned number;
  void (*work)(void *context, unsigned worker);
  void *context;
};

unsigned worker_count(void) {
  /* The kernel refuses a mask that is smaller than its own, which may be larger than cpu_set_t. */
  int n = 0;
  cpu_set_t *set = CPU_ALLOC(MANY_PROCESSORS);
  if (set && sched_getaffinity(0, CPU_ALLOC_SIZE(MANY_PROCESSORS), set) == 0)
    n = CPU_COUNT_S(CPU_ALLOC_SIZE(MANY_PROCESSORS), set);
  CPU_FREE(set);
  if (n <= 0) n = (int)sysconf(_SC_NPROCESSORS_ONLN);
  return n > 0 ? (unsigned)n : 1;
}

static void *start(void *argument) {
  struct worker *w = argument;
  w->work(w->context, w->number);
  return NULL;
}

/* How many of workers 1 to N - 1 could be started, in this order. */
static unsigned start_all(struct worker *workers, unsigned n, void (*work)(void *, unsigned), void *context) {
  sigset_t all, before;
  (void)sigfillset(&all);
  /* What a thread brings upon itself cannot wait, and who looks at memory of others has a handler for it. */
  static const int own[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP};
  for (size_t i = 0; i < COUNT(own); i++)
    (void)sigdelset(&all, own[i]);
  int masked = pthread_sigmask(SIG_SETMASK, &all, &before);
  unsigned started = 0;
  for (unsigned i = 1; i < n; i++, started++) {
    workers[i] = (struct worker){.number = i, .work = work, .context = context};
    if (pthread_create(&workers[i].thread, NULL, start, &workers[i]) != 0) break;
  }
  if (masked == 0) (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  return started;
}

void worker_run(unsigned n, void (*work)(void *context, unsigned worker), void *context) {
  struct worker *workers = n > 1 ? calloc(n, sizeof *workers) : NULL;
  unsigned started = workers ? start_all(workers, n, work, context) : 0;
  work(context, 0);
  for (unsigned i = 1; i <= started; i++)
    MUST(pthread_join(workers[i].thread, NULL) == 0);
  free(workers);
}
