/* SPDX-License-Identifier: Apache-2.0 */
/* A journal: errors as negative numbers, handed up through two layers, into members, and to a common end. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

struct journal {
	int fd, lock, state;
	void *map;
	size_t size;
	char *name;
	FILE *index;
};

/* Level one: -errno. */
static NOINLINE int sys_open(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0600); /* @open all */

	return fd < 0 ? -errno : fd;
}

static NOINLINE int sys_fsync(int fd)
{
	return fsync(fd) < 0 ? -errno : 0; /* @fsync all */
}

static NOINLINE int sys_truncate(int fd, off_t size)
{
	if (ftruncate(fd, size) == -1) /* @ftruncate all */
		return -errno;
	return 0;
}

static NOINLINE int sys_rename(const char *from, const char *to)
{
	int rc = rename(from, to); /* @rename all */

	if (rc)
		rc = -errno;
	return rc;
}

/* Level two: hands on what level one said. */
static NOINLINE int open_or_make(const char *path)
{
	int fd = sys_open(path, O_RDWR);

	if (fd == -ENOENT)
		fd = sys_open(path, O_RDWR | O_CREAT);
	return fd;
}

/* The raw result through two functions, and the last one looks. */
static NOINLINE off_t raw_size(int fd)
{
	return lseek(fd, 0, SEEK_END); /* @lseek all */
}

static NOINLINE off_t size_of(int fd)
{
	return raw_size(fd);
}

/* The raw result through two functions, and nobody looks. */
static NOINLINE off_t raw_rewind(int fd)
{
	return lseek(fd, 0, SEEK_SET); /* @lseek none returned/ignored/used */
}

static NOINLINE off_t rewind_it(int fd)
{
	return raw_rewind(fd);
}

static NOINLINE void *grow(void *old, size_t n)
{
	return realloc(old, n); /* @realloc/malloc all */
}

static NOINLINE void *grow_or_die(void *old, size_t n)
{
	void *p = grow(old, n);

	if (!p && n)
		abort();
	return p;
}

/* Sentinels in members, looked at later. */
static NOINLINE void start(struct journal *j, const char *path)
{
	j->fd = open_or_make(path);
	j->lock = open("lock", O_CREAT | O_EXCL | O_CLOEXEC, 0600); /* @open all */
	j->map = MAP_FAILED;
	j->name = strdup(path); /* @strdup all */
	j->index = fopen("index", "r"); /* @fopen none used/dereferenced */
	if (j->lock == -1)
		j->state = 'l';
	else if (!j->name)
		j->state = 'n';
	else
		j->state = 'o';
	if (fgetc(j->index) == 'x') /* @fgetc none used/ignored */
		j->state = 'x';
}

static NOINLINE int map_it(struct journal *j)
{
	off_t size = size_of(j->fd);

	if (size < 0)
		return -errno;
	j->size = (size_t)size;
	j->map = mmap(NULL, j->size, PROT_READ | PROT_WRITE, MAP_SHARED, j->fd, 0); /* @mmap all */
	return j->map == MAP_FAILED ? -errno : 0;
}

/* NULL is not what mmap says. */
static NOINLINE void *scratch(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); /* @mmap none used/dereferenced */

	if (p == NULL)
		return NULL;
	memset(p, 1, n);
	return p;
}

static NOINLINE int commit(struct journal *j, const char *text)
{
	int rc, fd = -1;
	char *copy = NULL;
	size_t n = strlen(text);

	copy = malloc(n + 1); /* @malloc all */
	if (!copy) {
		rc = -ENOMEM;
		goto out;
	}
	memcpy(copy, text, n + 1);
	fd = sys_open("journal.new", O_CREAT | O_WRONLY);
	if (fd < 0) {
		rc = fd;
		goto out;
	}
	if (write(fd, copy, n) != (ssize_t)n) { /* @write all */
		rc = -EIO;
		goto out;
	}
	if ((rc = sys_fsync(fd)) < 0)
		goto out;
	if ((rc = sys_truncate(fd, (off_t)n)))
		goto out;
	rc = close(fd); /* @close all */
	fd = -1;
	if (rc == -1) {
		rc = -errno;
		goto out;
	}
	rc = sys_rename("journal.new", j->name);
out:
	if (fd >= 0)
		close(fd); /* @close none ignored */
	if (rc < 0)
		unlink("journal.new"); /* @unlink none ignored */
	free(copy);
	return rc;
}

static jmp_buf back;

static NOINLINE void must(int rc)
{
	if (rc < 0)
		longjmp(back, -rc); /* @longjmp any */
}

/* The check is in a function that jumps away. */
static NOINLINE void settle(struct journal *j)
{
	must(msync(j->map, j->size, MS_SYNC)); /* @msync all */
	must(munmap(j->map, j->size)); /* @munmap all */
	munmap(scratch(4096), 4096); /* @munmap none ignored */
}

static NOINLINE int protect(const char *path)
{
	struct stat st;
	int bad;

	bad = stat(path, &st) | chmod(path, 0400); /* @stat all; @chmod all */
	return bad;
}

int main(int argc, char **argv)
{
	struct journal j = {0};
	char *text = grow_or_die(NULL, 100);
	int rc;

	(void)argc;
	strcpy(text, "begin\n");
	if ((rc = setjmp(back)) != 0) { /* @_setjmp any */
		fprintf(stderr, "journal: %s\n", strerror(rc)); /* @fprintf none ignored */
		return 1;
	}
	start(&j, argv[1]);
	if (j.state != 'o')
		return 2;
	if (j.fd < 0)
		return 3;
	rewind_it(j.fd);
	if (map_it(&j) < 0)
		return 4;
	if (commit(&j, text) < 0)
		return 5;
	settle(&j);
	return protect(argv[1]) ? 6 : 0;
}
