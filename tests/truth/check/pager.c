/* SPDX-License-Identifier: Apache-2.0 */
/* The pager of a database: result codes of its own, journal, locks, hot paths. */
/* flags: -fno-plt -D_FILE_OFFSET_BITS=64 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { OK, IOERR, NOMEM, FULL, BUSY, CANTOPEN };
enum { PAGE = 4096 };

struct page {
	uint32_t number;
	unsigned dirty;
	unsigned char *data;
};

struct pager {
	int fd, journal_fd;
	char *journal_path;
	struct page *cache;
	unsigned pages, hits, last_errno;
	int lock_state;
};

static int note(struct pager *p, int code)
{
	p->last_errno = (unsigned)errno;
	return code;
}

static int file_size(struct pager *p, off_t *ret)
{
	struct stat st;

	if (fstat(p->fd, &st)) /* @fstat all */
		return note(p, IOERR);
	*ret = st.st_size;
	return OK;
}

static int page_load(struct pager *p, struct page *pg)
{
	ssize_t got;

	if (!pg->data && !(pg->data = malloc(PAGE))) /* @malloc all */
		return NOMEM;
	got = pread(p->fd, pg->data, PAGE, (off_t)pg->number * PAGE); /* @pread all */
	if (got == PAGE)
		return OK;
	if (got >= 0) {
		memset(pg->data + got, 0, (size_t)(PAGE - got));
		return OK;
	}
	return note(p, IOERR);
}

static int page_store(struct pager *p, struct page *pg)
{
	ssize_t rc = pwrite(p->fd, pg->data, PAGE, (off_t)pg->number * PAGE); /* @pwrite all */

	if (rc < 0)
		return note(p, errno == ENOSPC ? FULL : IOERR);
	pg->dirty = rc != PAGE;
	return pg->dirty ? FULL : OK;
}

static int journal_open(struct pager *p)
{
	p->journal_fd = open(p->journal_path, O_RDWR | O_CREAT | O_EXCL, 0600); /* @open all */
	p->lock_state = 2;
	p->hits = 0;
	if (p->journal_fd != -1)
		return OK;
	return errno == EEXIST ? BUSY : CANTOPEN;
}

static int journal_add(struct pager *p, const struct page *pg)
{
	struct iovec v[2] = { { (void *)&pg->number, sizeof pg->number }, { pg->data, PAGE } };
	ssize_t want = (ssize_t)(sizeof pg->number + PAGE);

	return writev(p->journal_fd, v, 2) == want ? OK : note(p, FULL); /* @writev all */
}

/* The journal must be on the disk before the pages; here nobody knows whether it is. */
static int journal_sync(struct pager *p)
{
	fsync(p->journal_fd); /* @fsync none ignored */
	return OK;
}

static int journal_end(struct pager *p)
{
	int rc = OK;

	if (close(p->journal_fd) == -1) /* @close all */
		rc = IOERR;
	p->journal_fd = -1;
	if (unlink(p->journal_path) && errno != ENOENT) /* @unlink all */
		rc = IOERR;
	return rc;
}

static int lock(struct pager *p, short type)
{
	struct flock l = { .l_type = type, .l_whence = SEEK_SET, .l_start = 0x40000000, .l_len = 1 };

	if (fcntl(p->fd, F_SETLK, &l) < 0) { /* @fcntl all */
		switch (errno) {
		case EACCES:
		case EAGAIN:
		case EINTR:
			return BUSY;
		case ENOLCK:
			return NOMEM;
		default:
			return IOERR;
		}
	}
	p->lock_state = type;
	return OK;
}

/* Space ahead; a file system that cannot do so is as good as success, so are all others but a full one. */
static int reserve(struct pager *p, off_t size)
{
	if (posix_fallocate(p->fd, 0, size) == ENOSPC) /* @posix_fallocate some missing=EBADF,EIO */
		return FULL;
	return OK;
}

static struct pager *pager_new(const char *path)
{
	struct pager *p = calloc(1, sizeof *p); /* @calloc all */
	int code = NOMEM;

	if (!p)
		return NULL;
	p->cache = calloc(64, sizeof *p->cache); /* @calloc all */
	p->journal_path = malloc(strlen(path) + 9); /* @malloc all */
	if (!p->cache || !p->journal_path)
		goto fail;
	strcat(strcpy(p->journal_path, path), "-journal");
	p->fd = open(path, O_RDWR | O_CREAT, 0600); /* @open all */
	code = CANTOPEN;
	if (p->fd < 0)
		goto fail;
	return p;
fail:
	warnx("%s: code %d", path, code);
	free(p->cache);
	free(p->journal_path);
	free(p);
	return NULL;
}

int main(int argc, char **argv)
{
	struct pager *p;
	off_t size = 0;
	int rc;

	if (argc < 2 || !(p = pager_new(argv[1])))
		return 1;
	if ((rc = lock(p, F_WRLCK)) != OK || (rc = file_size(p, &size)) != OK)
		return rc;
	p->pages = (unsigned)(size / PAGE) & 63;
	rc = reserve(p, size + PAGE);
	if (rc == OK)
		rc = journal_open(p);
	for (unsigned i = 0; rc == OK && i < p->pages; i++) {
		p->cache[i].number = i;
		rc = page_load(p, &p->cache[i]);
		if (rc == OK)
			rc = journal_add(p, &p->cache[i]);
		if (rc == OK)
			rc = page_store(p, &p->cache[i]);
	}
	if (rc == OK)
		rc = journal_sync(p);
	if (rc == OK)
		rc = journal_end(p);
	return rc;
}
