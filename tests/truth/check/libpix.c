/* SPDX-License-Identifier: Apache-2.0 */
/* A library for pictures: hidden helpers with many callers, contexts with error codes, hooks. */
/* flags: -fPIC -fvisibility=hidden -D_FORTIFY_SOURCE=2 */
/* link: -shared -Wl,-z,now */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { PIX_OK, PIX_MEMORY = -1, PIX_IO = -2, PIX_FORMAT = -3 };

struct pix {
	unsigned width, height;
	uint8_t *rows;
	int fd, code;
	FILE *trace;
};

/* All callers look. */
static void *pix_alloc(size_t n)
{
	if (n > SIZE_MAX / 2)
		return NULL;
	return malloc(n); /* @malloc/calloc all */
}

/* No caller looks. */
static off_t pix_skip(int fd, off_t n)
{
	return lseek(fd, n, SEEK_CUR); /* @lseek none used/returned/ignored */
}

static int pix_read(struct pix *p, void *data, size_t n)
{
	char *at = data;

	while (n) {
		ssize_t k = read(p->fd, at, n); /* @read all */
		if (k <= 0) {
			p->code = PIX_IO;
			return -1;
		}
		at += k;
		n -= (size_t)k;
	}
	return 0;
}

EXPORT struct pix *pix_new(unsigned width, unsigned height)
{
	struct pix *p = pix_alloc(sizeof *p);

	if (!p)
		return NULL;
	memset(p, 0, sizeof *p);
	p->rows = pix_alloc((size_t)width * height);
	if (!p->rows) {
		free(p);
		return NULL;
	}
	p->width = width;
	p->height = height;
	p->fd = -1;
	return p;
}

EXPORT int pix_load(struct pix *p, const char *path)
{
	uint32_t head[3];

	p->fd = open(path, O_RDONLY | O_CLOEXEC); /* @open all */
	if (p->fd < 0)
		return p->code = PIX_IO;
	if (pix_read(p, head, sizeof head) < 0)
		goto out;
	if (head[0] != 0x31584950 || head[1] > p->width || head[2] > p->height) {
		p->code = PIX_FORMAT;
		goto out;
	}
	pix_skip(p->fd, 16);
	if (pix_read(p, p->rows, (size_t)head[1] * head[2]) < 0)
		goto out;
	p->code = PIX_OK;
out:
	close(p->fd); /* @close none ignored */
	return p->code;
}

EXPORT int pix_save(const struct pix *p, const char *path)
{
	uint32_t head[3] = { 0x31584950, p->width, p->height };
	FILE *f = fopen(path, "wb"); /* @fopen all */
	int code = PIX_OK;

	if (!f)
		return PIX_IO;
	if (fwrite(head, sizeof head, 1, f) != 1 || fwrite(p->rows, p->width, p->height, f) != p->height) /* @fwrite all */
		code = PIX_FORMAT;
	if (fclose(f) != 0) /* @fclose all */
		code = PIX_IO;
	return code;
}

/* The caller of the library gets the answer. */
EXPORT int pix_delete(const char *path)
{
	return remove(path); /* @remove none returned */
}

EXPORT ssize_t pix_raw(struct pix *p, void *data, size_t n)
{
	return read(p->fd, data, n); /* @read none returned */
}

EXPORT char *pix_comment(struct pix *p)
{
	char *text = malloc(64); /* @malloc none dereferenced */

	sprintf(text, "%ux%u", p->width, p->height); /* @sprintf none ignored */
	return text;
}

EXPORT int pix_trace(struct pix *p, const char *path)
{
	p->trace = fopen(path, "a"); /* @fopen all */
	return p->trace ? PIX_OK : PIX_IO;
}

EXPORT void pix_note(struct pix *p, const char *what)
{
	if (p->trace)
		fprintf(p->trace, "%p %s\n", (void *)p, what); /* @fprintf none ignored */
}

EXPORT int pix_scale(struct pix *p, unsigned by)
{
	uint8_t *bigger = pix_alloc((size_t)p->width * by * p->height);

	if (bigger == NULL)
		return PIX_MEMORY;
	for (size_t i = 0; i < (size_t)p->width * p->height; i++)
		memset(bigger + i * by, p->rows[i], by);
	free(p->rows);
	p->rows = bigger;
	p->width *= by;
	return PIX_OK;
}

EXPORT uint8_t *pix_copy_row(const struct pix *p, unsigned y)
{
	uint8_t *row = malloc(p->width); /* @malloc none dereferenced */

	return memcpy(row, p->rows + (size_t)y * p->width, p->width);
}
