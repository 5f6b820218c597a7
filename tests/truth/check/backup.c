/* SPDX-License-Identifier: Apache-2.0 */
/* Backs up files: results as negative numbers, cleanups by attribute, states in objects on the heap, callbacks. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define RETURN_IF_NEGATIVE(x)                                                                                          \
	do {                                                                                                           \
		int r_ = (x);                                                                                          \
		if (r_ < 0)                                                                                            \
			return r_;                                                                                     \
	} while (0)

struct writer {
	int fd;
	int error;
	size_t used;
	char buffer[4096];
};

static inline int negative_errno(int r)
{
	return r < 0 ? -errno : r;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd); /* @close none ignored */
}

static NOINLINE int flush(struct writer *w)
{
	size_t done = 0;

	while (done < w->used && !w->error) {
		ssize_t n = write(w->fd, w->buffer + done, w->used - done); /* @write all */
		if (n < 0)
			w->error = errno;
		else
			done += (size_t)n;
	}
	w->used = 0;
	return w->error ? -1 : 0;
}

static NOINLINE int put(struct writer *w, const char *p, size_t n)
{
	if (n > sizeof w->buffer - w->used && flush(w) < 0)
		return -1;
	memcpy(w->buffer + w->used, p, n);
	w->used += n;
	return 0;
}

/* the descriptor goes straight into the object, and is looked at later by another function */
static NOINLINE struct writer *writer_new(const char *path)
{
	struct writer *w = malloc(sizeof *w); /* @malloc all */

	if (!w)
		return NULL;
	w->used = 0;
	w->error = 0;
	w->fd = open(path, O_WRONLY | O_CREAT, 0666); /* @open all */
	return w;
}

static NOINLINE bool writer_good(const struct writer *w)
{
	return w && w->fd != -1;
}

static NOINLINE int writer_free(struct writer *w)
{
	int r = flush(w);

	if (close(w->fd) < 0) /* @close all */
		r = -1;
	free(w);
	return r;
}

static NOINLINE int lock_it(int fd)
{
	RETURN_IF_NEGATIVE(negative_errno(flock(fd, LOCK_EX | LOCK_NB))); /* @flock all */
	RETURN_IF_NEGATIVE(negative_errno(ftruncate(fd, 0)));             /* @ftruncate all */
	return 0;
}

static NOINLINE int send_file(int out, const char *path)
{
	__attribute__((cleanup(close_fd))) int in = open(path, O_RDONLY); /* @open all */
	struct stat st;

	if (in < 0)
		return -errno;
	if (fstat(in, &st)) /* @fstat all */
		return -errno;
	for (off_t at = 0; at < st.st_size;) {
		ssize_t n = sendfile(out, in, &at, (size_t)(st.st_size - at)); /* @sendfile all */
		if (n == 0)
			return -EIO;
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return -errno;
	}
	return 0;
}

static NOINLINE int each_entry(const char *folder, int (*f)(const char *, void *), void *p)
{
	DIR *d = opendir(folder); /* @opendir all */
	struct dirent *e;
	int r = 0;

	if (!d)
		return -errno;
	while (!r && (errno = 0, e = readdir(d))) /* @readdir all */
		r = f(e->d_name, p);
	if (!r && errno)
		r = -errno;
	closedir(d); /* @closedir none ignored */
	return r;
}

static int count_entry(const char *name, void *p)
{
	struct stat st;

	if (lstat(name, &st) < 0) /* @lstat all */
		return -1;
	*(uint64_t *)p += (uint64_t)st.st_size;
	return 0;
}

static int remove_entry(const char *name, void *p)
{
	(void)p;
	return unlink(name); /* @unlink all */
}

/* the result is kept over other calls */
static NOINLINE int swap(const char *a, const char *b, const char *temporary)
{
	int first = rename(a, temporary); /* @rename all */
	int second = rename(b, a);        /* @rename all */
	int third = rename(temporary, b); /* @rename all */

	if (first < 0 || second < 0 || third < 0)
		return -1;
	return 0;
}

static NOINLINE uint64_t space(const char *path)
{
	struct statvfs v;

	statvfs(path, &v); /* @statvfs none ignored */
	return (uint64_t)v.f_bavail * v.f_frsize;
}

static NOINLINE uint64_t space_well(const char *path)
{
	struct statvfs v;

	return statvfs(path, &v) == -1 ? UINT64_MAX : v.f_bavail; /* @statvfs all */
}

/* an int kept as bool */
static NOINLINE bool make(const char *path)
{
	bool failed = mkdir(path, 0777); /* @mkdir all */

	return !failed || errno == EEXIST;
}

static NOINLINE char *current(void)
{
	char *p = getcwd(NULL, 0); /* @getcwd all */

	if (p == NULL && errno == ENOENT)
		p = strdup("/"); /* @strdup all */
	return p;
}

static NOINLINE unsigned char *read_all(int fd, size_t *ret)
{
	unsigned char *p = NULL, *q;
	size_t n = 0, cap = 0;

	for (;;) {
		if (n == cap) {
			cap = cap ? cap * 2 : 512;
			q = realloc(p, cap); /* @realloc all */
			if (!q)
				goto fail;
			p = q;
		}
		ssize_t k = read(fd, p + n, cap - n); /* @read all */
		if (k < 0)
			goto fail;
		if (!k)
			break;
		n += (size_t)k;
	}
	*ret = n;
	return p;
fail:
	free(p);
	return NULL;
}

/* -1 as a size */
static NOINLINE void read_badly(int fd, struct writer *w)
{
	w->used = (size_t)read(fd, w->buffer, sizeof w->buffer); /* @read none used */
}

static NOINLINE void tell(const char *what)
{
	if (write(2, what, strlen(what)) < 0) /* @write all */
		_exit(3);
}

int main(int argc, char **argv)
{
	uint64_t total = 0;
	size_t n = 0;
	int r;

	if (argc < 6)
		return 2;
	struct writer *w = writer_new(argv[1]);
	if (!writer_good(w)) {
		tell("cannot write\n");
		return 1;
	}
	if (lock_it(w->fd) < 0 || send_file(w->fd, argv[2]) < 0)
		return 1;
	if ((r = each_entry(argv[3], count_entry, &total)) < 0 || (r = each_entry(argv[3], remove_entry, NULL)) < 0)
		return -r;
	if (swap(argv[2], argv[3], argv[4]) || !make(argv[5]))
		return 1;
	char *here = current();
	if (!here)
		return 1;
	unsigned char *p = read_all(0, &n);
	if (!p)
		return 1;
	read_badly(0, w);
	if (space(here) < total || space_well(here) < n)
		tell("space\n");
	if (put(w, here, strlen(here)) < 0)
		return 1;
	return writer_free(w) < 0;
}
