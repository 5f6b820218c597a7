/* SPDX-License-Identifier: Apache-2.0 */
/* Runs jobs at times, as other users, with their output by mail. Written over the years by several people. */
/* flags: -D_GNU_SOURCE -D_FORTIFY_SOURCE=2 -fno-strict-aliasing */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <regex.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#define OK  0
#define ERR (-1)
#define MAXJOBS 64

typedef struct job {
	char *user, *cmd;
	int minute, hour;
	pid_t pid;
	FILE *out;
	int pipefd;
	int result;
} job;

static job jobs[MAXJOBS];
static int njobs;
static int logfd = -1;
static regex_t line_re;

static void log_it(int fatal, const char *fmt, ...)
{
	char buf[1024];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(buf, sizeof buf - 1, fmt, ap); /* @vsnprintf all */
	va_end(ap);
	if (n < 0)
		n = 0;
	if ((size_t)n > sizeof buf - 2)
		n = sizeof buf - 2;
	buf[n++] = '\n';
	if (logfd < 0 || write(logfd, buf, (size_t)n) < 0) /* @write all */
		syslog(LOG_ERR, "%s", buf);
	if (fatal)
		exit(1);
}

#define LOG_OPEN_FLAGS (O_WRONLY | O_APPEND | O_CREAT)

static void open_log(const char *path)
{
	if ((logfd = open(path, LOG_OPEN_FLAGS, 0600)) < 0) { /* @open all */
		fprintf(stderr, "can't open log file: %s\n", strerror(errno)); /* @fprintf none ignored */
		exit(ERR);
	}
	(void)fcntl(logfd, F_SETFD, FD_CLOEXEC); /* @fcntl none ignored */
}

static void write_pid(const char *path)
{
	char buf[32];
	int fd = open(path, O_RDWR | O_CREAT, 0644); /* @open all */
	struct flock fl = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int len;

	if (fd < 0)
		log_it(1, "can't open %s: %s", path, strerror(errno));
	if (fcntl(fd, F_SETLK, &fl) < OK) { /* @fcntl all */
		len = (int)read(fd, buf, sizeof buf - 1); /* @read all */
		if (len > 0) {
			buf[len] = '\0';
			log_it(1, "already running as %s", buf);
		}
		log_it(1, "locked: %s", strerror(errno));
	}
	len = sprintf(buf, "%ld\n", (long)getpid()); /* @sprintf none used */
	if (write(fd, buf, (size_t)len) != len || ftruncate(fd, len) == ERR) /* @write all; @ftruncate all */
		log_it(1, "can't write %s", path);
	/* stays open: the lock goes with it */
}

static int load_line(const char *line)
{
	regmatch_t m[5];
	char num[8];
	job *j;
	char *end;
	long v;

	if (regexec(&line_re, line, 5, m, 0) != 0) /* @regexec any */
		return ERR;
	if (njobs == MAXJOBS)
		return ERR;
	j = &jobs[njobs];
	memset(num, 0, sizeof num);
	memcpy(num, line + m[1].rm_so, (size_t)(m[1].rm_eo - m[1].rm_so) & 7);
	errno = 0;
	v = strtol(num, &end, 10); /* @strtol all */
	if (errno != 0 || end == num)
		return ERR;
	j->minute = (int)v;
	j->hour = atoi(line + m[2].rm_so); /* @atoi/strtol any */
	j->user = strndup(line + m[3].rm_so, (size_t)(m[3].rm_eo - m[3].rm_so)); /* @strndup all */
	j->cmd = strdup(line + m[4].rm_so); /* @strdup all */
	if (!j->user || !j->cmd) {
		free(j->user);
		free(j->cmd);
		return ERR;
	}
	njobs++;
	return OK;
}

static int load_tab(const char *path)
{
	char line[1024];
	struct stat st;
	FILE *f;
	int n = 0;

	f = fopen(path, "r"); /* @fopen all */
	if (f == NULL) {
		log_it(0, "%s: %s", path, strerror(errno));
		return ERR;
	}
	if (fstat(fileno(f), &st) == -1) { /* @fstat all; @fileno any */
		log_it(0, "fstat %s", path);
		goto bad;
	}
	if ((st.st_mode & 022) != 0 || st.st_uid != 0)
		goto bad;
	for (; fgets(line, sizeof line, f) != NULL; n++) /* @fgets all */
		if (line[0] != '#' && load_line(line) != OK)
			log_it(0, "%s: bad line %d", path, n);
	fclose(f); /* @fclose? none ignored */
	return n;
bad:
	fclose(f); /* @fclose? none ignored */
	return ERR;
}

static int load_dir(const char *dir)
{
	DIR *d;
	struct dirent *e;
	int n = 0, fd;
	char path[512];

	if ((d = opendir(dir)) == NULL) /* @opendir all */
		return errno == ENOENT ? 0 : ERR;
	fd = dirfd(d); /* @dirfd any */
	while ((e = readdir(d))) { /* @readdir all */
		struct stat st;

		if (e->d_name[0] == '.')
			continue;
		if (fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode)) /* @fstatat all */
			continue;
		snprintf(path, sizeof path, "%s/%s", dir, e->d_name); /* @snprintf none ignored */
		if (load_tab(path) >= 0)
			n++;
	}
	closedir(d); /* @closedir none ignored */
	return n;
}

static int become(const char *user)
{
	struct passwd *pw = getpwnam(user); /* @getpwnam all */

	if (!pw)
		return ERR;
	if (setgid(pw->pw_gid) < 0 || initgroups(user, pw->pw_gid) < 0) /* @setgid all; @initgroups all */
		return ERR;
	/* The order is right, the rest is not: with too many processes of the user, the job runs as root. */
	setuid(pw->pw_uid); /* @setuid none ignored */
	if (chdir(pw->pw_dir) < 0 && chdir("/") < 0) /* @chdir all */
		return ERR;
	return setenv("HOME", pw->pw_dir, 1) | setenv("LOGNAME", user, 1); /* @setenv all */
}

static int run_job(job *j)
{
	int p[2];

	if (pipe2(p, O_CLOEXEC) == ERR) /* @pipe2 all */
		return ERR;
	switch (j->pid = fork()) { /* @fork all */
	case -1:
		close(p[0]); /* @close none ignored */
		close(p[1]); /* @close none ignored */
		return ERR;
	case 0:
		setsid(); /* @setsid none ignored */
		if (dup2(p[1], STDOUT_FILENO) == -1) /* @dup2 all */
			_exit(71);
		dup2(STDOUT_FILENO, STDERR_FILENO); /* @dup2 none ignored */
		if (become(j->user) != OK)
			_exit(77);
		execle("/bin/sh", "sh", "-c", j->cmd, (char *)NULL, environ); /* @execle any */
		_exit(127);
	default:
		break;
	}
	close(p[1]); /* @close none ignored */
	j->pipefd = p[0];
	j->out = fdopen(p[0], "r"); /* @fdopen all */
	return j->out != NULL ? OK : ERR;
}

/* Mails what the job says. Whether there is a mailer is left to the next person. */
static void mail_output(job *j)
{
	char line[512];
	FILE *mail = NULL;

	while (fgets(line, sizeof line, j->out)) { /* @fgets all */
		if (!mail) {
			mail = popen("/usr/sbin/sendmail -t", "w"); /* @popen none dereferenced/used */
			fprintf(mail, "To: %s\nSubject: %s\n\n", j->user, j->cmd); /* @fprintf none ignored */
		}
		if (fputs(line, mail) == EOF) /* @fputs all */
			break;
	}
	fclose(j->out); /* @fclose none ignored */
	if (mail && (j->result = pclose(mail)) != 0) /* @pclose all */
		log_it(0, "sendmail: %d", j->result);
}

static void reap(void)
{
	pid_t pid;
	int st;

	while ((pid = waitpid(-1, &st, WNOHANG)) > 0) /* @waitpid all */
		for (int i = 0; i < njobs; i++)
			if (jobs[i].pid == pid)
				jobs[i].result = st;
}

/* Too long. A job of somebody else is worth a line, one that is not there is not. */
static void stop_job(job *j)
{
	if (kill(j->pid, SIGTERM) < 0 && errno == EPERM) /* @kill some missing=ESRCH */
		log_it(0, "job %ld is not ours", (long)j->pid);
	j->pid = 0;
}

static int control(const char *path)
{
	int fd;

	if (mkfifo(path, 0600) == -1 && errno == EROFS) /* @mkfifo some missing=EACCES */
		return ERR;
	fd = open(path, O_RDONLY | O_NONBLOCK); /* @open all */
	return fd;
}

static void wait_minute(void)
{
	struct timeval tv = { 60, 0 };
	fd_set none;

	FD_ZERO(&none);
	if (select(0, &none, NULL, NULL, &tv) < 0) { /* @select all */
		if (errno == EINTR)
			return;
		log_it(1, "select");
	}
}

/* Where there is no time zone, there may be no time. */
static int now_is(const job *j)
{
	time_t t = time(NULL); /* @time any */
	struct tm *tm = localtime(&t); /* @localtime none dereferenced */

	return tm->tm_min == j->minute && tm->tm_hour == j->hour;
}

static void rotate(const char *path)
{
	char old[512], stamp[32];
	time_t t = time(NULL); /* @time any */
	struct tm tm;

	if (!gmtime_r(&t, &tm)) /* @gmtime_r all */
		return;
	strftime(stamp, sizeof stamp, "%Y%m%d", &tm); /* @strftime none ignored */
	snprintf(old, sizeof old, "%s.%s", path, stamp); /* @snprintf none ignored */
	if (link(path, old) != 0) { /* @link all */
		if (errno == EEXIST)
			return;
		log_it(0, "link: %s", strerror(errno));
	}
	if (truncate(path, 0)) /* @truncate all */
		log_it(0, "truncate: %s", strerror(errno));
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = SIG_DFL };
	int n, ctl;
	char c;

	if (argc < 3)
		return 2;
	open_log(argv[2]);
	write_pid("/run/cronlet.pid");
	if ((n = regcomp(&line_re, "^([0-9]+) ([0-9]+) ([a-z]+) (.*)$", REG_EXTENDED)) != 0) /* @regcomp all */
		log_it(1, "regcomp %d", n);
	sigemptyset(&sa.sa_mask); /* @sigemptyset any */
	if (sigaction(SIGCHLD, &sa, NULL) != OK) /* @sigaction all */
		log_it(1, "sigaction");
	if (argc > 3 && daemon(0, 0) < 0) /* @daemon all */
		log_it(1, "daemon: %s", strerror(errno));
	if ((n = load_dir(argv[1])) < 0)
		log_it(1, "can't load %s", argv[1]);
	ctl = control("/run/cronlet.ctl");
	if (ctl == -1)
		log_it(1, "no control");
	for (;;) {
		if (read(ctl, &c, 1) == 1 && c >= '0' && c - '0' < njobs) /* @read all */
			stop_job(&jobs[c - '0']);
		for (int i = 0; i < njobs; i++)
			if (now_is(&jobs[i])) {
				if (run_job(&jobs[i]) != OK)
					log_it(0, "can't run %s", jobs[i].cmd);
				else
					mail_output(&jobs[i]);
			}
		reap();
		rotate(argv[2]);
		wait_minute();
	}
}
