/* SPDX-License-Identifier: Apache-2.0 */
/* A message bus on local sockets: epoll, passed descriptors, datagrams. */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

struct peer {
	int fd, slot;
	unsigned long sent, lost;
};

struct bus {
	int epoll, listener, wake, timer;
	struct peer *peers[64];
	int count;
};

static int bus_listen(struct bus *b, const char *path)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int fd;

	if (strlen(path) >= sizeof sun.sun_path)
		return -ENAMETOOLONG;
	strcpy(sun.sun_path, path);
	if (unlink(path) == -1 && errno != ENOENT) /* @unlink all */
		return -errno;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); /* @socket all */
	if (fd == -1)
		return -errno;
	if (bind(fd, (struct sockaddr *)&sun, sizeof sun) == -1) /* @bind all */
		goto fail;
	if (chmod(path, 0666) == -1) /* @chmod all */
		goto fail;
	listen(fd, 16); /* @listen none ignored */
	b->listener = fd;
	return 0;
fail:
	close(fd); /* @close none ignored */
	return -EIO;
}

static int watch(struct bus *b, int fd, void *data)
{
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = data };

	return epoll_ctl(b->epoll, EPOLL_CTL_ADD, fd, &e); /* @epoll_ctl all */
}

static int peer_add(struct bus *b)
{
	struct peer *p;
	int fd = accept4(b->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC); /* @accept4 all */

	if (fd < 0)
		return errno == EAGAIN ? 0 : -1;
	if (b->count == 64 || !(p = calloc(1, sizeof *p))) { /* @calloc all */
		close(fd); /* @close? none ignored */
		return 0;
	}
	p->fd = fd;
	p->slot = b->count;
	if (watch(b, fd, p) < 0) {
		close(fd); /* @close? none ignored */
		free(p);
		return -1;
	}
	b->peers[b->count++] = p;
	return 1;
}

static void peer_drop(struct bus *b, struct peer *p)
{
	epoll_ctl(b->epoll, EPOLL_CTL_DEL, p->fd, NULL); /* @epoll_ctl none ignored */
	(void)close(p->fd); /* @close none ignored */
	b->peers[p->slot] = b->peers[--b->count];
	b->peers[p->slot]->slot = p->slot;
	free(p);
}

/* To all but the sender. A peer whose queue is full loses the message. */
static int broadcast(struct bus *b, struct peer *from, const void *data, size_t n)
{
	for (int i = 0; i < b->count; i++) {
		struct peer *p = b->peers[i];
		if (p == from)
			continue;
		if (send(p->fd, data, n, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) { /* @send all */
			p->sent++;
			continue;
		}
		switch (errno) {
		case EAGAIN:
			p->lost++;
			break;
		default:
			return -1;
		}
	}
	return 0;
}

static int peer_read(struct bus *b, struct peer *p)
{
	char data[4096];
	ssize_t n = recv(p->fd, data, sizeof data, 0); /* @recv some missing=ECONNRESET */

	if (n == 0)
		peer_drop(b, p);
	if (n == 0 || (n < 0 && errno == EAGAIN))
		return 0;
	return broadcast(b, p, data, (size_t)n);
}

static int pass_descriptor(int socket, int fd)
{
	char control[CMSG_SPACE(sizeof fd)], byte = 0;
	struct iovec io = { &byte, 1 };
	struct msghdr m = { .msg_iov = &io, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof fd);
	memcpy(CMSG_DATA(c), &fd, sizeof fd);
	return sendmsg(socket, &m, 0) > 0; /* @sendmsg all */
}

static int loop(struct bus *b)
{
	struct epoll_event events[16];
	uint64_t ticks;

	for (;;) {
		int n = epoll_wait(b->epoll, events, 16, -1); /* @epoll_wait all */
		if (n == -1) {
			if (errno == EINTR)
				continue;
			return -1;
		}
		for (int i = 0; i < n; i++) {
			if (events[i].data.ptr == NULL) {
				if (peer_add(b) < 0)
					return -1;
			} else if (events[i].data.ptr == &b->timer) {
				read(b->timer, &ticks, sizeof ticks); /* @read none ignored */
			} else if (peer_read(b, events[i].data.ptr) < 0) {
				return -1;
			}
		}
	}
}

int main(int argc, char **argv)
{
	struct itimerspec every = { { 1, 0 }, { 1, 0 } };
	struct bus b = { 0 };
	int pair[2];

	b.epoll = epoll_create1(EPOLL_CLOEXEC); /* @epoll_create1 all */
	b.wake = eventfd(0, EFD_NONBLOCK); /* @eventfd all */
	b.timer = timerfd_create(CLOCK_MONOTONIC, 0); /* @timerfd_create all */
	if (b.epoll < 0 || b.wake < 0 || b.timer < 0)
		err(1, "descriptors");
	timerfd_settime(b.timer, 0, &every, NULL); /* @timerfd_settime none ignored */
	if (argc < 2 || bus_listen(&b, argv[1]) < 0)
		errx(2, "usage: bus SOCKET");
	if (watch(&b, b.listener, NULL) == -1 || watch(&b, b.timer, &b.timer) == -1)
		err(1, "epoll");
	socketpair(AF_UNIX, SOCK_STREAM, 0, pair); /* @socketpair none ignored */
	if (!pass_descriptor(pair[0], b.wake))
		warn("wake");
	return loop(&b) < 0;
}
