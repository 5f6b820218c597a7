/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing in full, through layers of wrappers that retry. */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

/* depth 1 */
static NOINLINE ssize_t safe_read(int fd, void *buf, size_t n)
{
	ssize_t k;

	do
		k = read(fd, buf, n); /* @read all */
	while (k < 0 && errno == EINTR);
	return k;
}

/* depth 2 */
static NOINLINE ssize_t full_read(int fd, char *buf, size_t n)
{
	size_t have = 0;

	while (have < n) {
		ssize_t k = safe_read(fd, buf + have, n - have);
		if (k < 0)
			return k;
		if (k == 0)
			break;
		have += (size_t)k;
	}
	return (ssize_t)have;
}

static ssize_t xwrite(int fd, const void *buf, size_t n)
{
	for (;;) {
		ssize_t k = write(fd, buf, n); /* @write all */
		if (k == -1 && (errno == EINTR || errno == EAGAIN))
			continue;
		return k;
	}
}

static int full_write(int fd, const char *buf, size_t n)
{
	const char *p = buf, *end = buf + n;

	while (p < end) {
		ssize_t k = xwrite(fd, p, (size_t)(end - p));
		if (k < 0)
			return -1;
		p += k;
	}
	return 0;
}

/* Opened through three functions; the last one looks. */
static NOINLINE int low_open(const char *path, int flags)
{
	return open(path, flags | O_CLOEXEC, 0666); /* @open all */
}

static NOINLINE int mid_open(const char *path, int write)
{
	return low_open(path, write ? O_WRONLY | O_CREAT | O_TRUNC : O_RDONLY);
}

static NOINLINE int high_open(const char *folder, const char *name, int write)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof path, "%s/%s", folder, name); /* @snprintf none ignored */
	fd = mid_open(path, write);
	return fd;
}

/* Passed on by two functions; nobody looks. */
static NOINLINE int low_dup(int fd)
{
	return dup(fd); /* @dup none returned/used */
}

static NOINLINE int mid_dup(int fd, int times)
{
	while (--times > 0)
		fd = low_dup(fd);
	return fd;
}

/* A retry with a limit. */
static int open_patiently(const char *path)
{
	struct timespec pause = { 0, 100000000 };
	int fd, tries = 10;

	while ((fd = open(path, O_RDWR)) < 0 && tries-- > 0) /* @open all */
		nanosleep(&pause, NULL); /* @nanosleep none ignored */
	return fd;
}

/* Interrupted opens are repeated, and nothing else is looked at. */
static int open_fifo(const char *path)
{
	int fd;

again:
	fd = open(path, O_WRONLY); /* @open some missing=ENOENT,EACCES */
	if (fd == -1 && errno == EINTR)
		goto again;
	return fd;
}

static int wait_readable(int fd, int seconds)
{
	struct timeval tv = { seconds, 0 };
	fd_set set;
	int n;

	FD_ZERO(&set);
	FD_SET(fd, &set);
	while ((n = select(fd + 1, &set, NULL, NULL, &tv)) < 0 && errno == EINTR) /* @select all */
		;
	if (n < 0)
		err(1, "select");
	return n;
}

static void put_byte(int fd, char c)
{
	while (write(fd, &c, 1) != 1) /* @write all */
		if (errno != EAGAIN)
			abort();
}

/* Sums what comes; -1 is true, and is summed too. */
static uint64_t drain(int fd)
{
	char junk[256];
	uint64_t sum = 0;
	unsigned rounds = 0;
	ssize_t n;

	while ((n = read(fd, junk, sizeof junk)) != 0) { /* @read none used */
		sum += (uint64_t)n;
		if (++rounds == 1000)
			break;
	}
	return sum;
}

int main(int argc, char **argv)
{
	char buf[512];
	int in, out, fifo;
	ssize_t n;

	if (argc < 4)
		errx(2, "usage: retry FOLDER IN OUT");
	in = high_open(argv[1], argv[2], 0);
	if (in < 0)
		err(1, "%s", argv[2]);
	if ((out = high_open(argv[1], argv[3], 1)) == -1)
		err(1, "%s", argv[3]);
	while (wait_readable(in, 1) > 0) {
		n = full_read(in, buf, sizeof buf);
		if (n < 0)
			err(1, "read");
		if (n == 0)
			break;
		if (full_write(out, buf, (size_t)n) != 0)
			err(1, "write");
	}
	if ((fifo = open_patiently("fifo")) < 0)
		fifo = open_fifo("fifo.out");
	put_byte(fifo, 'x');
	fifo = mid_dup(fifo, argc);
	printf("%llu\n", (unsigned long long)drain(fifo)); /* @printf none ignored */
	return 0;
}
