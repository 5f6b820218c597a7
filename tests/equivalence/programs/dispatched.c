/* SPDX-License-Identifier: Apache-2.0 */
/* System calls become signals where it wants that, and a fork's child has no such setting. refused: system calls are
 * filtered. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif

static volatile char selector; /* 1: they do */
static volatile sig_atomic_t came;

static void on_signal(int number) {
  (void)number;
  selector = 0;
  came++;
}

int main(void) {
  signal(SIGSYS, on_signal);
  int r = prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, 0, 0, &selector);
  char *memory = malloc(10);
  selector = 1;
  (void)getppid();
  selector = 0;
  printf("%d %d %d\n", r, (int)came, memory != NULL);
  free(memory);
  return 0;
}
