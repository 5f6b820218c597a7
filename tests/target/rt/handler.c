/* SPDX-License-Identifier: Apache-2.0 */
/* handler: calls target_nothing without end while a timer's handler does so too, a thousand times; how many failed. */
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>

long target_nothing(long a);

static volatile long seen, failed, calls;

static void handler(int signal) {
  (void)signal;
  calls++;
  failed += target_nothing(1) == -1;
  seen++;
}

int main(void) {
  struct sigaction action = {.sa_handler = handler};
  struct itimerval every = {{0, 100}, {0, 100}};
  long own = 0, own_failed = 0;
  if (sigaction(SIGALRM, &action, NULL) != 0 || setitimer(ITIMER_REAL, &every, NULL) != 0) return 1;
  while (seen < 1000) {
    own++;
    own_failed += target_nothing(2) == -1;
  }
  every = (struct itimerval){0};
  if (setitimer(ITIMER_REAL, &every, NULL) != 0) return 1;
  printf("%ld %ld\n", own + calls, own_failed + failed);
  return 0;
}
