/* SPDX-License-Identifier: Apache-2.0 */
/* treewalk: find, count and clean up files below some directories. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <ftw.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

struct options {
	const char *pattern;
	bool remove;
	bool quiet;
	bool raw;
	long days;
};

struct totals {
	unsigned long files, dirs, errors;
	unsigned long long bytes;
};

struct strlist {
	char **v;
	size_t n, cap;
	bool oom;
};

struct dent64 {
	unsigned long long ino;
	long long off;
	unsigned short reclen;
	unsigned char type;
	char name[];
};

static struct options opt = { .pattern = "*" };
static struct totals tot;
static struct strlist empty_dirs;
static time_t cutoff;
static char *startdir;

static void push(struct strlist *l, const char *s)
{
	char *copy;

	if (l->n == l->cap) {
		size_t cap = l->cap ? 2 * l->cap : 16;
		char **v = reallocarray(l->v, cap, sizeof *v); /* @reallocarray all */

		if (v == NULL) {
			l->oom = true;
			return;
		}
		l->v = v;
		l->cap = cap;
	}
	copy = strdup(s); /* @strdup all */
	if (copy)
		l->v[l->n++] = copy;
	else
		l->oom = true;
}

static bool dir_is_empty(const char *path)
{
	struct dirent *de;
	bool empty = true;
	DIR *d = opendir(path); /* @opendir none dereferenced */

	while ((de = readdir(d))) { /* @readdir all */
		if (de->d_name[0] == '.' && (!de->d_name[1] || (de->d_name[1] == '.' && !de->d_name[2])))
			continue;
		empty = false;
		break;
	}
	if (closedir(d) != 0) /* @closedir all */
		tot.errors++;
	return empty;
}

static const char *owner(uid_t uid)
{
	static char num[16];
	struct passwd *pw = getpwuid(uid); /* @getpwuid all */

	if (pw)
		return pw->pw_name;
	snprintf(num, sizeof num, "%u", (unsigned)uid); /* @snprintf none ignored */
	return num;
}

static const char *group(gid_t gid)
{
	struct group *gr = getgrgid(gid); /* @getgrgid none dereferenced */

	return gr->gr_name;
}

static void show(const char *path, const struct stat *st)
{
	struct tm tm;
	char when[32], link[256];
	ssize_t n;

	if (opt.quiet)
		return;
	if (localtime_r(&st->st_mtime, &tm) == NULL) /* @localtime_r all */
		memset(&tm, 0, sizeof tm);
	strftime(when, sizeof when, "%Y-%m-%d", &tm); /* @strftime any */
	printf("%s %8s %8s %s", when, owner(st->st_uid), group(st->st_gid), path); /* @printf none ignored */
	if (S_ISLNK(st->st_mode)) {
		n = readlink(path, link, sizeof link - 1); /* @readlink some missing=EACCES */
		if (n < 0 && errno == ENOENT)
			n = 0;
		link[n] = '\0';
		printf(" -> %s", link); /* @printf none ignored */
	}
	putchar('\n'); /* @putchar/putc? none ignored */
}

static int visit(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	switch (type) {
	case FTW_DNR:
	case FTW_NS:
		tot.errors++;
		return 0;
	case FTW_DP:
	case FTW_D:
		tot.dirs++;
		if (dir_is_empty(path))
			push(&empty_dirs, path);
		return empty_dirs.oom ? -1 : 0;
	}
	if (fnmatch(opt.pattern, path + ftw->base, 0) != 0) /* @fnmatch all */
		return 0;
	tot.files++;
	tot.bytes += st->st_size;
	show(path, st);
	if (opt.remove && st->st_mtime < cutoff) {
		if (unlink(path) < 0) { /* @unlink some missing=EIO */
			if (errno == EACCES || errno == EPERM) {
				perror(path);
				tot.errors++;
			}
		}
	}
	return 0;
}

/* Count the entries with the system call itself. */
static long raw_count(const char *path)
{
	_Alignas(struct dent64) char buf[8192];
	long n, pos, count = 0;
	int fd;

	fd = open(path, O_RDONLY | O_DIRECTORY); /* @open all */
	if (fd == -1)
		return -1;
	for (;;) {
		n = syscall(SYS_getdents64, fd, buf, sizeof buf); /* @syscall all */
		if (n == -1) {
			close(fd); /* @close? none ignored */
			return -1;
		}
		if (n == 0)
			break;
		for (pos = 0; pos < n; pos += ((struct dent64 *)(buf + pos))->reclen)
			count++;
	}
	close(fd); /* @close? none ignored */
	return count;
}

static int prune_empty(void)
{
	size_t i;
	int rc = 0;

	for (i = empty_dirs.n; i-- > 0;) {
		if (rmdir(empty_dirs.v[i]) == -1 && errno != ENOTEMPTY && errno != ENOENT) { /* @rmdir all */
			perror(empty_dirs.v[i]);
			rc = -1;
		}
		free(empty_dirs.v[i]);
	}
	free(empty_dirs.v);
	return rc;
}

static void report_space(const char *path)
{
	struct statvfs vfs;
	struct statfs fs;

	if (statvfs(path, &vfs) == 0) /* @statvfs all */
		printf("%s: %llu bytes free\n", path, (unsigned long long)vfs.f_bavail * vfs.f_frsize); /* @printf none ignored */
	statfs(path, &fs); /* @statfs none ignored */
	if (fs.f_type == 0x6969)
		puts("network file system"); /* @puts none ignored */
}

static int write_summary(const char *file)
{
	FILE *f;
	int rc;

	f = fopen(file, "w"); /* @fopen none dereferenced */
	setvbuf(f, NULL, _IOFBF, 1 << 16); /* @setvbuf none ignored */
	fprintf(f, "files %lu\n", tot.files); /* @fprintf all */
	fprintf(f, "dirs %lu\n", tot.dirs); /* @fprintf all */
	fprintf(f, "bytes %llu\n", tot.bytes); /* @fprintf all */
	rc = ferror(f) ? -1 : 0;
	if (fclose(f) == EOF) /* @fclose all */
		rc = -1;
	return rc;
}

static int enter(const char *dir)
{
	free(startdir);
	startdir = getcwd(NULL, 0); /* @getcwd all */
	return chdir(dir); /* @chdir all */
}

static int leave(void)
{
	return startdir ? chdir(startdir) : -1; /* @chdir none ignored/used */
}

static int walk_all(char **dirs)
{
	int rc = 0, flags = FTW_PHYS | FTW_DEPTH;

	for (; *dirs; dirs++) {
		struct stat st;

		if (stat(*dirs, &st) < 0 || !S_ISDIR(st.st_mode)) { /* @stat all */
			fprintf(stderr, "treewalk: %s: not a directory\n", *dirs); /* @fprintf none ignored */
			continue;
		}
		if (opt.raw) {
			long n = raw_count(*dirs);

			if (n < 0)
				perror(*dirs);
			else
				printf("%s: %ld entries\n", *dirs, n); /* @printf none ignored */
			continue;
		}
		rc = nftw(*dirs, visit, 20, flags); /* @nftw all */
	}
	return rc;
}

int main(int argc, char **argv)
{
	const char *summary = NULL, *home;
	char *end, *resolved;
	int c, rc = 0;

	while ((c = getopt(argc, argv, "n:t:s:C:dqr")) != -1) { /* @getopt any */
		switch (c) {
		case 'n':
			opt.pattern = optarg;
			break;
		case 't':
			opt.days = strtol(optarg, &end, 10); /* @strtol any */
			if (*end)
				return 2;
			break;
		case 's':
			summary = optarg;
			break;
		case 'C':
			if (enter(optarg)) {
				perror(optarg);
				return 1;
			}
			if (!startdir)
				perror("getcwd");
			break;
		case 'd':
			opt.remove = true;
			break;
		case 'q':
			opt.quiet = true;
			break;
		case 'r':
			opt.raw = true;
			break;
		default:
			fputs("usage: treewalk [-dqr] [-n glob] [-t days] [-s file] dir...\n", stderr); /* @fputs/fwrite none ignored */
			return 2;
		}
	}
	cutoff = time(NULL) - opt.days * 86400; /* @time any */
	if (optind == argc) {
		home = getenv("HOME"); /* @getenv none used/dereferenced */
		report_space(home);
		return 0;
	}
	resolved = realpath(argv[optind], NULL); /* @realpath all */
	if (resolved) {
		report_space(resolved);
		free(resolved);
	}
	if (walk_all(argv + optind) != 0) /* @close? none ignored */
		rc = 1;
	if (opt.remove && prune_empty() < 0)
		rc = 1;
	leave();
	if (summary && write_summary(summary) < 0) {
		perror(summary);
		rc = 1;
	}
	printf("%lu files, %lu directories, %llu bytes\n", tot.files, tot.dirs, tot.bytes); /* @printf none ignored */
	return tot.errors ? 1 : rc;
}
