/* SPDX-License-Identifier: Apache-2.0 */
/* A message bus: negative error numbers, arguments checked by macros, cleanup attributes. */
#include "lib.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define assert_return(expr, r) do { if (__builtin_expect(!(expr), 0)) { bus_complain(#expr, __LINE__, __func__); return (r); } } while (0)
#define cleanup(f) __attribute__((cleanup(f)))

struct bus {
	unsigned n_ref;
	int state, fd;
	pid_t pid;
	uint64_t cookie;
	char *name;
	void **queue;
	size_t n_queue;
};

static volatile int complaints;

static OUTLINE void bus_complain(const char *text, int line, const char *func)
{
	(void)text; (void)line; (void)func;
	complaints++;
}

static void freep(void *p) { free(*(void **)p); }

static void closep(int *fd)
{
	if (*fd >= 0) {
		int saved = errno;
		close(*fd);
		errno = saved;
	}
}

/* errors: none */
EXPORT struct bus *bus_unref(struct bus *b)
{
	if (!b || --b->n_ref > 0)
		return NULL;
	free(b->name);
	free(b->queue);
	free(b);
	return NULL;
}

/* errors: -EINVAL -ENOMEM[@malloc] */
EXPORT int bus_new(struct bus **ret)
{
	cleanup(freep) struct bus *b = NULL;

	assert_return(ret, -EINVAL);
	b = calloc(1, sizeof *b);
	if (!b)
		return -ENOMEM;
	b->n_ref = 1;
	b->fd = -1;
	b->pid = getpid();
	b->queue = malloc(8 * sizeof(void *));
	if (!b->queue)
		return -ENOMEM;
	*ret = b;
	b = NULL;
	return 0;
}

/* errors: -EINVAL[*] -ECHILD -ENOTCONN -EBUSY[*] -@open */
EXPORT int bus_attach_file(struct bus *b, const char *path)
{
	cleanup(closep) int fd = -1;

	assert_return(b, -EINVAL);
	assert_return(path, -EINVAL);
	assert_return(b->pid == getpid(), -ECHILD);
	if (b->state == 0)
		return -ENOTCONN;
	if (b->fd >= 0)
		return -EBUSY;
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	b->fd = fd;
	fd = -1;
	return 1;
}

/* errors: -EINVAL -EOVERFLOW -EOPNOTSUPP */
EXPORT int bus_message_size(int type, size_t count, size_t *ret)
{
	size_t one, all;

	switch (type) {
	case 'y': one = 1; break;
	case 'n': case 'q': one = 2; break;
	case 'b': case 'i': case 'u': one = 4; break;
	case 'x': case 't': case 'd': one = 8; break;
	case 'h': return -EOPNOTSUPP;
	default: return -EINVAL;
	}
	if (__builtin_mul_overflow(one, count, &all))
		return -EOVERFLOW;
	if (ret)
		*ret = all;
	return 0;
}

static OUTLINE int safe_atoul(const char *s, unsigned long *ret)
{
	char *end = NULL;
	unsigned long l;

	if (!s[0])
		return -EINVAL;
	errno = 0;
	l = strtoul(s, &end, 10);
	if (errno > 0)
		return -errno;
	if (!end || end == s || *end)
		return -EINVAL;
	*ret = l;
	return 0;
}

/* errors: -EINVAL[*] -ERANGE[*] */
EXPORT int bus_parse_port(const char *s, uint16_t *ret)
{
	unsigned long l;
	int r = safe_atoul(s, &l);

	if (r < 0)
		return r;
	if (l == 0 || l > UINT16_MAX)
		return -ERANGE;
	*ret = (uint16_t)l;
	return 0;
}

/* errors: -EINVAL -ENOBUFS -ENOMEM[@malloc] */
EXPORT int bus_enqueue(struct bus *b, void *m)
{
	void **q;

	assert_return(b && m, -EINVAL);
	if (b->n_queue >= 65536)
		return -ENOBUFS;
	q = realloc(b->queue, (b->n_queue + 1) * sizeof *q);
	if (!q)
		return -ENOMEM;
	q[b->n_queue++] = m;
	b->queue = q;
	return (int)b->n_queue;
}

/* errors: -ENODATA -EINVAL */
EXPORT int bus_get_name(struct bus *b, const char **name)
{
	assert_return(b, -EINVAL);
	assert_return(name, -EINVAL);
	if (!b->name)
		return -ENODATA;
	*name = b->name;
	return 0;
}

/* errors: none */
EXPORT int bus_is_open(const struct bus *b)
{
	return b && b->state > 0 && b->fd >= 0;
}

/* errors: none */
EXPORT uint64_t bus_next_cookie(struct bus *b)
{
	if (++b->cookie == 0)
		b->cookie = 1;
	return b->cookie;
}
