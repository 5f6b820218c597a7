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
  const struct itimerval soon = {.it_value.tv_usec = 50000};
  if (setitimer(ITIMER_REAL, &soon, NULL) < 0) return 2;
  char *memory = malloc(10);
  sleep(1);
  printf("%d %d\n", memory != NULL, (int)came);
  free(memory);
  return 0;
}
