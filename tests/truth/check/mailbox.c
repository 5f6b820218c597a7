/* SPDX-License-Identifier: Apache-2.0 */
/* Delivers mail into a folder: temporary names, links, locks, headers. */
/* flags: -D_FORTIFY_SOURCE=2 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct box {
	char host[256], folder[PATH_MAX];
	unsigned sequence;
	int quota_fd;
};

static int box_open(struct box *b, const char *user)
{
	struct passwd *pw;

	if (gethostname(b->host, sizeof b->host) == -1) /* @gethostname all */
		strcpy(b->host, "localhost");
	pw = getpwnam(user); /* @getpwnam all */
	if (pw == NULL)
		return -1;
	if (snprintf(b->folder, sizeof b->folder, "%s/Mail", pw->pw_dir) < 0) /* @snprintf all */
		return -1;
	b->quota_fd = open("/etc/mail/quota", O_RDONLY); /* @open all */
	if (b->quota_fd == -1 && errno != ENOENT)
		warn("quota");
	return 0;
}

/* The quota, as text; nothing if there is none. */
static long box_quota(struct box *b)
{
	char text[32];
	ssize_t n;

	n = pread(b->quota_fd, text, sizeof text - 1, 0); /* @pread none used/dereferenced */
	if (n == 0)
		return 0;
	text[n] = '\0';
	b->sequence += (unsigned)n;
	return text[0] - '0';
}

static FILE *message_new(struct box *b, char *tmp, size_t size)
{
	int fd, n;
	FILE *f;

	n = snprintf(tmp, size, "%s/tmp/%s.XXXXXX", b->folder, b->host); /* @snprintf all */
	if (n < 0 || (size_t)n >= size)
		return NULL;
	fd = mkostemp(tmp, O_CLOEXEC); /* @mkostemp all */
	if (fd < 0)
		return NULL;
	f = fdopen(fd, "w"); /* @fdopen all */
	if (!f) {
		close(fd); /* @close none ignored */
		unlink(tmp); /* @unlink? none ignored */
	}
	return f;
}

/* From the temporary name to the final one. */
static int message_commit(struct box *b, const char *tmp)
{
	char final[PATH_MAX + 300];
	int rc;

	sprintf(final, "%s/new/%u.%s", b->folder, b->sequence++, b->host); /* @sprintf none ignored */
	rc = link(tmp, final); /* @link all */
	if (rc == -1 && errno == EPERM)
		rc = rename(tmp, final); /* @rename all */
	else
		unlink(tmp); /* @unlink none ignored */
	return rc;
}

/* A lock file, as old programs do it. A lock that cannot be made for other reasons is taken for a lock. */
static int dot_lock(const char *path)
{
	int tries = 5, fd;

	while ((fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0444)) == -1 && errno == EEXIST) { /* @open some missing=EACCES,ENOSPC */
		if (--tries == 0)
			return 0;
		sleep(1);
	}
	close(fd); /* @close none ignored */
	return 1;
}

static int copy_body(FILE *in, FILE *out)
{
	char line[998];
	char c;

	while (fgets(line, sizeof line, in)) { /* @fgets all */
		if (!strncmp(line, "From ", 5) && putc('>', out) == EOF) /* @putc all */
			return -1;
		if (fputs(line, out) == EOF) /* @fputs all */
			return -1;
	}
	rewind(in);
	while ((c = (char)getc(in)) != EOF && c != '\n') /* @getc all */
		continue;
	return ferror(in) ? -1 : 0; /* @ferror any */
}

static int deliver(struct box *b, FILE *in)
{
	char tmp[PATH_MAX + 300], date[64];
	time_t now = time(NULL); /* @time any */
	FILE *f = message_new(b, tmp, sizeof tmp);

	if (!f)
		return -1;
	strftime(date, sizeof date, "%c", localtime(&now)); /* @strftime none ignored; @localtime none dereferenced */
	if (fprintf(f, "Received: by %s; %s\n", b->host, date) < 0 || copy_body(in, f) < 0) /* @fprintf all */
		goto fail;
	if (fflush(f) != 0 || fsync(fileno(f)) != 0) /* @fflush all; @fsync all; @fileno none used */
		goto fail;
	if (fclose(f) != 0) { /* @fclose all */
		unlink(tmp); /* @unlink? none ignored */
		return -1;
	}
	return message_commit(b, tmp);
fail:
	fclose(f); /* @fclose none ignored */
	unlink(tmp); /* @unlink? none ignored */
	return -1;
}

int main(int argc, char **argv)
{
	static struct box b;

	if (argc < 2 || box_open(&b, argv[1]) < 0)
		errx(2, "usage: mailbox USER");
	if (box_quota(&b) == 9)
		errx(1, "full");
	if (!dot_lock("/var/mail/lock"))
		errx(1, "locked");
	if (deliver(&b, stdin) != 0)
		err(1, "not delivered");
	return 0;
}
