/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server goes on after every error of accept, as the manual says of some of them. Without descriptors it spins.
 *
 * expect: hang
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static int client(const struct sockaddr_in *a) {
  char text[32];
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (fd < 0 || connect(fd, (const struct sockaddr *)a, sizeof *a) < 0) {
    perror("client");
    return 1;
  }
  ssize_t n;
  size_t all = 0;
  while ((n = recv(fd, text + all, sizeof text - all, 0)) > 0)
    all += n;
  if (n < 0) {
    perror("client");
    return 1;
  }
  close(fd);
  return all == 6 ? 0 : (fprintf(stderr, "client: no greeting\n"), 1);
}

int main(void) {
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof a;
  int l = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (l < 0 || bind(l, (struct sockaddr *)&a, sizeof a) < 0 || listen(l, 4) < 0 ||
      getsockname(l, (struct sockaddr *)&a, &size) < 0) {
    perror("server");
    return 1;
  }
  struct timeval limit = {.tv_sec = 2};
  if (setsockopt(l, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) < 0) {
    perror("setsockopt");
    return 1;
  }
  pid_t p = fork();
  if (p < 0) {
    perror("fork");
    return 1;
  }
  if (p == 0) {
    close(l);
    _exit(client(&a));
  }
  int served = 0;
  while (served < 1) {
    int fd = accept(l, NULL, NULL);
    if (fd < 0) {
#ifdef FIXED
      if (errno != EINTR && errno != ECONNABORTED) {
        perror("accept");
        kill(p, SIGTERM);
        waitpid(p, NULL, 0);
        return 1;
      }
#endif
      continue;
    }
    ssize_t n = send(fd, "hello\n", 6, MSG_NOSIGNAL);
    if (n != 6) perror("send");
    close(fd);
    served++;
  }
  close(l);
  int status;
  while (waitpid(p, &status, 0) < 0)
    if (errno != EINTR) {
      perror("waitpid");
      return 1;
    }
  return status ? 1 : 0;
}
