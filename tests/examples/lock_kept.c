/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The path for a failure returns with the lock held; the next one who wants it waits for ever.
 *
 * expect: hang
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *cache;

static int fill(void) {
  pthread_mutex_lock(&lock);
  cache = malloc(100);
  if (!cache) {
#ifdef FIXED
    pthread_mutex_unlock(&lock);
#endif
    return -1;
  }
  cache[0] = 'x';
  pthread_mutex_unlock(&lock);
  return 0;
}

int main(void) {
  int r = fill();
  pthread_mutex_lock(&lock);
  int status = r < 0 || !cache;
  pthread_mutex_unlock(&lock);
  if (status) fputs("no cache\n", stderr);
  free(cache);
  return status;
}
