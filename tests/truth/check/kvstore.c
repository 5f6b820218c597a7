/* SPDX-License-Identifier: Apache-2.0 */
/* A key-value store in one file with a journal: positions, syncing, atomic replacement. */
/* flags: -D_FILE_OFFSET_BITS=64 */
#define _GNU_SOURCE
#include <assert.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct record {
	uint32_t key_len, value_len;
};

struct store {
	char *path, *index;
	int fd, journal;
	off_t end;
	unsigned synced : 1;
};

static int store_open(struct store *s, const char *path)
{
	struct stat st;

	s->path = strdup(path); /* @strdup all */
	if (!s->path)
		return -ENOMEM;
	s->fd = open(path, O_RDWR | O_CREAT, 0644); /* @open all */
	if (s->fd < 0)
		return -errno;
	if (flock(s->fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) /* @flock some */
		return -EBUSY;
	if (fstat(s->fd, &st) != 0) /* @fstat all */
		return -errno;
	s->end = st.st_size;
	s->index = malloc((size_t)st.st_size / 16 + 64); /* @malloc none used */
	s->journal = -1;
	return 0;
}

/* Appends; a short write is cut off again. */
static int store_put(struct store *s, const char *key, const void *value, uint32_t n)
{
	struct record r = { (uint32_t)strlen(key), n };
	off_t at = s->end;

	if (pwrite(s->fd, &r, sizeof r, at) != sizeof r) /* @pwrite all */
		goto cut;
	at += sizeof r;
	if (pwrite(s->fd, key, r.key_len, at) != (ssize_t)r.key_len) /* @pwrite all */
		goto cut;
	at += r.key_len;
	if (pwrite(s->fd, value, n, at) != (ssize_t)n) /* @pwrite all */
		goto cut;
	s->end = at + n;
	s->synced = 0;
	return 0;
cut:
	if (ftruncate(s->fd, s->end) < 0) /* @ftruncate all */
		warn("%s: damaged beyond %lld", s->path, (long long)s->end);
	return -EIO;
}

static int store_get(struct store *s, off_t at, char *out, size_t max)
{
	struct record r;
	ssize_t n;

	n = pread(s->fd, &r, sizeof r, at); /* @pread all */
	if (n < (ssize_t)sizeof r)
		return n < 0 ? -errno : -ENODATA;
	if (r.value_len >= max)
		return -ENOBUFS;
	n = pread(s->fd, out, r.value_len, at + (off_t)sizeof r + r.key_len); /* @pread none used/dereferenced */
	out[n] = '\0';
	return 0;
}

static int store_sync(struct store *s)
{
	if (s->synced)
		return 0;
	if (fdatasync(s->fd)) /* @fdatasync all */
		return -errno;
	s->synced = 1;
	return 0;
}

/* Writes what is left into a new file and puts it in place of the old one. */
static int store_compact(struct store *s, off_t from)
{
	char tmp[512], block[4096];
	ssize_t n;
	int fd;

	if (snprintf(tmp, sizeof tmp, "%s.XXXXXX", s->path) >= (int)sizeof tmp) /* @snprintf any */
		return -ENAMETOOLONG;
	fd = mkstemp(tmp); /* @mkstemp all */
	if (fd == -1)
		return -errno;
	if (lseek(s->fd, from, SEEK_SET) == (off_t)-1) /* @lseek all */
		goto fail;
	while ((n = read(s->fd, block, sizeof block)) > 0) { /* @read all */
		if (write(fd, block, (size_t)n) < n) /* @write all */
			goto fail;
	}
	if (n < 0)
		goto fail;
	fsync(fd); /* @fsync none ignored */
	fchmod(fd, 0644); /* @fchmod none ignored */
	if (rename(tmp, s->path) == -1) /* @rename all */
		goto fail;
	assert(dup2(fd, s->fd) >= 0); /* @dup2 all */
	close(fd); /* @close? none ignored */
	return 0;
fail:
	unlink(tmp); /* @unlink none ignored */
	close(fd); /* @close? none ignored */
	return -EIO;
}

static void store_close(struct store *s)
{
	if (close(s->fd) < 0) /* @close all */
		warn("%s", s->path);
	free(s->index);
	free(s->path);
}

int main(int argc, char **argv)
{
	struct store s;
	char value[256];
	int rc;

	if (argc < 4)
		errx(2, "usage: kvstore FILE KEY VALUE");
	rc = store_open(&s, argv[1]);
	if (rc < 0)
		errx(1, "%s: %s", argv[1], strerror(-rc));
	rc = store_put(&s, argv[2], argv[3], (uint32_t)strlen(argv[3]));
	if (rc == 0)
		rc = store_get(&s, 0, value, sizeof value);
	if (rc == 0)
		rc = store_sync(&s);
	if (rc == 0 && argc > 4)
		rc = store_compact(&s, 64);
	store_close(&s);
	return rc ? 1 : 0;
}
