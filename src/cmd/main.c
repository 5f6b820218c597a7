/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The binary: makes sure that the standard descriptors are what the rest takes them for, and starts the command line.
 */
#include "cmd/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

/*
 * A descriptor that the caller closed would be given to the next file that is opened, and output would go there. Open
 * the wrong way round, it still says EBADF to whoever uses it.
 */
static int fill_closed(int fd) {
  if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) return 0;
  /* Not close-on-exec: a standard descriptor is to be inherited. The lowest free number is FD itself. */
  return open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) == fd ? 0 : -errno;
}

int main(int argc, char **argv) {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
    if (fill_closed(fd) < 0) return EXIT_BAD;

  /* A parent that ignores SIGPIPE (some scripting languages do) would have us complain where others end quietly. */
  if (signal(SIGPIPE, SIG_DFL) == SIG_ERR) return EXIT_BAD;

  return cmd_main(argc, argv);
}
