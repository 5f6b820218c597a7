/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are open in every way that can be had again, and what is done with them then. by branches: 99 of 100 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

static void show(const char *what, int fd) {
  printf("%s: flags %x %x at %lld\n", what, fcntl(fd, F_GETFL), fcntl(fd, F_GETFD), (long long)lseek(fd, 0, SEEK_CUR));
}

static void check(long r) {
  if (r < 0) exit(2);
}

int main(void) {
  int made = open("made", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
  int more = open("made", O_WRONLY | O_APPEND), both = open("made", O_RDWR | O_NONBLOCK);
  int copy = dup(both), null = open("/dev/null", O_WRONLY | O_APPEND), folder = open(".", O_RDONLY | O_DIRECTORY);
  check(made | more | both | copy | null | folder);
  check(write(made, "first\n", 6));
  check(write(more, "behind\n", 7));
  check(lseek(both, 3, SEEK_SET));
  check(flock(made, LOCK_EX));
  char *memory = malloc(10);
  show("made", made);
  show("more", more);
  show("both", both);
  show("copy", copy);
  show("null", null);
  show("folder", folder);
  check(write(more, "at the end\n", 11));
  check(write(copy, "IN", 2));
  show("both", both);
  printf("locked %d\n", flock(more, LOCK_EX | LOCK_NB));
  check(rename("made", "moved"));
  int inside = openat(folder, "moved", O_RDONLY);
  char *last = malloc(20);
  show("inside", inside);
  check(ftruncate(both, 9));
  check(write(more, "!", 1));
  printf("%d %d\n", memory != NULL, last != NULL);
  free(memory);
  free(last);
  return 0;
}
