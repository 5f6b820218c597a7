/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LFI, table III: MySQL logs that it could not read its messages, and then uses the table that is not there.
 *
 * expect: crash
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *messages;

static int load_messages(void) {
  int fd = open("/etc/hostname", O_RDONLY);
  if (fd < 0) return -1;
  char buffer[64] = "";
  ssize_t n = read(fd, buffer, sizeof buffer - 1);
  close(fd);
  if (n < 0) {
    fputs("messages cannot be read\n", stderr);
#ifdef FIXED
    return -1;
#else
    return 0; /* says so, and goes on without them */
#endif
  }
  messages = strdup("all is well");
  return messages ? 0 : -1;
}

int main(void) {
  if (load_messages() < 0) {
    fputs("cannot start\n", stderr);
    return 1;
  }
  printf("%zu\n", strlen(messages));
  free(messages);
  return 0;
}
