/* SPDX-License-Identifier: Apache-2.0 */
/* flags: -D_FORTIFY_SOURCE=2 -Wno-cpp */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wchar.h>

#define NI __attribute__((noinline))
static volatile long sink;
static void *volatile keep;

static NI int rd_all(int fd, size_t n)
{
	char b[128];
	ssize_t r = read(fd, b, n); /* @read all */
	if (r == -1) return -1;
	return b[r & 127];
}

static NI int rd_eof(int fd, size_t n)
{
	char b[128];
	ssize_t r = read(fd, b, n); /* @read none used */
	if (r == 0) return -1;
	return b[r & 127];
}

static NI int rd_again(int fd, size_t n)
{
	char b[128] = "";
	ssize_t r = read(fd, b, n); /* @read some missing=EIO */
	if (r < 0) {
		if (errno == EAGAIN) return -1;
		else if (errno == EINTR) return -2;
	}
	sink += r;
	return b[0];
}

static NI int rd_header(int fd)
{
	struct { int magic, len; } h;
	if (read(fd, &h, sizeof h) == sizeof h) return h.len; /* @read all */
	return -1;
}

static NI int rd_short(int fd)
{
	char h[16] = "";
	if (read(fd, h, sizeof h) < sizeof h) return -1; /* @read none used */
	return h[3];
}

static NI int rd_spin(int fd)
{
	char c;
	int n = 0;
	while (read(fd, &c, 1)) /* @read none used */
		n++;
	return n;
}

static NI int rd_ign(int fd, size_t n)
{
	char b[64] = "";
	read(fd, b, n); /* @read none ignored */
	return b[0];
}

static NI int pr_at(int fd, size_t n, off_t o)
{
	char b[64] = "";
	if (pread(fd, b, n, o) != (ssize_t)n) return -1; /* @pread all */
	return b[0];
}

static NI int pr_some(int fd, size_t n, off_t o)
{
	char b[64] = "";
	ssize_t r = pread(fd, b, n, o); /* @pread some missing=EIO */
	if (r < 0 && errno == ESPIPE) return -1;
	return b[0] + (int)r;
}

static NI int pw_at(int fd, const char *s, off_t o)
{
	if (!pwrite(fd, s, strlen(s), o)) return -1; /* @pwrite none used */
	if (pwrite(fd, s, 1, o + 1) != 1) return -2; /* @pwrite all */
	return 0;
}

static NI int op_flags(const char *p, int fl)
{
	int fd = open(p, fl & ~O_CREAT); /* @open all */
	if (fd <= -1) return 0;
	sink = fd;
	return 1;
}

static NI int op_at(int d, const char *p, int fl)
{
	int fd = openat(d, p, fl & O_RDWR); /* @openat some missing=EMFILE */
	if (fd == -1) {
		int e = errno;
		if (e == ENOENT || e == ENOTDIR || e == ELOOP) return e;
	}
	sink = fd;
	return 0;
}

static NI int cwd_none(void)
{
	char b[PATH_MAX] = "";
	getcwd(b, sizeof b); /* @getcwd none ignored */
	return b[0];
}

static NI int cwd_all(size_t n)
{
	char b[512];
	if (!getcwd(b, n)) return errno == ERANGE; /* @getcwd all */
	return b[0];
}

static NI int cwd_range(size_t n)
{
	char b[512] = "";
	if (getcwd(b, n) == NULL && errno == ERANGE) return -1; /* @getcwd some missing=ENOENT */
	return b[1];
}

static NI int rp_deref(const char *p)
{
	char *r = realpath(p, NULL); /* @realpath none dereferenced/used */
	int c = r[1];
	free(r);
	return c;
}

static NI int rp_len(const char *p)
{
	char *r = realpath(p, NULL); /* @realpath none dereferenced/used */
	keep = r;
	return strlen(r);
}

static NI int rp_some(const char *p)
{
	char b[PATH_MAX] = "";
	char *r = realpath(p, b); /* @realpath some missing=EACCES */
	if (!r) {
		switch (errno) {
		case ENOENT: return 1;
		case ELOOP: return 2;
		}
	}
	return b[0];
}

static NI int fg_loop(FILE *f)
{
	char b[80];
	int n = 0;
	while (fgets(b, sizeof b, f)) /* @fgets all */
		n += b[0];
	if (ferror(f))
		n = -1;
	return n;
}

static NI int fg_none(FILE *f, int n)
{
	char b[80] = "";
	fgets(b, n, f); /* @fgets none ignored */
	return b[0];
}

static NI int fr_one(FILE *f, size_t n)
{
	char b[256];
	if (fread(b, n, 1, f) != 1) return -1; /* @fread all */
	return b[2];
}

static NI int fr_neg(FILE *f, size_t n)
{
	char b[256] = "";
	if ((long)fread(b, n, 1, f) < 0) return -1; /* @fread none used */
	return b[2];
}
static NI int fr_ferror(FILE *f, size_t n)
{
	char b[256] = "";
	fread(b, 1, n, f); /* @fread all */
	if (ferror(f)) return -1;
	return b[0];
}
static NI int emit(FILE *f, const char *s, int n)
{
	fprintf(f, "%s=%d\n", s, n); /* @fprintf all */
	fputs(s, f); /* @fputs all */
	if (ferror(f)) return -1;
	return 0;
}
static NI int emit_blind(FILE *f, const char *s, int n)
{
	fprintf(f, "%s:%d\n", s, n); /* @fprintf none ignored */
	if (fprintf(f, "%d %s\n", n, s)) sink++; /* @fprintf none used */
	return fclose(f) == EOF ? -1 : 0; /* @fclose all */
}
static NI int emit_ok(FILE *f, const char *s, int n)
{
	int a = fprintf(f, "<%s %d>", s, n); /* @fprintf all */
	int b = printf("%s %d\n", s, n); /* @printf all */
	if (a < 0 || b < 0) return -1;
	return 0;
}
static NI int fmt(const char *s, int n)
{
	char *o = NULL;
	if (asprintf(&o, "%s/%d", s, n) == -1) return -1; /* @asprintf all */
	n = o[0];
	free(o);
	return n;
}
static NI int fmt_blind(const char *s, int n)
{
	char *o;
	asprintf(&o, "%s-%d", s, n); /* @asprintf none ignored */
	n = o[1];
	free(o);
	return n;
}
static NI int rl(const char *p, size_t n)
{
	char b[100] = "";
	ssize_t r = readlink(p, b, n); /* @readlink all */
	if (r != -1)
		b[r] = 0;
	return b[0];
}
static NI int rcv(int fd, size_t n)
{
	char b[100] = "";
	int r = recv(fd, b, n, 0); /* @recv some missing=ECONNREFUSED */
	if (r < 0 && (errno == EAGAIN || errno == ETIMEDOUT)) return 0;
	return b[0] + r;
}
static NI int pl(struct pollfd *v, int n)
{
	int r = poll(v, n, 5); /* @poll all */
	if (r < 0 && errno != EINTR) return -1;
	return v[0].revents;
}
static NI int wide(const char *s, size_t n)
{
	wchar_t w[32] = L"";
	if (mbstowcs(w, s, n) == (size_t)-1) return -1; /* @mbstowcs all */
	if (mbstowcs(w, s, n + 1) <= 0) return -2; /* @mbstowcs none used */
	return w[0];
}
static NI int host(size_t n)
{
	char b[65] = "";
	gethostname(b, n); /* @gethostname none ignored */
	if (gethostname(b, n + 1) != 0) /* @gethostname all */
		b[0] = '?';
	return b[0];
}
static NI int tty(int fd, size_t n)
{
	char b[64] = "";
	if (ttyname_r(fd, b, n) < 0) return -1; /* @ttyname_r none used */
	if (ttyname_r(fd, b, n + 1) == ERANGE) return -2; /* @ttyname_r some missing=ENOTTY */
	return b[0];
}
static NI int more(const char *p, size_t n)
{
	char b[64] = "";
	wchar_t w[16] = L"ab";
	if (readlinkat(AT_FDCWD, p, b, n) < 0) return -1; /* @readlinkat all */
	if (wcstombs(b, w, n) == (size_t)-1) return -2; /* @wcstombs all */
	return fputs(b, stdout) < 0 ? -3 : b[0]; /* @fputs all */
}
static NI int login(size_t n)
{
	char b[64] = "", d[32] = "";
	if (getlogin_r(b, n) != 0) return -1; /* @getlogin_r all */
	if (getdomainname(d, n) == -1) return -2; /* @getdomainname all */
	return b[0] + d[0];
}
static NI int rcv_from(int fd, size_t n)
{
	char b[64];
	ssize_t r = recvfrom(fd, b, n, MSG_PEEK, NULL, NULL); /* @recvfrom all */
	if (r >= 1 && r <= 64) return b[r - 1];
	return -1;
}

int main(int argc, char **argv)
{
	struct pollfd v[4] = { { 0, POLLIN, 0 } };
	const char *p = argc > 1 ? argv[1] : "/";
	sink += more(p, argc) + login(argc) + rcv_from(0, argc);
	sink += rd_all(0, argc) + rd_eof(0, argc) + rd_again(0, argc) + rd_header(0) + rd_short(0) + rd_spin(0) + rd_ign(0, argc);
	sink += pr_at(0, argc, 3) + pr_some(0, argc, 3) + pw_at(1, p, argc) + op_flags(p, argc) + op_at(AT_FDCWD, p, argc) + cwd_none();
	sink += cwd_all(argc) + cwd_range(argc) + rp_deref(p) + rp_len(p) + rp_some(p) + fg_loop(stdin) + fg_none(stdin, argc);
	sink += fr_one(stdin, argc) + fr_neg(stdin, argc) + fr_ferror(stdin, argc) + emit(stdout, p, argc) + emit_ok(stderr, p, argc);
	sink += fmt(p, argc) + fmt_blind(p, argc) + rl(p, argc) + rcv(0, argc) + pl(v, argc & 3) + wide(p, argc) + host(argc) + tty(0, argc);
	return emit_blind(stdout, p, argc);
}
