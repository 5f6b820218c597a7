/* SPDX-License-Identifier: Apache-2.0 */
/* An archiver on streams: blocks of 512 bytes, positions, ends of files. */
/* flags: -D_FILE_OFFSET_BITS=64 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct header {
	char name[100], mode[8], size[12], sum[8];
	char pad[384];
};

enum { BLOCK = 512 };

struct archive {
	FILE *f;
	off_t start, next;
	int failed;
};

static int put_block(struct archive *a, const void *block)
{
	if (fwrite(block, BLOCK, 1, a->f) != 1) { /* @fwrite all */
		a->failed = 1;
		return -1;
	}
	a->next += BLOCK;
	return 0;
}

static int get_block(struct archive *a, void *block)
{
	size_t n = fread(block, 1, BLOCK, a->f); /* @fread all */

	if (n == BLOCK)
		return 1;
	if (n == 0 && feof(a->f)) /* @feof any */
		return 0;
	return -1;
}

static int add_file(struct archive *a, const char *path)
{
	struct header h;
	char block[BLOCK];
	size_t n;
	FILE *in;
	struct stat st;

	memset(&h, 0, sizeof h);
	if (stat(path, &st) < 0 || (in = fopen(path, "rb")) == NULL) /* @stat all; @fopen all */
		return -1;
	snprintf(h.name, sizeof h.name, "%s", path); /* @snprintf none ignored */
	sprintf(h.size, "%011llo", (unsigned long long)st.st_size & 077777777777ULL); /* @sprintf none ignored */
	if (put_block(a, &h) < 0)
		goto fail;
	do {
		memset(block, 0, sizeof block);
		n = fread(block, 1, sizeof block, in); /* @fread all */
		if (n > 0 && put_block(a, block) < 0)
			goto fail;
	} while (n == sizeof block);
	if (ferror(in)) /* @ferror any */
		goto fail;
	fclose(in); /* @fclose? none ignored */
	return 0;
fail:
	fclose(in); /* @fclose? none ignored */
	return -1;
}

/* The size of the body, or -1. A position that could not be set reads what stands elsewhere. */
static long long seek_member(struct archive *a, unsigned index)
{
	struct header h;

	rewind(a->f);
	a->next = 0;
	for (;;) {
		fseeko(a->f, a->next, SEEK_SET); /* @fseeko none ignored */
		if (get_block(a, &h) <= 0)
			return -1;
		errno = 0;
		unsigned long long size = strtoull(h.size, NULL, 8); /* @strtoull all */
		if (errno)
			return -1;
		if (index-- == 0)
			return (long long)size;
		a->next += BLOCK + (off_t)((size + BLOCK - 1) / BLOCK * BLOCK);
	}
}

static int extract(struct archive *a, const char *path, long long size)
{
	char block[BLOCK];
	FILE *out = fopen(path, "wb"); /* @fopen all */

	if (!out)
		return -1;
	while (size > 0) {
		size_t n = size < BLOCK ? (size_t)size : BLOCK;
		fread(block, BLOCK, 1, a->f); /* @fread none ignored */
		if (fwrite(block, 1, n, out) < n) { /* @fwrite all */
			fclose(out); /* @fclose none ignored */
			remove(path); /* @remove none ignored */
			return -1;
		}
		size -= (long long)n;
	}
	return fclose(out) == EOF ? -1 : 0; /* @fclose all */
}

static int sum_file(const char *path)
{
	FILE *f = fopen(path, "rb"); /* @fopen none dereferenced */
	int c, sum = 0;

	while ((c = fgetc(f)) != EOF) /* @fgetc all */
		sum = (sum << 1 | (sum & 0x8000) >> 15) ^ c;
	fclose(f); /* @fclose none ignored */
	return sum & 0xffff;
}

static off_t length(FILE *f)
{
	off_t end;

	if (fseeko(f, 0, SEEK_END) != 0) /* @fseeko all */
		return -1;
	end = ftello(f); /* @ftello all */
	if (end < 0)
		return -1;
	rewind(f);
	return end;
}

static void finish(struct archive *a)
{
	static const char zero[BLOCK];

	put_block(a, zero);
	put_block(a, zero);
	if (a->failed || fflush(a->f) || fsync(fileno(a->f)) < 0 || fclose(a->f)) /* @fflush all; @fsync all; @fileno none used; @fclose all */
		err(1, "archive");
}

int main(int argc, char **argv)
{
	struct archive a = { 0 };
	long long size;

	if (argc < 3)
		errx(2, "usage: archive FILE MEMBER...");
	a.f = fopen(argv[1], "w+b"); /* @fopen all */
	if (!a.f)
		err(1, "%s", argv[1]);
	for (int i = 2; i < argc; i++)
		if (add_file(&a, argv[i]) != 0)
			warn("%s", argv[i]);
	if (length(a.f) < 0)
		warn("length");
	size = seek_member(&a, 0);
	if (size >= 0 && extract(&a, "out", size) < 0)
		warn("out");
	printf("%d\n", sum_file(argv[2])); /* @printf none ignored */
	finish(&a);
	return 0;
}
