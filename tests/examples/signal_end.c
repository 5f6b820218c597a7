/* SPDX-License-Identifier: Apache-2.0 */
/*
 * With a handler installed, read may return for a signal; that is taken for the end.
 *
 * expect: silent
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static volatile sig_atomic_t asked;

static void on_signal(int signal) { asked = signal; }

int main(void) {
  struct sigaction action = {.sa_handler = on_signal};
  int ends[2];
  if (sigaction(SIGUSR1, &action, NULL) < 0 || pipe(ends) < 0 || write(ends[1], "twelve bytes", 12) != 12) {
    perror("pipe");
    return 1;
  }
  close(ends[1]);
  char buffer[4];
  int total = 0;
  for (;;) {
    ssize_t n = read(ends[0], buffer, sizeof buffer);
#ifdef FIXED
    if (n < 0 && errno == EINTR) continue;
#else
    if (n < 0 && errno == EINTR) break;
#endif
    if (n < 0) {
      perror("read");
      return 1;
    }
    if (n == 0) break;
    total += (int)n;
  }
  printf("%d bytes\n", total);
  return 0;
}
