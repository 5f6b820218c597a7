/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends while a thread of it does, which it has looked at in /proc: the kernel takes its time to give that number back,
 * and the next run must not see that.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile int number;

static void *thread(void *context) {
  (void)context;
  number = gettid();
  return NULL;
}

static void look(void) {
  DIR *d = opendir("/proc/self/task");
  while (d && readdir(d)) {
  }
  if (d) closedir(d);
}

int main(void) {
  pthread_t t;
  char *memory = malloc(10), *more = malloc(20);
  if (pthread_create(&t, NULL, thread, NULL) != 0) return 1;
  while (!number) {
  }
  look();
  printf("%d %d %d\n", memory != NULL, more != NULL, number);
  fflush(stdout);
  _exit(0);
}
