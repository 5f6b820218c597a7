/* SPDX-License-Identifier: Apache-2.0 */
/* Configures sockets, position-dependent: flags gathered in masks, arrays of descriptors, heap objects, chains of ||. */
/* flags: -fno-pie -fno-plt -D_FORTIFY_SOURCE=2 */
/* link: -no-pie */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define MAX 8

struct endpoint {
	int fd;
	char *name;
	struct endpoint *next;
};

static struct endpoint *all;
static int listeners[MAX];
static unsigned n_listeners;

/* a chain: the first that fails ends it */
static NOINLINE int tune(int fd)
{
	int one = 1, size = 1 << 16;

	return setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) < 0 ||    /* @setsockopt all */
	       setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) < 0 ||    /* @setsockopt all */
	       setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size) < 0;       /* @setsockopt all */
}

/* gathered, and looked at at the end */
static NOINLINE int tune_mask(int fd)
{
	int one = 1, r = 0;

	r |= setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one); /* @setsockopt all */
	r |= setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &one, sizeof one); /* @setsockopt all */
	if (r)
		return -1;
	return 0;
}

/* gathered, and forgotten */
static NOINLINE int tune_sum(int fd)
{
	int one = 1, n = 0;

	n += setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &one, sizeof one) == 0; /* @setsockopt all */
	setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &one, sizeof one); /* @setsockopt none ignored */
	return n;
}

/* descriptors in an array */
static NOINLINE int listen_on(uint16_t port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); /* @socket all */

	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&a, sizeof a) || listen(fd, 5)) { /* @bind all; @listen all */
		int saved = errno;
		close(fd); /* @close none ignored */
		return -saved;
	}
	listeners[n_listeners++ % MAX] = fd;
	return 0;
}

static NOINLINE void listen_raw(void)
{
	listeners[n_listeners] = socket(AF_INET6, SOCK_DGRAM, 0); /* @socket all */
	if (listeners[n_listeners] != -1)
		n_listeners++;
}

/* objects on the heap, checked where they are made and elsewhere */
static NOINLINE struct endpoint *endpoint_new(const char *name)
{
	struct endpoint *e = calloc(1, sizeof *e); /* @calloc all */

	if (e == NULL)
		return NULL;
	e->fd = socket(AF_UNIX, SOCK_SEQPACKET, 0); /* @socket all */
	e->name = strdup(name); /* @strdup all */
	if (e->fd < 0 || !e->name) {
		free(e->name);
		free(e);
		return NULL;
	}
	e->next = all;
	return all = e;
}

static NOINLINE struct endpoint *endpoint_copy(const struct endpoint *from)
{
	struct endpoint *e = malloc(sizeof *e); /* @malloc none dereferenced */

	*e = *from;
	e->name = strdup(from->name); /* @strdup none used/returned */
	e->fd = dup(from->fd); /* @dup none used/returned */
	return e;
}

static NOINLINE int endpoint_connect(struct endpoint *e)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};

	strncpy(a.sun_path, e->name, sizeof a.sun_path - 1);
	if (connect(e->fd, (struct sockaddr *)&a, sizeof a) == -1) /* @connect all */
		return errno == EINPROGRESS || errno == EAGAIN ? 1 : -1;
	return 0;
}

/* other errors go on as if connected */
static NOINLINE bool endpoint_refused(struct endpoint *e, const struct sockaddr *a, socklen_t n)
{
	return connect(e->fd, a, n) < 0 && errno == ECONNREFUSED; /* @connect some missing=ETIMEDOUT */
}

static NOINLINE int nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL); /* @fcntl all */

	if (flags == -1 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) == -1) /* @fcntl all */
		return -1;
	return 0;
}

static NOINLINE void nonblocking_badly(int fd)
{
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL, 0) | O_NONBLOCK); /* @fcntl none used/ignored */
}

static NOINLINE int resolve(const char *host, struct sockaddr_storage *to)
{
	struct addrinfo *list, hints = {.ai_socktype = SOCK_STREAM};
	int rc = getaddrinfo(host, NULL, &hints, &list); /* @getaddrinfo all */

	if (rc != 0) {
		fprintf(stderr, "%s: %s\n", host, rc == EAI_SYSTEM ? strerror(errno) : gai_strerror(rc)); /* @fprintf none ignored */
		return -1;
	}
	memcpy(to, list->ai_addr, list->ai_addrlen);
	freeaddrinfo(list);
	return 0;
}

static NOINLINE unsigned interfaces(void)
{
	struct ifaddrs *list = NULL;
	unsigned n = 0;

	if (getifaddrs(&list)) /* @getifaddrs all */
		return 0;
	for (struct ifaddrs *i = list; i; i = i->ifa_next)
		n++;
	freeifaddrs(list);
	return n + if_nametoindex("lo"); /* @if_nametoindex none used/returned */
}

static NOINLINE bool send_head(int fd, struct iovec *v, int n)
{
	size_t want = 0;

	for (int i = 0; i < n; i++)
		want += v[i].iov_len;
	return writev(fd, v, n) == (ssize_t)want; /* @writev all */
}

static NOINLINE long receive(int fd, char *p, size_t n)
{
	long got = recv(fd, p, n, 0); /* @recv all */

	if (got <= 0)
		return got ? -1 : 0;
	p[got - 1] = 0;
	return got;
}

static NOINLINE void receive_badly(int fd, char *p, size_t n)
{
	p[recv(fd, p, n - 1, 0)] = 0; /* @recv none used/dereferenced */
}

static NOINLINE char *host_name(void)
{
	static char name[64];

	return gethostname(name, sizeof name) == 0 ? name : NULL; /* @gethostname all */
}

static NOINLINE bool address_ok(const char *s)
{
	struct in6_addr a;
	unsigned char b[4];

	return inet_pton(AF_INET, s, b) == 1 || inet_pton(AF_INET6, s, &a) == 1; /* @inet_pton all */
}

int main(int argc, char **argv)
{
	struct sockaddr_storage a;
	char text[256] = "";

	if (argc < 2 || !address_ok(argv[1]) || resolve(argv[1], &a) < 0)
		return 2;
	struct endpoint *e = endpoint_new(argv[1]);
	if (!e || nonblocking(e->fd) < 0)
		return 1;
	struct endpoint *c = endpoint_copy(e);
	nonblocking_badly(c->fd);
	int r = tune(e->fd) + tune_mask(e->fd) + tune_sum(e->fd);
	if (listen_on(80) < 0)
		return 1;
	listen_raw();
	if (endpoint_connect(e) < 0 || endpoint_refused(c, (struct sockaddr *)&a, sizeof a))
		return 1;
	struct iovec v[1] = {{text, 3}};
	if (!send_head(e->fd, v, 1) || receive(e->fd, text, sizeof text) < 0)
		return 1;
	receive_badly(c->fd, text, sizeof text);
	const char *name = host_name();
	printf("%s %s %s %u %d\n", text, name ? name : "?", c->name, interfaces(), r); /* @printf none ignored */
	return 0;
}
