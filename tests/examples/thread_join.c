/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that was never made is joined.
 *
 * expect: silent
 */
#include <pthread.h>
#include <stdio.h>

static int result;

static void *work(void *argument) {
  result = 42;
  return argument;
}

int main(void) {
  pthread_t thread = 0;
#ifdef FIXED
  if (pthread_create(&thread, NULL, work, NULL) != 0) {
    fputs("no thread\n", stderr);
    return 1;
  }
#else
  pthread_create(&thread, NULL, work, NULL);
#endif
  pthread_join(thread, NULL);
  printf("%d\n", result);
  return 0;
}
