/* SPDX-License-Identifier: Apache-2.0 */
/* Reads tables of numbers: errno that is cleared, streams that are asked later, short counts, truncation. */
#define _GNU_SOURCE
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <iconv.h>
#include <limits.h>
#include <locale.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#define NOINLINE __attribute__((noinline))

static NOINLINE bool number(const char *s, long *ret)
{
	char *end;

	errno = 0;
	*ret = strtol(s, &end, 10); /* @strtol all */
	return end != s && *end == 0 && errno == 0;
}

static NOINLINE bool number_range(const char *s, long *ret)
{
	char *end;
	long v;

	errno = 0;
	v = strtol(s, &end, 0); /* @strtol all */
	if ((v == LONG_MAX || v == LONG_MIN) && errno == ERANGE)
		return false;
	*ret = v;
	return end != s;
}

/* no look at errno */
static NOINLINE unsigned long plain(const char *s)
{
	return strtoul(s, NULL, 16) & 0xffff; /* @strtoul none used */
}

static NOINLINE size_t lines(FILE *f)
{
	char *line = NULL;
	size_t cap = 0, n = 0;
	ssize_t k;

	while ((k = getline(&line, &cap, f)) != -1) /* @getline/getdelim/__getdelim all */
		n += k > 1;
	free(line);
	return n;
}

static NOINLINE size_t lines_forever(FILE *f)
{
	char *line = NULL;
	size_t cap = 0, total = 0;

	for (int i = 0; i < 3; i++) {
		ssize_t k = getline(&line, &cap, f); /* @getline/getdelim/__getdelim none used */
		total += (size_t)k;
	}
	free(line);
	return total;
}

struct row {
	uint32_t a, b;
	uint64_t c;
};

static NOINLINE int rows(FILE *f, struct row *to, size_t n)
{
	size_t got = fread(to, sizeof *to, n, f); /* @fread all */

	if (got < n)
		return ferror(f) ? -1 : (int)got; /* @ferror any */
	return (int)got;
}

static NOINLINE uint64_t sum(FILE *f)
{
	struct row r = {0};
	uint64_t total = 0;

	while (!feof(f)) { /* @feof any */
		fread(&r, sizeof r, 1, f); /* @fread none ignored */
		total += r.c;
	}
	return total;
}

static NOINLINE char *path_in(const char *folder, const char *name)
{
	static char buffer[128];
	int n = snprintf(buffer, sizeof buffer, "%s/%s", folder, name); /* @snprintf all */

	if (n < 0 || (size_t)n >= sizeof buffer)
		return NULL;
	return buffer;
}

static NOINLINE size_t append(char *to, size_t at, size_t size, long v)
{
	at += snprintf(to + at, size - at, "%ld,", v); /* @snprintf none used */
	return at;
}

/* signed against unsigned: -1 is larger than any size */
static NOINLINE bool fits(char *to, size_t size, const char *s)
{
	size_t n = snprintf(to, size, "<%s>", s); /* @snprintf all */

	return n < size;
}

static NOINLINE int save(const char *path, const long *v, size_t n)
{
	FILE *f = fopen(path, "w"); /* @fopen all */
	int bad = 0;

	if (f == NULL)
		return -1;
	for (size_t i = 0; i < n; i++)
		bad |= fprintf(f, "%ld\n", v[i]) < 0; /* @fprintf all */
	if (fflush(f) == EOF) /* @fflush all */
		bad = 1;
	if (fclose(f)) /* @fclose all */
		bad = 1;
	return bad ? -1 : 0;
}

static NOINLINE void save_badly(const char *path, const long *v, size_t n)
{
	FILE *f = fopen(path, "wb"); /* @fopen none dereferenced/used */

	for (size_t i = 0; i < n; i++)
		fwrite(&v[i], sizeof *v, 1, f); /* @fwrite none ignored */
	fclose(f); /* @fclose none ignored */
}

static NOINLINE size_t convert(iconv_t cd, char *in, size_t n, char *out, size_t room)
{
	size_t left = room;

	if (iconv(cd, &in, &n, &out, &left) == (size_t)-1) { /* @iconv all */
		if (errno != E2BIG)
			return 0;
	}
	iconv(cd, NULL, NULL, &out, &left); /* @iconv none ignored */
	return room - left;
}

static NOINLINE iconv_t converter(const char *to)
{
	iconv_t cd = iconv_open(to, "UTF-8"); /* @iconv_open all */

	assert(cd != (iconv_t)-1);
	return cd;
}

static NOINLINE iconv_t converter_wrong(const char *to)
{
	iconv_t cd = iconv_open(to, "LATIN1"); /* @iconv_open none used/dereferenced */

	if (cd == NULL)
		exit(1);
	return cd;
}

static NOINLINE off_t length(int fd)
{
	off_t here = lseek(fd, 0, SEEK_CUR); /* @lseek all */
	off_t end;

	if (here == (off_t)-1)
		return -1;
	end = lseek(fd, 0, SEEK_END); /* @lseek all */
	lseek(fd, here, SEEK_SET); /* @lseek none ignored */
	return end > 4096 ? 4096 : end;
}

static NOINLINE void *more(intptr_t n)
{
	void *p = sbrk(n); /* @sbrk all */

	return p == (void *)-1 ? NULL : p;
}

static NOINLINE void *more_wrong(intptr_t n)
{
	void *p = sbrk(n); /* @sbrk none used/dereferenced */

	if (!p)
		abort();
	return memset(p, 0, (size_t)n);
}

static NOINLINE char *map(int fd, size_t n)
{
	void *p;

	if ((p = mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0)) == MAP_FAILED) /* @mmap all */
		return NULL;
	return p;
}

static NOINLINE size_t wide(wchar_t *to, const char *s, size_t n)
{
	size_t k = mbstowcs(to, s, n); /* @mbstowcs all */

	if (k == (size_t)-1) {
		to[0] = 0;
		k = 0;
	}
	return k;
}

static NOINLINE int day(const char *s)
{
	struct tm tm = {0};
	time_t t;

	if (strptime(s, "%Y-%m-%d", &tm) == NULL) /* @strptime all */
		return -1;
	t = mktime(&tm); /* @mktime all */
	if (t == (time_t)-1)
		return -1;
	return localtime(&t)->tm_yday; /* @localtime none dereferenced */
}

static NOINLINE char *copy(const char *s)
{
	char *p = strdup(s); /* @strdup/malloc all */

	assert(p);
	return p;
}

static NOINLINE int read_pair(FILE *f, int *a, int *b)
{
	if (fscanf(f, "%d %d", a, b) != 2) /* @fscanf all */
		return -1;
	return 0;
}

static NOINLINE int next_char(FILE *f)
{
	int c;

	while ((c = getc(f)) != EOF && isspace(c)) /* @getc all */
		;
	return c;
}

static NOINLINE unsigned checksum(FILE *f)
{
	unsigned sum = 0;
	char c;

	while ((c = getc(f)) != '\n') /* @getc none used/ignored */
		sum = sum * 31 + (unsigned char)c;
	return sum;
}

int main(int argc, char **argv)
{
	static struct row table[16];
	static char text[256], out[256];
	static wchar_t wides[64];
	long v[4] = {0};
	int a, b;
	size_t at = 0;

	if (argc < 6)
		return 2;
	if (setlocale(LC_ALL, "") == NULL) /* @setlocale all */
		return 2;
	if (!number(argv[1], &v[0]) || !number_range(argv[2], &v[1]))
		return 2;
	v[2] = (long)plain(argv[3]);
	for (int i = 0; i < 3; i++)
		at = append(text, at, sizeof text, v[i]);
	if (!fits(out, sizeof out, text))
		return 1;
	if (save(argv[4], v, 4) < 0)
		return 1;
	save_badly(argv[5], v, 4);
	FILE *f = fopen(argv[4], "r"); /* @fopen all */
	if (!f)
		return 1;
	if (rows(f, table, 16) < 0 || read_pair(f, &a, &b) < 0)
		return 1;
	size_t total = lines(f) + lines_forever(f) + (size_t)sum(f) + checksum(f) + (size_t)next_char(f);
	iconv_t cd = converter(argv[1]), other = converter_wrong(argv[2]);
	total += convert(cd, text, at, out, sizeof out) + convert(other, text, at, out, sizeof out);
	off_t n = length(fileno(f)); /* @fileno none used/ignored */
	char *p = map(0, 4096), *q = more(64), *r = more_wrong(64), *name = path_in(argv[1], argv[2]);
	if (!p || !q || n < 0 || !name || day(argv[3]) < 0)
		return 1;
	total += (size_t)p[0] + (size_t)r[0] + wide(wides, copy(argv[1]), 64);
	printf("%zu %ls %s\n", total, wides, name); /* @printf all */
	return fflush(stdout) || ferror(stdout); /* @fflush all; @ferror any */
}
