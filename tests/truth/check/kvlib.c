/* SPDX-License-Identifier: Apache-2.0 */
/* kvlib: a shared library with an append-only key/value file that is mapped for reading. */
/* flags: -fPIC */
/* link: -shared */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define KV_MAGIC 0x6b76310au

struct kv_head {
	uint32_t magic;
	uint32_t version;
	uint64_t used;
};

struct kv_rec {
	uint32_t klen;
	uint32_t vlen;
};

typedef struct kv {
	int fd;
	char *path;
	char *map;
	size_t maplen;
	struct kv_head head;
	pthread_mutex_t lock;
	int failed;
} kv;

typedef int (*kv_visit)(void *arg, const char *key, size_t klen, const char *val, size_t vlen);

static ssize_t pread_full(int fd, void *buf, size_t n, off_t off)
{
	size_t got = 0;

	while (got < n) {
		ssize_t r = pread(fd, (char *)buf + got, n - got, off + (off_t)got); /* @pread all */
		if (r < 0) {
			if (errno == EINTR)
				continue;
			return -1;
		}
		if (r == 0)
			break;
		got += (size_t)r;
	}
	return (ssize_t)got;
}

static int put_head(kv *db)
{
	/* a short write of the head is a lost file */
	if (pwrite(db->fd, &db->head, sizeof db->head, 0) < sizeof db->head) /* @pwrite none used/ignored */
		return -EIO;
	return 0;
}

static void unmap(kv *db)
{
	if (db->map != NULL)
		munmap(db->map, db->maplen); /* @munmap none ignored */
	db->map = NULL;
	db->maplen = 0;
}

static int remap(kv *db)
{
	struct stat st;

	unmap(db);
	if (fstat(db->fd, &st) < 0) /* @fstat all */
		return -errno;
	db->map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, db->fd, 0); /* @mmap none used/dereferenced */
	if (db->map == NULL)
		return -ENOMEM;
	db->maplen = (size_t)st.st_size;
	madvise(db->map, db->maplen, MADV_SEQUENTIAL); /* @madvise none ignored */
	return 0;
}

static int grab(kv *db, short type)
{
	struct flock fl;

	memset(&fl, 0, sizeof fl);
	fl.l_type = type;
	fl.l_whence = SEEK_SET;
	if (fcntl(db->fd, F_SETLK, &fl) == -1 && (errno == EACCES || errno == EAGAIN)) /* @fcntl some missing=ENOLCK,EBADF */
		return -EBUSY;
	return 0;
}

int kv_open(const char *path, int create, kv **out)
{
	kv *db;
	int rc;

	if ((db = calloc(1, sizeof *db)) == NULL) /* @calloc all */
		return -ENOMEM;
	db->path = strdup(path); /* @strdup none used/dereferenced/returned */
	db->fd = open(path, O_RDWR | O_CLOEXEC | (create ? O_CREAT : 0), 0660); /* @open all */
	if (db->fd < 0) {
		rc = -errno;
		goto fail;
	}
	rc = pthread_mutex_init(&db->lock, NULL); /* @pthread_mutex_init all */
	if (rc != 0) {
		rc = -rc;
		goto fail_fd;
	}
	rc = grab(db, F_WRLCK);
	if (rc < 0)
		goto fail_lock;
	switch (pread_full(db->fd, &db->head, sizeof db->head, 0)) {
	case -1:
		rc = -errno;
		goto fail_lock;
	case sizeof db->head:
		if (db->head.magic != KV_MAGIC) {
			rc = -EINVAL;
			goto fail_lock;
		}
		break;
	default:
		db->head.magic = KV_MAGIC;
		db->head.version = 1;
		db->head.used = sizeof db->head;
		if ((rc = put_head(db)) < 0)
			goto fail_lock;
	}
	if ((rc = remap(db)) < 0)
		goto fail_lock;
	*out = db;
	return 0;
fail_lock:
	pthread_mutex_destroy(&db->lock); /* @pthread_mutex_destroy any */
fail_fd:
	close(db->fd); /* @close none ignored */
fail:
	free(db->path);
	free(db);
	return rc;
}

int kv_put(kv *db, const char *key, const void *val, size_t vlen)
{
	struct kv_rec rec;
	struct iovec iov[3];
	ssize_t want, n;
	int rc;

	rec.klen = (uint32_t)strlen(key);
	rec.vlen = (uint32_t)vlen;
	iov[0].iov_base = &rec;
	iov[0].iov_len = sizeof rec;
	iov[1].iov_base = (void *)key;
	iov[1].iov_len = rec.klen;
	iov[2].iov_base = (void *)val;
	iov[2].iov_len = vlen;
	want = (ssize_t)(sizeof rec + rec.klen + vlen);

	if ((rc = pthread_mutex_lock(&db->lock)) != 0) /* @pthread_mutex_lock all */
		return -rc;
	n = pwritev(db->fd, iov, 3, (off_t)db->head.used); /* @pwritev all */
	if (n != want) {
		db->failed = 1;
		rc = n < 0 ? -errno : -ENOSPC;
	} else {
		db->head.used += (uint64_t)n;
		rc = put_head(db);
	}
	pthread_mutex_unlock(&db->lock); /* @pthread_mutex_unlock none ignored */
	return rc;
}

int kv_each(kv *db, kv_visit fn, void *arg)
{
	struct kv_rec rec;
	uint64_t at = sizeof(struct kv_head);
	int rc = 0;

	if (pthread_mutex_trylock(&db->lock) == EBUSY) /* @pthread_mutex_trylock some missing=EINVAL */
		return -EBUSY;
	if (db->head.used > db->maplen)
		rc = remap(db);
	while (rc == 0 && at + sizeof rec <= db->head.used) {
		memcpy(&rec, db->map + at, sizeof rec);
		at += sizeof rec;
		rc = fn(arg, db->map + at, rec.klen, db->map + at + rec.klen, rec.vlen);
		at += (uint64_t)rec.klen + rec.vlen;
	}
	pthread_mutex_unlock(&db->lock); /* @pthread_mutex_unlock none ignored */
	return rc;
}

struct finder {
	const char *key;
	size_t klen;
	char *copy;
	size_t n;
	int nomem;
};

static int match(void *arg, const char *key, size_t klen, const char *val, size_t vlen)
{
	struct finder *f = arg;
	char *p;

	if (klen != f->klen || memcmp(key, f->key, klen) != 0)
		return 0;
	p = realloc(f->copy, vlen + 1); /* @realloc all */
	if (!p) {
		f->nomem = 1;
		return 1;
	}
	memcpy(p, val, vlen);
	p[vlen] = '\0';
	f->copy = p;
	f->n = vlen;
	return 0;
}

int kv_get(kv *db, const char *key, char **val, size_t *vlen)
{
	struct finder f = { key, strlen(key), NULL, 0, 0 };
	int rc = kv_each(db, match, &f);

	if (rc < 0)
		return rc;
	if (f.nomem) {
		free(f.copy);
		return -ENOMEM;
	}
	if (f.copy == NULL)
		return -ENOENT;
	*val = f.copy;
	*vlen = f.n;
	return 0;
}

/* raw things for those who know what they do */
int kv_dup_fd(const kv *db)
{
	return dup(db->fd); /* @dup none returned */
}

void *kv_buffer(size_t n)
{
	return malloc(n ? n : 1); /* @malloc none returned */
}

off_t kv_end(const kv *db)
{
	return lseek(db->fd, 0, SEEK_END); /* @lseek none returned */
}

const char *kv_path(const kv *db)
{
	return db->path;
}

int kv_sync(kv *db, int data_only)
{
	if (data_only)
		return fdatasync(db->fd); /* @fdatasync none returned */
	return fsync(db->fd) == 0 ? 0 : -errno; /* @fsync all */
}

int kv_reserve(kv *db, size_t n)
{
	if (posix_fallocate(db->fd, 0, (off_t)(db->head.used + n)) == -1) /* @posix_fallocate none used/ignored */
		return -ENOSPC;
	return remap(db);
}

int kv_clear(kv *db)
{
	int rc;

	unmap(db);
	rc = ftruncate(db->fd, sizeof db->head); /* @ftruncate all */
	rc |= fsync(db->fd); /* @fsync all */
	if (rc != 0)
		return -errno;
	db->head.used = sizeof db->head;
	rc = put_head(db);
	return rc < 0 ? rc : remap(db);
}

int kv_backup(kv *db, const char *to)
{
	char buf[8192];
	off_t off = 0;
	ssize_t n;
	FILE *f;

	f = fopen(to, "wb"); /* @fopen all */
	if (f == NULL)
		return -errno;
	while ((n = pread_full(db->fd, buf, sizeof buf, off)) > 0) {
		fwrite(buf, 1, (size_t)n, f); /* @fwrite none ignored */
		off += n;
	}
	if (fclose(f) == EOF || n < 0) /* @fclose all */
		return -EIO;
	return chmod(to, 0440) != 0 && errno == EPERM ? -EPERM : 0; /* @chmod some missing=EROFS,ENOENT */
}

int kv_rename(kv *db, const char *to)
{
	if (link(db->path, to) < 0) { /* @link all */
		if (errno == EXDEV)
			return kv_backup(db, to);
		return -errno;
	}
	return unlink(db->path); /* @unlink none returned */
}

int kv_close(kv *db)
{
	int rc, bad = db->failed;

	unmap(db);
	rc = close(db->fd); /* @close all */
	pthread_mutex_destroy(&db->lock); /* @pthread_mutex_destroy any */
	free(db->path);
	free(db);
	return rc < 0 || bad ? -EIO : 0;
}
