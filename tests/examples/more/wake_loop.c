/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker wakes the event loop by an eventfd; if that does not work, it ends, and the loop waits for ever.
 *
 * build: -pthread
 * expect: hang
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int efd;
static long answer;

static void *worker(void *arg) {
  long n = (long)arg, a = 0;
  for (long i = 1; i <= n; i++)
    a += i * i % 13;
  answer = a;
  uint64_t one = 1;
#ifndef FIXED
  if (write(efd, &one, sizeof one) != sizeof one) return (void *)1;
#else
  while (write(efd, &one, sizeof one) != sizeof one) {
    if (errno == EINTR) continue;
    perror("evnotify: cannot wake the loop");
    exit(1);
  }
#endif
  return NULL;
}

int main(void) {
  pthread_t t;
  struct pollfd p;
  uint64_t v;

  efd = eventfd(0, EFD_NONBLOCK);
  if (efd < 0) {
    perror("eventfd");
    return 1;
  }
  for (long job = 1; job <= 3; job++) {
    int e = pthread_create(&t, NULL, worker, (void *)(job * 1000));
    if (e) {
      fprintf(stderr, "evnotify: %s\n", strerror(e));
      return 1;
    }
    p.fd = efd;
    p.events = POLLIN;
    for (;;) {
      int r = poll(&p, 1, -1);
      if (r < 0 && errno != EINTR) {
        perror("poll");
        return 1;
      }
      if (r <= 0) continue;
      if (read(efd, &v, sizeof v) == sizeof v) break;
      if (errno != EINTR && errno != EAGAIN) {
        perror("eventfd read");
        return 1;
      }
    }
    e = pthread_join(t, NULL);
    if (e) {
      fprintf(stderr, "evnotify: join: %s\n", strerror(e));
      return 1;
    }
    printf("job %ld: %ld\n", job, answer);
  }
  close(efd);
  if (fflush(stdout) || ferror(stdout)) {
    perror("evnotify: stdout");
    return 1;
  }
  return 0;
}
