/* SPDX-License-Identifier: Apache-2.0 */
/* A timer runs, which a fork's child does not have. refused: timers run. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t came;
static void on_signal(int number) { came = number; }

int main(void) {
  signal(SIGALRM, on_signal);
  timer_t timer;
  const struct itimerspec soon = {.it_value.tv_nsec = 50000000};
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) < 0 || timer_settime(timer, 0, &soon, NULL) < 0) return 2;
  char *memory = malloc(10);
  sleep(1);
  printf("%d %d\n", memory != NULL, (int)came);
  free(memory);
  return 0;
}
