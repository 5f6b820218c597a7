/* SPDX-License-Identifier: Apache-2.0 */
/* Where the keys of keyd are: in a list, in a file, in a folder. */
/* program: keyd */
/* flags: -D_GNU_SOURCE */
#include "keyd.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

static struct kd_key *keys;
static size_t nkeys;

int kd_add(const char *name, const void *secret, size_t len)
{
	struct kd_key *k = calloc(1, sizeof *k); /* @calloc all */

	if (!k)
		return -ENOMEM;
	k->name = kd_dup(name); /* @strdup? all */
	k->secret = malloc(len); /* @malloc all */
	if (!k->name || !k->secret) {
		free(k->name);
		free(k->secret);
		free(k);
		return -ENOMEM;
	}
	memcpy(k->secret, secret, len);
	k->len = len;
	k->next = keys;
	keys = k;
	nkeys++;
	return 0;
}

struct kd_key *kd_find(const char *name)
{
	for (struct kd_key *k = keys; k; k = k->next)
		if (!strcmp(k->name, name))
			return k;
	return NULL;
}

size_t kd_count(void)
{
	return nkeys;
}

/* Grows; from the first failure on it only remembers that there was one. */
static void buf_add(struct kd_buf *b, const void *p, size_t n)
{
	if (b->failed)
		return;
	if (b->len + n > b->cap) {
		unsigned char *d = realloc(b->data, (b->cap + n) * 2); /* @realloc all */

		if (!d) {
			b->failed = true;
			return;
		}
		b->data = d;
		b->cap = (b->cap + n) * 2;
	}
	memcpy(b->data + b->len, p, n);
	b->len += n;
}

static int file_save(const char *path)
{
	struct kd_buf b = { 0 };
	char *tmp;
	int fd, r = 0, c;

	for (struct kd_key *k = keys; k; k = k->next) {
		buf_add(&b, k->name, strlen(k->name) + 1);
		buf_add(&b, &k->len, sizeof k->len);
		buf_add(&b, k->secret, k->len);
	}
	if (kd_failed(&b)) {
		free(b.data);
		return -ENOMEM;
	}
	tmp = kd_xmalloc(strlen(path) + 5); /* @malloc? all; @write? all */
	stpcpy(stpcpy(tmp, path), ".new");
	fd = kd_open_retry(tmp, O_WRONLY | O_CREAT | O_TRUNC);
	if (fd < 0) {
		r = fd;
		goto out;
	}
	r = kd_write_full(fd, b.data, b.len);
	if (r == 0 && fsync(fd) < 0) /* @fsync all */
		r = -errno;
	c = kd_close(fd); /* @close? all */
	if (r == 0)
		r = c;
	if (r == 0 && rename(tmp, path) < 0) /* @rename all */
		r = -errno;
	if (r == 0)
		r = kd_sync_parent(path);
	if (r != 0)
		unlink(tmp); /* @unlink none ignored */
out:
	free(tmp);
	free(b.data);
	return r;
}

static int file_load(const char *path)
{
	char *text = NULL, *p, *end;
	ssize_t n = kd_slurp(path, &text);
	int r = 0;

	if (n == -ENOENT)
		return 0;
	if (n < 0)
		return (int)n;
	for (p = text, end = text + n; p < end && r == 0;) {
		size_t name = strnlen(p, (size_t)(end - p)), len; /* @strnlen any */

		if (p + name + 1 + sizeof len > end)
			break;
		memcpy(&len, p + name + 1, sizeof len);
		r = kd_add(p, p + name + 1 + sizeof len, len);
		p += name + 1 + sizeof len + len;
	}
	free(text);
	return r;
}

static int file_wipe(const char *path)
{
	return unlink(path) == 0 || errno == ENOENT ? 0 : -errno; /* @unlink all */
}

static int dir_each(const char *path, int (*f)(int dirfd, const char *name))
{
	DIR *d = opendir(path); /* @opendir all */
	struct dirent *e;
	int r = 0;

	if (d == NULL)
		return -errno;
	for (;;) {
		errno = 0;
		e = readdir(d); /* @readdir all */
		if (!e) {
			r = -errno;
			break;
		}
		if (e->d_name[0] != '.' && (r = f(dirfd(d), e->d_name)) < 0) /* @dirfd any */
			break;
	}
	if (closedir(d) < 0 && r == 0) /* @closedir all */
		r = -errno;
	return r;
}

static int load_one(int dirfd, const char *name)
{
	unsigned char secret[256];
	int fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC), r; /* @openat all */
	ssize_t n;

	if (fd < 0)
		return errno == ELOOP ? 0 : -errno;
	n = read(fd, secret, sizeof secret); /* @read none used */
	r = kd_add(name, secret, (size_t)n & 255);
	close(fd); /* @close none ignored */
	return r;
}

/* The callback's answer ends the walk. */
static int wipe_one(int dirfd, const char *name)
{
	return unlinkat(dirfd, name, 0); /* @unlinkat all */
}

static int dir_load(const char *path)
{
	return dir_each(path, load_one);
}

static int dir_wipe(const char *path)
{
	int r = dir_each(path, wipe_one);

	if (r == 0 && rmdir(path) < 0) /* @rmdir all */
		r = -errno;
	return r;
}

static int dir_save(const char *path)
{
	/* A folder that is there is what we want; one that cannot be made is found out below. */
	mkdir(path, 0700); /* @mkdir none ignored */
	for (struct kd_key *k = keys; k; k = k->next) {
		char full[512];
		FILE *f;
		int fd;

		if (snprintf(full, sizeof full, "%s/%s", path, k->name) < 0) /* @snprintf all */
			return -EINVAL;
		fd = kd_open_retry(full, O_WRONLY | O_CREAT | O_TRUNC);
		if (fd < 0)
			return fd;
		f = kd_stream(fd, "w");
		if (fwrite(k->secret, 1, k->len, f) != k->len) { /* @fwrite all */
			unlink(full); /* @unlink none ignored */
			fclose(f); /* @fclose none ignored */
			return -EIO;
		}
		if (fclose(f)) /* @fclose all */
			return -errno;
	}
	return 0;
}

const struct kd_ops kd_file_ops = { "file", file_load, file_save, file_wipe };
const struct kd_ops kd_dir_ops = { "dir", dir_load, dir_save, dir_wipe };
