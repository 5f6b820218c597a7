/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages with descriptors beside them, over a socket that keeps their bounds.
 */
#include "sandbox/sandbox_inside.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST_FDS = SANDBOX_LAYERS };

union control {
  struct cmsghdr header;
  char bytes[CMSG_SPACE(sizeof(int) * MOST_FDS)];
};

int message_send(int socket, const void *p, size_t n, const int *fds, size_t n_fds) {
  MUST(n_fds <= MOST_FDS);
  union control control = {0};
  struct iovec part = {.iov_base = (void *)(uintptr_t)p, .iov_len = n};
  struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
  if (n_fds) {
    m.msg_control = control.bytes;
    m.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
    memcpy(CMSG_DATA(c), fds, sizeof(int) * n_fds);
  }
  ssize_t sent;
  do
    sent = sendmsg(socket, &m, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  return sent < 0 ? -errno : 0;
}

static void take_fds(struct msghdr *m, int *fds, size_t max, size_t *ret_fds) {
  *ret_fds = 0;
  for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < n; i++) {
      int fd;
      memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
      if (*ret_fds < max)
        fds[(*ret_fds)++] = fd;
      else
        (void)close(fd);
    }
  }
}

int message_receive_part(int socket, void *p, size_t least, size_t n, int *fds, size_t max, size_t *ret_fds) {
  union control control;
  struct iovec part = {.iov_base = p, .iov_len = n};
  struct msghdr m = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
  ssize_t got;
  do
    got = recvmsg(socket, &m, MSG_CMSG_CLOEXEC);
  while (got < 0 && errno == EINTR);
  if (got < 0) return -errno;
  take_fds(&m, fds, max, ret_fds);
  if (got == 0) return 0;
  if ((size_t)got >= least) return (int)got;
  for (size_t i = 0; i < *ret_fds; i++)
    (void)close(fds[i]);
  return -EPROTO;
}

int message_receive(int socket, void *p, size_t n, int *fds, size_t max, size_t *ret_fds) {
  return message_receive_part(socket, p, n, n, fds, max, ret_fds);
}
