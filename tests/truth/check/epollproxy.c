/* SPDX-License-Identifier: Apache-2.0 */
/* epollproxy: forward TCP connections to one upstream address. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define BUFSZ 8192

struct side {
	int fd;
	struct side *peer;
	char *buf;
	size_t len;
	bool eof;
	bool dead;
	struct side *next_dead;
};

static int epfd;
static int listener;
static struct addrinfo *upstream;
static struct side *graveyard;
static unsigned long conns, bytes;
static volatile sig_atomic_t stopping;

static void logmsg(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap); /* @vfprintf none ignored */
	va_end(ap);
	fputc('\n', stderr); /* @fputc none ignored */
}

static void die(const char *what)
{
	logmsg("%s: %s", what, strerror(errno));
	exit(1);
}

static void on_term(int sig)
{
	(void)sig;
	stopping = 1;
}

static int set_nonblock(int fd)
{
	int fl = fcntl(fd, F_GETFL); /* @fcntl all */

	if (fl < 0)
		return -1;
	return fcntl(fd, F_SETFL, fl | O_NONBLOCK); /* @fcntl all */
}

static bool watch(struct side *s, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = s };

	return epoll_ctl(epfd, EPOLL_CTL_ADD, s->fd, &ev) == 0; /* @epoll_ctl all */
}

static void rewatch(struct side *s, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = s };

	if (epoll_ctl(epfd, EPOLL_CTL_MOD, s->fd, &ev) < 0 && errno == ENOENT) { /* @epoll_ctl some missing=ENOMEM */
		logmsg("descriptor %d was not watched", s->fd);
		s->eof = true;
	}
}

static struct side *new_side(int fd)
{
	struct side *s = calloc(1, sizeof *s); /* @calloc all */

	if (!s)
		return NULL;
	s->fd = fd;
	if (!(s->buf = malloc(BUFSZ))) { /* @malloc all */
		free(s);
		return NULL;
	}
	return s;
}

static void bury(struct side *s)
{
	if (s->dead)
		return;
	shutdown(s->fd, SHUT_RDWR); /* @shutdown none ignored */
	close(s->fd); /* @close none ignored */
	s->dead = true;
	s->next_dead = graveyard;
	graveyard = s;
}

static void reap(void)
{
	while (graveyard != NULL) {
		struct side *s = graveyard;

		graveyard = s->next_dead;
		free(s->buf);
		free(s);
	}
}

static int connect_upstream(void)
{
	struct addrinfo *ai;
	int fd = -1;

	for (ai = upstream; ai; ai = ai->ai_next) {
		fd = socket(ai->ai_family, ai->ai_socktype | SOCK_CLOEXEC, ai->ai_protocol); /* @socket all */
		if (fd == -1)
			continue;
		if (set_nonblock(fd) < 0) {
			close(fd); /* @close? none ignored */
			fd = -1;
			continue;
		}
		if (connect(fd, ai->ai_addr, ai->ai_addrlen) == 0 || errno == EINPROGRESS) /* @connect all */
			break;
		close(fd); /* @close? none ignored */
		fd = -1;
	}
	return fd;
}

static void name_peer(const struct sockaddr *sa, socklen_t len)
{
	char host[NI_MAXHOST], serv[NI_MAXSERV];
	int rc;

	rc = getnameinfo(sa, len, host, sizeof host, serv, sizeof serv, NI_NUMERICHOST | NI_NUMERICSERV); /* @getnameinfo all */
	if (rc != 0)
		logmsg("connection from unknown (%s)", gai_strerror(rc));
	else
		logmsg("connection from %s:%s", host, serv);
}

static void accept_one(void)
{
	struct sockaddr_storage ss;
	socklen_t slen = sizeof ss;
	struct side *a, *b;
	int one = 1;
	int c, u;

	c = accept4(listener, (struct sockaddr *)&ss, &slen, SOCK_NONBLOCK | SOCK_CLOEXEC); /* @accept4 some missing=EMFILE */
	if (c < 0 && (errno == EAGAIN || errno == ECONNABORTED))
		return;
	name_peer((struct sockaddr *)&ss, slen);
	setsockopt(c, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one); /* @setsockopt none ignored */

	u = connect_upstream(); /* @close? none ignored */
	if (u < 0) {
		logmsg("upstream: %s", strerror(errno));
		close(c); /* @close none ignored */
		return;
	}
	a = new_side(c);
	b = new_side(u);
	if (a == NULL || b == NULL)
		die("memory");
	a->peer = b;
	b->peer = a;
	if (!watch(a, EPOLLIN) || !watch(b, EPOLLIN)) {
		logmsg("cannot watch: %s", strerror(errno));
		bury(a);
		bury(b);
		return;
	}
	conns++;
}

/* Returns -1 when the connection is to be given up. */
static int flush_side(struct side *from)
{
	struct side *to = from->peer;
	size_t off = 0;

	while (off < from->len) {
		ssize_t n = send(to->fd, from->buf + off, from->len - off, MSG_NOSIGNAL); /* @send all */

		if (n < 0) {
			if (errno == EINTR)
				continue;
			if (errno == EAGAIN || errno == EWOULDBLOCK)
				break;
			return -1;
		}
		off += n;
		bytes += n;
	}
	memmove(from->buf, from->buf + off, from->len - off);
	from->len -= off;
	if (from->len > 0)
		rewatch(to, EPOLLIN | EPOLLOUT);
	return 0;
}

static int pump(struct side *s)
{
	ssize_t n;

	if (s->len == BUFSZ)
		return flush_side(s);
	n = recv(s->fd, s->buf + s->len, BUFSZ - s->len, 0); /* @recv all */
	switch (n) {
	case -1:
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	case 0:
		s->eof = true;
		if (shutdown(s->peer->fd, SHUT_WR) < 0 && errno == ENOTCONN) /* @shutdown some */
			return -1;
		return s->peer->eof ? -1 : 0;
	default:
		s->len += n;
		return flush_side(s);
	}
}

static void drain_urgent(struct side *s)
{
	char c;

	if (recv(s->fd, &c, 1, MSG_OOB)) /* @recv none used */
		logmsg("urgent byte %d on %d", c, s->fd);
}

static void so_error(struct side *s)
{
	int e = 0;
	socklen_t len = sizeof e;

	if (getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &e, &len) == 0 && e != 0) /* @getsockopt all */
		logmsg("fd %d: %s", s->fd, strerror(e));
}

static int open_listener(const char *port)
{
	struct addrinfo hints = { .ai_family = AF_INET6, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
	struct addrinfo *ai;
	int fd, on = 1, off = 0, rc;

	rc = getaddrinfo(NULL, port, &hints, &ai); /* @getaddrinfo some missing=EAI_MEMORY */
	if (rc == EAI_SERVICE || rc == EAI_NONAME) {
		logmsg("%s: no such service", port);
		exit(2);
	}
	fd = socket(ai->ai_family, ai->ai_socktype, ai->ai_protocol); /* @socket none used */
	if (!fd)
		die("socket");
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0) /* @setsockopt all */
		logmsg("SO_REUSEADDR: %s", strerror(errno));
	rc = setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off); /* @setsockopt all */
	if (rc)
		die("IPV6_V6ONLY");
	if (bind(fd, ai->ai_addr, ai->ai_addrlen) < 0) /* @bind all */
		die("bind");
	if (listen(fd, 64) != 0) /* @listen all */
		die("listen");
	freeaddrinfo(ai);
	return fd;
}

int main(int argc, char **argv)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct sigaction sa = { .sa_handler = on_term };
	struct epoll_event ev[32];
	struct rlimit rl;
	int rc, i, n;

	if (argc != 4) {
		fprintf(stderr, "usage: %s port host port\n", argv[0]); /* @fprintf none ignored */
		return 2;
	}
	if ((rc = getaddrinfo(argv[2], argv[3], &hints, &upstream))) { /* @getaddrinfo all */
		logmsg("%s: %s", argv[2], gai_strerror(rc));
		return 1;
	}
	sigaction(SIGTERM, &sa, NULL); /* @sigaction none ignored */
	if (sigaction(SIGINT, &sa, NULL) == -1) /* @sigaction all */
		die("sigaction");
	if (signal(SIGPIPE, SIG_IGN) == SIG_ERR) /* @signal all */
		die("signal");
	if (getrlimit(RLIMIT_NOFILE, &rl) == 0) { /* @getrlimit all */
		rl.rlim_cur = rl.rlim_max;
		if (setrlimit(RLIMIT_NOFILE, &rl) == -1 && errno == EPERM) /* @setrlimit some missing=EINVAL */
			logmsg("descriptor limit stays low");
	}
	listener = open_listener(argv[1]);
	if (set_nonblock(listener) < 0)
		die("fcntl");
	epfd = epoll_create1(EPOLL_CLOEXEC); /* @epoll_create1 all */
	if (epfd < 0)
		die("epoll_create1");
	ev[0].events = EPOLLIN;
	ev[0].data.ptr = NULL;
	if (epoll_ctl(epfd, EPOLL_CTL_ADD, listener, ev)) /* @epoll_ctl all */
		die("epoll_ctl");

	while (!stopping) {
		n = epoll_wait(epfd, ev, 32, 30000); /* @epoll_wait all */
		if (n < 0) {
			if (errno == EINTR)
				continue;
			die("epoll_wait");
		}
		for (i = 0; i < n; i++) {
			struct side *s = ev[i].data.ptr;

			if (s == NULL) {
				accept_one();
				continue;
			}
			if (s->dead)
				continue;
			if (ev[i].events & EPOLLPRI)
				drain_urgent(s);
			if (ev[i].events & EPOLLERR)
				so_error(s);
			if ((ev[i].events & EPOLLOUT) && flush_side(s->peer) == 0 && s->peer->len == 0)
				rewatch(s, EPOLLIN);
			if ((ev[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) && pump(s) < 0) {
				bury(s->peer);
				bury(s);
			}
		}
		reap();
	}
	freeaddrinfo(upstream);
	if (close(listener) < 0) /* @close all */
		logmsg("close: %s", strerror(errno));
	printf("%lu connections, %lu bytes\n", conns, bytes); /* @printf all */
	fflush(stdout); /* @fflush all */
	return ferror(stdout) ? 1 : 0;
}
