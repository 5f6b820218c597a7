/* SPDX-License-Identifier: Apache-2.0 */
/* A client that looks up names and connects with a timeout. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

struct target {
	char host[256], service[32];
	int fd, family;
};

static int set_nonblocking(int fd, int on)
{
	int flags = fcntl(fd, F_GETFL); /* @fcntl all */

	if (flags < 0)
		return -1;
	flags = on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK;
	return fcntl(fd, F_SETFL, flags); /* @fcntl all */
}

static int finish_connect(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	socklen_t len = sizeof(int);
	int error = 0;

	if (poll(&p, 1, ms) <= 0) /* @poll all */
		return -1;
	getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len); /* @getsockopt none ignored */
	if (error) {
		errno = error;
		return -1;
	}
	return 0;
}

static int connect_one(const struct addrinfo *a, int ms)
{
	int fd = socket(a->ai_family, a->ai_socktype, a->ai_protocol); /* @socket all */

	if (fd < 0)
		return -1;
	if (set_nonblocking(fd, 1) < 0)
		goto fail;
	if (connect(fd, a->ai_addr, a->ai_addrlen) < 0) { /* @connect all */
		if (errno != EINPROGRESS)
			goto fail;
		if (finish_connect(fd, ms) < 0)
			goto fail;
	}
	if (set_nonblocking(fd, 0) == -1)
		goto fail;
	return fd;
fail:
	close(fd); /* @close none ignored */
	return -1;
}

static int target_connect(struct target *t)
{
	struct addrinfo hints, *list, *a;
	int rc;

	memset(&hints, 0, sizeof hints);
	hints.ai_socktype = SOCK_STREAM;
	hints.ai_family = t->family;
	rc = getaddrinfo(t->host, t->service, &hints, &list); /* @getaddrinfo all */
	if (rc != 0) {
		warnx("%s: %s", t->host, gai_strerror(rc));
		return -1;
	}
	t->fd = -1;
	for (a = list; a && t->fd < 0; a = a->ai_next)
		t->fd = connect_one(a, 3000);
	freeaddrinfo(list);
	return t->fd < 0 ? -1 : 0;
}

/* Is there such a host? Trouble with the servers counts as yes. */
static int host_known(const char *host)
{
	struct addrinfo *list = NULL;

	if (getaddrinfo(host, NULL, NULL, &list) == EAI_NONAME) /* @getaddrinfo some missing=EAI_AGAIN,EAI_MEMORY */
		return 0;
	if (list)
		freeaddrinfo(list);
	return 1;
}

static const char *describe(const char *host)
{
	struct addrinfo *list;

	switch (getaddrinfo(host, "domain", NULL, &list)) { /* @getaddrinfo all */
	case 0:
		freeaddrinfo(list);
		return "found";
	case EAI_AGAIN:
		return "try again";
	case EAI_NONAME:
		return "unknown";
	default:
		return "cannot be looked up";
	}
}

static void print_peer(int fd)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof ss;
	char name[NI_MAXHOST];

	memset(&ss, 0, sizeof ss);
	getpeername(fd, (struct sockaddr *)&ss, &len); /* @getpeername none ignored */
	if (getnameinfo((struct sockaddr *)&ss, len, name, sizeof name, NULL, 0, 0)) /* @getnameinfo all */
		strcpy(name, "?");
	printf("connected to %s\n", name); /* @printf none ignored */
}

static int ask(struct target *t, const char *question)
{
	struct timeval tv = { 5, 0 };
	char answer[2048];
	size_t got;

	if (setsockopt(t->fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv)) /* @setsockopt all */
		warn("no timeout");
	if (send(t->fd, question, strlen(question), 0) == -1 && errno == EPIPE) /* @send some missing=ECONNRESET */
		return -1;
	got = recv(t->fd, answer, sizeof answer - 1, 0); /* @recv none used/dereferenced */
	answer[got] = '\0';
	puts(answer); /* @puts none ignored */
	return 0;
}

static unsigned old_lookup(const char *host)
{
	struct hostent *h = gethostbyname(host); /* @gethostbyname none dereferenced */
	unsigned address;

	memcpy(&address, h->h_addr_list[0], sizeof address);
	return address;
}

int main(int argc, char **argv)
{
	struct target t = { .family = AF_UNSPEC };

	if (argc < 3 || !host_known(argv[1]))
		errx(2, "usage: resolver HOST SERVICE [QUESTION]");
	if (snprintf(t.host, sizeof t.host, "%s", argv[1]) >= (int)sizeof t.host) /* @snprintf/strcpy any */
		errx(2, "too long");
	strncpy(t.service, argv[2], sizeof t.service - 1);
	if (target_connect(&t) < 0)
		errx(1, "%s: %s", t.host, describe(t.host));
	print_peer(t.fd);
	printf("%08x\n", old_lookup(argv[1])); /* @printf none ignored */
	return argc > 3 && ask(&t, argv[3]) < 0;
}
