/* SPDX-License-Identifier: Apache-2.0 */
/* Speaks to murphy in its own language, and lies. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

struct message {
  uint32_t what, order;
  int64_t value;
};
enum { ASK = 0, BORN = 3 };

static void lie(uint32_t order, int64_t pid) {
  struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "\0murphy"};
  struct timeval patience = {.tv_usec = 200000};
  struct message ask = {ASK, order, 0}, answer, born = {BORN, 0, pid};
  int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (connect(fd, (struct sockaddr *)&name, sizeof name.sun_family + 7) == 0 &&
      send(fd, &ask, sizeof ask, MSG_NOSIGNAL) > 0 && recv(fd, &answer, sizeof answer, 0) > 0)
    send(fd, &born, sizeof born, MSG_NOSIGNAL);
  close(fd);
}

int main(void) {
  char *memory = malloc(10);
  lie(0, getpid());
  lie(0, (1ll << 40) + 5);
  lie(UINT32_MAX, 5);
  char *more = malloc(20);
  printf("%d %d\n", memory != NULL, more != NULL);
  free(memory);
  free(more);
  return 0;
}
