/* SPDX-License-Identifier: Apache-2.0 */
/* Growing strings: realloc and its leak, formatted text, copies. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct strbuf {
	char *s;
	size_t len, room;
};

/* The old block leaks, but the failure is seen. */
static int sb_room(struct strbuf *b, size_t n)
{
	if (b->len + n < b->room)
		return 0;
	b->room = (b->room + n) * 2;
	b->s = realloc(b->s, b->room); /* @realloc/malloc all */
	if (!b->s)
		return -ENOMEM;
	return 0;
}

/* The failure is not seen. */
static void sb_fit(struct strbuf *b)
{
	b->room = b->len + 1;
	b->s = realloc(b->s, b->room); /* @realloc none dereferenced */
	b->s[b->len] = '\0';
}

static int sb_add(struct strbuf *b, const char *text)
{
	size_t n = strlen(text);
	int rc = sb_room(b, n + 1);

	if (rc < 0)
		return rc;
	memcpy(b->s + b->len, text, n + 1);
	b->len += n;
	return 0;
}

static int sb_printf(struct strbuf *b, const char *fmt, ...)
{
	va_list ap, again;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap); /* @vsnprintf all */
	va_end(ap);
	if (n < 0 || sb_room(b, (size_t)n + 1) < 0) {
		va_end(again);
		return -1;
	}
	vsnprintf(b->s + b->len, (size_t)n + 1, fmt, again); /* @vsnprintf none ignored */
	va_end(again);
	b->len += (size_t)n;
	return n;
}

/* No look at the return value: a failed format moves the length backwards. */
static void sb_number(struct strbuf *b, const char *unit, double v)
{
	b->len += snprintf(b->s + b->len, b->room - b->len, "%g %s", v, unit); /* @snprintf none used */
}

static char *sb_quote(const char *text)
{
	char *q;

	if (asprintf(&q, "\"%s\"", text) < 0) /* @asprintf all */
		return NULL;
	return q;
}

static char *sb_path(const char *folder, const char *name)
{
	char *path = NULL;

	asprintf(&path, "%s/%s", folder, name); /* @asprintf none ignored */
	return path;
}

static char *join(const char *a, const char *b)
{
	char *p = malloc(strlen(a) + strlen(b) + 1); /* @malloc none dereferenced */

	return strcat(strcpy(p, a), b);
}

static char *dup_upper(const char *s)
{
	char *p = strcpy(malloc(strlen(s) + 1), s); /* @malloc none dereferenced */

	p[0] &= ~0x20;
	return p;
}

static int *table(size_t n)
{
	int *t = reallocarray(NULL, n, sizeof *t); /* @reallocarray all */

	for (size_t i = 0; t && i < n; i++)
		t[i] = -1;
	return t;
}

static void **matrix(size_t rows, size_t columns)
{
	void **m = calloc(rows, sizeof *m); /* @calloc all */

	if (!m)
		return NULL;
	for (size_t i = 0; i < rows; i++)
		if (!(m[i] = malloc(columns))) { /* @malloc all */
			while (i--)
				free(m[i]);
			free(m);
			return NULL;
		}
	return m;
}

static void *aligned(size_t alignment, size_t n)
{
	void *p = NULL;

	if (posix_memalign(&p, alignment, n) == ENOMEM) /* @posix_memalign some missing=EINVAL */
		return NULL;
	return p;
}

static void *page(size_t n)
{
	void *p;
	int rc = posix_memalign(&p, 4096, n); /* @posix_memalign all */

	return rc ? NULL : p;
}

int main(int argc, char **argv)
{
	struct strbuf b = { 0 };
	char *extra[6];
	int *t, rc = 0;
	void **m;

	if (argc < 3)
		return 2;
	if (sb_add(&b, argv[1]) < 0 || sb_printf(&b, "%s-%d", argv[2], argc) < 0)
		return 1;
	sb_number(&b, argv[1], argc * 1.5);
	sb_fit(&b);
	extra[0] = sb_quote(b.s);
	extra[1] = sb_path(argv[1], argv[2]);
	extra[2] = join(argv[1], argv[2]);
	extra[3] = dup_upper(argv[2]);
	extra[4] = aligned((size_t)argc * 8, 4096);
	extra[5] = page(8192);
	t = table((size_t)argc);
	m = matrix((size_t)argc, 64);
	if (!extra[0] || !t || !m || !extra[5])
		return 1;
	for (int i = 0; i < 4; i++)
		if (fputs(extra[i] ? extra[i] : "-", stdout) < 0) /* @fputs all */
			rc = 1;
	memset(extra[5], argc, 8192);
	m[0] = extra[4];
	return rc + (t[0] < 0) + (m[argc - 1] == extra[5]);
}
