/* SPDX-License-Identifier: Apache-2.0 */
/* flags: -fno-plt */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define NI __attribute__((noinline))
static volatile long sink;
static void *volatile keep;

static NI int open_not(const char *p)
{
	int fd = open(p, O_RDONLY); /* @open all */
	if (!~fd) return 1;
	sink = fd;
	return 0;
}

static NI int open_bit(const char *p)
{
	int fd = open(p, O_WRONLY); /* @open all */
	if (fd & 0x80000000) return 1;
	sink = fd;
	return 0;
}

static NI int open_odd(const char *p)
{
	int fd = open(p, O_RDWR); /* @open none used */
	if (fd & 4) sink++;
	sink = fd;
	return 0;
}

static NI int open_wide(const char *p)
{
	unsigned fd = open(p, O_RDONLY | O_CLOEXEC); /* @open all */
	if (fd > 1023u) return -1;
	sink = fd;
	return 0;
}

static NI int open_byte(const char *p)
{
	uint8_t fd = open(p, O_RDONLY | O_NONBLOCK); /* @open none used */
	if (fd == 0) return -1;
	sink = fd;
	return 0;
}

static NI int open_two(const char *p)
{
	int fd = open(p, O_RDONLY | O_NOFOLLOW); /* @open some missing=EMFILE,EACCES */
	if (fd < 0) {
		switch (errno) {
		case ENOENT: return 0;
		case ELOOP: return -2;
		default: break;
		}
	}
	sink = fd;
	return 1;
}

static NI int open_default(const char *p)
{
	int fd = open(p, O_RDONLY | O_DIRECTORY); /* @open all */
	if (fd < 0) {
		switch (errno) {
		case ENOENT: return 0;
		case ENOTDIR: return -2;
		default: return -1;
		}
	}
	sink = fd;
	return 1;
}

static NI int open_excl(const char *p)
{
	int fd = open(p, O_CREAT | O_EXCL | O_RDWR, 0600); /* @open all */
	if (fd == -1 && errno != EEXIST) return -1;
	sink = fd;
	return 0;
}

static NI int open_enfile(const char *p)
{
	int fd;
	while ((fd = open(p, O_WRONLY | O_APPEND)) < 0 && (errno == EMFILE || errno == ENFILE)) /* @open some missing=ENOENT */
		sink++;
	sink = fd;
	return 2;
}

static NI int mkdirs(const char *p)
{
	int rc = mkdir(p, 0755); /* @mkdir some missing=EACCES */
	if (rc != 0 && errno == ENOENT) return -1;
	return 0;
}

static NI int mkdirs_wrong(const char *p)
{
	if (mkdir(p, 0700) == EEXIST) return 1; /* @mkdir none used */
	return 0;
}

static NI int mkdir_ok(const char *p)
{
	bool bad = mkdir(p, 0711); /* @mkdir all */
	sink += 3;
	if (bad) return 1;
	return 0;
}

static NI int remove_any(const char *p)
{
	if (unlink(p) == -1 && errno == EISDIR) /* @unlink some missing=EACCES,ENOENT */
		return rmdir(p); /* @rmdir none used */
	return 0;
}
static NI int remove_both(const char *p, const char *q)
{
	int rc = 0;
	rc |= unlink(p); /* @unlink all */
	rc |= unlink(q); /* @unlink all */
	rc |= rmdir(p); /* @rmdir all */
	if (rc) return -1;
	return 0;
}
static NI int move(const char *a, const char *b)
{
	if (rename(a, b) < 0) { /* @rename some missing=EACCES */
		if (errno == EXDEV) return 2;
	}
	sink++;
	return 0;
}
static NI int move_ok(const char *a, const char *b)
{
	bool ok = true;
	ok &= rename(a, b) == 0; /* @rename all */
	ok &= link(b, a) == 0; /* @link all */
	if (!ok) return -1;
	return 0;
}
static NI int links(const char *a, const char *b)
{
	link(a, b); /* @link none ignored */
	if (symlink(a, b) == 1) return 1; /* @symlink none used */
	if (symlink(b, a) != 0) return 2; /* @symlink all */
	return 0;
}
static NI long link_target(const char *p, char *buf, size_t n)
{
	ssize_t r = readlink(p, buf, n - 1); /* @readlink none used */
	buf[r] = 0;
	return r;
}
static NI long link_inval(const char *p, char *buf, size_t n)
{
	ssize_t r = readlink(p, buf, n); /* @readlink some missing=ENOENT */
	if (r < 0 && errno == EINVAL) return 0;
	return r + 2;
}
static NI long link_ok(const char *p, char *buf, ssize_t n)
{
	ssize_t r = readlink(p, buf, n); /* @readlink all */
	sink += r;
	if (r < 0 || r >= n) return -1;
	return r;
}
static NI off_t size_of(int fd)
{
	off_t end = lseek(fd, 0, SEEK_END); /* @lseek all */
	if (end == (off_t)-1) return 0;
	if (lseek(fd, 8, SEEK_SET) != 8) return 1; /* @lseek all */
	lseek(fd, 0, SEEK_SET); /* @lseek none ignored */
	return end;
}
static NI int seek_pipe(int fd)
{
	if (lseek(fd, 0, SEEK_CUR) == -1 && errno == ESPIPE) return 1; /* @lseek some missing=EBADF */
	return 0;
}
static NI int empty(int fd)
{
	return lseek(fd, 0, SEEK_END) == 0 ? 1 : 7; /* @lseek none used */
}
static NI long stat_chain(const char *p, const char *q)
{
	struct stat a, b;
	if (stat(p, &a) == 0 && lstat(q, &b) == 0 && a.st_ino == b.st_ino) return 1; /* @stat all; @lstat all */
	return 0;
}
static NI long stat_none(const char *p, int fd)
{
	struct stat a, b;
	a.st_size = b.st_size = 0;
	stat(p, &a); /* @stat none ignored */
	if (fstat(fd, &b) == 1) return 0; /* @fstat none used */
	return a.st_size + b.st_size;
}
static NI int stat_enoent(const char *p)
{
	struct stat a;
	memset(&a, 0, sizeof a);
	if (lstat(p, &a)) /* @lstat some missing=EACCES */
		if (errno == ENOENT || errno == ENOTDIR) return 0;
	return a.st_mode;
}
static NI void *map(int fd, size_t n)
{
	void *p = mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0); /* @mmap none used */
	if (p == NULL) return NULL;
	keep = p;
	return p;
}
static NI void *map_ok(int fd, size_t n)
{
	void *p = mmap(NULL, n, PROT_READ, MAP_SHARED, fd, 0); /* @mmap all */
	if (p == MAP_FAILED) return NULL;
	madvise(p, n, MADV_SEQUENTIAL); /* @madvise none ignored */
	if (msync(p, n, MS_SYNC) < 0) sink++; /* @msync all */
	return p;
}
static NI int map_some(int fd, size_t n)
{
	char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0); /* @mmap some missing=EACCES,ENODEV */
	if (p == MAP_FAILED && errno == ENOMEM) return -1;
	p[0] = 1;
	return munmap(p, n) >= 0; /* @munmap any */
}
static NI int lock(int fd)
{
	struct flock l = { .l_type = F_WRLCK };
	if (fcntl(fd, F_SETLK, &l) == -1 && (errno == EAGAIN || errno == EACCES)) /* @fcntl some missing=ENOLCK */
		return 1;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) return 2; /* @flock some missing=ENOLCK */
	return 0;
}
static NI int nonblock(int fd)
{
	int fl = fcntl(fd, F_GETFL); /* @fcntl none used */
	fcntl(fd, F_SETFL, fl | O_NONBLOCK); /* @fcntl none ignored */
	return fl;
}
static NI long space(const char *p)
{
	struct statvfs v;
	v.f_bavail = 0;
	if (statvfs(p, &v) >= 0) sink++; /* @statvfs all */
	truncate(p, 0); /* @truncate none ignored */
	chmod(p, 0600); /* @chmod none ignored */
	return v.f_bavail;
}
static NI int list(const char *p)
{
	DIR *d = opendir(p); /* @opendir all */
	struct dirent *e;
	int n = 0;
	if (!d) return -1;
	while ((e = readdir(d)) != NULL) /* @readdir all */
		n += e->d_name[0];
	closedir(d); /* @closedir none ignored */
	return n;
}
static NI int first(const char *p)
{
	DIR *d = opendir(p); /* @opendir some missing=EMFILE */
	if (d == NULL && errno == ENOENT) return 0;
	return readdir(d)->d_name[0]; /* @readdir none dereferenced/used */
}
static NI int at_chain(int d, const char *p, const char *q)
{
	bool ok = mkdirat(d, p, 0700) == 0 && fchmodat(d, p, 0600, 0) == 0; /* @mkdirat all; @fchmodat all */
	sink++;
	ok = ok && linkat(d, p, d, q, 0) == 0; /* @linkat all */
	ok = ok && !renameat(d, p, d, q) && !unlinkat(d, q, 0); /* @renameat all; @unlinkat all */
	return ok ? 0 : -1;
}
static NI int at_last(int d, const char *p)
{
	struct stat s;
	DIR *x;
	if (fstatat(d, p, &s, AT_SYMLINK_NOFOLLOW) < 0 || faccessat(d, p, R_OK, 0) < 0) /* @fstatat all; @faccessat all */
		return -1;
	if ((x = fdopendir(d)) == NULL) return -2; /* @fdopendir all */
	return dirfd(x) + s.st_nlink; /* @dirfd any */
}

int main(int argc, char **argv)
{
	char b[PATH_MAX];
	if (argc < 3) return 1;
	const char *p = argv[1], *q = argv[2];
	sink += at_chain(argc, p, q) + at_last(argc, p);
	sink += open_not(p) + open_bit(p) + open_odd(p) + open_wide(p) + open_byte(p) + open_two(p) + open_default(p);
	sink += open_excl(p) + open_enfile(p) + mkdirs(p) + mkdirs_wrong(p) + mkdir_ok(p) + remove_any(p) + remove_both(p, q);
	sink += move(p, q) + move_ok(p, q) + links(p, q) + link_target(p, b, sizeof b) + link_inval(p, b, sizeof b);
	sink += link_ok(p, b, sizeof b) + size_of(argc) + seek_pipe(argc) + empty(argc) + stat_chain(p, q) + stat_none(p, argc);
	sink += stat_enoent(p) + map_some(argc, argc * 4096) + lock(argc) + nonblock(argc) + space(p) + list(p) + first(p);
	keep = map(argc, argc * 4096);
	keep = map_ok(argc, argc * 4096);
	return 0;
}
