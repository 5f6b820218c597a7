/* SPDX-License-Identifier: Apache-2.0 */
/* Clients and trees: contexts that hold the last error, module-wide and thread-wide last errors. */
#include "lib.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REDIS_ERR (-1)
struct reply_ctx { int err; char errstr[128]; int fd, flags; char *obuf; size_t olen; };

static OUTLINE void set_ctx_error(struct reply_ctx *c, int type, const char *str)
{
	size_t len;
	c->err = type;
	if (str != NULL) {
		len = strlen(str);
		len = len < sizeof c->errstr - 1 ? len : sizeof c->errstr - 1;
		memcpy(c->errstr, str, len);
		c->errstr[len] = '\0';
	}
}

/* errors: -1[*] | side: arg1=1,3 */
EXPORT int rd_buffer_read(struct reply_ctx *c)
{
	char buf[4096];
	ssize_t n;

	if (c->err)
		return REDIS_ERR;
	n = read(c->fd, buf, sizeof buf);
	if (n < 0) {
		if (errno == EAGAIN || errno == EINTR)
			return 0;
		set_ctx_error(c, 1, strerror(errno));
		return REDIS_ERR;
	} else if (n == 0) {
		set_ctx_error(c, 3, "Server closed the connection");
		return REDIS_ERR;
	}
	c->flags |= 1;
	return 0;
}

/* errors: -1[@malloc] | side: arg1=5 */
EXPORT int rd_append(struct reply_ctx *c, const char *cmd, size_t len)
{
	char *p = realloc(c->obuf, c->olen + len);

	if (p == NULL) {
		set_ctx_error(c, 5, "Out of memory");
		return REDIS_ERR;
	}
	memcpy(p + c->olen, cmd, len);
	c->obuf = p;
	c->olen += len;
	return 0;
}

struct json { int type; size_t refs; };
struct json_array { struct json head; size_t n, cap; struct json **items; };

static struct json_array *to_array(struct json *j)
{
	return j && j->type == 1 ? (struct json_array *)j : NULL;
}

static void decref(struct json *j)
{
	if (j && j->refs != (size_t)-1 && --j->refs == 0)
		free(j);
}

/* errors: 0 */
EXPORT struct json *js_array_get(struct json *j, size_t i)
{
	struct json_array *a = to_array(j);
	if (!a || i >= a->n)
		return NULL;
	return a->items[i];
}

/* errors: -1[@malloc] */
EXPORT int js_array_append(struct json *j, struct json *value)
{
	struct json_array *a;

	if (!value)
		return -1;
	if (!(a = to_array(j)) || j == value) {
		decref(value);
		return -1;
	}
	if (a->n == a->cap) {
		void *p = realloc(a->items, (a->cap + 8) * sizeof *a->items);
		if (!p) {
			decref(value);
			return -1;
		}
		a->items = p;
		a->cap += 8;
	}
	a->items[a->n++] = value;
	return 0;
}

/* errors: none */
EXPORT size_t js_array_size(struct json *j)
{
	struct json_array *a = to_array(j);
	return a ? a->n : 0;
}

/* errors: none */
EXPORT int js_equal(const struct json *a, const struct json *b)
{
	if (!a || !b)
		return 0;
	if (a->type != b->type)
		return 0;
	if (a == b)
		return 1;
	return a->type >= 5;
}

static __thread int snap_errno;
static int module_error;

static OUTLINE void *fail_with(int code)
{
	snap_errno = code;
	return NULL;
}

/* errors: 0[@malloc] | side: tls:snap_errno=7,9,12 */
EXPORT char *sn_expand(const char *in, size_t n)
{
	char *out;
	if (n == 0)
		return fail_with(7);
	if (in[0] != 'S')
		return fail_with(9);
	out = malloc(n * 2);
	if (!out)
		return fail_with(12);
	memcpy(out, in, n);
	return out;
}

/* errors: -1 -2 | side: global:module_error=301,302,305 */
EXPORT int sn_register(const char *name, unsigned version)
{
	static const char *names[32];
	static unsigned n;

	if (!name || !*name) {
		module_error = 301;
		return -1;
	}
	if (version < 3 || version > 9) {
		module_error = 302;
		return -1;
	}
	if (n == 32) {
		module_error = 305;
		return -2;
	}
	names[n++] = name;
	return 0;
}

/* errors: none */
EXPORT int sn_last_error(void) { return module_error; }

/* errors: none */
EXPORT int sn_thread_error(void) { return snap_errno; }

/* errors: -1 | side: arg2=11,12 */
EXPORT int sn_seek(const struct reply_ctx *c, int *why, size_t at)
{
	if (!c->obuf) {
		*why = 11;
		return -1;
	}
	if (at > c->olen) {
		*why = 12;
		return -1;
	}
	*why = 0;
	return (int)(at & 0xffff);
}

static OUTLINE void note_fault(struct reply_ctx *c, int code)
{
	c->err = code;
	c->flags &= ~1;
}

/* errors: -1 | side: arg1=14 */
EXPORT int rd_select(struct reply_ctx *c, int n)
{
	if (n < 0) {
		note_fault(c, 14);
		return -1;
	}
	c->fd = n;
	return 0;
}

/* errors: -3 -4 | side: arg1=15,16 */
EXPORT int rd_trim(struct reply_ctx *c, size_t n)
{
	if (n > c->olen) {
		note_fault(c, 15);
		return -3;
	}
	if (c->flags & 8) {
		note_fault(c, 16);
		return -4;
	}
	c->olen -= n;
	return 0;
}
