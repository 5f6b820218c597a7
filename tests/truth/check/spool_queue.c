/* SPDX-License-Identifier: Apache-2.0 */
/* program: jobspool */
/* The queue directory: one file for each job, taken by renaming. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct job {
	char id[32];
	char file[256];
	int infd;
	int outfd;
	pid_t pid;
	int status;
};

extern int spool_verbose;
extern int checked(int rc, const char *what);

static int dirfd_queue = -1;

ssize_t safe_read(int fd, void *buf, size_t n)
{
	ssize_t r;

	do {
		r = read(fd, buf, n); /* @read all */
	} while (r < 0 && errno == EINTR);
	return r;
}

ssize_t safe_write(int fd, const void *buf, size_t n)
{
	const char *p = buf;
	size_t left = n;

	while (left > 0) {
		ssize_t w = write(fd, p, left); /* @write all */

		if (w == -1) {
			if (errno == EINTR)
				continue;
			return -1;
		}
		p += w;
		left -= w;
	}
	return n;
}

int queue_open(const char *dir)
{
	dirfd_queue = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* @open all */
	if (dirfd_queue < 0)
		return -1;
	mkdirat(dirfd_queue, "run", 0700); /* @mkdirat none ignored */
	if (mkdirat(dirfd_queue, "done", 0700) < 0 && errno != EEXIST) /* @mkdirat all */
		return -1;
	return 0;
}

static int is_job(const struct dirent *de)
{
	return strncmp(de->d_name, "job", 3) == 0;
}

static DIR *queue_dir(void)
{
	int fd = openat(dirfd_queue, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* @openat all */
	DIR *d;

	if (fd < 0)
		return NULL;
	d = fdopendir(fd); /* @fdopendir all */
	if (d == NULL)
		close(fd); /* @close none ignored */
	return d;
}

/* 1: a job was taken, 0: nothing to do, -1: trouble. */
int queue_next(struct job *j)
{
	struct dirent *de;
	char best[32] = "";
	DIR *d = queue_dir();

	if (!d)
		return -1;
	for (;;) {
		errno = 0;
		de = readdir(d); /* @readdir all */
		if (de == NULL) {
			if (errno != 0) {
				closedir(d); /* @closedir? none ignored */
				return -1;
			}
			break;
		}
		if (!is_job(de) || strlen(de->d_name) >= sizeof best)
			continue;
		if (best[0] == '\0' || strcmp(de->d_name, best) < 0)
			strcpy(best, de->d_name);
	}
	closedir(d); /* @closedir? none ignored */
	if (best[0] == '\0')
		return 0;

	memset(j, 0, sizeof *j);
	strcpy(j->id, best);
	snprintf(j->file, sizeof j->file, "run/%s", best); /* @snprintf none ignored */
	if (renameat(dirfd_queue, best, dirfd_queue, j->file) < 0) { /* @renameat all */
		if (errno == ENOENT)
			return 0;
		return -1;
	}
	j->infd = openat(dirfd_queue, j->file, O_RDONLY | O_CLOEXEC); /* @openat all */
	memcpy(best, "out", 3);
	j->outfd = openat(dirfd_queue, best, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600); /* @openat none used */
	return 1;
}

int queue_done(struct job *j)
{
	char to[300];
	int rc;

	snprintf(to, sizeof to, "done/%s", j->id); /* @snprintf none ignored */
	rc = renameat(dirfd_queue, j->file, dirfd_queue, to); /* @renameat none ignored/used */
	fsync(dirfd_queue); /* @fsync none ignored */
	return rc;
}

int queue_submit(const char *cmdfile)
{
	char buf[4096], tmp[32], name[32];
	ssize_t n;
	int in, out, ret = -1;

	in = open(cmdfile, O_RDONLY | O_CLOEXEC); /* @open all */
	if (in < 0) {
		perror(cmdfile);
		return -1;
	}
	snprintf(tmp, sizeof tmp, "tmp%ld", (long)getpid()); /* @snprintf none ignored */
	snprintf(name, sizeof name, "job%ld", (long)getpid()); /* @snprintf none ignored */
	out = openat(dirfd_queue, tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600); /* @openat all */
	if (out < 0) {
		perror(tmp);
		goto close_in;
	}
	while ((n = safe_read(in, buf, sizeof buf)) > 0)
		if (safe_write(out, buf, n) != n) {
			perror("write");
			goto close_out;
		}
	if (n < 0)
		goto close_out;
	if (fdatasync(out) == -1 && errno == EIO) /* @fdatasync some missing=ENOSPC */
		goto close_out;
	if (linkat(dirfd_queue, tmp, dirfd_queue, name, 0) < 0) { /* @linkat all */
		perror(name);
		goto close_out;
	}
	ret = 0;
close_out:
	ret |= close(out); /* @close all */
	unlinkat(dirfd_queue, tmp, 0); /* @unlinkat none ignored */
close_in:
	close(in); /* @close none ignored */
	return ret;
}
