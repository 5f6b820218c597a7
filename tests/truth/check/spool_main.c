/* SPDX-License-Identifier: Apache-2.0 */
/* program: jobspool */
/* spool: run queued jobs one after another. This file: options, daemon loop. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct job {
	char id[32];
	char file[256];
	int infd;
	int outfd;
	pid_t pid;
	int status;
};

extern int queue_open(const char *dir);
extern int queue_next(struct job *j);
extern int queue_done(struct job *j);
extern int queue_submit(const char *cmdfile);
extern int run_job(struct job *j);
extern int wait_job(struct job *j);
extern int checked(int rc, const char *what);
extern ssize_t safe_read(int fd, void *buf, size_t n);
extern ssize_t safe_write(int fd, const void *buf, size_t n);

int spool_verbose;
static int wake[2];
static volatile sig_atomic_t quit;

int checked(int rc, const char *what)
{
	if (rc == -1) {
		perror(what);
		exit(111);
	}
	return rc;
}

static void on_signal(int sig)
{
	int saved = errno;
	char c = (char)sig;

	if (sig == SIGTERM)
		quit = 1;
	write(wake[1], &c, 1); /* @write none ignored */
	errno = saved;
}

static void become(const char *user)
{
	struct passwd *pw;

	errno = 0;
	pw = getpwnam(user); /* @getpwnam all */
	if (pw == NULL) {
		fprintf(stderr, "spool: no user %s\n", user); /* @fprintf none ignored */
		exit(1);
	}
	if (setgroups(0, NULL) < 0 && errno == EPERM) /* @setgroups some missing=ENOMEM */
		fputs("spool: keeping groups\n", stderr); /* @fputs/fwrite none ignored */
	checked(setgid(pw->pw_gid), "setgid"); /* @setgid all */
	setuid(pw->pw_uid); /* @setuid none ignored */
}

static void detach(void)
{
	int null;

	switch (fork()) { /* @fork all */
	case -1:
		perror("fork");
		exit(1);
	case 0:
		break;
	default:
		_exit(0);
	}
	if (setsid() < 0) /* @setsid all */
		perror("setsid");
	null = open("/dev/null", O_RDWR); /* @open none used */
	dup2(null, 0); /* @dup2 none ignored */
	if (-1 == dup2(null, 1)) /* @dup2 all */
		_exit(2);
	if (dup2(null, 2) != 2) /* @dup2 all */
		_exit(1);
	if (chdir("/") == -1) /* @chdir all */
		_exit(1);
}

static void catch_signals(void)
{
	struct sigaction sa;

	memset(&sa, 0, sizeof sa);
	sa.sa_handler = on_signal;
	sa.sa_flags = SA_RESTART;
	sigemptyset(&sa.sa_mask); /* @sigemptyset any */
	checked(sigaction(SIGTERM, &sa, NULL), "sigaction"); /* @sigaction all */
	checked(sigaction(SIGCHLD, &sa, NULL), "sigaction"); /* @sigaction all */
	signal(SIGPIPE, SIG_IGN); /* @signal none ignored */
}

static void write_pidfile(const char *path)
{
	char text[32];
	int fd, n;

	fd = checked(open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644), path); /* @open all */
	n = snprintf(text, sizeof text, "%ld\n", (long)getpid()); /* @snprintf any */
	if (safe_write(fd, text, n) != n)
		perror(path);
	close(fd); /* @close none ignored */
}

static void idle(int msec)
{
	struct pollfd p = { .fd = wake[0], .events = POLLIN };
	char junk[64];
	int rc;

	do
		rc = poll(&p, 1, msec); /* @poll some missing=ENOMEM */
	while (rc < 0 && errno == EINTR);
	if (rc == 0)
		return;
	if (safe_read(wake[0], junk, sizeof junk) < 0 && errno != EAGAIN)
		perror("wake pipe");
}

int main(int argc, char **argv)
{
	const char *dir = "/tmp/spool", *user = NULL, *submit = NULL, *pidfile = NULL;
	int c, fg = 0, once = 0, failures = 0;
	struct job job;

	while ((c = getopt(argc, argv, "d:u:s:p:fv1")) != -1) /* @getopt any */
		switch (c) {
		case 'd': dir = optarg; break;
		case 'u': user = optarg; break;
		case 's': submit = optarg; break;
		case 'p': pidfile = optarg; break;
		case 'f': fg = 1; break;
		case '1': once = fg = 1; break;
		case 'v': spool_verbose = 1; break;
		default: exit(100);
		}
	if (mkdir(dir, 0700) < 0 && errno != EEXIST) { /* @mkdir all */
		perror(dir);
		return 111;
	}
	if (queue_open(dir) < 0) {
		perror("queue");
		return 111;
	}
	if (submit)
		return queue_submit(submit) < 0 ? 1 : 0;
	checked(pipe2(wake, O_CLOEXEC | O_NONBLOCK), "pipe2"); /* @pipe2 all */
	if (!fg)
		detach();
	catch_signals();
	if (pidfile)
		write_pidfile(pidfile);
	if (user)
		become(user);

	while (!quit) {
		int rc = queue_next(&job);

		if (rc < 0) {
			perror("spool: queue");
			break;
		}
		if (rc == 0) {
			if (once)
				break;
			idle(5000);
			continue;
		}
		if (run_job(&job) < 0) {
			failures++;
			continue;
		}
		if (wait_job(&job) != 0)
			failures++;
		queue_done(&job);
	}
	return failures != 0;
}
