/* SPDX-License-Identifier: Apache-2.0 */
/* a small network daemon: sockets, processes, polling */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define NI __attribute__((noinline))
static volatile long sink;

static NI void die(const char *what)
{
	perror(what);
	exit(1);
}
static int xsocket(int type)
{
	int fd = socket(AF_INET, type, 0); /* @socket all */
	if (fd == -1)
		die("socket");
	return fd;
}
static NI int listener(int port)
{
	struct sockaddr_in sa;
	int one = 1, fd = xsocket(SOCK_STREAM);
	memset(&sa, 0, sizeof sa);
	sa.sin_family = AF_INET;
	sa.sin_port = htons(port);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one); /* @setsockopt none ignored */
	if (bind(fd, (struct sockaddr *)&sa, sizeof sa) || listen(fd, 5) < 0) /* @bind all; @listen all */
		goto fail;
	return fd;
fail:
	close(fd); /* @close none ignored */
	return -1;
}
static NI int accept_some(int lfd)
{
	int c = accept(lfd, NULL, NULL); /* @accept some missing=EMFILE */
	if (c < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return 0;
	sink = c;
	return 1;
}
static NI int accept_retry(int lfd)
{
	int c;
	for (;;) {
		c = accept4(lfd, NULL, NULL, SOCK_CLOEXEC); /* @accept4 all */
		if (c >= 0) return c;
		if (errno != EINTR && errno != ECONNABORTED) return -1;
	}
}
static NI int accept_zero(int lfd)
{
	int c = accept(lfd, NULL, NULL); /* @accept none used */
	if (!c) return 5;
	sink = c;
	return 0;
}
static NI int connect_nb(int fd, const struct sockaddr *sa, socklen_t len)
{
	if (connect(fd, sa, len) < 0 && errno != EINPROGRESS) return -1; /* @connect all */
	return 0;
}
static NI int connect_refused(int fd, const struct sockaddr *sa, socklen_t len)
{
	if (connect(fd, sa, len) == -1) { /* @connect some missing=ETIMEDOUT */
		if (errno == ECONNREFUSED) return 1;
		if (errno == EHOSTUNREACH) return 2;
	}
	sink++;
	return 0;
}
static NI int connect_wrong(int fd, const struct sockaddr *sa, socklen_t len)
{
	int rc = connect(fd, sa, len); /* @connect none used */
	if (rc == ECONNREFUSED) return -1;
	return 0;
}
static NI int connect_tries(int fd, const struct sockaddr *sa, socklen_t len)
{
	int i;
	for (i = 0; i < 4; i++) {
		if (!connect(fd, sa, len)) /* @connect all */
			break;
		sink += i;
	}
	return i;
}
static NI int soerror(int fd)
{
	int e = 0;
	socklen_t l = sizeof e;
	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &e, &l) == 0 ? e : -1; /* @getsockopt all */
}
static NI int soerror_bad(int fd)
{
	int e = 0;
	socklen_t l = sizeof e;
	getsockopt(fd, SOL_SOCKET, SO_TYPE, &e, &l); /* @getsockopt none ignored */
	return e;
}
static NI size_t slurp(int fd, char *b, size_t n)
{
	size_t got = recv(fd, b, n, 0); /* @recv none used */
	if (got < 0u) return 0;
	sink += b[0];
	return got;
}
static NI int msg_len(int fd, char *b)
{
	ssize_t n = recv(fd, b, 16, MSG_DONTWAIT); /* @recv all */
	if (n < 1 || n > 12) return -1;
	return b[n - 1];
}
static NI long recv_loop(int fd, char *b, size_t cap)
{
	ssize_t n;
	do
		n = recv(fd, b, cap, 0); /* @recv some missing=ECONNRESET */
	while (n == -1 && errno == EINTR);
	sink += n;
	return n * 2;
}
static NI long recv_full(int fd, char *b, size_t cap)
{
	size_t off = 0;
	while (off < cap) {
		ssize_t n = recvfrom(fd, b + off, cap - off, 0, NULL, NULL); /* @recvfrom all */
		if (n <= 0) break;
		off += n;
	}
	return off;
}
static NI int send_exact(int fd, const char *s)
{
	size_t n = strlen(s);
	return (size_t)send(fd, s, n, MSG_NOSIGNAL) != n ? -1 : 0; /* @send all */
}
static NI int send_short(int fd, const char *s)
{
	size_t n = strlen(s);
	if ((size_t)send(fd, s, n, 0) < n) return -1; /* @send none used */
	return 0;
}
static NI int send_pipe(int fd, const char *s)
{
	ssize_t r = sendto(fd, s, strlen(s), 0, NULL, 0); /* @sendto some missing=ENOBUFS */
	int e = errno;
	if (r < 0 && e == EPIPE) return -1;
	sink += r;
	return 0;
}
static NI int resolve(const char *h, struct addrinfo **out)
{
	int rc = getaddrinfo(h, "80", NULL, out); /* @getaddrinfo all */
	if (rc != 0) {
		sink = rc;
		return -1;
	}
	return 0;
}
static NI int resolve_one(const char *h)
{
	struct addrinfo *ai = NULL;
	switch (getaddrinfo(h, "81", NULL, &ai)) { /* @getaddrinfo some missing=EAI_AGAIN */
	case EAI_NONAME: return 1;
	case EAI_FAMILY: return 2;
	}
	sink = ai->ai_family;
	return 0;
}
static NI int resolve_sign(const char *h) {
	struct addrinfo *ai = NULL;
	if (getaddrinfo(h, "82", NULL, &ai) > 0) return -1; /* @getaddrinfo none used */
	sink = ai->ai_protocol;
	return 0;
}
static NI int spawn_ok(int n) {
	pid_t p = fork(); /* @fork all */
	int st = 0;
	switch (p) {
	case -1: return -1;
	case 0:
		_exit(n);
	default:
		while (waitpid(p, &st, 0) < 0) /* @waitpid all */
			if (errno != EINTR) return -1;
	}
	return st;
}
static NI int spawn_bad(int n) {
	int st = 0;
	pid_t p = fork(); /* @fork none used */
	if (p == 0)
		_exit(n);
	while (waitpid(p, &st, 0) == -1 && errno == EINTR) /* @waitpid some missing=ECHILD */
		;
	kill(p, SIGKILL); /* @kill none ignored */
	return st;
}
static NI int alive(pid_t p) {
	if (kill(p, 0) < 0 && errno == ESRCH) return 0; /* @kill some missing=EPERM */
	return 1;
}
static NI int poll_three(int fd) {
	struct pollfd pf = { fd, POLLIN, 0 };
	if (poll(&pf, 1, 10) > 0) sink++; /* @poll all */
	if (poll(&pf, 1, 20)) /* @poll none used */
		sink += 2;
	if (poll(&pf, 1, 30) == 0) return 1; /* @poll none used */
	return pf.revents;
}
static NI int select_eintr(int fd) {
	fd_set r;
	int n;
	FD_ZERO(&r);
	FD_SET(fd & 63, &r);
	n = select((fd & 63) + 1, &r, NULL, NULL, NULL); /* @select all */
	if (n < 0) return errno == EINTR ? 0 : -1;
	return n;
}
static NI int ep_add(int ep, int fd) {
	struct epoll_event ev = { .events = EPOLLIN };
	if (epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev) < 0 && errno == EEXIST) /* @epoll_ctl some missing=ENOMEM */
		epoll_ctl(ep, EPOLL_CTL_MOD, fd, &ev); /* @epoll_ctl none ignored */
	return 0;
}
static NI int ep_run(int fd) {
	struct epoll_event ev[4];
	int n, ep = epoll_create1(EPOLL_CLOEXEC); /* @epoll_create1 all */
	if (ep < 0) return -1;
	ep_add(ep, fd);
	n = epoll_wait(ep, ev, 4, 10); /* @epoll_wait all */
	if (n == -1) sink = errno;
	return close(ep); /* @close none used */
}
static NI int ep_wait_some(int ep) {
	struct epoll_event ev[4];
	int n = epoll_wait(ep, ev, 4, 0); /* @epoll_wait some missing=EBADF */
	if (n < 0 && errno == EINTR) return 0;
	sink += n;
	return 1;
}
static NI int timer(int clk) {
	struct itimerspec it = { { 0, 0 }, { 1, 0 } };
	int fd = timerfd_create(clk, TFD_NONBLOCK); /* @timerfd_create all */
	if (fd + 1 == 0) return -1;
	timerfd_settime(fd, 0, &it, NULL); /* @timerfd_settime none ignored */
	return fd;
}
static NI int pair(int *out) {
	int sv[2];
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sv)) return -1; /* @socketpair all */
	shutdown(sv[0], SHUT_WR); /* @shutdown none ignored */
	*out = sv[1];
	return inet_pton(AF_INET, "1.2.3.4", &sv[1]); /* @inet_pton any */
}
static NI int dgram(int fd) {
	struct msghdr m;
	memset(&m, 0, sizeof m);
	if (sendmsg(fd, &m, 0) < 0) return -1; /* @sendmsg all */
	ssize_t n = recvmsg(fd, &m, 0); /* @recvmsg all */
	if (n == 0 || n == -1) return 0;
	return n;
}
static NI int peers(int fd, char *b, size_t n) {
	struct sockaddr_in a;
	socklen_t l = sizeof a;
	memset(&a, 0, sizeof a);
	if (getsockname(fd, (struct sockaddr *)&a, &l) == 0 && getpeername(fd, (struct sockaddr *)&a, &l) == 0) /* @getsockname all; @getpeername all */
		sink++;
	if (getnameinfo((struct sockaddr *)&a, l, b, n, NULL, 0, 0) != 0) /* @getnameinfo all */
		b[0] = '?';
	return inet_ntop(AF_INET, &a.sin_addr, b, n) != NULL ? b[0] : 0; /* @inet_ntop all */
}
static NI int shut(int fd) {
	if (shutdown(fd, SHUT_RDWR) == -1 && errno != ENOTCONN) return -1; /* @shutdown all */
	while (close(fd) != 0) /* @close all */
		if (errno != EINTR) return -2;
	return 0;
}
static NI int ep_mask(int fd) {
	struct epoll_event ev = { .events = EPOLLOUT };
	int bad = epoll_ctl(fd, EPOLL_CTL_DEL, fd + 1, &ev) | epoll_ctl(fd, EPOLL_CTL_ADD, fd + 2, &ev); /* @epoll_ctl all */
	if (bad < 0) return -1;
	return 0;
}

int main(int argc, char **argv)
{
	char b[64];
	struct sockaddr_in sa = { .sin_family = AF_INET };
	struct addrinfo *ai = NULL;
	int fd = listener(argc), out = 0;
	if (fd < 0 || argc < 2) return 1;
	sink += dgram(fd) + peers(fd, b, sizeof b) + shut(fd) + ep_mask(fd);
	sink += accept_some(fd) + accept_zero(fd) + accept_retry(fd);
	sink += connect_nb(fd, (struct sockaddr *)&sa, sizeof sa) + connect_refused(fd, (struct sockaddr *)&sa, sizeof sa);
	sink += connect_wrong(fd, (struct sockaddr *)&sa, sizeof sa) + connect_tries(fd, (struct sockaddr *)&sa, sizeof sa);
	sink += soerror(fd) + soerror_bad(fd) + slurp(fd, b, sizeof b) + msg_len(fd, b) + recv_loop(fd, b, sizeof b);
	sink += recv_full(fd, b, sizeof b) + send_exact(fd, argv[1]) + send_short(fd, argv[1]) + send_pipe(fd, argv[1]);
	sink += resolve(argv[1], &ai) + resolve_one(argv[1]) + resolve_sign(argv[1]) + spawn_ok(argc) + spawn_bad(argc);
	sink += alive(argc) + poll_three(fd) + select_eintr(fd) + ep_run(fd) + ep_wait_some(fd) + timer(argc) + pair(&out);
	return 0;
}
