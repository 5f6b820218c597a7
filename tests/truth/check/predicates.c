/* SPDX-License-Identifier: Apache-2.0 */
/* Failure turned into other values: booleans, masks, codes, selections; what compilers make of it is arithmetic. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

enum status { S_OK = 0, S_FAIL = 5, S_LATE = 7 };

static NOINLINE bool exists(const char *path)
{
	return access(path, F_OK) == 0; /* @access all */
}

static NOINLINE bool cannot_remove(const char *path)
{
	return unlink(path) != 0; /* @unlink all */
}

static NOINLINE int make(const char *path)
{
	return mkdir(path, 0700) ? -errno : 0; /* @mkdir all */
}

static NOINLINE int mask(const char *path)
{
	return -(chmod(path, 0600) < 0) & S_FAIL; /* @chmod all */
}

static NOINLINE enum status change(const char *path)
{
	int rc = chdir(path); /* @chdir all */

	return rc == -1 ? S_FAIL : S_OK;
}

static NOINLINE int descriptor(const char *path)
{
	int fd = open(path, O_RDONLY); /* @open all */

	return ~fd ? fd : STDIN_FILENO;
}

static NOINLINE long pages(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN); /* @sysconf all */

	return n < 1 ? 1 : n;
}

static NOINLINE const char *name_of(const char *path)
{
	return realpath(path, NULL) ?: path; /* @realpath all */
}

static NOINLINE unsigned errors(const char *a, const char *b, const char *c)
{
	unsigned n = 0;

	n += rmdir(a) < 0; /* @rmdir all */
	n += symlink(b, c) == -1; /* @symlink all */
	n += !!link(b, a); /* @link all */
	return n;
}

static NOINLINE int both(int from, int to)
{
	int a = dup(from); /* @dup all */
	int b = dup(to); /* @dup all */

	if ((a | b) < 0)
		return -1;
	return a < b ? a : b;
}

static NOINLINE int close_all(int *fds, int n)
{
	int rc = 0;

	for (int i = 0; i < n; i++)
		rc |= close(fds[i]); /* @close all */
	return rc;
}

static NOINLINE size_t size_or_zero(const char *path)
{
	struct stat st;

	return stat(path, &st) >= 0 ? (size_t)st.st_size : 0; /* @stat all */
}

static NOINLINE int truncate_to(const char *path, off_t n)
{
	int rc = truncate(path, n); /* @truncate all */

	return rc * 3 + (rc != 0);
}

static NOINLINE bool written(int fd, uint32_t value)
{
	bool ok = write(fd, &value, sizeof value) == sizeof value; /* @write all */

	fdatasync(fd); /* @fdatasync none ignored */
	return ok;
}

/* The result is kept, and looked at only much later. */
static NOINLINE int later(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_APPEND); /* @open all */
	size_t vowels = 0;
	char mode[16];

	for (const char *p = text; *p; p++)
		if (strchr("aeiou", *p))
			vowels++;
	if (vowels > 100)
		vowels = 100;
	snprintf(mode, sizeof mode, "%zu", vowels); /* @snprintf none ignored */
	if (fd == -1)
		return S_LATE;
	return written(fd, (uint32_t)strlen(mode)) ? S_OK : S_FAIL;
}

/* The test is of the side that is good. */
static NOINLINE int pipe_or_not(int *fds)
{
	int rc = pipe(fds); /* @pipe all */

	if (rc > -1)
		return fds[0];
	return rc;
}

/* Every error is noticed; one of them is no failure. */
static NOINLINE int again_is_none(int fd, char *to)
{
	ssize_t n = read(fd, to, 5); /* @read all */

	if (n < 0) {
		if (errno == EAGAIN)
			return 0;
		return -1;
	}
	return (int)n;
}

/* Without a sign, the error is the largest number: not less than what was asked for, but more. */
static NOINLINE int short_count(int fd, const char *from)
{
	size_t n = write(fd, from, 8); /* @write none used */

	if (n < 8)
		return -1;
	return 0;
}

static NOINLINE int long_count(int fd, char *to)
{
	unsigned n = read(fd, to, 8); /* @read all */

	if (n > 8)
		return -1;
	return 0;
}

static NOINLINE int short_count_used(int fd, char *from)
{
	size_t n = write(fd, from, 8); /* @write none used */

	if (n <= 7) {
		from[0] = 1;
		return -1;
	}
	return from[3];
}

static NOINLINE int long_count_used(int fd, char *to)
{
	unsigned n = read(fd, to, 8); /* @read all */

	if (n >= 9) {
		to[0] = 1;
		return -1;
	}
	return to[n];
}

int main(int argc, char **argv)
{
	int fds[2], fd, bad = 0;
	char some[16] = "";

	if (argc < 4)
		return 2;
	if (!exists(argv[1]) || cannot_remove(argv[2]))
		bad++;
	if (make(argv[3]) < 0 || mask(argv[3]) || change(argv[3]) != S_OK)
		bad++;
	fd = descriptor(argv[1]);
	if (errors(argv[1], argv[2], argv[3]) > 1 || both(fd, 1) < 0)
		bad++;
	if (pipe_or_not(fds) < 0 || close_all(fds, 2) != 0)
		bad++;
	if (truncate_to(argv[1], pages()) || later(argv[2], name_of(argv[1])))
		bad++;
	bad += again_is_none(fd, some);
	bad += short_count(fd, some) + long_count(fd, some) + short_count_used(fd, some) + long_count_used(fd, some);
	return bad + (size_or_zero(argv[1]) == 0);
}
