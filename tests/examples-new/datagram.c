/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LFI, table III: in PBFT, the -1 of recvfrom is the length of a message.
 *
 * expect: crash
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct message {
  unsigned length;
  char body[60];
};

static unsigned sum_of(const char *p, size_t n) {
  unsigned s = 0;
  while (n--)
    s += (unsigned char)*p++;
  return s;
}

int main(void) {
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}, from;
  socklen_t size = sizeof a;
  int in = socket(AF_INET, SOCK_DGRAM, 0), out = socket(AF_INET, SOCK_DGRAM, 0);
  if (in < 0 || out < 0 || bind(in, (struct sockaddr *)&a, sizeof a) < 0 ||
      getsockname(in, (struct sockaddr *)&a, &size) < 0) {
    perror("socket");
    return 1;
  }
  struct timeval limit = {.tv_usec = 300000};
  if (setsockopt(in, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) < 0) {
    perror("setsockopt");
    return 1;
  }
  struct message m = {.length = 9}, got;
  memcpy(m.body, "prepare 7", 9);
  if (sendto(out, &m, sizeof m, 0, (struct sockaddr *)&a, sizeof a) != sizeof m) {
    perror("sendto");
    return 1;
  }
  size = sizeof from;
  ssize_t n = recvfrom(in, &got, sizeof got, 0, (struct sockaddr *)&from, &size);
#ifdef FIXED
  if (n < (ssize_t)sizeof got) {
    if (n < 0)
      perror("recvfrom");
    else
      fprintf(stderr, "recvfrom: too short\n");
    return 1;
  }
#endif
  printf("%u\n", sum_of(got.body, n - sizeof got.length));
  close(in);
  close(out);
  return fflush(stdout) ? 1 : 0;
}
