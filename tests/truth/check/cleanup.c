/* SPDX-License-Identifier: Apache-2.0 */
/* Recovery that fails itself: undo steps, cold error paths, cleanup attributes. */
/* flags: -D_FORTIFY_SOURCE=2 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#define COLD __attribute__((cold, noinline))

struct install {
	char stage[256], live[256], backup[256];
	int lock, log;
	char *manifest;
	unsigned state;
};

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd); /* @close none ignored */
}

#define AUTO_CLOSE __attribute__((cleanup(close_fd)))

/* Whatever goes wrong here goes unseen. */
static COLD void undo(struct install *in)
{
	if (in->state & 4)
		unlink(in->live); /* @unlink none ignored */
	if (in->state & 2)
		rename(in->backup, in->live); /* @rename none ignored */
	if (in->state & 1)
		rmdir(in->stage); /* @rmdir none ignored */
}

/* Tells it, in the log if there is one. */
static COLD void complain(struct install *in, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof text, fmt, ap); /* @vsnprintf all */
	va_end(ap);
	if (n < 0)
		return;
	if (write(in->log, text, strlen(text)) < 0) /* @write all */
		syslog(LOG_ERR, "%s", text);
}

static int stage(struct install *in, const char *data, size_t n)
{
	AUTO_CLOSE int fd = -1;
	char path[300];

	if (mkdir(in->stage, 0755)) { /* @mkdir all */
		complain(in, "%s: %m\n", in->stage);
		return -1;
	}
	in->state |= 1;
	snprintf(path, sizeof path, "%s/data", in->stage); /* @snprintf none ignored */
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644); /* @open all */
	if (fd < 0) {
		complain(in, "%s: %m\n", path);
		return -1;
	}
	if (write(fd, data, n) != (ssize_t)n || fsync(fd)) { /* @write all; @fsync all */
		complain(in, "%s: not written\n", path);
		return -1;
	}
	return 0;
}

static int swap(struct install *in)
{
	char path[300];

	snprintf(path, sizeof path, "%s/data", in->stage); /* @snprintf none ignored */
	if (link(in->live, in->backup) == 0) /* @link all */
		in->state |= 2;
	else if (errno != ENOENT)
		return -1;
	if (rename(path, in->live) < 0) /* @rename all */
		return -1;
	in->state |= 4;
	return 0;
}

static int verify(struct install *in)
{
	struct stat st;

	lstat(in->live, &st); /* @lstat none ignored */
	return S_ISREG(st.st_mode) ? 0 : -1;
}

/* Two ways in one: read it whole, or give up with everything freed. */
static int load_manifest(struct install *in, const char *path)
{
	FILE *f;
	long size;

	f = fopen(path, "r"); /* @fopen all */
	if (f == NULL) {
		complain(in, "%s: %m\n", path);
		return -1;
	}
	if (fseek(f, 0, SEEK_END) < 0) /* @fseek all */
		goto fail;
	size = ftell(f); /* @ftell none used */
	if (size == 0)
		goto fail;
	if (fseek(f, 0, SEEK_SET) < 0) /* @fseek all */
		goto fail;
	in->manifest = malloc((size_t)size + 1); /* @malloc all */
	if (!in->manifest)
		goto fail;
	if (fread(in->manifest, (size_t)size, 1, f) != 1) { /* @fread all */
		free(in->manifest);
		in->manifest = NULL;
		goto fail;
	}
	in->manifest[size] = '\0';
	fclose(f); /* @fclose? none ignored */
	return 0;
fail:
	fclose(f); /* @fclose? none ignored */
	return -1;
}

static void unmount(const char *path)
{
	if (umount2(path, MNT_DETACH) == -1 && errno == EBUSY) /* @umount2 some missing=EPERM */
		warnx("%s is busy", path);
	else
		sync();
}

int main(int argc, char **argv)
{
	struct install in = { .stage = "/tmp/stage", .lock = -1, .log = 2 };

	if (argc < 3)
		errx(2, "usage: cleanup LIVE MANIFEST");
	strncpy(in.live, argv[1], sizeof in.live - 1);
	strncpy(in.backup, argv[1], sizeof in.backup - 8);
	strcat(in.backup, ".orig");
	if ((in.lock = open("/tmp/lock", O_CREAT | O_RDWR, 0600)) < 0 || /* @open all */
	    lockf(in.lock, F_TLOCK, 0) < 0) /* @lockf all */
		err(1, "lock");
	if (load_manifest(&in, argv[2]) < 0)
		return 1;
	if (stage(&in, in.manifest, strlen(in.manifest)) < 0 || swap(&in) < 0 || verify(&in) < 0) {
		undo(&in);
		return 1;
	}
	unmount(argv[1]);
	free(in.manifest);
	return 0;
}
