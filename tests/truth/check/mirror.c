/* SPDX-License-Identifier: Apache-2.0 */
/* Mirrors files: macros that retry, tables of operations, jobs whose status others look at, common ends. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

struct job {
	const char *from, *to;
	int in, out;
	ssize_t last;
	int status;
	struct stat st;
	char *buffer;
	size_t size;
};

static int failures;

static __attribute__((noreturn, format(printf, 1, 2))) void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap); /* @vfprintf none ignored */
	va_end(ap);
	exit(2);
}

/* a macro of libc that retries */
static NOINLINE int open_retry(const char *path)
{
	int fd = TEMP_FAILURE_RETRY(open(path, O_RDONLY | O_CLOEXEC)); /* @open all */

	if (fd < 0)
		die("cannot open %s: %m\n", path);
	return fd;
}

static NOINLINE ssize_t read_some(int fd, char *p, size_t n)
{
	ssize_t k;

again:
	k = read(fd, p, n); /* @read all */
	if (k == -1) {
		switch (errno) {
		case EINTR:
			goto again;
		case EAGAIN:
			return 0;
		default:
			return -errno;
		}
	}
	return k;
}

/* the result goes into the job; job_failed looks at it */
static NOINLINE void job_read(struct job *j)
{
	j->last = read(j->in, j->buffer, j->size); /* @read all */
}

static NOINLINE bool job_failed(const struct job *j)
{
	return j->last < 0;
}

/* the result goes into the job, and nobody looks */
static NOINLINE void job_stamp(struct job *j)
{
	j->status = fchmod(j->out, j->st.st_mode & 07777); /* @fchmod none used */
}

static NOINLINE int job_open(struct job *j)
{
	j->in = j->out = -1;
	j->in = open(j->from, O_RDONLY); /* @open all */
	if (j->in < 0)
		goto fail;
	if (fstat(j->in, &j->st) != 0) /* @fstat all */
		goto fail;
	j->out = open(j->to, O_WRONLY | O_CREAT | O_EXCL, 0600); /* @open some missing=EACCES */
	if (j->out < 0 && errno == EEXIST)
		goto fail;
	return 0;
fail:
	if (j->in >= 0)
		close(j->in); /* @close none ignored */
	return -1;
}

/* through a table */
struct ops {
	const char *name;
	int (*apply)(const char *, const char *);
};

static int do_link(const char *a, const char *b)
{
	return link(a, b); /* @link all */
}

static int do_symlink(const char *a, const char *b)
{
	return symlink(a, b) ? -errno : 0; /* @symlink all */
}

static int do_rename(const char *a, const char *b)
{
	rename(a, b); /* @rename none ignored */
	return 0;
}

static const struct ops table[] = {{"link", do_link}, {"symlink", do_symlink}, {"rename", do_rename}};

static NOINLINE void apply(const char *name, const char *a, const char *b)
{
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (strcmp(table[i].name, name) == 0 && table[i].apply(a, b) != 0)
			failures++;
}

/* the result is handed out through a pointer */
static NOINLINE void size_of(const char *path, off_t *size, int *error)
{
	struct stat st;

	*error = stat(path, &st) == 0 ? 0 : errno; /* @stat all */
	*size = *error ? 0 : st.st_size;
}

static NOINLINE void label_of(const char *path, char *out, size_t n, ssize_t *length)
{
	*length = getxattr(path, "user.label", out, n); /* @getxattr all */
}

static NOINLINE void mark(const char *path, int *rc)
{
	*rc = setxattr(path, "user.seen", "1", 1, 0); /* @setxattr none used */
}

/* a ternary as a statement */
static NOINLINE const char *state_of(const char *path)
{
	return access(path, F_OK) ? "gone" : access(path, R_OK) == 0 ? "readable" : "locked"; /* @access all */
}

static NOINLINE int copy_all(struct job *j)
{
	for (;;) {
		job_read(j);
		if (job_failed(j))
			return -1;
		if (j->last == 0)
			return 0;
		for (ssize_t done = 0; done < j->last;) {
			ssize_t k = write(j->out, j->buffer + done, (size_t)(j->last - done)); /* @write all */
			if (k <= 0)
				return -1;
			done += k;
		}
	}
}

/* counts what it wrote, errors as well */
static NOINLINE size_t dump(int fd, const char *p, size_t n)
{
	size_t total = 0;

	total += write(fd, p, n);  /* @write none used/ignored */
	total += write(fd, "\n", 1); /* @write none used/ignored */
	return total;
}

static NOINLINE bool same_file(const char *a, const char *b)
{
	struct stat x, y;

	if (stat(a, &x) || stat(b, &y)) /* @stat all */
		return false;
	return x.st_ino == y.st_ino && x.st_dev == y.st_dev;
}

static NOINLINE void finish(struct job *j)
{
	int a = fsync(j->out), b = close(j->out); /* @fsync all; @close all */

	if (a | b)
		die("cannot write %s\n", j->to);
}

int main(int argc, char **argv)
{
	struct job j = {0};
	char label[64];
	off_t size;
	ssize_t length;
	int error, rc, fd;

	if (argc < 4)
		die("usage\n");
	j.from = argv[1];
	j.to = argv[2];
	j.size = 65536;
	if (!(j.buffer = malloc(j.size))) /* @malloc all */
		die("no memory\n");
	size_of(j.from, &size, &error);
	if (error)
		die("%s: %s\n", j.from, strerror(error));
	label_of(j.from, label, sizeof label, &length);
	if (length < 0)
		length = 0;
	mark(j.from, &rc);
	if (job_open(&j) < 0 || copy_all(&j) < 0)
		die("failed\n");
	job_stamp(&j);
	apply(argv[3], j.from, j.to);
	fd = open_retry(j.from);
	length += read_some(fd, label, sizeof label) < 0;
	(void)dump(1, label, (size_t)length);
	puts(state_of(j.to)); /* @puts none ignored */
	(void)close(fd); /* @close none ignored */
	if (same_file(j.from, j.to))
		failures++;
	finish(&j);
	return failures != 0;
}
