/* SPDX-License-Identifier: Apache-2.0 */
/* Writes runs, and merges them twice. */
#include "merge.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { RUNS = 4 };
static const char *const names[RUNS] = {"run1", "run2", "run3", "run4"};
static pthread_mutex_t lock;

static int write_run(const char *name) {
  int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (fd < 0) return -1;
  pthread_mutex_lock(&lock);
  ssize_t n = write(fd, "some rows\n", 10);
  UNLOCK(&lock);
  /* A line of text between the unlock and the close, as in most of a program. */
  char line[64];
  int size = snprintf(line, sizeof line, "wrote %s\n", name);
  ssize_t told = write(1, line, (size_t)size);
  if (told < 0) n = -1;
  if (n < 0) (void)unlink(name);
  (void)fsync(fd);
  return close(fd) < 0 || n != 10 ? -1 : 0;
}

int main(void) {
  pthread_mutexattr_t kind;
  if (pthread_mutexattr_init(&kind) || pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK) ||
      pthread_mutex_init(&lock, &kind))
    return 2;
  for (int i = 0; i < RUNS; i++)
    if (write_run(names[i]) < 0) return 1;
  for (int i = 0; i < 2; i++)
    if (merge_runs(&lock, "merged", names, RUNS) < 0) return 1;
  return 0;
}
