/* SPDX-License-Identifier: Apache-2.0 */
/* Readers of formats: fatal, failed, warned; a state machine; long jumps. */
#include "lib.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AR_EOF = 1, AR_OK = 0, AR_RETRY = -10, AR_WARN = -20, AR_FAILED = -25, AR_FATAL = -30 };
struct archive { unsigned magic, state; int err; char msg[80]; const unsigned char *p, *end; };

static OUTLINE void ar_set_error(struct archive *a, int err, const char *fmt, ...)
{
	va_list ap;
	a->err = err;
	va_start(ap, fmt);
	vsnprintf(a->msg, sizeof a->msg, fmt, ap);
	va_end(ap);
}

static int check_magic(struct archive *a, unsigned magic, unsigned states, const char *fn)
{
	if (a->magic != magic) {
		ar_set_error(a, -1, "INTERNAL ERROR: %s called with a wrong object", fn);
		a->state = 0x8000;
		return AR_FATAL;
	}
	if (!(a->state & states)) {
		ar_set_error(a, -1, "INTERNAL ERROR: %s called in state %u", fn, a->state);
		a->state = 0x8000;
		return AR_FATAL;
	}
	return AR_OK;
}

#define CHECK(a, s) do { if (check_magic((a), 0xdeb0c5U, (s), __func__) == AR_FATAL) return AR_FATAL; } while (0)

/* errors: -30 -25 -20 | side: arg1=22,84 */
EXPORT int ar_next_header(struct archive *a, unsigned *size)
{
	CHECK(a, 6);
	if (a->p == a->end)
		return AR_EOF;
	if (a->end - a->p < 8) {
		ar_set_error(a, EILSEQ, "Truncated header");
		return AR_FATAL;
	}
	if (a->p[0] != 'H') {
		ar_set_error(a, EINVAL, "Damaged header %d", a->p[0]);
		return AR_FAILED;
	}
	*size = a->p[1];
	a->p += 8;
	if (a->p[-1]) {
		ar_set_error(a, EINVAL, "Junk");
		return AR_WARN;
	}
	return AR_OK;
}

/* errors: -30[@malloc] -25 | side: arg1=12 */
EXPORT int ar_set_option(struct archive *a, const char *key, const char *value)
{
	CHECK(a, 1);
	if (!key || !*key)
		return AR_FAILED;
	if (!strcmp(key, "password")) {
		char *s = strdup(value);
		if (!s) {
			ar_set_error(a, ENOMEM, "No memory");
			return AR_FATAL;
		}
		a->p = (unsigned char *)s;
	}
	return AR_OK;
}

/* errors: -30 -20 */
EXPORT int ar_close(struct archive *a)
{
	int r = AR_OK, r1;

	CHECK(a, 0x7fff);
	if (a->state == 2)
		r = AR_WARN;
	r1 = ferror(stdout) ? AR_FATAL : AR_OK;
	if (r1 < r)
		r = r1;
	a->state = 0x20;
	return r;
}

/* errors: none */
EXPORT int ar_errno(const struct archive *a) { return a->err; }

struct image { jmp_buf jump; unsigned version; uint32_t width, height; unsigned char warning_or_error; char message[64]; };

static OUTLINE void image_check(struct image *im, const unsigned char *p, size_t n)
{
	if (n < 24)
		chunk_abort(&im->jump, "short");
	if (memcmp(p, "\x89PNG", 4))
		chunk_abort(&im->jump, "signature");
	im->width = (uint32_t)p[16] << 24 | (uint32_t)p[17] << 16 | (uint32_t)p[18] << 8 | p[19];
	im->height = (uint32_t)p[20] << 24 | p[23];
}

static OUTLINE int image_error(struct image *im, const char *text)
{
	strncpy(im->message, text, sizeof im->message - 1);
	im->warning_or_error |= 2;
	return 0;
}

/* errors: 0 */
EXPORT int image_begin(struct image *im, const void *data, size_t n)
{
	if (!im)
		return 0;
	if (im->version != 1)
		return image_error(im, "incorrect version");
	if (!data || !n)
		return image_error(im, "invalid argument");
	if (setjmp(im->jump))
		return image_error(im, "damaged");
	image_check(im, data, n);
	return 1;
}

/* errors: 0[@malloc] */
EXPORT struct image *image_read_struct(const void *data, size_t n)
{
	struct image *volatile im = calloc(1, sizeof *im);

	if (!im)
		return NULL;
	if (setjmp(im->jump)) {
		free(im);
		return NULL;
	}
	image_check(im, data, n);
	return im;
}

/* errors: none */
EXPORT uint32_t image_row_bytes(const struct image *im)
{
	return im->width * 4 + 1;
}

enum { XS_ERROR = 0, XS_OK = 1, XS_SUSPENDED = 2 };
enum { XE_NONE, XE_NO_MEMORY, XE_SYNTAX, XE_NO_ELEMENTS, XE_INVALID_TOKEN, XE_SUSPENDED = 33, XE_FINISHED = 36, XE_INVALID_ARGUMENT = 41 };
struct parser { int status, error; char *buf, *end, *lim; int depth; };

/* errors: 0 | side: arg1=33,36,41,4 */
EXPORT int xp_parse(struct parser *p, const char *s, int len, int final)
{
	if (p == NULL || len < 0 || (s == NULL && len != 0)) {
		if (p != NULL)
			p->error = XE_INVALID_ARGUMENT;
		return XS_ERROR;
	}
	switch (p->status) {
	case 3:
		p->error = XE_SUSPENDED;
		return XS_ERROR;
	case 2:
		p->error = XE_FINISHED;
		return XS_ERROR;
	default:
		p->status = 1;
	}
	for (int i = 0; i < len; i++) {
		if (s[i] == '<')
			p->depth++;
		else if (s[i] == '>')
			p->depth--;
		else if (s[i] == '\0') {
			p->error = XE_INVALID_TOKEN;
			return XS_ERROR;
		}
	}
	if (p->status == 3)
		return XS_SUSPENDED;
	if (final)
		p->status = 2;
	return XS_OK;
}

/* errors: 0[@malloc] | side: arg1=1,33,41 */
EXPORT void *xp_get_buffer(struct parser *p, int len)
{
	if (len < 0) {
		p->error = XE_NO_MEMORY;
		return NULL;
	}
	if (p->status == 3) {
		p->error = XE_SUSPENDED;
		return NULL;
	}
	if (len > 1 << 30) {
		p->error = XE_INVALID_ARGUMENT;
		return NULL;
	}
	if (len > p->lim - p->end) {
		char *q = realloc(p->buf, (size_t)(p->end - p->buf) + (size_t)len);
		if (q == NULL) {
			p->error = XE_NO_MEMORY;
			return NULL;
		}
		p->end = q + (p->end - p->buf);
		p->buf = q;
		p->lim = p->end + len;
	}
	return p->end;
}

struct yaml { int error; const char *problem; size_t offset; int *stack, *top, *limit; };

static OUTLINE int yaml_error(struct yaml *y, const char *problem, size_t at)
{
	y->error = 3;
	y->problem = problem;
	y->offset = at;
	return 0;
}

/* errors: 0[@malloc] | side: arg1=1,3 */
EXPORT int yx_push(struct yaml *y, int state)
{
	if (y->top - y->stack > 1000)
		return yaml_error(y, "too deep", 0);
	if (y->top == y->limit) {
		size_t n = (size_t)(y->top - y->stack);
		int *p = realloc(y->stack, (n + 16) * sizeof *p);
		if (!p) {
			y->error = 1;
			return 0;
		}
		y->stack = p;
		y->top = p + n;
		y->limit = y->top + 16;
	}
	*y->top++ = state;
	return 1;
}
