/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts what does not fit into memory: temporary streams, static helpers that are inlined and cloned. */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

struct run {
	FILE *f;
	char *line;
	size_t room;
};

static size_t memory = 1 << 20;
static unsigned long long installed;
static struct run runs[64];
static int run_count;

static inline void *grab(size_t n)
{
	void *p = malloc(n); /* @malloc all */

	if (__builtin_expect(!p, 0))
		err(1, "%zu bytes", n);
	return p;
}

/* Copied by the compiler for each constant mode. */
static FILE *stream(const char *path, int mode)
{
	static const char *const modes[] = { "r", "w", "a" };
	FILE *f = fopen(path, modes[mode]); /* @fopen all */

	if (!f) {
		if (mode == 0 && errno == ENOENT)
			return stdin;
		err(1, "%s", path);
	}
	return f;
}

static int put_line(FILE *f, const char *line)
{
	return fputs(line, f); /* @fputs all */
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int spill(char **lines, size_t n)
{
	struct run *r;

	if (run_count == 64)
		return -1;
	r = &runs[run_count++];
	r->f = tmpfile(); /* @tmpfile all */
	if (!r->f)
		return -1;
	qsort(lines, n, sizeof *lines, compare);
	for (size_t i = 0; i < n; i++) {
		if (put_line(r->f, lines[i]) == EOF)
			return -1;
		free(lines[i]);
	}
	rewind(r->f);
	return 0;
}

static int read_all(FILE *in)
{
	char **lines = grab(65536 * sizeof *lines), *line = NULL;
	size_t n = 0, room = 0, used = 0;
	ssize_t len;
	int rc = 0;

	while (rc == 0 && (len = getline(&line, &room, in)) > 0) { /* @getline/getdelim/__getdelim all */
		if (n == 65536 || used > memory) {
			rc = spill(lines, n);
			n = used = 0;
		}
		lines[n] = grab((size_t)len + 1);
		memcpy(lines[n++], line, (size_t)len + 1);
		used += (size_t)len;
	}
	if (n && rc == 0)
		rc = spill(lines, n);
	free(line);
	free(lines);
	return rc;
}

/* The next line of a run. The end of it is an empty line; so is an error. */
static int advance(struct run *r)
{
	ssize_t n = getline(&r->line, &r->room, r->f); /* @getline/getdelim/__getdelim all */

	if (n == -1) {
		free(r->line);
		r->line = NULL;
		return ferror(r->f) ? -1 : 0; /* @ferror any */
	}
	return 1;
}

static int merge(FILE *out)
{
	for (int i = 0; i < run_count; i++)
		if (advance(&runs[i]) < 0)
			return -1;
	for (;;) {
		struct run *best = NULL;
		for (int i = 0; i < run_count; i++)
			if (runs[i].line && (!best || strcmp(runs[i].line, best->line) < 0))
				best = &runs[i];
		if (!best)
			return 0;
		if (put_line(out, best->line) < 0 || advance(best) < 0)
			return -1;
	}
}

static void tune(void)
{
	struct rlimit r;
	long pages = sysconf(_SC_PHYS_PAGES); /* @sysconf none used */
	long size = sysconf(_SC_PAGESIZE); /* @sysconf none used */

	installed = (unsigned long long)pages * (unsigned long long)size;
	getrlimit(RLIMIT_DATA, &r); /* @getrlimit none ignored */
	if (r.rlim_cur / 2 < memory)
		memory = r.rlim_cur / 2;
	setpriority(PRIO_PROCESS, 0, 10); /* @setpriority none ignored */
}

static const char *folder(void)
{
	char *p = getenv("TMPDIR"); /* @getenv any */
	struct stat st;

	if (p && stat(p, &st) == 0 && S_ISDIR(st.st_mode)) /* @stat all */
		return p;
	return "/tmp";
}

int main(int argc, char **argv)
{
	FILE *out = stdout, *marks;

	tune();
	if (chdir(folder()) < 0) /* @chdir all */
		warn("%s (%llu bytes of memory)", folder(), installed);
	if (argc > 2)
		out = stream(argv[2], 1);
	if (read_all(argc > 1 ? stream(argv[1], 0) : stdin) < 0 || merge(out) < 0)
		err(1, "sort");
	marks = stream("marks", 2);
	fputs("done\n", marks); /* @fputs/fwrite none ignored */
	fclose(marks); /* @fclose none ignored */
	if (ferror(out) || fclose(out)) /* @ferror any; @fclose all */
		err(1, "output");
	return 0;
}
