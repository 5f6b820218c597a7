/* SPDX-License-Identifier: Apache-2.0 */
/* libc asks the kernel about the thread by its number, and has locks with it. by branches: 100 of 100 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t make(int type, int robust) {
  pthread_mutex_t m;
  pthread_mutexattr_t a;
  pthread_mutexattr_init(&a);
  pthread_mutexattr_settype(&a, type);
  pthread_mutexattr_setrobust(&a, robust);
  memset(&m, 0, sizeof m);
  pthread_mutex_init(&m, &a);
  return m;
}

static void show(void) {
  cpu_set_t set;
  struct sched_param p;
  pthread_attr_t a;
  int policy = -1;
  void *at = NULL;
  size_t size = 0;
  char name[16] = "";
  int r = pthread_getaffinity_np(pthread_self(), sizeof set, &set);
  printf("affinity %d %d\n", r, r ? 0 : CPU_COUNT(&set));
  printf("set %d\n", pthread_setaffinity_np(pthread_self(), sizeof set, &set));
  printf("scheduler %d", pthread_getschedparam(pthread_self(), &policy, &p));
  printf(" %d\nset %d\n", policy, pthread_setschedparam(pthread_self(), policy, &p));
  printf("priority %d\n", pthread_setschedprio(pthread_self(), 0));
  r = pthread_getattr_np(pthread_self(), &a);
  if (r == 0) pthread_attr_getstack(&a, &at, &size);
  printf("stack %d %d\n", r, at != NULL && size > 0);
  printf("name %d\n", pthread_getname_np(pthread_self(), name, sizeof name));
  if (r == 0) pthread_attr_destroy(&a);
}

int main(void) {
  pthread_mutex_t checked = make(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED);
  static pthread_mutex_t again, robust;
  again = make(PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED);
  robust = make(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ROBUST);
  char *first = malloc(10);
  show();
  pthread_mutex_lock(&checked);
  pthread_mutex_lock(&again);
  pthread_mutex_lock(&robust);
  char *memory = malloc(20);
  show();
  printf("again %d %d %d\n", pthread_mutex_lock(&checked), pthread_mutex_lock(&again), pthread_mutex_lock(&robust));
  printf("unlock %d %d %d\n", pthread_mutex_unlock(&checked), pthread_mutex_unlock(&again),
         pthread_mutex_unlock(&robust));
  printf("%d %d\n", first != NULL, memory != NULL);
  free(first);
  free(memory);
  return 0;
}
