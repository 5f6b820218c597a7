/* SPDX-License-Identifier: Apache-2.0 */
/* One connection of httpd: reading a request, sending a file. */
/* program: httpd */
#define _GNU_SOURCE
#include "httpd.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Reads until an empty line; 0 at the end, -1 on failure. */
static int read_request(struct conn *c)
{
	ssize_t n;

	while (c->used < sizeof c->buf - 1) {
		n = recv(c->fd, c->buf + c->used, sizeof c->buf - 1 - c->used, 0); /* @recv all */
		if (n == 0)
			return 0;
		if (n < 0) {
			if (errno == EINTR)
				continue;
			return -1;
		}
		c->used += (size_t)n;
		c->buf[c->used] = '\0';
		if (strstr(c->buf, "\r\n\r\n"))
			return 1;
	}
	errno = EMSGSIZE;
	return -1;
}

static int send_all(int fd, const char *p, size_t n)
{
	while (n > 0) {
		ssize_t k = send(fd, p, n, MSG_NOSIGNAL); /* @send all */
		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return -1;
		p += k;
		n -= (size_t)k;
	}
	return 0;
}

static int wait_writable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	int n;

	do
		n = poll(&p, 1, 5000); /* @poll all */
	while (n == -1 && errno == EINTR);
	return n == 1 ? 0 : -1;
}

static int send_file(struct conn *c, const char *path)
{
	char head[256];
	struct stat st;
	off_t at = 0;
	int fd, n, rc = -1;

	fd = open(path, O_RDONLY | O_CLOEXEC); /* @open all */
	if (fd < 0)
		return send_all(c->fd, "HTTP/1.0 404 Not Found\r\n\r\n", 26);
	if (fstat(fd, &st)) /* @fstat all */
		goto out;
	n = snprintf(head, sizeof head, "HTTP/1.0 200 OK\r\nContent-Length: %lld\r\nX-Path: %s\r\n\r\n", (long long)st.st_size, path); /* @snprintf any */
	if ((size_t)n >= sizeof head)
		goto out;
	if (send_all(c->fd, head, (size_t)n) < 0)
		goto out;
	while (at < st.st_size) {
		ssize_t k = sendfile(c->fd, fd, &at, (size_t)(st.st_size - at)); /* @sendfile all */
		if (k > 0)
			continue;
		if (k < 0 && errno == EAGAIN && wait_writable(c->fd) == 0)
			continue;
		goto out;
	}
	rc = 0;
out:
	close(fd); /* @close none ignored */
	return rc;
}

/* A program answers: its output goes to the client. The parent's end is left to the caller. */
static void run_cgi(struct conn *c, const char *path)
{
	char chunk[512];
	ssize_t n;

	if (pipe(c->pipe) != 0) { /* @pipe all */
		log_line("%s: no pipe", path);
		return;
	}
	if (!fork()) { /* @fork none used/ignored */
		dup2(c->pipe[1], STDOUT_FILENO); /* @dup2 none ignored */
		execl(path, path, (char *)NULL); /* @execl any */
		_exit(127);
	}
	(void)close(c->pipe[1]); /* @close none ignored */
	while ((n = read(c->pipe[0], chunk, sizeof chunk)) > 0) /* @read all */
		if (write(c->fd, chunk, (size_t)n) != n) /* @write all */
			break;
	close(c->pipe[0]); /* @close? none ignored */
}

int conn_serve(struct conn *c, const char *root)
{
	char path[1024], *space;
	int rc = read_request(c);

	if (rc <= 0) {
		log_line("%s: bad request", c->peer);
		return rc;
	}
	space = strchr(c->buf + 4, ' ');
	if (!space)
		return -1;
	*space = '\0';
	if ((size_t)snprintf(path, sizeof path, "%s/%s", root, c->buf + 4) >= sizeof path) /* @snprintf all */
		return -1;
	if (access(path, X_OK) == 0) { /* @access all */
		run_cgi(c, path);
		rc = 0;
	} else {
		rc = send_file(c, path);
	}
	shutdown(c->fd, SHUT_WR); /* @shutdown none ignored */
	log_line("%s %s %d", c->peer, path, rc);
	return rc;
}
