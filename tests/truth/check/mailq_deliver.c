/* SPDX-License-Identifier: Apache-2.0 */
/* program: mailq */
/* Delivery into a maildir, through a pipe, or to a mailbox file. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

struct msg {
	char id[64];
	char from[128];
	char to[128];
	FILE *body;
	long size;
	int attempts;
};

enum verdict { SENT, DEFERRED, BOUNCED };

extern char *xformat(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
extern void must_zero(int rc, const char *what);

typedef enum verdict (*agent_fn)(struct msg *, const char *);

int sync_dir(const char *dir)
{
	int fd, rc;

	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* @open all */
	if (fd < 0)
		return -1;
	rc = fsync(fd); /* @fsync all */
	close(fd); /* @close none ignored */
	return rc;
}

static int copy_body(FILE *in, FILE *out)
{
	int c;

	while ((c = getc(in)) != EOF) /* @getc all */
		if (putc(c, out) == EOF) /* @putc all */
			return -1;
	return ferror(in) ? -1 : 0;
}

static enum verdict to_maildir(struct msg *m, const char *dir)
{
	char *tmp = xformat("%s/tmp/%s", dir, m->id);
	char *new = xformat("%s/new/%s", dir, m->id);
	enum verdict v = DEFERRED;
	bool ok;
	FILE *f;
	int fd;

	fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600); /* @open all */
	if (fd < 0) {
		if (errno == ENOENT || errno == ENOTDIR)
			v = BOUNCED;
		goto out;
	}
	f = fdopen(fd, "w"); /* @fdopen all */
	if (f == NULL) {
		close(fd); /* @close none ignored */
		goto out_unlink;
	}
	ok = fprintf(f, "Return-Path: <%s>\n", m->from) > 0; /* @fprintf all */
	ok = copy_body(m->body, f) == 0 && ok;
	ok &= fflush(f) == 0; /* @fflush all */
	ok &= fsync(fd) == 0; /* @fsync all */
	ok &= fclose(f) == 0; /* @fclose all */
	if (!ok) {
		syslog(LOG_ERR, "%s: write failed", tmp);
		goto out_unlink;
	}
	if (link(tmp, new) == -1 && errno == EEXIST) /* @link some missing=ENOSPC */
		syslog(LOG_WARNING, "%s: already delivered", new);
	v = SENT;
out_unlink:
	if (unlink(tmp) == -1) /* @unlink all */
		syslog(LOG_WARNING, "%s: %m", tmp);
out:
	free(tmp);
	free(new);
	return v;
}

static int lock_mbox(int fd)
{
	int tries;

	for (tries = 0; tries < 5; tries++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0) /* @flock all */
			return 0;
		usleep(200000); /* @usleep none ignored */
	}
	return -1;
}

static enum verdict to_mbox(struct msg *m, const char *path)
{
	enum verdict v = DEFERRED;
	off_t start;
	FILE *f;
	int fd;

	fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600); /* @open all */
	if (fd == -1)
		return DEFERRED;
	if (lock_mbox(fd) < 0) {
		close(fd); /* @close none ignored */
		return DEFERRED;
	}
	start = lseek(fd, 0, SEEK_END); /* @lseek none used */
	f = fdopen(fd, "a"); /* @fdopen none dereferenced */
	fprintf(f, "From %s\n", m->from); /* @fprintf none ignored */
	if (copy_body(m->body, f) < 0 || fputs("\n\n", f) < 0) { /* @fputs all */
		if (ftruncate(fd, start) < 0) /* @ftruncate all */
			syslog(LOG_CRIT, "%s: damaged", path);
	} else if (fflush(f) == 0) { /* @fflush all */
		v = SENT;
	}
	if (v == SENT && fdatasync(fd) < 0) /* @fdatasync all */
		v = DEFERRED;
	fclose(f); /* @fclose none ignored */
	return v;
}

static void feed(int fd, struct msg *m)
{
	char buf[2048];
	size_t n;

	while ((n = fread(buf, 1, sizeof buf, m->body)) != 0) /* @fread all */
		if (write(fd, buf, n) == -1) { /* @write some missing=EIO */
			if (errno == EPIPE)
				break;
		}
}

static enum verdict to_program(struct msg *m, const char *cmd)
{
	int p[2], st;
	pid_t pid, got;

	if (pipe(p) != 0) /* @pipe all */
		return DEFERRED;
	switch (pid = fork()) { /* @fork none used */
	case 0:
		if (dup2(p[0], 0) == -1) /* @dup2 all */
			_exit(75);
		close(p[0]); /* @close? none ignored */
		close(p[1]); /* @close none ignored */
		must_zero(setenv("SENDER", m->from, 1), "setenv"); /* @setenv all */
		putenv("PATH=/usr/bin:/bin"); /* @putenv none ignored */
		execl("/bin/sh", "sh", "-c", cmd, (char *)NULL); /* @execl any */
		_exit(75);
	default:
		close(p[0]); /* @close? none ignored */
		feed(p[1], m);
		must_zero(close(p[1]), "pipe"); /* @close all */
	}
	do
		got = waitpid(pid, &st, 0); /* @waitpid all */
	while (got == -1 && errno == EINTR);
	if (got < 0)
		return DEFERRED;
	if (WIFSIGNALED(st))
		return DEFERRED;
	return WEXITSTATUS(st) == 0 ? SENT : WEXITSTATUS(st) == 75 ? DEFERRED : BOUNCED;
}

static const struct {
	char mark;
	agent_fn run;
} agents[] = { { '|', to_program }, { '/', to_mbox }, { '\0', to_maildir } };

enum verdict deliver(struct msg *m, const char *maildir)
{
	struct stat st;
	size_t i;

	if (maildir == NULL)
		maildir = "/tmp/Maildir";
	if (m->size > 64L << 20)
		return BOUNCED;
	if (fstat(fileno(m->body), &st) != 0 || st.st_nlink > 1) /* @fstat all; @fileno any */
		return DEFERRED;
	for (i = 0; agents[i].mark != '\0' && agents[i].mark != m->to[0]; i++)
		;
	if (access(m->to, W_OK) == -1 && errno == EROFS) /* @access some missing=ENOENT */
		return DEFERRED;
	return agents[i].run(m, agents[i].mark == '|' ? m->to + 1 : agents[i].mark ? m->to : maildir);
}
