/* SPDX-License-Identifier: Apache-2.0 */
/* flags: -fPIC */
/* link: -shared */
/* libjournal: pages kept in a file with a rollback journal beside it. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define JR_PAGE 1024
#define JR_MAGIC 0x4a524e4cu

#define JR_OK 0
#define JR_IO 1
#define JR_BUSY 2
#define JR_NOMEM 3
#define JR_CORRUPT 4

typedef struct journal {
	int fd;
	int jfd;
	int in_tx;
	int last_errno;
	unsigned pages;
	unsigned logged;
	char *path;
	char *jpath;
	unsigned char *seen;
	pthread_mutex_t mutex;
	FILE *trace;
} journal;

struct jrec {
	uint32_t magic;
	uint32_t page;
	unsigned char data[JR_PAGE];
};

typedef struct {
	int (*read)(journal *, unsigned, void *);
	int (*write)(journal *, unsigned, const void *);
} page_ops;

#define HIDDEN __attribute__((visibility("hidden")))

static int oops(journal *j, int code)
{
	j->last_errno = errno;
	return code;
}

static void trace(journal *j, const char *what, unsigned n)
{
	if (j->trace)
		fprintf(j->trace, "%s %u\n", what, n); /* @fprintf none ignored */
}

HIDDEN ssize_t jr_pread_full(int fd, void *buf, size_t n, off_t off)
{
	size_t got = 0;

	do {
		ssize_t r = pread(fd, (char *)buf + got, n - got, off + got); /* @pread all */

		if (r == 0)
			break;
		if (r < 0) {
			if (errno == EINTR)
				continue;
			return -1;
		}
		got += r;
	} while (got < n);
	return got;
}

static int page_read(journal *j, unsigned n, void *buf)
{
	ssize_t r = jr_pread_full(j->fd, buf, JR_PAGE, (off_t)n * JR_PAGE);

	if (r < 0)
		return oops(j, JR_IO);
	if (r < JR_PAGE)
		memset((char *)buf + r, 0, JR_PAGE - r);
	return JR_OK;
}

static int page_write(journal *j, unsigned n, const void *buf)
{
	if (pwrite(j->fd, buf, JR_PAGE, (off_t)n * JR_PAGE) != JR_PAGE) /* @pwrite all */
		return oops(j, JR_IO);
	if (n >= j->pages)
		j->pages = n + 1;
	return JR_OK;
}

static int page_read_quick(journal *j, unsigned n, void *buf)
{
	size_t r = pread(j->fd, buf, JR_PAGE, (off_t)n * JR_PAGE); /* @pread none used */

	return r == 0 ? JR_CORRUPT : JR_OK;
}

static const page_ops safe_ops = { page_read, page_write };
static const page_ops quick_ops = { page_read_quick, page_write };
static const page_ops *ops = &safe_ops;

static int sync_fd(int fd)
{
	int rc;

	do
		rc = fdatasync(fd); /* @fdatasync all */
	while (rc == -1 && errno == EINTR);
	return rc;
}

static int lock_file(journal *j, int type)
{
	struct flock fl = { .l_type = type, .l_whence = SEEK_SET, .l_len = 1 };

	if (fcntl(j->fd, F_OFD_SETLK, &fl) < 0) /* @fcntl all */
		return errno == EAGAIN || errno == EACCES ? JR_BUSY : JR_IO;
	return JR_OK;
}

static void unlock_file(journal *j)
{
	struct flock fl = { .l_type = F_UNLCK, .l_whence = SEEK_SET, .l_len = 1 };

	fcntl(j->fd, F_OFD_SETLK, &fl); /* @fcntl none ignored */
}

static int play_back(journal *j)
{
	struct jrec rec;
	off_t pos;
	ssize_t r;
	int rc;

	for (pos = 0;; pos += sizeof rec) {
		r = jr_pread_full(j->jfd, &rec, sizeof rec, pos);
		if (r == -1)
			return oops(j, JR_IO);
		if (r == 0)
			break;
		if ((size_t)r < sizeof rec || rec.magic != JR_MAGIC)
			break;
		rc = ops->write(j, rec.page, rec.data);
		if (rc)
			return rc;
	}
	if (sync_fd(j->fd))
		return oops(j, JR_IO);
	if (ftruncate(j->jfd, 0)) /* @ftruncate all */
		return oops(j, JR_IO);
	return JR_OK;
}

static int open_journal(journal *j)
{
	struct stat st;

	j->jfd = open(j->jpath, O_RDWR | O_CREAT | O_CLOEXEC, 0600); /* @open all */
	if (j->jfd < 0)
		return oops(j, JR_IO);
	if (fstat(j->jfd, &st) < 0) /* @fstat all */
		return oops(j, JR_IO);
	if (st.st_size == 0)
		return JR_OK;
	trace(j, "hot journal", st.st_size / sizeof(struct jrec));
	return play_back(j);
}

void jr_close(journal *j)
{
	if (!j)
		return;
	if (j->jfd >= 0)
		close(j->jfd); /* @close none ignored */
	if (j->fd >= 0)
		close(j->fd); /* @close none ignored */
	if (j->trace)
		fclose(j->trace); /* @fclose none ignored */
	if (j->jpath)
		unlink(j->jpath); /* @unlink none ignored */
	pthread_mutex_destroy(&j->mutex); /* @pthread_mutex_destroy none ignored */
	free(j->seen);
	free(j->path);
	free(j->jpath);
	free(j);
}

int jr_open(const char *path, journal **out)
{
	const char *t;
	journal *j;
	off_t end;
	int rc;

	*out = NULL;
	if (!(j = calloc(1, sizeof *j))) /* @calloc all */
		return JR_NOMEM;
	j->fd = j->jfd = -1;
	pthread_mutex_init(&j->mutex, NULL); /* @pthread_mutex_init any */
	if ((t = getenv("JOURNAL_TRACE")) != NULL) /* @getenv all */
		j->trace = fopen(t, "a"); /* @fopen all */
	j->path = realpath(path, NULL); /* @realpath some missing=EACCES */
	if (j->path == NULL && errno == ENOENT)
		j->path = strdup(path); /* @strdup none used/dereferenced */
	rc = JR_NOMEM;
	if (asprintf(&j->jpath, "%s-journal", j->path) < 0) { /* @asprintf all */
		j->jpath = NULL;
		goto fail;
	}
	rc = JR_IO;
	j->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600); /* @open all */
	if (j->fd < 0)
		goto fail;
	if ((rc = lock_file(j, F_WRLCK)) != JR_OK)
		goto fail;
	end = lseek(j->fd, 0, SEEK_END); /* @lseek none used */
	if (end == 0)
		trace(j, "new file", 0);
	j->pages = (unsigned)((uint64_t)end / JR_PAGE);
	rc = open_journal(j);
	if (rc != JR_OK)
		goto fail;
	j->seen = malloc(j->pages / 8 + 1); /* @malloc none used/dereferenced */
	*out = j;
	return JR_OK;
fail:
	jr_close(j);
	return rc;
}

int jr_begin(journal *j)
{
	int e = pthread_mutex_trylock(&j->mutex); /* @pthread_mutex_trylock some missing=EINVAL */

	if (e == EBUSY)
		return JR_BUSY;
	memset(j->seen, 0, j->pages / 8 + 1);
	j->logged = 0;
	j->in_tx = 1;
	return JR_OK;
}

static int log_page(journal *j, unsigned n)
{
	struct jrec rec = { .magic = JR_MAGIC, .page = n };
	ssize_t w;
	int rc;

	if (n >= j->pages || (j->seen[n / 8] & (1 << n % 8)))
		return JR_OK;
	rc = ops->read(j, n, rec.data);
	if (rc != JR_OK)
		return rc;
	w = pwrite(j->jfd, &rec, sizeof rec, (off_t)j->logged * sizeof rec); /* @pwrite some missing=EIO */
	if (w < 0) {
		switch (errno) {
		case ENOSPC:
		case EDQUOT:
			return oops(j, JR_IO);
		default:
			break;
		}
	}
	j->logged++;
	j->seen[n / 8] |= 1 << n % 8;
	return JR_OK;
}

int jr_write(journal *j, unsigned n, const void *buf)
{
	int rc = log_page(j, n);

	if (rc == JR_OK)
		rc = sync_fd(j->jfd) == 0 ? ops->write(j, n, buf) : JR_IO;
	return rc;
}

int jr_read(journal *j, unsigned n, void *buf)
{
	return ops->read(j, n, buf);
}

int jr_commit(journal *j)
{
	int rc = JR_OK;

	if (sync_fd(j->fd) < 0)
		rc = oops(j, JR_IO);
	if (rc == JR_OK && ftruncate(j->jfd, 0) < 0 && errno == EROFS) /* @ftruncate some missing=EIO */
		rc = oops(j, JR_IO);
	trace(j, "commit", j->logged);
	j->in_tx = 0;
	pthread_mutex_unlock(&j->mutex); /* @pthread_mutex_unlock? none ignored */
	return rc;
}

int jr_rollback(journal *j)
{
	int rc = play_back(j);

	j->in_tx = 0;
	pthread_mutex_unlock(&j->mutex); /* @pthread_mutex_unlock? none ignored */
	return rc;
}

/* The raw results go to the caller, who may look at errno. */
int jr_shrink(journal *j, unsigned pages)
{
	j->pages = pages;
	return ftruncate(j->fd, (off_t)pages * JR_PAGE); /* @ftruncate none returned */
}

void *jr_map(journal *j)
{
	return mmap(NULL, (size_t)j->pages * JR_PAGE, PROT_READ, MAP_SHARED, j->fd, 0); /* @mmap none returned */
}

int jr_unmap(journal *j, void *p)
{
	if (p == MAP_FAILED)
		return JR_OK;
	return munmap(p, (size_t)j->pages * JR_PAGE) ? JR_IO : JR_OK; /* @munmap all */
}

ssize_t jr_copy(journal *j, int outfd)
{
	off_t off = 0;

	return copy_file_range(j->fd, &off, outfd, NULL, (size_t)j->pages * JR_PAGE, 0); /* @copy_file_range none returned */
}

int jr_backup(journal *j, const char *to)
{
	unsigned char page[JR_PAGE];
	FILE *f = fopen(to, "wb"); /* @fopen all */
	unsigned n;
	int rc = JR_OK;

	if (!f)
		return oops(j, JR_IO);
	for (n = 0; n < j->pages && rc == JR_OK; n++) {
		rc = ops->read(j, n, page);
		if (rc == JR_OK && fwrite(page, JR_PAGE, 1, f) != 1) /* @fwrite all */
			rc = JR_IO;
	}
	if (fclose(f) != 0 && rc == JR_OK) /* @fclose all */
		rc = JR_IO;
	if (rc != JR_OK)
		remove(to); /* @remove none ignored */
	return rc;
}

void jr_quick(journal *j, int on)
{
	ops = on ? &quick_ops : &safe_ops;
	if (!on)
		unlock_file(j);
}

int jr_errno(const journal *j)
{
	return j->last_errno;
}
