/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The result is fetched when the semaphore says that it is there, or when a signal comes.
 *
 * build: -pthread
 * expect: silent
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static sem_t ready;
static volatile long result;

static void on_signal(int s) { (void)s; }

static void *compute(void *p) {
  struct timespec t = {.tv_nsec = 20000000};
  while (nanosleep(&t, &t) < 0 && errno == EINTR) {
  }
  result = 4711;
  sem_post(&ready);
  return p;
}

int main(void) {
  struct sigaction a = {.sa_handler = on_signal};
  sigemptyset(&a.sa_mask);
  if (sigaction(SIGUSR1, &a, NULL) < 0 || sem_init(&ready, 0, 0) < 0) {
    perror("start");
    return 1;
  }
  pthread_t t;
  int r = pthread_create(&t, NULL, compute, NULL);
  if (r) {
    fprintf(stderr, "thread: %s\n", strerror(r));
    return 1;
  }
#ifdef FIXED
  while (sem_wait(&ready) < 0)
    if (errno != EINTR) {
      perror("sem_wait");
      return 1;
    }
#else
  sem_wait(&ready);
#endif
  long got = result;
  pthread_join(t, NULL);
  FILE *f = fopen("answer", "w");
  if (!f) {
    perror("answer");
    return 1;
  }
  fprintf(f, "%ld\n", got);
  if (ferror(f) | fclose(f)) {
    perror("answer");
    return 1;
  }
  return 0;
}
