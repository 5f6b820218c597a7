/* SPDX-License-Identifier: Apache-2.0 */
/* A write-ahead log with a memory-mapped main file, as small embedded databases have it. */
/* flags: -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { WAL_OK, WAL_NOMEM, WAL_IO, WAL_BUSY, WAL_CORRUPT };

#define TRY(expr) do { if ((rc = (expr)) != WAL_OK) goto done; } while (0)

struct frame {
	uint32_t magic, len;
	uint64_t sum;
};

struct wal {
	int fd, dirfd, mainfd;
	int saved_errno;
	off_t end;
	unsigned char *map;
	size_t maplen;
	char *path, *journal;
	unsigned ncommit;
};

static uint64_t fold(const unsigned char *p, size_t n)
{
	uint64_t h = 14695981039346656037ull;

	while (n--)
		h = (h ^ *p++) * 1099511628211ull;
	return h;
}

static int io_error(struct wal *w)
{
	w->saved_errno = errno;
	return WAL_IO;
}

static int full_write(int fd, const void *buf, size_t n)
{
	const char *p = buf;

	while (n > 0) {
		ssize_t k = write(fd, p, n); /* @write all */

		if (k < 0) {
			if (errno == EINTR)
				continue;
			return -1;
		}
		p += k;
		n -= (size_t)k;
	}
	return 0;
}

static ssize_t full_pread(int fd, void *buf, size_t n, off_t at)
{
	size_t got = 0;

	while (got < n) {
		ssize_t k;

		do
			k = pread(fd, (char *)buf + got, n - got, at + (off_t)got); /* @pread all */
		while (k == -1 && errno == EINTR);
		if (k < 0)
			return -1;
		if (k == 0)
			break;
		got += (size_t)k;
	}
	return (ssize_t)got;
}

static int wal_open(struct wal *w, const char *path)
{
	struct stat st;
	int rc = WAL_IO;

	w->fd = w->dirfd = w->mainfd = -1;
	w->path = strdup(path); /* @strdup all */
	if (w->path == NULL)
		return WAL_NOMEM;
	if (asprintf(&w->journal, "%s-wal", path) == -1) { /* @asprintf all */
		w->journal = NULL;
		free(w->path);
		return WAL_NOMEM;
	}
	w->mainfd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644); /* @open all */
	if (w->mainfd == -1)
		goto fail;
	w->fd = open(w->journal, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644); /* @open all */
	if (w->fd == -1)
		goto fail;
	if ((w->dirfd = open(".", O_DIRECTORY | O_RDONLY)) < 0) /* @open all */
		goto fail;
	if (flock(w->mainfd, LOCK_EX | LOCK_NB) != 0) { /* @flock all */
		rc = errno == EWOULDBLOCK ? WAL_BUSY : WAL_IO;
		goto fail;
	}
	if (fstat(w->fd, &st) < 0) /* @fstat all */
		goto fail;
	w->end = st.st_size;
	return WAL_OK;
fail:
	w->saved_errno = errno;
	if (w->fd >= 0)
		close(w->fd); /* @close none ignored */
	if (w->mainfd >= 0)
		close(w->mainfd); /* @close none ignored */
	free(w->journal);
	free(w->path);
	return rc;
}

/* MAP_FAILED is not NULL. */
static int wal_map_sloppy(struct wal *w, size_t n)
{
	w->map = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, w->mainfd, 0); /* @mmap none used/dereferenced */
	if (w->map == NULL)
		return WAL_NOMEM;
	w->maplen = n;
	w->map[0] |= 1;
	return WAL_OK;
}

static int wal_grow(struct wal *w, size_t n)
{
	void *p;

	if (ftruncate(w->mainfd, (off_t)n) != 0) /* @ftruncate all */
		return io_error(w);
	p = mremap(w->map, w->maplen, n, MREMAP_MAYMOVE); /* @mremap all */
	if (p == MAP_FAILED)
		return io_error(w);
	w->map = p;
	w->maplen = n;
	return WAL_OK;
}

static int wal_append(struct wal *w, const void *data, uint32_t len)
{
	struct frame f = { 0x57414c31, len, fold(data, len) };
	struct iovec v[2] = { { &f, sizeof f }, { (void *)data, len } };
	ssize_t n = writev(w->fd, v, 2); /* @writev all */

	if (n != (ssize_t)(sizeof f + len)) {
		/* Best effort: cut the torn frame off again. */
		if (n >= 0)
			ftruncate(w->fd, w->end); /* @ftruncate none ignored */
		return io_error(w);
	}
	w->end += n;
	return WAL_OK;
}

static int wal_commit(struct wal *w)
{
	int r;

	do
		r = fdatasync(w->fd); /* @fdatasync all */
	while (r != 0 && errno == EINTR);
	if (r)
		return io_error(w);
	w->ncommit++;
	return WAL_OK;
}

/* Loops on EINTR, and takes whatever else happened for done. */
static void wal_sync_dir(struct wal *w)
{
	while (fsync(w->dirfd) < 0 && errno == EINTR) /* @fsync some missing=EIO */
		;
	w->ncommit = 0;
}

/* Held by another process is one thing; not to be had at all should be another. */
static int wal_range_lock(struct wal *w)
{
	struct flock fl = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };

	if (fcntl(w->fd, F_SETLK, &fl) == -1) { /* @fcntl some missing=ENOLCK */
		switch (errno) {
		case EACCES:
		case EAGAIN:
			return WAL_BUSY;
		}
	}
	return WAL_OK;
}

static int wal_replay(struct wal *w)
{
	struct frame f;
	unsigned char *body = NULL;
	off_t at = 0;
	int rc = WAL_OK;

	for (;;) {
		ssize_t n = full_pread(w->fd, &f, sizeof f, at);
		unsigned char *bigger;

		if (n == 0)
			break;
		if (n != sizeof f || f.magic != 0x57414c31) {
			rc = n < 0 ? io_error(w) : WAL_CORRUPT;
			break;
		}
		bigger = realloc(body, f.len + 1u); /* @realloc all */
		if (!bigger) {
			rc = WAL_NOMEM;
			break;
		}
		body = bigger;
		if (full_pread(w->fd, body, f.len, at + (off_t)sizeof f) < (ssize_t)f.len || fold(body, f.len) != f.sum) {
			rc = WAL_CORRUPT;
			break;
		}
		if (pwrite(w->mainfd, body, f.len, at) != (ssize_t)f.len) { /* @pwrite all */
			rc = io_error(w);
			break;
		}
		at += (off_t)(sizeof f + f.len);
	}
	free(body);
	return rc;
}

static int wal_checkpoint(struct wal *w)
{
	if (msync(w->map, w->maplen, MS_SYNC) == -1) /* @msync all */
		return io_error(w);
	/* Seeking is not worth a look, says a comment from 2009. */
	lseek(w->fd, 0, SEEK_SET); /* @lseek none ignored */
	return ftruncate(w->fd, 0) ? io_error(w) : WAL_OK; /* @ftruncate all */
}

static int wal_backup(struct wal *w, const char *to)
{
	char block[4096], *tmp = malloc(strlen(to) + 8); /* @malloc all */
	int out = -1, rc = WAL_IO;
	ssize_t n;

	if (!tmp)
		return WAL_NOMEM;
	strcpy(stpcpy(tmp, to), ".XXXXXX");
	out = mkstemp(tmp); /* @mkstemp all */
	if (out < 0)
		goto out;
	while (n = read(w->mainfd, block, sizeof block), n > 0) /* @read all */
		if (full_write(out, block, (size_t)n) < 0)
			goto out;
	if (n < 0 || fchmod(out, 0644) < 0) /* @fchmod all */
		goto out;
	if (rename(tmp, to)) /* @rename all */
		goto out;
	rc = WAL_OK;
out:
	if (rc != WAL_OK && out >= 0)
		unlink(tmp); /* @unlink none ignored */
	if (out >= 0 && close(out) != 0) /* @close all */
		rc = WAL_IO;
	free(tmp);
	return rc;
}

static int wal_close(struct wal *w)
{
	int bad = 0;

	bad |= munmap(w->map, w->maplen); /* @munmap all */
	bad |= close(w->fd); /* @close all */
	bad |= close(w->mainfd); /* @close all */
	close(w->dirfd); /* @close none ignored */
	free(w->path);
	free(w->journal);
	return bad ? io_error(w) : WAL_OK;
}

int main(int argc, char **argv)
{
	struct wal w = { 0 };
	int rc;

	if (argc < 3)
		return 2;
	TRY(wal_open(&w, argv[1]));
	TRY(wal_range_lock(&w));
	TRY(wal_replay(&w));
	TRY(wal_map_sloppy(&w, 4096));
	TRY(wal_grow(&w, 4096 * (size_t)argc));
	for (int i = 2; i < argc; i++)
		TRY(wal_append(&w, argv[i], (uint32_t)strlen(argv[i])));
	TRY(wal_commit(&w));
	wal_sync_dir(&w);
	TRY(wal_backup(&w, argv[2]));
	TRY(wal_checkpoint(&w));
	rc = wal_close(&w);
done:
	if (rc)
		fprintf(stderr, "walstore: code %d: %s\n", rc, strerror(w.saved_errno)); /* @fprintf none ignored */
	return rc;
}
