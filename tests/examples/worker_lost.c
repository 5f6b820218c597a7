/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker that fails goes away without a word, and who waits for it waits for ever.
 *
 * expect: hang
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int done, result = -1;

static void *work(void *nothing) {
  int fd = open("/etc/passwd", O_RDONLY);
#ifndef FIXED
  if (fd < 0) return nothing;
#endif
  pthread_mutex_lock(&lock);
  result = fd < 0 ? -1 : 0;
  done = 1;
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&lock);
  if (fd >= 0) close(fd);
  return nothing;
}

int main(void) {
  pthread_t thread;
  int error = pthread_create(&thread, NULL, work, NULL);
  if (error) {
    fprintf(stderr, "pthread_create: %s\n", strerror(error));
    return 1;
  }
  pthread_mutex_lock(&lock);
  while (!done)
    pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
  pthread_join(thread, NULL);
  if (result < 0) {
    fputs("no result\n", stderr);
    return 1;
  }
  puts("result");
  return 0;
}
