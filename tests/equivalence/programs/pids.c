/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Its own number, wherever a call takes one; and numbers of those that it starts, one after another.
 *
 * once different: where waitpid fails the child is not waited for, and its output comes when it comes.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t signals;
static void on_signal(int number) { signals += number == SIGUSR1; }

static void show(const char *what, long r) { printf("%s: %ld %d\n", what, r, r < 0 ? errno : 0); }

static void *thread(void *context) {
  (void)context;
  printf("thread %d\n", gettid());
  return NULL;
}

static void start_others(void) {
  pthread_t t;
  if (pthread_create(&t, NULL, thread, NULL) == 0) pthread_join(t, NULL);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    int r = kill(getppid(), SIGUSR1);
    printf("child %d of %d: %d\n", getpid(), getppid(), r);
    exit(0);
  }
  printf("waited for %d\n", waitpid(child, NULL, 0));
}

int main(void) {
  struct rlimit limit;
  struct sched_param p;
  cpu_set_t set;
  pid_t self = getpid();
  signal(SIGUSR1, on_signal);
  char *memory = malloc(10);
  show("kill", kill(self, 0));
  show("kill of the group", kill(-self, 0));
  show("killpg", killpg(getpgrp(), 0));
  show("tgkill", tgkill(self, gettid(), SIGUSR1));
  show("by number", syscall(SYS_getpid) == self && syscall(SYS_gettid) == gettid());
  show("tgkill by number", syscall(SYS_tgkill, self, syscall(SYS_gettid), SIGUSR1));
  show("group", getpgid(self));
  show("session", getsid(self));
  show("to be of a group", setpgid(self, self));
  show("limit", prlimit(self, RLIMIT_NOFILE, NULL, &limit));
  show("scheduler", sched_getscheduler(self));
  show("parameter", sched_getparam(self, &p));
  show("affinity", sched_getaffinity(self, sizeof set, &set) >= 0);
  errno = 0;
  show("priority", getpriority(PRIO_PROCESS, (id_t)self));
  show("waitpid", waitpid(-self, NULL, WNOHANG));
  start_others();
  char *more = malloc(20);
  start_others();
  printf("%d %d %d\n", memory != NULL, more != NULL, (int)signals);
  free(memory);
  free(more);
  return 0;
}
