/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread serves one client, and goes home if the client cannot be accepted, who waits for it.
 *
 * build: -pthread
 * expect: hang
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void die(const char *s) {
  perror(s);
  exit(1);
}

static int send_all(int fd, const char *p, size_t n) {
  while (n > 0) {
    ssize_t r = send(fd, p, n, MSG_NOSIGNAL);
    if (r < 0) {
      if (errno == EINTR) continue;
      return -1;
    }
    p += r;
    n -= r;
  }
  return 0;
}

static void *server(void *arg) {
  int ls = *(int *)arg;
  char buf[256];
#ifndef FIXED
  int c = accept(ls, NULL, NULL);
  if (c < 0) {
    perror("accept");
    return NULL;
  }
#else
  int c;
  do
    c = accept(ls, NULL, NULL);
  while (c < 0 && errno == EINTR);
  if (c < 0) die("accept"); /* nobody will serve the client: give up */
#endif
  for (;;) {
    ssize_t n = recv(c, buf, sizeof buf, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) die("server: recv");
    if (n == 0) break;
    for (ssize_t i = 0; i < n; i++)
      buf[i] = toupper((unsigned char)buf[i]);
    if (send_all(c, buf, n)) die("server: send");
  }
  close(c);
  return NULL;
}

int main(void) {
  static const char *msgs[] = {"hello\n", "loopback world\n", "bye\n"};
  struct sockaddr_in a = {.sin_family = AF_INET};
  socklen_t al = sizeof a;
  pthread_t t;
  int ls = socket(AF_INET, SOCK_STREAM, 0);
  if (ls < 0) die("socket");
  int on = 1;
  setsockopt(ls, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(ls, (struct sockaddr *)&a, sizeof a) || listen(ls, 4) || getsockname(ls, (struct sockaddr *)&a, &al))
    die("listen");
  int e = pthread_create(&t, NULL, server, &ls);
  if (e) {
    fprintf(stderr, "thread: %s\n", strerror(e));
    return 1;
  }
  int s = socket(AF_INET, SOCK_STREAM, 0);
  if (s < 0 || connect(s, (struct sockaddr *)&a, sizeof a)) die("connect");
  for (int i = 0; i < 3; i++) {
    size_t len = strlen(msgs[i]), got = 0;
    char buf[256];
    if (send_all(s, msgs[i], len)) die("send");
    while (got < len) {
      ssize_t n = recv(s, buf + got, len - got, 0);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) die("recv");
      if (n == 0) {
        fprintf(stderr, "server closed the connection\n");
        return 1;
      }
      got += n;
    }
    fwrite(buf, 1, got, stdout);
  }
  close(s);
  pthread_join(t, NULL);
  close(ls);
  if (fflush(stdout) || ferror(stdout)) die("stdout");
  return 0;
}
