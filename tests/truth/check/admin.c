/* SPDX-License-Identifier: Apache-2.0 */
/* users, terminals, locale, modules; values on odd ways through memory */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <langinfo.h>
#include <locale.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <syslog.h>
#include <termios.h>
#include <unistd.h>

#define NI __attribute__((noinline))
static volatile long sink;
static void *volatile keep;
static struct { struct { int fd; pid_t pid; } tty; int rc; } st;

static NI int drop(uid_t u, gid_t g)
{
	if (setgid(g) != 0 || setuid(u) != 0) /* @setgid all; @setuid all */
		abort();
	seteuid(u); /* @seteuid none ignored */
	if (setegid(g) > 0) return 1; /* @setegid none used */
	return 0;
}

static NI int drop_eperm(uid_t u, const char *n)
{
	if (setuid(u) == -1 && errno == EPERM) return 1; /* @setuid some missing=EAGAIN */
	if (initgroups(n, u) < 0) /* @initgroups some missing=ENOMEM */
		if (errno == EPERM) return 2;
	return 0;
}

static NI int groups(gid_t *v, int n)
{
	int k = getgroups(n, v); /* @getgroups none used */
	v[k] = 0;
	k = getgroups(n, v); /* @getgroups all */
	if (k == -1) return -1;
	if (setgroups(k, v) == -1) { /* @setgroups all */
		int e = errno;
		if (e != EPERM) return -2;
	}
	return k;
}

static NI long uid_of(const char *n)
{
	struct passwd *p = getpwnam(n); /* @getpwnam all */
	if (p) return p->pw_uid;
	return -1;
}

static NI const char *home_of(uid_t u)
{
	return getpwuid(u)->pw_dir; /* @getpwuid none dereferenced/used */
}

static NI int gid_maybe(gid_t g, bool want)
{
	struct group *gr = getgrgid(g); /* @getgrgid none dereferenced/used */
	if (want) return gr->gr_name[0];
	return 0;
}

static NI long uid_r(const char *n, char *b, size_t len)
{
	struct passwd pw, *res = NULL;
	int rc = getpwnam_r(n, &pw, b, len, &res); /* @getpwnam_r all */
	if (rc != 0) return -rc;
	return pw.pw_uid;
}

static NI long gid_r(const char *n, char *b, size_t len)
{
	struct group gr, *res = NULL;
	gr.gr_gid = 0;
	int rc = getgrnam_r(n, &gr, b, len, &res); /* @getgrnam_r some missing=EMFILE */
	if (rc == ERANGE) return -1;
	return gr.gr_gid;
}

static NI void tty_open(const char *p)
{
	st.tty.fd = open(p, O_RDWR | O_NOCTTY); /* @open all */
	st.tty.pid = fork(); /* @fork all */
	st.rc = setsid(); /* @setsid none used */
}

static NI int tty_use(void)
{
	if (st.tty.fd == -1)
		return -1;
	if (st.tty.pid < 0)
		return -2;
	sink = st.rc;
	return 0;
}

static NI int tty_mode(int fd)
{
	struct termios t;
	memset(&t, 0, sizeof t);
	if (tcgetattr(fd, &t) < 0 && errno == ENOTTY) /* @tcgetattr some missing=EBADF */
		return 0;
	t.c_iflag = 0;
	if (tcsetattr(fd + 1, TCSAFLUSH, &t) == -1) /* @tcsetattr all */
		return -1;
	tcflush(fd, TCIOFLUSH); /* @tcflush none ignored */
	return tcdrain(fd) ? -2 : 1; /* @tcdrain all */
}

static NI int tty_name(int fd)
{
	char *n = ttyname(fd); /* @ttyname none used/dereferenced */
	sink += strlen(n);
	n = ctermid(NULL); /* @ctermid any */
	return n[0];
}

static NI int tty_pgrp(int fd, pid_t g)
{
	pid_t cur = tcgetpgrp(fd); /* @tcgetpgrp all */
	if (cur != g)
		return 1;
	tcsetpgrp(fd, g); /* @tcsetpgrp none ignored */
	return setpgid(g, g) < 0 && errno != EACCES ? -1 : 0; /* @setpgid all */
}

static NI int pty(void)
{
	int m = posix_openpt(O_RDWR); /* @posix_openpt all */
	if (m < 0)
		return -1;
	if (grantpt(m) == -1 || unlockpt(m) == -1) /* @grantpt all; @unlockpt all */
		return -2;
	return open(ptsname(m), O_RDWR); /* @ptsname none used/dereferenced; @open none used */
}

static NI int mod_ok(const char *p)
{
	void *h = dlopen(p, RTLD_NOW); /* @dlopen all */
	int (*f)(int);
	if (h == NULL)
		return -1;
	f = (int (*)(int))dlsym(h, "init"); /* @dlsym all */
	if (!f) {
		dlclose(h); /* @dlclose none ignored */
		return -2;
	}
	return f(1);
}

static NI int mod_blind(const char *p)
{
	void *h = dlopen(p, RTLD_LAZY); /* @dlopen none used */
	void (*f)(void) = (void (*)(void))dlsym(h, "fini"); /* @dlsym none used/dereferenced */
	f();
	return 0;
}

static NI int loc(const char *n)
{
	if (setlocale(LC_ALL, n) == NULL) /* @setlocale all */
		sink++;
	locale_t l = newlocale(LC_CTYPE_MASK, n, (locale_t)0); /* @newlocale none used/dereferenced */
	uselocale(l); /* @uselocale any */
	l = duplocale(l); /* @duplocale none used */
	keep = l;
	return 0;
}

static NI void handler(int s) { sink = s; }

static NI int sig(int s)
{
	struct sigaction sa;
	memset(&sa, 0, sizeof sa);
	sa.sa_handler = handler;
	if (sigaction(s, &sa, NULL) == -1) /* @sigaction all */
		return -1;
	if (signal(s + 1, handler) == SIG_ERR) /* @signal all */
		return -2;
	return killpg(s, SIGHUP) < 0 && errno == ESRCH ? 1 : 0; /* @killpg some missing=EPERM */
}

static NI int pipes(int a)
{
	int p[2], q[2];
	if (pipe(p)) /* @pipe all */
		return -1;
	pipe2(q, O_CLOEXEC); /* @pipe2 none ignored */
	if (dup2(p[0], a) != a) /* @dup2 all */
		return -2;
	dup2(q[1], a + 1); /* @dup2 none ignored */
	if (dup3(p[1], a + 2, 0) < 0 && errno == EINVAL) /* @dup3 some missing=EBADF,EMFILE */
		return -3;
	return 0;
}

static NI int mounts(const char *a, const char *b)
{
	if (mount(a, b, "tmpfs", 0, NULL) < 0) { /* @mount some missing=EPERM */
		if (errno == EBUSY)
			return 1;
		else if (errno == ENODEV)
			return 2;
	}
	if (umount2(b, MNT_DETACH) == -1 && errno != EINVAL) /* @umount2 all */
		return 3;
	chroot(a); /* @chroot none ignored */
	return 0;
}

static NI int spill(const char *p, int n)
{
	int *slot = malloc(sizeof *slot * 4); /* @malloc all */
	if (!slot)
		return -1;
	keep = slot;
	slot[n & 3] = chdir(p); /* @chdir all */
	sink++;
	if (slot[n & 3] < 0)
		return -2;
	return 0;
}

static NI void take(int *v) { sink = *v; }

static NI int slots(const char *p)
{
	int a, b;
	a = access(p, X_OK); /* @access all */
	b = access(p, F_OK); /* @access none used */
	take(&a);
	take(&b);
	if (a)
		return 1;
	return 0;
}

static NI int later(const char *p, const char *q)
{
	int ra = rename(p, q), ea = errno, rb = symlink(p, q), eb = errno; /* @rename some missing=ENOSPC; @symlink all */
	take(&ea);
	if (ra && (ea == ENOENT || ea == EXDEV || ea == ENOTDIR))
		return 1;
	if (rb < 0)
		return eb == EEXIST ? 2 : 3;
	return 0;
}

static NI int kept(const char *p)
{
	static int fd = -2;
	if (fd == -2)
		fd = open(p, O_RDONLY | O_PATH); /* @open all */
	if (fd < 0)
		return -1;
	return fchdir(fd) < 0; /* @fchdir any */
}

static NI int nproc(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN); /* @sysconf all */
	if (n < 1)
		n = 1;
	return n + fpathconf(n, _PC_NAME_MAX); /* @fpathconf none used */
}

static NI int child(char **av)
{
	int s;
	pid_t p = vfork(); /* @vfork all */
	if (p == 0) {
		execvp(av[0], av); /* @execvp any */
		_exit(127);
	}
	if (p < 0)
		return -1;
	if (wait4(p, &s, 0, NULL) != p) /* @wait4 all */
		return -2;
	waitid(P_PID, p, NULL, WEXITED); /* @waitid none ignored */
	return WEXITSTATUS(s);
}

int main(int argc, char **argv)
{
	gid_t v[66];
	char b[1024];
	const char *p = argc > 1 ? argv[1] : argv[0], *q = argv[0];
	tty_open(p);
	sink += drop(argc, argc) + drop_eperm(argc, p) + groups(v, argc) + uid_of(p) + gid_maybe(argc, argc > 3) + tty_use();
	keep = (void *)home_of(argc);
	sink += uid_r(p, b, sizeof b) + gid_r(p, b, sizeof b) + tty_mode(argc) + tty_name(argc) + tty_pgrp(argc, argc) + pty();
	sink += mod_ok(p) + mod_blind(p) + loc(p) + sig(argc) + pipes(argc) + mounts(p, q) + spill(p, argc) + slots(p) + later(p, q);
	return sink + kept(p) + nproc() + child(argv);
}
