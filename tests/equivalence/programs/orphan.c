/* SPDX-License-Identifier: Apache-2.0 */
/* Leaves a process to itself, goes on, and waits for its work in the end. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
  pid_t child = fork();
  if (child == 0) {
    if (fork() == 0) {
      usleep(50000);
      close(creat("orphan.out", 0666));
    }
    _exit(0);
  }
  waitpid(child, NULL, 0);
  char *memory = malloc(10);
  int tries = 0;
  while (access("orphan.out", F_OK) < 0 && tries++ < 50)
    usleep(10000);
  char *more = malloc(20);
  printf("%d %d %s\n", memory != NULL, more != NULL, tries <= 50 ? "in time" : "never");
  free(memory);
  free(more);
  return 0;
}
