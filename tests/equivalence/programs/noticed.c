/* SPDX-License-Identifier: Apache-2.0 */
/* A signal comes when a folder changes. refused: files are open that a fork would share. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static volatile sig_atomic_t came;
static void on_signal(int number) { came = number; }

int main(void) {
  if (signal(SIGIO, on_signal) == SIG_ERR || mkdir("here", 0777) < 0) return 2;
  int fd = open("here", O_RDONLY);
  if (fd < 0) return 3;
  int r = fcntl(fd, F_NOTIFY, DN_CREATE | DN_MULTISHOT);
  char *memory = malloc(10);
  close(creat("here/new", 0666));
  printf("%d %d %d\n", r, (int)came, memory != NULL);
  free(memory);
  return 0;
}
