/* SPDX-License-Identifier: Apache-2.0 */
/* Event loops and servers: negated errno, small negative codes, positive status values above the error numbers. */
#include "lib.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define UV_EOF (-4095)
#define UV__ERR(x) (-(x))

struct stream { int fd; unsigned flags; size_t queued; void *cb; };

static OUTLINE int uv_cloexec(int fd)
{
	int r;
	do
		r = fcntl(fd, F_SETFD, FD_CLOEXEC);
	while (r == -1 && errno == EINTR);
	if (r)
		return UV__ERR(errno);
	return 0;
}

/* errors: -@open -EINVAL[*] */
EXPORT int uv_file_open(const char *path, int flags)
{
	int r;
	if (path == NULL)
		return UV__ERR(EINVAL);
	do
		r = open(path, flags | O_CLOEXEC, 0666);
	while (r == -1 && errno == EINTR);
	if (r == -1)
		return UV__ERR(errno);
	return r;
}

/* errors: -EBUSY[*] -EINVAL[*] -@socket */
EXPORT int uv_stream_init(struct stream *s, int domain)
{
	int fd, err;

	if (s->flags & 4)
		return -EBUSY;
	if (domain != AF_INET && domain != AF_INET6 && domain != AF_UNIX)
		return -EINVAL;
	fd = socket(domain, SOCK_STREAM, 0);
	if (fd < 0)
		return UV__ERR(errno);
	err = uv_cloexec(fd);
	if (err) {
		close(fd);
		return err;
	}
	s->fd = fd;
	s->flags |= 4;
	return 0;
}

/* errors: -EBADF[*] -EPIPE[*] -EAGAIN[*] -@write */
EXPORT int uv_try_send(struct stream *s, const void *buf, size_t n)
{
	ssize_t r;
	if (s->fd < 0)
		return -EBADF;
	if (!(s->flags & 0x8000))
		return -EPIPE;
	if (s->queued > 0)
		return -EAGAIN;
	do
		r = write(s->fd, buf, n);
	while (r < 0 && errno == EINTR);
	if (r < 0) {
		if (errno == EAGAIN || errno == ENOBUFS)
			return -EAGAIN;
		return -errno;
	}
	return (int)r;
}

/* errors: -ENOTCONN[*] -4095 -ENOBUFS[*] -@read */
EXPORT ssize_t uv_pull(struct stream *s, void *buf, size_t n)
{
	ssize_t k;

	if (!(s->flags & 0x4000))
		return UV__ERR(ENOTCONN);
	if (n == 0)
		return UV__ERR(ENOBUFS);
	k = read(s->fd, buf, n);
	if (k < 0)
		return UV__ERR(errno);
	if (k == 0) {
		s->flags &= ~0x4000u;
		return UV_EOF;
	}
	return k;
}

/* errors: none */
EXPORT const char *uv_err_text(int err)
{
	switch (err) {
	case -E2BIG: return "argument list too long";
	case -EACCES: return "permission denied";
	case -EADDRINUSE: return "address already in use";
	case -EAGAIN: return "resource temporarily unavailable";
	case -EBADF: return "bad file descriptor";
	case UV_EOF: return "end of file";
	}
	return "unknown error";
}

/* errors: -1 */
EXPORT long ngx_atoi(const unsigned char *line, size_t n)
{
	long value, cutoff = 922337203685477580L, cutlim = 7;

	if (n == 0)
		return -1;
	for (value = 0; n--; line++) {
		if (*line < '0' || *line > '9')
			return -1;
		if (value >= cutoff && (value > cutoff || *line - '0' > cutlim))
			return -1;
		value = value * 10 + (*line - '0');
	}
	return value;
}

enum { NGX_OK = 0, NGX_ERROR = -1, NGX_AGAIN = -2, NGX_DONE = -4, NGX_DECLINED = -5, NGX_ABORT = -6 };
struct req { unsigned state; unsigned char *pos, *last; int method; unsigned major; };

/* errors: 400 405 505 */
EXPORT long ngx_parse_line(struct req *r)
{
	enum { start, method, space, major, done } st = r->state;
	unsigned char c, *p;

	for (p = r->pos; p < r->last; p++) {
		c = *p;
		switch (st) {
		case start:
			if (c == '\r' || c == '\n')
				break;
			if (c < 'A' || c > 'Z')
				return 400;
			st = method;
			break;
		case method:
			if (c == ' ') {
				st = space;
				break;
			}
			if (c < 'A' || c > 'Z')
				return 400;
			break;
		case space:
			if (c == '/') {
				st = major;
				break;
			}
			if (c != ' ')
				return 405;
			break;
		case major:
			if (c < '1' || c > '9')
				return 505;
			r->major = c - '0';
			st = done;
			break;
		case done:
			if (c == '\n') {
				r->pos = p + 1;
				r->state = start;
				return NGX_OK;
			}
			break;
		}
	}
	r->pos = p;
	r->state = st;
	return NGX_OK;
}

/* errors: -1[@malloc] -6 */
EXPORT long ngx_run_phase(struct req *r, const char *arg)
{
	void *copy = malloc(64);

	if (copy == NULL)
		return NGX_ERROR;
	if (arg == NULL || strlen(arg) > 63) {
		free(copy);
		return NGX_ABORT;
	}
	strcpy(copy, arg);
	r->pos = copy;
	return NGX_OK;
}

/* errors: 20002 EINVAL[*] 20014 +@fopen */
EXPORT int apx_file_init(FILE **out, const char *path, void *pool, int mode)
{
	FILE *f;
	if (!pool)
		return 20002;
	if (mode & ~7)
		return EINVAL;
	if (mode == 7)
		return 20014;
	f = fopen(path, mode & 1 ? "w" : "r");
	if (!f)
		return errno;
	*out = f;
	return 0;
}

/* errors: 70008 70023 EINVAL */
EXPORT int apx_table_step(const int *table, unsigned n, unsigned i)
{
	int rv = 0;
	if (table == NULL)
		rv = EINVAL;
	else if (i >= n)
		rv = 70008;
	else if (table[i] == 0)
		rv = 70023;
	return rv;
}

/* errors: -1 */
EXPORT int ev_buffer_add(struct req *r, const void *data, size_t n, int *lock)
{
	int result = -1;

	if (lock)
		__atomic_add_fetch(lock, 1, __ATOMIC_ACQUIRE);
	if (r->state & 1)
		goto done;
	if (n > (size_t)(r->last - r->pos))
		goto done;
	memcpy(r->pos, data, n);
	r->pos += n;
	result = 0;
done:
	if (lock)
		__atomic_sub_fetch(lock, 1, __ATOMIC_RELEASE);
	return result;
}

/* errors: -1[EINVAL,EEXIST] */
EXPORT int ev_signal_add(int sig, void (*fn)(int), void (**table)(int))
{
	if (sig < 1 || sig >= 64 || !fn) {
		errno = EINVAL;
		return -1;
	}
	if (table[sig]) {
		errno = EEXIST;
		return -1;
	}
	table[sig] = fn;
	return 0;
}
