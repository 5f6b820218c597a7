/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The number of events is unsigned, and -1 of them are looked through.
 *
 * expect: crash
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

static void on_hup(int s) { (void)s; }

int main(void) {
  struct sigaction act = {.sa_handler = on_hup};
  sigemptyset(&act.sa_mask);
  if (sigaction(SIGHUP, &act, NULL) < 0) {
    perror("sigaction");
    return 1;
  }
  int p[2], ep = epoll_create1(EPOLL_CLOEXEC);
  if (ep < 0 || pipe(p) < 0) {
    perror("epoll");
    return 1;
  }
  int *self = &p[0];
  struct epoll_event want = {.events = EPOLLIN, .data.ptr = self}, got[4];
  memset(got, 0, sizeof got);
  if (epoll_ctl(ep, EPOLL_CTL_ADD, p[0], &want) < 0 || write(p[1], "abc", 3) != 3 || close(p[1]) < 0) {
    perror("pipe");
    return 1;
  }
  char text[16];
  size_t n = 0;
  for (int over = 0; !over;) {
#ifdef FIXED
    int events = epoll_wait(ep, got, 4, -1);
    if (events < 0) {
      if (errno == EINTR) continue;
      perror("epoll_wait");
      return 1;
    }
    for (int i = 0; i < events; i++) {
#else
    size_t events = epoll_wait(ep, got, 4, -1);
    for (size_t i = 0; i < events; i++) {
#endif
      int fd = *(int *)got[i].data.ptr;
      ssize_t k = read(fd, text + n, sizeof text - n);
      if (k < 0) {
        if (errno == EINTR) continue;
        perror("read");
        return 1;
      }
      if (k == 0) over = 1;
      n += k;
    }
  }
  printf("%zu\n", n);
  return fflush(stdout) ? 1 : 0;
}
