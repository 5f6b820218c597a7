/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workers meet at a barrier. One that fails before does not come, and the others wait for it.
 *
 * setup: seq 1 10 > part0; seq 11 20 > part1
 * build: -pthread
 * expect: hang
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_barrier_t meet;
static long sums[2];
static atomic_int failed;

static void *work(void *which) {
  int k = (int)(long)which;
  char name[16], line[32];
  snprintf(name, sizeof name, "part%d", k);
  FILE *f = fopen(name, "r");
  if (!f) {
    perror(name);
    failed = 1;
#ifdef FIXED
    pthread_barrier_wait(&meet);
#endif
    return NULL;
  }
  while (fgets(line, sizeof line, f))
    sums[k] += atol(line);
  if (ferror(f)) {
    perror(name);
    failed = 1;
  }
  fclose(f);
  pthread_barrier_wait(&meet);
  return NULL;
}

int main(void) {
  pthread_t t[2];
  int r = pthread_barrier_init(&meet, NULL, 3);
  if (r) {
    fprintf(stderr, "barrier: %s\n", strerror(r));
    return 1;
  }
  for (long i = 0; i < 2; i++)
    if ((r = pthread_create(&t[i], NULL, work, (void *)i))) {
      fprintf(stderr, "thread: %s\n", strerror(r));
      exit(1);
    }
  pthread_barrier_wait(&meet);
  for (int i = 0; i < 2; i++)
    pthread_join(t[i], NULL);
  pthread_barrier_destroy(&meet);
  if (failed) return 1;
  printf("%ld\n", sums[0] + sums[1]);
  return fflush(stdout) ? 1 : 0;
}
