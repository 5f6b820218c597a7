/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that closes all descriptors that it did not open itself, as daemons do; and one that ends by a signal right
 * behind the failure.
 *
 * @build cc -O2 $src -o $out
 * @run 100 0 -f 'lseek:EINVAL' -- closefrom
 * @run 100 0 -f 'lseek:EINVAL' -- close
 * @run 100 0 -f 'lseek:EINVAL' -- reopen
 * @run 1 137 -f 'lseek:EINVAL' -- kill
 * @run 1 134 -f 'lseek:EINVAL' -- abort
 */
#include "expect.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

static void fail_often(void) {
  for (int i = 0; i < 100; i++) {
    errno = 0;
    EXPECT(lseek(0, 0, SEEK_CUR) == -1 && errno == EINVAL);
  }
}

int main(int argc, char **argv) {
  struct stat s;
  EXPECT(argc == 2);
  if (strcmp(argv[1], "closefrom") == 0) closefrom(3), fail_often();
  if (strcmp(argv[1], "close") == 0) {
    for (int fd = 0; fd < 1024; fd++)
      if (fd != 2) close(fd);
    fail_often();
  }
  if (strcmp(argv[1], "reopen") == 0) {
    /* The lowest descriptor is free, so nobody else's is behind it; what is opened now is ours alone. */
    closefrom(3);
    int fd = open("mine", O_RDWR | O_CREAT | O_TRUNC, 0600);
    EXPECT(fd == 3);
    fail_often();
    EXPECT(fstat(fd, &s) == 0 && s.st_size == 0);
  }
  if (argv[1][0] == 'k' || argv[1][0] == 'a') {
    EXPECT(lseek(0, 0, SEEK_CUR) == -1);
    if (argv[1][0] == 'k') raise(SIGKILL);
    abort();
  }
  return 0;
}
