/* SPDX-License-Identifier: Apache-2.0 */
/* flags: -fcf-protection=full -fstack-protector-strong */
/* wrappers, tables, callbacks, contexts */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NI __attribute__((noinline))
static volatile long sink;
static void *volatile keep;

static void *xmalloc(size_t n)
{
	void *p = malloc(n); /* @malloc all */
	if (!p)
		abort();
	return p;
}

static NI char *xstrdup(const char *s)
{
	char *p = strdup(s); /* @strdup all */
	return p ? p : (fputs("memory\n", stderr), exit(1), NULL); /* @fputs/fwrite none ignored */
}

static NI void *xrealloc(void *o, size_t n)
{
	void *p = realloc(o, n); /* @realloc all */
	assert(p != NULL);
	return p;
}

static ssize_t read_eintr(int fd, void *b, size_t n)
{
	ssize_t r;
	do
		r = read(fd, b, n); /* @read all */
	while (r < 0 && errno == EINTR);
	return r;
}

static NI int use_read_eintr(int fd)
{
	char b[32];
	ssize_t r = read_eintr(fd, b, sizeof b);
	if (r <= 0) return -1;
	return b[r - 1];
}

static NI ssize_t write_eintr(int fd, const void *b, size_t n)
{
	ssize_t r;
	while ((r = write(fd, b, n)) == -1 && errno == EINTR) /* @write some missing=ENOSPC */
		continue;
	return r;
}

static NI int use_write_eintr(int fd, const char *s)
{
	sink += write_eintr(fd, s, strlen(s));
	return 0;
}

static NI bool can_read(const char *p)
{
	return access(p, R_OK) == 0; /* @access all */
}

static NI bool can_write(const char *p)
{
	if (access(p, W_OK) == 1) return false; /* @access none used */
	return true;
}

static NI int neg_open(const char *p)
{
	int fd = open(p, O_RDONLY); /* @open all */
	if (fd < 0) return -errno;
	return fd;
}

static NI int neg_close(int fd)
{
	return close(fd) ? -errno : 0; /* @close all */
}

enum st { ST_OK, ST_IO, ST_GONE };

static NI enum st en_unlink(const char *p)
{
	if (unlink(p) == 0) return ST_OK; /* @unlink all */
	return errno == ENOENT ? ST_GONE : ST_IO;
}

static NI enum st en_rmdir(const char *p)
{
	if (rmdir(p) != 0 && errno == ENOENT) return ST_GONE; /* @rmdir some missing=ENOTEMPTY */
	return ST_OK;
}

struct ctx { int fd; struct { int last; FILE *f; } in; char *name; };

static NI void ctx_open(struct ctx *c, const char *p)
{
	c->fd = open(p, O_RDWR); /* @open all */
	c->in.f = fopen(p, "r"); /* @fopen all */
	c->in.last = chdir(p); /* @chdir all */
	c->name = strndup(p, 8); /* @strndup none used */
}

static NI int ctx_use(struct ctx *c)
{
	if (c->fd < 0) return -1;
	if (c->in.f == NULL) return -2;
	if (c->in.last) return -3;
	keep = c->name;
	return 0;
}

static NI int ctx_all(const char *p)
{
	struct ctx c;
	ctx_open(&c, p);
	return ctx_use(&c);
}

static int lvl1(const char *p, mode_t m) { return mkdir(p, m); } /* @mkdir all */
static NI int lvl2(const char *p, mode_t m) { return lvl1(p, m | 0100); }
static NI int lvl3(const char *p, int n) { int r = lvl2(p, n); sink++; return r; }
static NI int use_lvl3(const char *p, int n)
{
	if (lvl3(p, n) == -1) return 1;
	return 0;
}

static int low1(int fd) { return fsync(fd); } /* @fsync none ignored */
static NI int low2(int fd) { return low1(fd); }
static NI void use_low(int fd) { low2(fd); sink++; }

/* one caller looks, the other does not */
static NI int shared_dup(int fd) { int r = dup(fd); sink++; return r; } /* @dup some */
static NI int dup_looks(int fd) { return shared_dup(fd) < 0 ? 1 : 2; }
static NI void dup_blind(int fd) { sink = shared_dup(fd + 1); }
static NI int out_open(const char *p, int *fd)
{
	*fd = open(p, O_RDONLY | O_CLOEXEC); /* @open all */
	return 0;
}

static NI int use_out(const char *p)
{
	int fd;
	out_open(p, &fd);
	return fd == -1 ? 4 : 0;
}

static NI int out_blind(const char *p, int *fd)
{
	*fd = creat(p, 0644); /* @creat none used */
	return 0;
}
static NI int use_blind(const char *p)
{
	int fd;
	out_blind(p, &fd);
	sink = fd;
	return 0;
}

struct res { int rc; int err; };

static NI struct res by_value(const char *p)
{
	struct res r;
	r.rc = chmod(p, 0640); /* @chmod all */
	r.err = errno;
	return r;
}
static NI int use_by_value(const char *p)
{
	struct res r = by_value(p);
	return r.rc < 0 ? r.err : 0;
}
static NI struct res by_value_some(const char *p)
{
	struct res r = { 0, 0 };
	r.rc = truncate(p, 10); /* @truncate some missing=EACCES */
	r.err = errno;
	return r;
}
static NI int use_by_value_some(const char *p)
{
	struct res r = by_value_some(p);
	if (r.rc == -1 && r.err == ENOENT) return 1;
	return 0;
}

struct ops { int (*rm)(const char *); int (*mk)(const char *, mode_t); int (*op)(const char *); };
static int op_open(const char *p) { int fd = open(p, O_WRONLY); sink++; return fd; } /* @open all */
static int op_blind(const char *p) { sink = open(p, O_WRONLY | O_TRUNC); return 0; } /* @open none used */
static const struct ops good = { unlink, mkdir, op_open }, poor = { rmdir, mkdir, op_blind };

static NI int run_ops(const struct ops *o, const char *p)
{
	if (o->op(p) < 0) return 1;
	return 0;
}
static NI int local_ptr(const char *p)
{
	int (*fn)(const char *) = unlink;
	if (fn(p) < 0) return 1; /* @unlink all */
	return 0;
}
static NI void local_ptr_blind(int fd)
{
	int (*fn)(int) = fdatasync;
	fn(fd); /* @fdatasync none ignored */
	sink++;
}
static NI int const_table(const char *p)
{
	if (good.mk(p, 0700)) return 1; /* @mkdir? all */
	poor.rm(p); /* @rmdir? none ignored */
	return 0;
}
static int visit(const char *p, const struct stat *st, int type, struct FTW *f)
{
	(void)st, (void)f;
	if (type == FTW_DP)
		return rmdir(p); /* @rmdir any */
	if (unlink(p)) sink++; /* @unlink all */
	chmod(p, 0); /* @chmod none ignored */
	return 0;
}
static NI int tree(const char *p)
{
	if (nftw(p, visit, 8, FTW_DEPTH) != 0) return -1; /* @nftw all */
	nftw(p, visit, 4, FTW_PHYS); /* @nftw none ignored */
	return 0;
}
static int by_size(const void *a, const void *b)
{
	struct stat x, y;
	x.st_size = y.st_size = 0;
	if (stat(*(char *const *)a, &x) < 0) return -1; /* @stat all */
	stat(*(char *const *)b, &y); /* @stat none ignored */
	return (x.st_size > y.st_size) - (x.st_size < y.st_size);
}
static NI int tail_rename(const char *a, const char *b) { return rename(a, b); } /* @rename all */
static NI int tail_link(const char *a, const char *b) { return link(a, b); } /* @link none used */
static NI FILE *tail_tmp(void) { return tmpfile(); } /* @tmpfile all */

struct io { ssize_t (*rd)(int, void *, size_t); int (*sy)(int); };
static NI void io_set(struct io *o) { o->rd = read; o->sy = fsync; }
static NI int io_run(struct io *o, int fd, const char *p)
{
	char b[8] = "";
	sink += p[0];
	if (o->rd(fd, b, sizeof b) < 0) return -1; /* @read? all */
	o->sy(fd); /* @fsync? none ignored */
	return b[0];
}
static NI struct ctx *heap_new(const char *p)
{
	struct ctx *c = calloc(1, sizeof *c + 16); /* @calloc all */
	if (c) c->in.f = fopen(p, "r+"); /* @fopen all */
	return c;
}
static NI int heap_run(const char *p)
{
	struct ctx *c = heap_new(p);
	if (!c) return -1;
	keep = c;
	if (c->in.f) return 1;
	return 0;
}
static NI int pick(const char *p, int n)
{
	int r = n > 2 ? mkdir(p, 0711) : chmod(p, 0711); /* @mkdir all; @chmod all */
	sink++;
	return r;
}
static NI int pick_run(const char *p, int n) { return pick(p, n) ? 5 : 6; }

int main(int argc, char **argv)
{
	if (argc < 3) return 1;
	const char *p = argv[1], *q = argv[2];
	int fd = neg_open(p);
	char *m = xmalloc(argc);
	keep = m;
	keep = xrealloc(m, argc * 2);
	keep = xstrdup(p);
	if (fd < 0) return 2;
	static struct io io;
	io_set(&io);
	sink += io_run(&io, fd, p) + heap_run(p) + pick_run(p, argc);
	sink += use_read_eintr(fd) + use_write_eintr(fd, p);
	if (!can_read(p) || !can_write(q)) sink++;
	if (en_unlink(p) != ST_OK || en_rmdir(q) == ST_GONE) sink++;
	sink += ctx_all(p) + use_lvl3(p, argc) + dup_looks(fd) + use_out(p) + use_blind(p) + use_by_value(p);
	sink += use_by_value_some(p) + run_ops(argc > 4 ? &good : &poor, p) + local_ptr(p) + const_table(p) + tree(p);
	use_low(fd);
	dup_blind(fd);
	local_ptr_blind(fd);
	qsort(argv, argc, sizeof *argv, by_size);
	if (tail_rename(p, q) != 0) return 3;
	sink = tail_link(p, q);
	if (!tail_tmp()) return 4;
	return neg_close(fd) < 0;
}
