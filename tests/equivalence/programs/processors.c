/* SPDX-License-Identifier: Apache-2.0 */
/* Says which processors it may use, again and again: murphy's own processes may be kept on one. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void say(void) {
  cpu_set_t set;
  char *volatile memory = malloc(10);
  if (sched_getaffinity(0, sizeof set, &set) < 0) _exit(2);
  printf(memory ? "these:" : "these, without memory:");
  for (int i = 0; i < CPU_SETSIZE; i++)
    if (CPU_ISSET(i, &set)) printf(" %d", i);
  printf("\n");
  free(memory);
}

int main(void) {
  for (int i = 0; i < 3; i++)
    say();
  return 0;
}
