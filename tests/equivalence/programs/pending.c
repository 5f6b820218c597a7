/* SPDX-License-Identifier: Apache-2.0 */
/* A signal waits until it is let in. refused: signals are pending. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static volatile sig_atomic_t came;
static void on_signal(int number) { came = number; }

int main(void) {
  sigset_t some;
  signal(SIGUSR1, on_signal);
  sigemptyset(&some);
  sigaddset(&some, SIGUSR1);
  sigprocmask(SIG_BLOCK, &some, NULL);
  raise(SIGUSR1);
  char *memory = malloc(10);
  sigprocmask(SIG_UNBLOCK, &some, NULL);
  printf("%d %d\n", memory != NULL, (int)came);
  free(memory);
  return 0;
}
