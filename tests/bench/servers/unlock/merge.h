/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <pthread.h>
#include <stdlib.h>

/* Ends the program if the mutex is not held, as MySQL's own mutexes do. */
#define UNLOCK(mutex)                                                                                                  \
  do                                                                                                                   \
    if (pthread_mutex_unlock(mutex) != 0) abort();                                                                     \
  while (0)

int merge_runs(pthread_mutex_t *lock, const char *target, const char *const *runs, int n);
