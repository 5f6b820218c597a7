/* SPDX-License-Identifier: Apache-2.0 */
/* What keyd does with descriptors. */
/* program: keyd */
/* flags: -D_GNU_SOURCE */
#include "keyd.h"
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>

int kd_read_full(int fd, void *buf, size_t n)
{
	unsigned char *p = buf;

	while (n > 0) {
		ssize_t r = read(fd, p, n); /* @read all */

		if (r == 0)
			return KD_EPROTO;
		if (r < 0) {
			if (errno == EINTR || errno == EAGAIN)
				continue;
			return -errno;
		}
		p += r;
		n -= (size_t)r;
	}
	return 0;
}

int kd_write_full(int fd, const void *buf, size_t n)
{
	const unsigned char *p = buf;
	ssize_t r;

	for (; n; p += r, n -= (size_t)r)
		if ((r = write(fd, p, n)) <= 0) { /* @write all */
			if (r < 0 && errno == EINTR) {
				r = 0;
				continue;
			}
			return r ? -errno : -EIO;
		}
	return 0;
}

/* A descriptor or -errno, as the callers in keyd_store.c know. */
int kd_open_retry(const char *path, int flags)
{
	int fd;

	do {
		fd = open(path, flags | O_CLOEXEC, 0600); /* @open all */
	} while (fd < 0 && errno == EINTR);
	return fd < 0 ? -errno : fd;
}

ssize_t kd_slurp(const char *path, char **ret)
{
	struct stat st;
	char *text = NULL;
	int fd = kd_open_retry(path, O_RDONLY), r;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0) { /* @fstat all */
		r = -errno;
		goto out;
	}
	text = kd_xmalloc((size_t)st.st_size + 1); /* @malloc? all; @write? all */
	r = kd_read_full(fd, text, (size_t)st.st_size);
	if (r < 0)
		goto out;
	text[st.st_size] = '\0';
	*ret = text;
	text = NULL;
	r = (int)st.st_size;
out:
	free(text);
	kd_close(fd); /* @close? any */
	return r;
}

int kd_random(void *buf, size_t n)
{
	ssize_t r = getrandom(buf, n, GRND_NONBLOCK); /* @getrandom all */
	int fd;

	if (r == (ssize_t)n)
		return 0;
	fd = kd_open_retry("/dev/urandom", O_RDONLY);
	if (fd < 0)
		return fd;
	r = kd_read_full(fd, buf, n);
	kd_close(fd); /* @close? any */
	return (int)r;
}

/* Out through a pointer; -EBUSY if somebody else has it. */
int kd_lock_file(const char *path, int *ret)
{
	*ret = kd_open_retry(path, O_RDWR | O_CREAT);
	if (*ret < 0)
		return *ret;
	if (flock(*ret, LOCK_EX | LOCK_NB) < 0) { /* @flock all */
		int e = errno;

		kd_close(*ret); /* @close? any */
		*ret = -1;
		return e == EWOULDBLOCK ? -EBUSY : -e;
	}
	return 0;
}

/* Callers do not look, none of them. */
FILE *kd_stream(int fd, const char *mode)
{
	return fdopen(fd, mode); /* @fdopen none used/returned/dereferenced */
}

int kd_sync_parent(const char *path)
{
	char copy[PATH_MAX];
	int fd, r;

	strncpy(copy, path, sizeof copy - 1);
	copy[sizeof copy - 1] = '\0';
	fd = open(dirname(copy), O_RDONLY | O_DIRECTORY); /* @open none used; @dirname any */
	r = fsync(fd); /* @fsync all */
	close(fd); /* @close none ignored */
	return r;
}

/* Memory that is never swapped, where that can be had: not to have it is no failure here. */
void *kd_pages(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); /* @mmap all */

	if (p == MAP_FAILED)
		return NULL;
	if (mlock(p, n) < 0 && errno != EPERM && errno != ENOMEM) { /* @mlock all */
		munmap(p, n); /* @munmap none ignored */
		return NULL;
	}
	madvise(p, n, MADV_DONTDUMP); /* @madvise none ignored */
	return p;
}
