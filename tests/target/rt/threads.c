/* SPDX-License-Identifier: Apache-2.0 */
/* threads T N: T threads, one after the other started, call target_nothing N times each; how many got -1 back. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

long target_nothing(long a);

static int n;
static long failed;

static void *thread(void *unused) {
  (void)unused;
  long mine = 0;
  for (int i = 0; i < n; i++)
    mine += target_nothing(i) == -1;
  (void)__atomic_fetch_add(&failed, mine, __ATOMIC_RELAXED);
  return NULL;
}

int main(int argc, char **argv) {
  int threads = argc > 1 ? atoi(argv[1]) : 1;
  n = argc > 2 ? atoi(argv[2]) : 1000;
  pthread_t ids[64];
  for (int i = 0; i < threads && i < 64; i++)
    if (pthread_create(&ids[i], NULL, thread, NULL) != 0) return 1;
  for (int i = 0; i < threads && i < 64; i++)
    if (pthread_join(ids[i], NULL) != 0) return 1;
  printf("%ld\n", failed);
  return 0;
}
