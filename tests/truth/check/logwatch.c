/* SPDX-License-Identifier: Apache-2.0 */
/* Follows log files and acts on what is new; errno told apart, not always wholly. */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

struct file {
	const char *path;
	int fd, watch, open;
	off_t at;
	unsigned long lines;
};

static int notify = -1;
static long long notified;

/* A file that is not there yet is waited for; others that cannot be opened look like open ones. */
static int file_open(struct file *f)
{
	f->fd = open(f->path, O_RDONLY | O_NONBLOCK); /* @open some missing=EACCES,EMFILE */
	if (f->fd == -1 && errno == ENOENT)
		return 0;
	f->at = 0;
	return 1;
}

static int file_rotated(struct file *f)
{
	struct stat now;

	if (stat(f->path, &now) == -1 && errno == ENOENT) /* @stat some missing=EACCES */
		return 1;
	return now.st_size < f->at;
}

static long file_read(struct file *f)
{
	char buf[8192];
	long lines = 0;
	ssize_t n;

	for (;;) {
		n = read(f->fd, buf, sizeof buf); /* @read all */
		if (n == -1) {
			switch (errno) {
			case EINTR:
				continue;
			case EAGAIN:
				return lines;
			default:
				warn("%s", f->path);
				return -1;
			}
		}
		if (n == 0)
			break;
		f->at += n;
		for (ssize_t i = 0; i < n; i++)
			lines += buf[i] == '\n';
	}
	return lines;
}

static void watch(struct file *f)
{
	f->watch = inotify_add_watch(notify, f->path, IN_MODIFY | IN_MOVE_SELF); /* @inotify_add_watch all */
	if (f->watch >= 0)
		return;
	switch (errno) {
	case ENOSPC:
		errx(1, "too many watches: raise fs.inotify.max_user_watches");
	case ENOENT:
		f->watch = -1;
		break;
	default:
		err(1, "%s", f->path);
	}
}

static void drain(void)
{
	char events[4096] __attribute__((aligned(8)));
	ssize_t n;

	do {
		n = read(notify, events, sizeof events); /* @read some missing=EIO */
	} while (n == -1 && errno == EINTR);
	notified += n;
}

/* An archive of the old file; across file systems it is copied by somebody else. */
static int archive(struct file *f, const char *folder)
{
	char to[4096];

	if (mkdir(folder, 0755) != 0 && errno == ENOENT) /* @mkdir some missing=EACCES,ENOSPC */
		return -1;
	if (snprintf(to, sizeof to, "%s/%s.old", folder, f->path) < 0) /* @snprintf all */
		return -1;
	if (rename(f->path, to) < 0) { /* @rename some missing=EACCES */
		if (errno == EXDEV)
			return 1;
		if (errno == ENOSPC)
			return -1;
	}
	f->lines = 0;
	return 0;
}

static int loop(struct file *files, int count)
{
	struct pollfd p = { .fd = notify, .events = POLLIN };

	for (;;) {
		int n = poll(&p, 1, 1000); /* @poll some missing=EINVAL,ENOMEM */
		if (n < 0 && errno == EINTR)
			continue;
		if (p.revents & POLLIN)
			drain();
		for (int i = 0; i < count; i++) {
			struct file *f = &files[i];
			long k;
			if (!f->open && !(f->open = file_open(f)))
				continue;
			k = file_read(f);
			if (k < 0)
				return -1;
			f->lines += (unsigned long)k;
			if (file_rotated(f)) {
				close(f->fd); /* @close none ignored */
				f->open = 0;
			}
			if (f->lines > 100000 && archive(f, "old") < 0)
				return -1;
		}
	}
}

int main(int argc, char **argv)
{
	struct file *files = calloc((size_t)argc, sizeof *files); /* @calloc all */

	if (files == NULL || (notify = inotify_init1(IN_NONBLOCK)) == -1) /* @inotify_init1 all */
		err(1, "start");
	for (int i = 1; i < argc; i++) {
		files[i - 1].path = argv[i];
		files[i - 1].open = file_open(&files[i - 1]);
		watch(&files[i - 1]);
	}
	return loop(files, argc - 1) < 0;
}
