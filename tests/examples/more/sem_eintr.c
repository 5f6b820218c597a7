/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread works, and the end of its work is told by a semaphore. There is a handler for SIGHUP, and so the wait may end
 * before the work does.
 *
 * build: -lpthread
 * expect: silent
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static sem_t done;
static volatile sig_atomic_t reload;
static volatile long total;

static void hup(int s) {
  (void)s;
  reload = 1;
}

static void *work(void *arg) {
  struct timespec rest = {0, 15000000};
  for (int i = 1; i <= 4; i++) {
    while (nanosleep(&rest, NULL) != 0 && errno == EINTR)
      continue;
    total += i * 1000;
  }
  if (sem_post(&done) != 0) {
    perror("sem_post");
    exit(1);
  }
  return arg;
}

int main(void) {
  pthread_t id;
  struct sigaction a = {0};
  a.sa_handler = hup;
  sigemptyset(&a.sa_mask);
  if (sigaction(SIGHUP, &a, NULL) != 0 || sem_init(&done, 0, 0) != 0) {
    perror("start");
    return 1;
  }
  int e = pthread_create(&id, NULL, work, NULL);
  if (e != 0) {
    fprintf(stderr, "thread: %s\n", strerror(e));
    return 1;
  }
#ifdef FIXED
  while (sem_wait(&done) != 0)
    if (errno != EINTR) {
      perror("sem_wait");
      return 1;
    }
#else
  sem_wait(&done);
#endif
  printf("total %ld\n", total);
  if (ferror(stdout) || fclose(stdout) != 0) {
    perror("standard output");
    return 1;
  }
  e = pthread_join(id, NULL);
  if (e != 0) {
    fprintf(stderr, "thread: %s\n", strerror(e));
    return 1;
  }
  return 0;
}
