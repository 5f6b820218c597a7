/* SPDX-License-Identifier: Apache-2.0 */
/* Says which processors it may use, and so does a child of its: murphy's own processes may be kept on one. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void say(const char *who) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) < 0) _exit(2);
  printf("%s:", who);
  for (int i = 0; i < CPU_SETSIZE; i++)
    if (CPU_ISSET(i, &set)) printf(" %d", i);
  printf("\n");
  fflush(stdout);
}

int main(void) {
  char *volatile memory = malloc(10);
  say(memory ? "here" : "here, without memory");
  pid_t pid = fork();
  if (pid < 0) return 1;
  if (pid == 0) {
    say("there");
    _exit(0);
  }
  if (waitpid(pid, NULL, 0) != pid) return 1;
  free(memory);
  memory = malloc(20);
  say(memory ? "in the end" : "in the end, without memory");
  free(memory);
  return 0;
}
