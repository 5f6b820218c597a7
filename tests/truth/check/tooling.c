/* SPDX-License-Identifier: Apache-2.0 */
/* flags: -D_FILE_OFFSET_BITS=64 */
/* an archive-like tool: streams, temporary files, numbers, times */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define NI __attribute__((noinline))
static volatile long sink;
static void *volatile keep;
static FILE *g_log;
static int g_lock = -1, g_fds[8];

static NI void init_log(const char *p) { g_log = fopen(p, "a"); } /* @fopen all */
static NI void init_lock(const char *p) { g_lock = open(p, O_RDWR | O_CREAT, 0600); } /* @open all */
static NI int logging(const char *s)
{
	if (!g_log) return 0;
	fputs(s, g_log); /* @fputs none ignored */
	return fflush(g_log) == EOF ? -1 : 1; /* @fflush all */
}

static NI int locked(void)
{
	if (g_lock == -1)
		errx(1, "no lock");
	return lockf(g_lock, F_TLOCK, 0) < 0 && errno == EAGAIN ? 1 : 0; /* @lockf some missing=ENOLCK */
}

static NI void open_many(char **v, int n)
{
	for (int i = 0; i < n && i < 8; i++)
		g_fds[i] = open(v[i], O_RDONLY); /* @open all */
}

static NI int count_open(int n)
{
	int c = 0;
	for (int i = 0; i < n && i < 8; i++)
		if (g_fds[i] >= 0)
			c++;
	return c;
}

static NI int arr_const(const char *p)
{
	int rc[3];
	rc[0] = unlink(p); /* @unlink all */
	rc[1] = rmdir(p); /* @rmdir none used */
	rc[2] = mkdir(p, 0750); /* @mkdir all */
	sink = rc[1];
	if (rc[0] < 0) return 1;
	return rc[2] == 0 ? 0 : 2;
}

static NI int f_some(const char *p)
{
	FILE *f = fopen(p, "r"); /* @fopen some missing=EACCES */
	if (f == NULL) {
		if (errno == ENOENT) return 0;
	}
	return getc(f); /* @getc none used */
}

static NI int f_deref(const char *p)
{
	FILE *f = fopen(p, "rb"); /* @fopen none used/dereferenced */
	int c = fgetc(f); /* @fgetc/getc all */
	if (c == EOF)
		c = 0;
	fclose(f); /* @fclose none ignored */
	return c;
}

static NI int f_msg(const char *p)
{
	FILE *f = fopen(p, "w"); /* @fopen all */
	if (!f)
		warn("%s", p);
	keep = f;
	return 0;
}

static NI int f_chars(FILE *f)
{
	unsigned char c;
	int n = 0;
	while ((c = getc(f)) != '\n' && n < 100) /* @getc none used */
		n += c;
	return n;
}

static NI int f_words(FILE *f)
{
	int c, n = 0;
	while ((c = getc(f)) != EOF) /* @getc all */
		n += c == ' ';
	return n;
}

static NI int f_line(FILE *f)
{
	char *l = NULL;
	size_t cap = 0;
	int n = 0;
	while (getline(&l, &cap, f) > 0) /* @getline/__getdelim/getdelim all */
		n += l[0];
	free(l);
	return n;
}

static NI int f_line_blind(FILE *f)
{
	char *l = NULL;
	size_t cap = 0, n = getline(&l, &cap, f); /* @getline/__getdelim/getdelim none used */
	sink += n;
	keep = l;
	return 0;
}

static NI long f_size(FILE *f)
{
	if (fseek(f, 0, SEEK_END) != 0) return -1; /* @fseek all */
	off_t o = ftello(f); /* @ftello all */
	if (o < 0) return -1;
	fseeko(f, 0, SEEK_SET); /* @fseeko none ignored */
	return o;
}

static NI long f_tell_blind(FILE *f)
{
	fseek(f, 4, SEEK_CUR); /* @fseek none ignored */
	return ftell(f) * 2; /* @ftell none used */
}

static NI int f_write(FILE *f, const void *b, size_t n)
{
	bool ok = fwrite(b, n, 1, f) == 1; /* @fwrite all */
	sink++;
	if (!ok) return -1;
	fwrite(b, 1, n, f); /* @fwrite none ignored */
	return fsync(fileno(f)) < 0 && errno != EINVAL ? -1 : 0; /* @fileno any; @fsync all */
}

static NI int tmp_name(void)
{
	char t[] = "/tmp/xXXXXXX";
	int fd = mkstemp(t); /* @mkstemp all */
	if (fd < 0) return -1;
	unlink(t); /* @unlink none ignored */
	if (ftruncate(fd, 100) == -1 && errno == EFBIG) return -2; /* @ftruncate some missing=EIO */
	return fd;
}

static NI int tmp_dir(void)
{
	char t[] = "/tmp/dXXXXXX", u[] = "/tmp/eXXXXXX";
	mkdtemp(t); /* @mkdtemp none ignored */
	if (mkdtemp(u) == NULL) return 0; /* @mkdtemp all */
	return t[5] + u[5];
}

static NI int tmp_stream(void)
{
	return fileno(tmpfile()); /* @tmpfile none dereferenced/used; @fileno any */
}

static NI long num(const char *s)
{
	long v;
	errno = 0;
	v = strtol(s, NULL, 10); /* @strtol all */
	if (errno)
		return -1;
	return v;
}

static NI long num_blind(const char *s)
{
	return strtoul(s, NULL, 16) + strtol(s, NULL, 8); /* @strtoul none used; @strtol none used */
}

static NI double num_d(const char *s)
{
	errno = 0;
	double d = strtod(s, NULL); /* @strtod all */
	return errno != 0 ? -1.0 : d;
}

static NI int scan(const char *s)
{
	int a = 0, b = 0;
	if (sscanf(s, "%d,%d", &a, &b) != 2) /* @sscanf all */
		return -1;
	sscanf(s, "%x", &b); /* @sscanf none ignored */
	return a + b;
}

static NI int scan_file(FILE *f)
{
	int a, n = 0;
	while (fscanf(f, "%d", &a) == 1) /* @fscanf all */
		n += a;
	return n;
}

static NI int nap(int n)
{
	struct timespec t = { n, 0 };
	while (nanosleep(&t, &t) == -1 && errno == EINTR) /* @nanosleep some missing=EINVAL */
		;
	nanosleep(&t, NULL); /* @nanosleep none ignored */
	return 0;
}

static NI long now(int id)
{
	struct timespec t = { 0, 0 };
	if (clock_gettime(id, &t)) /* @clock_gettime all */
		return 0;
	clock_gettime(id + 1, &t); /* @clock_gettime none ignored */
	return t.tv_sec;
}

static NI int touch(const char *p)
{
	int rc = utimensat(AT_FDCWD, p, NULL, 0); /* @utimensat some missing=EACCES */
	int e = errno;
	sink++;
	if (rc && e == ENOENT)
		return 1;
	return utimes(p, NULL) > 0; /* @utimes none used */
}

static NI int copy(int a, int b)
{
	off_t o = 0;
	ssize_t n;
	while ((n = sendfile(a, b, &o, 4096)) > 0) /* @sendfile all */
		sink += n;
	n = copy_file_range(a, NULL, b, NULL, 4096, 0); /* @copy_file_range some missing=EIO */
	if (n < 0)
		switch (errno) {
		case EXDEV:
		case ENOSYS:
		case EINVAL:
			return 1;
		}
	sink += n;
	return 0;
}

static NI int prealloc(int fd, off_t n)
{
	int rc = posix_fallocate(fd, 0, n); /* @posix_fallocate some missing=EFBIG,EIO */
	if (rc == ENOSPC)
		return -1;
	if (posix_fallocate(fd, n, 10) < 0) /* @posix_fallocate none used */
		return -2;
	return posix_fadvise(fd, 0, n, POSIX_FADV_DONTNEED) == EBADF ? -3 : 0; /* @posix_fadvise some missing=ESPIPE */
}

static NI int limits(rlim_t n)
{
	struct rlimit r = { n, n };
	if (setrlimit(RLIMIT_NOFILE, &r) < 0 && errno == EPERM) /* @setrlimit some missing=EINVAL */
		return 1;
	errno = 0;
	int p = getpriority(PRIO_PROCESS, n); /* @getpriority all */
	if (p == -1 && errno != 0)
		return 2;
	setpriority(PRIO_PROCESS, n, p + 1); /* @setpriority none ignored */
	return 0;
}

static NI int pipes(const char *cmd)
{
	FILE *f = popen(cmd, "r"); /* @popen all */
	if (f == NULL)
		return -1;
	sink += fgetc(f); /* @fgetc/getc none used */
	pclose(f); /* @pclose none ignored */
	system(cmd); /* @system none ignored */
	return system(cmd + 1) != 0 ? 1 : 0; /* @system all */
}

int main(int argc, char **argv)
{
	const char *p = argc > 1 ? argv[1] : "x";
	init_log(p);
	init_lock(p);
	open_many(argv, argc);
	sink += logging(p) + locked() + count_open(argc) + arr_const(p) + f_some(p) + f_deref(p) + f_msg(p) + f_chars(stdin);
	sink += f_words(stdin) + f_line(stdin) + f_line_blind(stdin) + f_size(stdin) + f_tell_blind(stdin) + f_write(stdout, p, argc);
	sink += tmp_name() + tmp_dir() + tmp_stream() + num(p) + num_blind(p) + num_d(p) + scan(p) + scan_file(stdin) + nap(argc);
	sink += now(argc) + touch(p) + copy(argc, 1) + prealloc(argc, argc) + limits(argc) + pipes(p);
	return 0;
}
