/* SPDX-License-Identifier: Apache-2.0 */
/* Listens at a port of its own, talks to itself, and leaves a port that is not free before a minute has passed. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static void talk(void) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(7399), .sin_addr = {htonl(INADDR_LOOPBACK)}};
  int server = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
  char said[4] = "";
  if (bind(server, (struct sockaddr *)&at, sizeof at) < 0) perror("bind");
  if (listen(server, 5) < 0 || connect(client, (struct sockaddr *)&at, sizeof at) < 0) {
    perror("connect");
    exit(3);
  }
  int connection = accept(server, NULL, NULL);
  if (write(connection, "hi\n", 3) != 3) exit(4);
  close(connection); /* first, so that it is this side which waits */
  if (read(client, said, 3) != 3) exit(5);
  close(client);
  close(server);
  fputs(said, stdout);
}

int main(void) {
  char *before = malloc(10);
  talk();
  char *after = malloc(20);
  printf("%d %d\n", before != NULL, after != NULL);
  free(before);
  free(after);
  return 0;
}
