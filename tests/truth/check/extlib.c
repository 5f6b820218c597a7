/* SPDX-License-Identifier: Apache-2.0 */
/* flags: -fPIC */
/* link: -shared */
/* a shared library: exported functions hand results to callers outside */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <locale.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <termios.h>
#include <unistd.h>

#define NI __attribute__((noinline))
static volatile long sink;
static int l_sock;
static FILE *l_cfg;

struct h { int fd; FILE *f; char *name; struct { int rc, err; } last; };

int h_raw_open(const char *p, int fl) { return open(p, fl, 0644); } /* @open none returned */
int h_raw_close(int fd) { return close(fd); } /* @close none returned */
void *h_alloc(size_t n) { return calloc(1, n); } /* @calloc none returned */
FILE *h_stream(const char *p) { return fopen(p, "re"); } /* @fopen none returned */
ssize_t h_pull(int fd, void *b, size_t n) { sink++; return read(fd, b, n); } /* @read none returned */

int h_counted(const char *p)
{
	int rc = unlink(p); /* @unlink none returned */
	sink++;
	return rc;
}

int h_checked(const char *p)
{
	int fd = open(p, O_RDONLY); /* @open all */
	if (fd < 0) {
		sink = errno;
		return -1;
	}
	return fd;
}

int h_seek(int fd, long off)
{
	if (lseek(fd, off, SEEK_SET) == (off_t)-1) /* @lseek all */
		return -errno;
	return 0;
}

int h_gone(const char *p)
{
	int rc = rmdir(p); /* @rmdir some missing=ENOTEMPTY */
	if (rc < 0 && errno == ENOENT) return 1;
	return 0;
}

struct h *h_new(const char *p)
{
	struct h *x = malloc(sizeof *x); /* @malloc all */
	if (x == NULL) return NULL;
	x->name = strdup(p); /* @strdup none used/returned */
	x->f = NULL;
	x->fd = -1;
	return x;
}

struct h *h_new_blind(int fd)
{
	struct h *x = malloc(sizeof *x + 8); /* @malloc none dereferenced/used/returned */
	x->fd = fd;
	return x;
}

int h_open(struct h *x, const char *p)
{
	x->fd = open(p, O_RDWR | O_CLOEXEC); /* @open all */
	x->last.err = errno;
	return x->fd == -1 ? -1 : 0;
}

int h_open_blind(struct h *x, const char *p)
{
	x->fd = open(p, O_RDWR | O_SYNC); /* @open none used/returned */
	return 0;
}

int h_save(struct h *x, const char *s)
{
	if (fputs(s, x->f) == EOF) /* @fputs all */
		return -1;
	if (!fputs(s + 1, x->f)) /* @fputs none used */
		return -2;
	putc('\n', x->f); /* @putc/fputc none ignored */
	return fclose(x->f); /* @fclose none returned */
}

int h_flush(FILE *f, const char *s)
{
	fprintf(f, "v %s\n", s); /* @fprintf all */
	fputc(';', f); /* @fputc/putc all */
	fwrite(s, 1, 3, f); /* @fwrite all */
	return ferror(f) ? -1 : 0;
}

void h_init(void)
{
	l_sock = socket(AF_UNIX, SOCK_DGRAM, 0); /* @socket all */
	l_cfg = fopen("/etc/h.conf", "r"); /* @fopen all */
}

int h_ready(void)
{
	if (l_sock < 0) return 0;
	return l_cfg == NULL ? 1 : 2;
}

static NI int do_stat(const char *p, struct stat *st) { return stat(p, st); } /* @stat all */

long h_size(const char *p)
{
	struct stat st;
	if (do_stat(p, &st)) return -1;
	return st.st_size;
}

static NI int do_fstat(int fd, struct stat *st) { int r = fstat(fd, st); sink++; return r; } /* @fstat none returned */

int h_fstat(int fd, struct stat *st) { return do_fstat(fd, st); }

static NI int retry_dup(int a, int b)
{
	int r;
	do {
		r = dup2(a, b); /* @dup2 some missing=EBADF */
	} while (r == -1 && (errno == EBUSY || errno == EINTR));
	return r;
}

void h_redirect(int a) { sink = retry_dup(a, 1); }

int h_user(const char *n)
{
	struct passwd *pw = getpwnam(n); /* @getpwnam none dereferenced/used */
	return pw->pw_uid;
}

int h_group(const char *n, gid_t *g)
{
	struct group *gr = getgrnam(n); /* @getgrnam all */
	if (!gr) return -1;
	*g = gr->gr_gid;
	return 0;
}

struct passwd *h_pw(uid_t u) { return getpwuid(u); } /* @getpwuid none returned */

int h_xattr(const char *p, char *b, size_t n)
{
	ssize_t r = getxattr(p, "user.h", b, n); /* @getxattr some missing=EACCES */
	if (r < 0) {
		switch (errno) {
		case ENODATA: return 0;
		case ERANGE: return 1;
		case ENOTSUP: return 2;
		}
	}
	setxattr(p, "user.i", b, n, 0); /* @setxattr none ignored */
	return (int)r + 9;
}

int h_width(int fd)
{
	struct winsize w = { 0 };
	if (ioctl(fd, TIOCGWINSZ, &w) == -1 && errno == ENOTTY) /* @ioctl some missing=EBADF */
		return 80;
	return w.ws_col;
}

int h_raw(int fd, struct termios *save)
{
	struct termios t;
	if (tcgetattr(fd, save) != 0) /* @tcgetattr all */
		return -1;
	t = *save;
	t.c_lflag &= ~ECHO;
	tcsetattr(fd, TCSANOW, &t); /* @tcsetattr none ignored */
	return 0;
}

int h_env(const char *k, const char *v)
{
	setenv(k, v, 1); /* @setenv none ignored */
	if (setenv(v, k, 0) < 0 && errno == EINVAL) /* @setenv some missing=ENOMEM */
		return -1;
	return unsetenv(k); /* @unsetenv none returned */
}

int h_reap(void)
{
	int st, n = 0;
	while (waitpid(-1, &st, WNOHANG) > 0) /* @waitpid all */
		n++;
	return n;
}

int h_wait(pid_t p)
{
	int st = 0;
	waitpid(p, &st, 0); /* @waitpid none ignored */
	return WEXITSTATUS(st);
}

int h_names(const char *p, struct dirent ***v)
{
	int n = scandir(p, v, NULL, alphasort); /* @scandir all */
	if (n < 0) return errno == ENOENT ? 0 : -1;
	return n;
}

int h_first(const char *p)
{
	struct dirent **v = NULL;
	int n = scandir(p, &v, NULL, NULL); /* @scandir none used */
	sink = n;
	return v[0]->d_type;
}

void *h_map(int fd, size_t n) { return mmap(NULL, n, PROT_READ, MAP_SHARED, fd, 0); } /* @mmap none returned */

int h_unmap(void *p, size_t n)
{
	if (munmap(p, n) == 1) /* @munmap none used */
		return -1;
	return 0;
}

locale_t h_locale(const char *n)
{
	locale_t l = newlocale(LC_ALL_MASK, n, (locale_t)0); /* @newlocale all */
	if (l == (locale_t)0)
		sink = errno;
	return l;
}

int h_own(const char *p, int fd)
{
	if (chown(p, 0, 0) < 0) { /* @chown some missing=ENOENT */
		if (errno == EPERM) return 1;
	}
	if (fchmod(fd, 0600) || fchown(fd, 1, 1)) /* @fchmod all; @fchown all */
		return 2;
	lchown(p, 2, 2); /* @lchown none ignored */
	return 0;
}

int h_fifo(const char *p)
{
	int rc = mkfifo(p, 0600); /* @mkfifo all */
	if (rc == -1 && errno != EEXIST) return -1;
	if (mkfifo(p, 0644) && (errno == EROFS || errno == EACCES)) /* @mkfifo some missing=ENOSPC */
		return -2;
	return mknod(p, S_IFREG, 0) >= 0 ? 0 : -3; /* @mknod all */
}

int h_signal(int s)
{
	if (signal(s, SIG_IGN) == SIG_ERR) /* @signal all */
		return -1;
	return raise(s); /* @raise any */
}

FILE *h_fdopen(int fd)
{
	FILE *f = fdopen(fd, "w"); /* @fdopen all */
	if (!f)
		close(fd); /* @close none ignored */
	return f;
}

int h_mem(char *b, size_t n, const char *p)
{
	FILE *f = fmemopen(b, n, "w"); /* @fmemopen all */
	if (f == NULL) return -1;
	if (freopen(p, "r", stdin) == NULL) /* @freopen all */
		return -2;
	if (fflush(f) || fclose(f)) /* @fflush all; @fclose all */
		return -3;
	return dprintf(1, "%s %zu\n", p, n) < 0 ? -4 : 0; /* @dprintf all */
}
