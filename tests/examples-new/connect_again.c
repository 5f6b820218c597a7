/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client tries to reach its server until it does, however long that takes.
 *
 * build: -pthread
 * expect: hang
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int listener;

static void *serve(void *unused) {
  int fd;
  do
    fd = accept(listener, NULL, NULL);
  while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
  if (fd < 0) {
    perror("accept");
    _exit(1);
  }
  if (send(fd, "hello\n", 6, MSG_NOSIGNAL) != 6) perror("send");
  close(fd);
  return unused;
}

static int reach(const struct sockaddr_in *where) {
  int tries = 0;
  for (;;) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    if (connect(fd, (const struct sockaddr *)where, sizeof *where) == 0) return fd;
    int why = errno;
    close(fd);
#ifdef FIXED
    if (++tries == 5) {
      errno = why;
      return -1;
    }
#endif
    usleep(1000);
  }
}

int main(void) {
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof a;
  listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0 || bind(listener, (struct sockaddr *)&a, sizeof a) < 0 || listen(listener, 4) < 0 ||
      getsockname(listener, (struct sockaddr *)&a, &size) < 0) {
    perror("server");
    return 1;
  }
  pthread_t t;
  int r = pthread_create(&t, NULL, serve, NULL);
  if (r) {
    fprintf(stderr, "thread: %s\n", strerror(r));
    return 1;
  }
  int fd = reach(&a);
  if (fd < 0) {
    perror("connect");
    return 1;
  }
  char text[64];
  size_t n = 0;
  for (;;) {
    ssize_t k = recv(fd, text + n, sizeof text - n, 0);
    if (k < 0 && errno == EINTR) continue;
    if (k < 0) {
      perror("recv");
      return 1;
    }
    if (k == 0) break;
    n += k;
  }
  if (n != 6) {
    fprintf(stderr, "the server said too little\n");
    return 1;
  }
  printf("%.*s", (int)n, text);
  if (fflush(stdout)) return 1;
  close(fd);
  pthread_join(t, NULL);
  return 0;
}
