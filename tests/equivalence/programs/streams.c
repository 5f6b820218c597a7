/* SPDX-License-Identifier: Apache-2.0 */
/* What was set of standard input and output is gone with a run, and with a branch of it. by branches: 100 of 100 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static void show(void) {
  for (int fd = 0; fd < 3; fd++) {
    struct stat st;
    if (fstat(fd, &st) < 0) exit(2);
    printf("%d: flags %x mode %o owner %u:%u\n", fd, fcntl(fd, F_GETFL), st.st_mode, st.st_uid, st.st_gid);
  }
}

static void set(void) {
  for (int fd = 0; fd < 3; fd++)
    if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0) puts("not set");
  if (fchown(1, 33, 44) < 0) puts("not given away");
  if (fchmod(1, 0600) < 0 || fchmod(2, 0) < 0) puts("not changed");
}

int main(void) {
  show();
  char *memory = malloc(10);
  if (!memory) set();
  show();
  char *more = malloc(20);
  if (!more) set();
  show();
  char *last = malloc(30);
  printf("%d%d%d\n", memory != NULL, more != NULL, last != NULL);
  free(memory);
  free(more);
  free(last);
  return 0;
}
