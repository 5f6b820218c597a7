/* SPDX-License-Identifier: Apache-2.0 */
/* What is open and has a state that nobody can copy: each kind is a reason of its own (tests/cli/test_modes.sh). */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

static int unlinked(void) {
  int fd = open("gone", O_RDWR | O_CREAT, 0600);
  (void)unlink("gone");
  return fd;
}

static int ring(void) {
  struct io_uring_params p = {0};
  return (int)syscall(SYS_io_uring_setup, 4, &p);
}

static int piped(void) {
  int ends[2] = {-1, -1};
  if (pipe(ends) == 0) (void)close(ends[1]);
  return ends[0];
}

static int terminal(void) { return posix_openpt(O_RDWR | O_NOCTTY); }

#define WITH(what)                                                                                                     \
  do {                                                                                                                 \
    int fd = what;                                                                                                     \
    char *memory = fd < 0 ? NULL : malloc(10);                                                                         \
    printf("%s: %d %d\n", #what, fd >= 0, memory != NULL);                                                             \
    free(memory);                                                                                                      \
    (void)close(fd);                                                                                                   \
  } while (0)

int main(void) {
  sigset_t none;
  sigemptyset(&none);
  WITH(eventfd(0, 0));
  WITH(epoll_create1(0));
  WITH(inotify_init());
  WITH(timerfd_create(CLOCK_MONOTONIC, 0));
  WITH(signalfd(-1, &none, 0));
  WITH(memfd_create("memory", 0));
  WITH(piped());
  WITH(socket(AF_UNIX, SOCK_STREAM, 0));
  WITH(socket(AF_INET, SOCK_DGRAM, 0));
  WITH(unlinked());
  WITH(open(".", O_RDWR | O_TMPFILE, 0600));
  WITH(ring());
  WITH(terminal());
  WITH(open("/proc/self/stat", O_RDONLY));
  WITH((int)syscall(SYS_pidfd_open, getpid(), 0));
  return 0;
}
