/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines come over a socket. A signal ends the wait, which is taken for the end of the lines.
 *
 * build: -pthread
 * expect: silent
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static int sv[2];

static void *feeder(void *arg) {
  struct timespec ts = {0, 5000000};
  char line[64];
  (void)arg;
  for (int i = 0; i < 6; i++) {
    int l = snprintf(line, sizeof line, "item %d weight %d\n", i, i * 31 % 17);
    for (int o = 0; o < l;) {
      ssize_t n = send(sv[1], line + o, l - o, MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) {
        perror("pollfeed: send");
        exit(1);
      }
      o += n;
    }
    nanosleep(&ts, NULL);
  }
  if (shutdown(sv[1], SHUT_WR)) {
    perror("pollfeed: shutdown");
    exit(1);
  }
  return NULL;
}

int main(void) {
  pthread_t t;
  char buf[512];
  size_t len = 0;

  if (socketpair(AF_UNIX, SOCK_STREAM, 0, sv)) {
    perror("socketpair");
    return 1;
  }
  int e = pthread_create(&t, NULL, feeder, NULL);
  if (e) {
    fprintf(stderr, "pollfeed: %s\n", strerror(e));
    return 1;
  }
  struct pollfd p = {.fd = sv[0], .events = POLLIN};
  for (;;) {
    int r = poll(&p, 1, 5000);
#ifndef FIXED
    if (r <= 0) break;
#else
    if (r < 0 && errno == EINTR) continue;
    if (r <= 0) {
      fprintf(stderr, "pollfeed: %s\n", r ? strerror(errno) : "feeder is stuck");
      return 1;
    }
#endif
    ssize_t n = recv(sv[0], buf + len, sizeof buf - len, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      perror("pollfeed: recv");
      return 1;
    }
    if (n == 0) break;
    len += n;
  }
  pthread_join(t, NULL);
  fwrite(buf, 1, len, stdout);
  printf("%zu bytes\n", len);
  close(sv[0]);
  close(sv[1]);
  if (fflush(stdout) || ferror(stdout)) {
    perror("stdout");
    return 1;
  }
  return 0;
}
