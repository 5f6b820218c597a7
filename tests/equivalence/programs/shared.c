/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that it shares with its children, though it cannot be written to just now. refused: memory is shared. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char *map(int fd, int protection) {
  char *at = mmap(NULL, 4096, protection, MAP_SHARED | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);
  if (at == MAP_FAILED) exit(2);
  return at;
}

static void use(char *at, const char *what, const char *memory) {
  if (mprotect(at, 4096, PROT_READ | PROT_WRITE) < 0) exit(3);
  printf("%s: %s %d\n", what, at, memory != NULL);
  strcpy(at, memory ? "as always" : "by a child");
  if (mprotect(at, 4096, PROT_READ) < 0) exit(4);
}

int main(void) {
  char *anonymous = map(-1, PROT_READ | PROT_WRITE);
  strcpy(anonymous, "first");
  if (mprotect(anonymous, 4096, PROT_READ) < 0) return 5;
  char *memory = malloc(10);
  use(anonymous, "anonymous", memory);
  munmap(anonymous, 4096);

  int fd = open("file", O_RDWR | O_CREAT, 0600);
  if (fd < 0 || ftruncate(fd, 4096) < 0) return 6;
  char *file = map(fd, PROT_READ);
  close(fd);
  char *more = malloc(20);
  use(file, "file", more);
  char *last = malloc(30);
  use(file, "file", last);
  free(memory);
  free(more);
  free(last);
  return 0;
}
