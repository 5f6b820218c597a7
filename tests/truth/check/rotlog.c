/* SPDX-License-Identifier: Apache-2.0 */
/* rotlog: shifts, compresses and expires numbered log files by a small rule file. */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAXKEEP 64

struct rule {
	char *path;
	long keep;
	off_t limit;
	time_t after;
	struct rule *next;
};

static FILE *audit;
static const char *prog = "rotlog";

static void die(const char *what)
{
	int e = errno;

	fprintf(stderr, "%s: %s: %s\n", prog, what, strerror(e)); /* @fprintf? none ignored */
	exit(2);
}

static void note(const char *fmt, ...)
{
	va_list ap;

	if (audit == NULL)
		return;
	va_start(ap, fmt);
	vfprintf(audit, fmt, ap);	/* @vfprintf none ignored */
	va_end(ap);
	fputc('\n', audit);		/* @fputc/putc none ignored */
	fflush(audit);			/* @fflush none ignored */
}

static void open_audit(const char *dir)
{
	char *name;

	if (asprintf(&name, "%s/rotlog.audit", dir) < 0)	/* @asprintf all */
		die("asprintf");
	audit = fopen(name, "a");	/* @fopen all */
	free(name);
}

static char *xstrdup(const char *s)
{
	char *p = strdup(s);		/* @strdup all */

	if (p == NULL)
		die("strdup");
	return p;
}

static int numbered(char *dst, size_t cap, const char *base, int n)
{
	int r;

	if (n == 0)
		r = snprintf(dst, cap, "%s", base);	/* @snprintf? all */
	else
		r = snprintf(dst, cap, "%s.%d", base, n);	/* @snprintf? all */
	if (r < 0 || (size_t)r >= cap) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return 0;
}

static int shift(const struct rule *r)
{
	char from[PATH_MAX], to[PATH_MAX];
	int i;

	if (numbered(to, sizeof to, r->path, (int)r->keep) < 0)
		return -1;
	/* the oldest one may well not be there */
	if (unlink(to) == -1 && errno == EROFS)		/* @unlink some missing=EACCES,EPERM */
		return -1;
	for (i = (int)r->keep - 1; i >= 0; i--) {
		if (numbered(from, sizeof from, r->path, i) < 0 ||
		    numbered(to, sizeof to, r->path, i + 1) < 0)
			return -1;
		if (rename(from, to) < 0 && errno != ENOENT) {	/* @rename all */
			perror(from);
			return -1;
		}
	}
	return 0;
}

static int recreate(const struct rule *r, const struct stat *old)
{
	int fd;

	fd = open(r->path, O_WRONLY | O_CREAT | O_EXCL, old->st_mode & 0777);	/* @open all */
	if (fd == -1)
		return -1;
	if (fchown(fd, old->st_uid, old->st_gid) < 0 && errno == EPERM)	/* @fchown some missing=EROFS,EIO */
		note("the owner of %s is lost", r->path);
	return close(fd);			/* @close all */
}

static int compress_one(const char *file)
{
	pid_t pid;
	int status, nul;

	pid = fork();		/* @fork all */
	switch (pid) {
	case -1:
		return -1;
	case 0:
		nul = open("/dev/null", O_RDWR);	/* @open none used */
		if (dup2(nul, 0) < 0 || dup2(nul, 1) < 0)	/* @dup2 all */
			_exit(126);
		execlp("gzip", "gzip", "-f", file, (char *)NULL);	/* @execlp any */
		_exit(127);
	}
	while (waitpid(pid, &status, 0) < 0)	/* @waitpid all */
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

static int expire(const char *dir, time_t before)
{
	DIR *d;
	struct dirent *de;
	struct stat st;
	int fd, saved, gone = 0;

	if ((d = opendir(dir)) == NULL)		/* @opendir all */
		return -1;
	fd = dirfd(d);				/* @dirfd any */
	for (;;) {
		errno = 0;
		de = readdir(d);		/* @readdir all */
		if (de == NULL)
			break;
		if (de->d_name[0] == '.')
			continue;
		if (fstatat(fd, de->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)	/* @fstatat all */
			continue;
		if (!S_ISREG(st.st_mode) || st.st_mtime >= before)
			continue;
		if (unlinkat(fd, de->d_name, 0) == 0)	/* @unlinkat all */
			gone++;
		else
			note("cannot remove %s", de->d_name);
	}
	saved = errno;
	closedir(d);				/* @closedir none ignored */
	if (saved != 0) {
		errno = saved;
		return -1;
	}
	return gone;
}

static time_t parse_day(const char *s)
{
	struct tm tm;

	memset(&tm, 0, sizeof tm);
	if (sscanf(s, "%d-%d-%d", &tm.tm_year, &tm.tm_mon, &tm.tm_mday) != 3)	/* @sscanf/__isoc99_sscanf all */
		return 0;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	tm.tm_isdst = -1;
	return mktime(&tm);		/* @mktime any */
}

static off_t parse_size(const char *s)
{
	char *end;
	long long v;

	errno = 0;
	v = strtoll(s, &end, 10);	/* @strtoll all */
	if (errno != 0 || end == s)
		return -1;
	switch (tolower((unsigned char)*end)) {
	case 'k': v <<= 10; break;
	case 'm': v <<= 20; break;
	case '\0': break;
	default: return -1;
	}
	return (off_t)v;
}

static struct rule *parse(const char *conf)
{
	struct rule *head = NULL, *r;
	char *line = NULL, *path, *keep, *size, *day, *save;
	size_t cap = 0;
	ssize_t n;
	FILE *fp;

	fp = fopen(conf, "r");		/* @fopen all */
	if (!fp)
		die(conf);
	while ((n = getline(&line, &cap, fp)) > 0) {	/* @getline/__getdelim all */
		if (line[n - 1] == '\n')
			line[n - 1] = '\0';
		path = strtok_r(line, " \t", &save); /* @strtok_r any */
		keep = strtok_r(NULL, " \t", &save); /* @strtok_r any */
		size = strtok_r(NULL, " \t", &save); /* @strtok_r any */
		day = strtok_r(NULL, " \t", &save); /* @strtok_r any */
		if (path == NULL || *path == '#' || size == NULL)
			continue;
		r = calloc(1, sizeof *r);	/* @calloc none dereferenced */
		r->path = xstrdup(path);
		r->keep = strtol(keep, NULL, 10);	/* @strtol all */
		if (r->keep < 1 || r->keep > MAXKEEP)
			r->keep = 4;
		r->limit = parse_size(size);
		if (r->limit < 0)
			r->limit = 1 << 20;
		r->after = day ? parse_day(day) : 0;
		r->next = head;
		head = r;
	}
	if (ferror(fp))
		die(conf);
	free(line);
	fclose(fp);			/* @fclose none ignored */
	return head;
}

static void stamp(char *out, size_t cap)
{
	time_t now = time(NULL);	/* @time any */
	struct tm *tm = localtime(&now);	/* @localtime none dereferenced */

	if (strftime(out, cap, "%F %T", tm) == 0)	/* @strftime all */
		out[0] = '\0';
}

static int run(struct rule *r, time_t now)
{
	char first[PATH_MAX], when[32];
	struct stat st;

	if (stat(r->path, &st) < 0)	/* @stat all */
		return errno == ENOENT ? 0 : -1;
	if (st.st_size < r->limit && (r->after == 0 || now < r->after))
		return 0;
	if (shift(r) < 0 || recreate(r, &st) < 0)
		return -1;
	if (numbered(first, sizeof first, r->path, 1) == 0 && compress_one(first) != 0)
		note("%s stays uncompressed", first);
	stamp(when, sizeof when);
	note("%s rotated at %s", r->path, when);
	return 1;
}

int main(int argc, char **argv)
{
	struct rule *r, *next;
	int bad = 0, done = 0, n;

	if (argc != 3) {
		fputs("usage: rotlog CONF DIR\n", stderr);	/* @fputs/fwrite none ignored */
		return 64;
	}
	if (chdir(argv[2]) != 0)	/* @chdir all */
		die(argv[2]);
	open_audit(".");
	umask(027);
	for (r = parse(argv[1]); r != NULL; r = next) {
		n = run(r, time(NULL));		/* @time any */
		if (n < 0)
			bad++;
		else
			done += n;
		next = r->next;
		free(r->path);
		free(r);
	}
	n = expire(".", time(NULL) - 90L * 86400);	/* @time any */
	if (n < 0)
		bad++;
	printf("%d rotated, %d expired, %d failed\n", done, n, bad);	/* @printf none ignored */
	if (fflush(stdout) == EOF)	/* @fflush all */
		return 3;
	if (audit != NULL && fclose(audit) != 0)	/* @fclose all */
		return 3;
	return bad ? 1 : 0;
}
