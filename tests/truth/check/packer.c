/* SPDX-License-Identifier: Apache-2.0 */
/* packer: put files into one archive and take them out again. */
#define _GNU_SOURCE
#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define HDR_MAGIC "PCK1"
#define CHECK(expr)                                                                \
	({                                                                         \
		__typeof__(expr) r_ = (expr);                                      \
		if (r_ == (__typeof__(r_))-1) {                                    \
			fail(#expr, __LINE__);                                     \
		}                                                                  \
		r_;                                                                \
	})

struct hdr {
	char magic[4];
	uint32_t mode;
	uint32_t namelen;
	uint32_t pad;
	uint64_t size;
	int64_t mtime;
};

static unsigned nwarn;
static int keep_going;

static void fail(const char *expr, int line)
{
	fprintf(stderr, "packer:%d: %s: %m\n", line, expr); /* @fprintf none ignored */
	exit(1);
}

static void warning(const char *name)
{
	nwarn++;
	perror(name);
}

static inline int full_read(int fd, void *buf, size_t want)
{
	size_t got = 0;

	while (got < want) {
		ssize_t n = TEMP_FAILURE_RETRY(read(fd, (char *)buf + got, want - got)); /* @read all */

		if (n <= 0)
			return n == 0 && got == 0 ? 0 : -1;
		got += n;
	}
	return 1;
}

static int put_header(int out, const char *name, const struct stat *st)
{
	struct hdr h;
	struct iovec iov[2];
	ssize_t n;

	memset(&h, 0, sizeof h);
	memcpy(h.magic, HDR_MAGIC, 4);
	h.mode = htole32(st->st_mode);
	h.namelen = htole32(strlen(name));
	h.size = htole64(S_ISREG(st->st_mode) ? st->st_size : 0);
	h.mtime = htole64(st->st_mtime);
	iov[0].iov_base = &h;
	iov[0].iov_len = sizeof h;
	iov[1].iov_base = (void *)name;
	iov[1].iov_len = strlen(name);
	n = writev(out, iov, 2); /* @writev all */
	return n == (ssize_t)(sizeof h + strlen(name)) ? 0 : -1;
}

static int copy_bytes(int out, int in, uint64_t left)
{
	char buf[65536];

	while (left > 0) {
		ssize_t n = sendfile(out, in, NULL, left > 1 << 20 ? 1 << 20 : left); /* @sendfile all */

		if (n > 0) {
			left -= n;
			continue;
		}
		if (n == 0)
			return -1;
		if (errno != EINVAL && errno != ENOSYS)
			return -1;
		break;
	}
	while (left > 0) {
		size_t want = left < sizeof buf ? left : sizeof buf;
		ssize_t n = read(in, buf, want); /* @read all */

		if (n < 1)
			return -1;
		if (write(out, buf, n) != n) /* @write all */
			return -1;
		left -= n;
	}
	return 0;
}

static int pack_file(int out, const char *name, const struct stat *st)
{
	int in, rc;

	in = TEMP_FAILURE_RETRY(open(name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)); /* @open all */
	if (in == -1) {
		warning(name);
		return keep_going ? 0 : -1;
	}
	posix_fadvise(in, 0, 0, POSIX_FADV_SEQUENTIAL); /* @posix_fadvise none ignored */
	rc = put_header(out, name, st);
	if (rc == 0)
		rc = copy_bytes(out, in, st->st_size);
	(void)TEMP_FAILURE_RETRY(close(in)); /* @close some missing=EIO */
	return rc;
}

static int pack(int out, const char *name);

static int pack_dir(int out, const char *name)
{
	struct dirent **list;
	char *sub;
	int i, n, rc = 0;

	n = scandir(name, &list, NULL, alphasort); /* @scandir all */
	if (n < 0) {
		warning(name);
		return -1;
	}
	for (i = 0; i < n; i++) {
		const char *leaf = list[i]->d_name;

		if (strcmp(leaf, ".") && strcmp(leaf, "..") && rc == 0) {
			if (asprintf(&sub, "%s/%s", name, leaf) == -1) /* @asprintf all */
				rc = -1;
			else {
				rc = pack(out, sub);
				free(sub);
			}
		}
		free(list[i]);
	}
	free(list);
	return rc;
}

static int pack_link(int out, const char *name, struct stat *st)
{
	char target[PATH_MAX];
	size_t len;

	len = readlink(name, target, sizeof target - 1); /* @readlink none used */
	target[len] = '\0';
	if (put_header(out, name, st) < 0)
		return -1;
	dprintf(out, "%s", target); /* @dprintf none ignored */
	return 0;
}

static int pack(int out, const char *name)
{
	struct stat st;

	if (lstat(name, &st)) { /* @lstat all */
		warning(name);
		return errno == ENOENT ? 0 : -1;
	}
	if (S_ISDIR(st.st_mode))
		return put_header(out, name, &st) || pack_dir(out, name) ? -1 : 0;
	if (S_ISLNK(st.st_mode))
		return pack_link(out, name, &st);
	if (S_ISREG(st.st_mode))
		return pack_file(out, name, &st);
	return 0;
}

static void make_parents(const char *name)
{
	char *copy = strdup(name), *p; /* @strdup none dereferenced */

	for (p = copy + 1; *p; p++)
		if (*p == '/') {
			*p = '\0';
			mkdir(copy, 0755); /* @mkdir none ignored */
			*p = '/';
		}
	free(copy);
}

static void restore_meta(int fd, const char *name, const struct hdr *h)
{
	struct timespec ts[2];

	ts[0].tv_nsec = UTIME_OMIT;
	ts[0].tv_sec = 0;
	ts[1].tv_nsec = 0;
	ts[1].tv_sec = le64toh(h->mtime);
	if (futimens(fd, ts)) /* @futimens all */
		warning(name);
	if (fchmod(fd, le32toh(h->mode) & 07777) < 0 && errno == EPERM) /* @fchmod some missing=EIO */
		warning(name);
	if (fsetxattr(fd, "user.packer", "1", 1, 0) == -1) { /* @fsetxattr some missing=ENOSPC */
		switch (errno) {
		case ENOTSUP:
			break;
		case EDQUOT:
			warning(name);
			break;
		}
	}
}

static int unpack_one(int in, const struct hdr *h, const char *name)
{
	uint32_t mode = le32toh(h->mode);
	int fd, rc;

	make_parents(name);
	if (S_ISDIR(mode)) {
		rc = mkdir(name, 0700); /* @mkdir some missing=ENOSPC */
		if (rc == -1 && errno == EROFS)
			return -1;
		return chmod(name, mode & 07777); /* @chmod all */
	}
	fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600); /* @open all */
	if (fd < 0 && errno == ETXTBSY && unlink(name) == 0) /* @unlink all */
		fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600); /* @open all */
	if (fd < 0)
		return -1;
	rc = copy_bytes(fd, in, le64toh(h->size));
	restore_meta(fd, name, h);
	if (fsync(fd) < 0 && rc == 0) /* @fsync all */
		rc = -1;
	if (close(fd)) /* @close all */
		rc = -1;
	return rc;
}

static int each_member(int in, int (*fn)(int, const struct hdr *, const char *))
{
	char name[PATH_MAX];
	struct hdr h;
	int rc;

	while ((rc = full_read(in, &h, sizeof h)) > 0) {
		uint32_t len = le32toh(h.namelen);

		if (memcmp(h.magic, HDR_MAGIC, 4) || len >= sizeof name)
			return -1;
		if (full_read(in, name, len) != 1)
			return -1;
		name[len] = '\0';
		if (fn(in, &h, name) != 0) {
			warning(name);
			if (!keep_going)
				return -1;
		}
	}
	return rc;
}

static int list_one(int in, const struct hdr *h, const char *name)
{
	time_t t = le64toh(h->mtime);
	char when[32];
	off_t at;

	ctime_r(&t, when); /* @ctime_r none ignored */
	when[strcspn(when, "\n")] = '\0';
	printf("%06o %10llu %s %s\n", (unsigned)le32toh(h->mode), (unsigned long long)le64toh(h->size), when, name); /* @printf none ignored */
	at = lseek(in, le64toh(h->size), SEEK_CUR); /* @lseek all */
	return at == (off_t)-1 ? -1 : 0;
}

int main(int argc, char **argv)
{
	struct stat st;
	int fd, i, rc = 0;

	if (argc < 3) {
		fputs("usage: packer c|x|t[k] archive [file...]\n", stderr); /* @fputs/fwrite none ignored */
		return 2;
	}
	keep_going = argv[1][0] && argv[1][1] == 'k';
	switch (argv[1][0]) {
	case 'c':
		fd = CHECK(open(argv[2], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)); /* @open all */
		for (i = 3; i < argc && rc == 0; i++)
			rc = pack(fd, argv[i]);
		CHECK(fsync(fd)); /* @fsync all */
		CHECK(close(fd)); /* @close all */
		break;
	case 'x':
	case 't':
		fd = CHECK(open(argv[2], O_RDONLY | O_CLOEXEC)); /* @open all */
		if (fstat(fd, &st) == 0 && st.st_size == 0) /* @fstat all */
			nwarn++;
		rc = each_member(fd, argv[1][0] == 'x' ? unpack_one : list_one);
		close(fd); /* @close none ignored */
		break;
	default:
		rc = -1;
	}
	if (rc < 0)
		fprintf(stderr, "packer: %s failed\n", argv[2]); /* @fprintf none ignored */
	return rc < 0 ? 1 : nwarn ? 3 : 0;
}
