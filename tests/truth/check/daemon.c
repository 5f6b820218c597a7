/* SPDX-License-Identifier: Apache-2.0 */
/* How a program becomes a daemon: sessions, pid file, locks, identity. */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

static const char *pid_path = "/run/daemon.pid";
static int pid_fd = -1;

/* The parent leaves; a fork that failed makes it leave too. */
static void background(void)
{
	int null;

	if (fork()) /* @fork none used/ignored */
		_exit(0);
	setsid(); /* @setsid none ignored */
	if (chdir("/") != 0) /* @chdir all */
		syslog(LOG_WARNING, "chdir: %m");
	null = open("/dev/null", O_RDWR); /* @open none used */
	if (null) {
		dup2(null, 0); /* @dup2 none ignored */
		dup2(null, 1); /* @dup2 none ignored */
		dup2(null, 2); /* @dup2 none ignored */
	}
}

static int lock_pid_file(void)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char text[32];
	int n;

	pid_fd = open(pid_path, O_RDWR | O_CREAT | O_CLOEXEC, 0644); /* @open all */
	if (pid_fd < 0) {
		syslog(LOG_ERR, "%s: %m", pid_path);
		return -1;
	}
	if (fcntl(pid_fd, F_SETLK, &lock) == -1) { /* @fcntl some missing=EBADF,ENOLCK */
		if (errno == EACCES || errno == EAGAIN)
			return -1;
	}
	if (ftruncate(pid_fd, 0) == -1) /* @ftruncate all */
		return -1;
	n = sprintf(text, "%ld\n", (long)getpid()); /* @sprintf any */
	return write(pid_fd, text, (size_t)n) == n ? 0 : -1; /* @write all */
}

/* Rights must go; whoever ignores this stays root. */
static void drop_carelessly(uid_t uid, gid_t gid)
{
	setgid(gid); /* @setgid none ignored */
	setuid(uid); /* @setuid none ignored */
}

static void drop(const char *user)
{
	struct passwd *pw = getpwnam(user); /* @getpwnam all */

	if (!pw)
		errx(1, "no user %s", user);
	if (initgroups(user, pw->pw_gid) || /* @initgroups all */
	    setresgid(pw->pw_gid, pw->pw_gid, pw->pw_gid) || /* @setresgid all */
	    setresuid(pw->pw_uid, pw->pw_uid, pw->pw_uid)) /* @setresuid all */
		err(1, "cannot become %s", user);
	if (prctl(PR_SET_DUMPABLE, 0) < 0) /* @prctl all */
		syslog(LOG_NOTICE, "dumpable");
}

static gid_t group_of(const char *name)
{
	return getgrnam(name)->gr_gid; /* @getgrnam none dereferenced */
}

static int prepare_folder(const char *path, gid_t group)
{
	struct stat st;

	if (mkdir(path, 0750) == -1) { /* @mkdir all */
		if (errno != EEXIST)
			return -1;
		if (stat(path, &st) == -1) /* @stat all */
			return -1;
		if (!S_ISDIR(st.st_mode)) {
			errno = ENOTDIR;
			return -1;
		}
	}
	if (chown(path, (uid_t)-1, group) < 0 && errno == EPERM) /* @chown some missing=ENOENT,EROFS */
		return 1;
	chmod(path, 02750); /* @chmod none ignored */
	return 0;
}

static void wait_for_signals(void)
{
	sigset_t set;
	int sig;

	sigfillset(&set); /* @sigfillset any */
	if (sigprocmask(SIG_BLOCK, &set, NULL)) /* @sigprocmask all */
		err(1, "sigprocmask");
	while (sigwait(&set, &sig) == 0) /* @sigwait all */
		if (sig == SIGTERM || sig == SIGINT)
			break;
}

int main(int argc, char **argv)
{
	const char *user = argc > 1 ? argv[1] : "daemon";
	const char *folder = argc > 2 ? argv[2] : "/var/lib/daemon";

	openlog("daemon", LOG_PID, LOG_DAEMON);
	if (prepare_folder(folder, group_of(user)) < 0)
		err(1, "%s", folder);
	background();
	if (lock_pid_file() < 0)
		return 1;
	if (argc > 3)
		drop_carelessly((uid_t)strlen(argv[3]), (gid_t)argc);
	else
		drop(user);
	wait_for_signals();
	unlink(pid_path); /* @unlink none ignored */
	return close(pid_fd); /* @close any */
}
