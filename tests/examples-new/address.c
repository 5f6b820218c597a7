/* SPDX-License-Identifier: Apache-2.0 */
/*
 * getaddrinfo leaves the list alone when it fails, and the list is freed all the same.
 *
 * args: 127.0.0.1 8080
 * expect: crash|abort
 */
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
#ifdef FIXED
  struct addrinfo *list = NULL;
#else
  struct addrinfo *list = (struct addrinfo *)argv[0];
#endif
  char host[64] = "?", port[16] = "?";
  int status = 1, r = getaddrinfo(argv[1], argv[2], &hints, &list);
  if (r) {
    fprintf(stderr, "%s: %s\n", argv[1], gai_strerror(r));
    goto done;
  }
  r = getnameinfo(list->ai_addr, list->ai_addrlen, host, sizeof host, port, sizeof port,
                  NI_NUMERICHOST | NI_NUMERICSERV);
  if (r) {
    fprintf(stderr, "%s: %s\n", argv[1], gai_strerror(r));
    goto done;
  }
  printf("%s port %s\n", host, port);
  status = fflush(stdout) ? 1 : 0;
done:
#ifdef FIXED
  if (list) freeaddrinfo(list);
#else
  freeaddrinfo(list);
#endif
  return status;
}
