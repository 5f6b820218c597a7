/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A merge of sorted runs with the bug that the LFI authors found in MySQL: when the last close fails, which comes right
 * behind the unlock, the code that cleans up unlocks a second time.
 */
#include "merge.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static int copy_run(int out, const char *name) {
  char buffer[512];
  ssize_t n;
  int in = open(name, O_RDONLY);
  if (in < 0) return -1;
  while ((n = read(in, buffer, sizeof buffer)) > 0)
    if (write(out, buffer, (size_t)n) != n) break;
  /* An error here is handled: the merge is given up, and nothing is wrong with that. */
  if (close(in) < 0 || n != 0) return -1;
  return 0;
}

int merge_runs(pthread_mutex_t *lock, const char *target, const char *const *runs, int n) {
  int out = open(target, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (out < 0) return -1;
  pthread_mutex_lock(lock);
  for (int i = 0; i < n; i++)
    if (copy_run(out, runs[i]) < 0) {
      UNLOCK(lock);
      return -1;
    }
  UNLOCK(lock);
  if (close(out) < 0) goto failed;
  return 0;
failed:
  (void)unlink(target);
  UNLOCK(lock);
  return -1;
}
