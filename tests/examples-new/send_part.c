/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reply goes through a socket, in one piece if all is well. If not, the end of it is never sent.
 *
 * expect: silent|hang
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int reply(int fd) {
  char text[600];
  memset(text, 'x', sizeof text);
#ifdef FIXED
  for (size_t done = 0; done < sizeof text;) {
    ssize_t n = send(fd, text + done, sizeof text - done, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      perror("send");
      return 1;
    }
    done += n;
  }
  return 0;
#else
  if (send(fd, text, sizeof text, MSG_NOSIGNAL) < 0) {
    perror("send");
    return 1;
  }
  return 0;
#endif
}

int main(void) {
  int p[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, p) < 0) {
    perror("socketpair");
    return 1;
  }
  fflush(NULL);
  pid_t child = fork();
  if (child < 0) {
    perror("fork");
    return 1;
  }
  if (child == 0) {
    close(p[0]);
    _exit(reply(p[1]));
  }
  close(p[1]);
  size_t total = 0;
  char block[128];
  for (;;) {
    ssize_t n = recv(p[0], block, sizeof block, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      perror("recv");
      return 1;
    }
    if (n == 0) break;
    total += n;
  }
  int status;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) {
      perror("waitpid");
      return 1;
    }
  if (status) return 1;
  FILE *f = fopen("received", "w");
  if (!f) {
    perror("received");
    return 1;
  }
  fprintf(f, "%zu bytes\n", total);
  if (ferror(f) | fclose(f)) {
    perror("received");
    return 1;
  }
  return 0;
}
