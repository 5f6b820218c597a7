/* SPDX-License-Identifier: Apache-2.0 */
/* rotatelogs: shift log files by size and keep a number of old generations. */
#define _GNU_SOURCE
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAX_TARGETS 64

struct target {
	char *path;
	off_t limit;
	int keep;
	int rc;
};

static struct target targets[MAX_TARGETS];
static int ntargets;
static int verbose;
static int lockfd = -1;

static void check(int rc, const char *what, const char *arg)
{
	if (rc < 0)
		err(1, "%s %s", what, arg);
}

static char *xstrdup(const char *s)
{
	char *p = strdup(s); /* @strdup all */

	if (p == NULL)
		errx(1, "out of memory");
	return p;
}

static void take_lock(const char *path)
{
	lockfd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600); /* @open all */
	check(lockfd, "open", path);
	if (flock(lockfd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) /* @flock some missing=ENOLCK */
		errx(3, "%s: another rotation is running", path);
	if (ftruncate(lockfd, 0) < 0) /* @ftruncate all */
		warn("cannot empty %s", path);
	dprintf(lockfd, "%d\n", (int)getpid()); /* @dprintf none ignored */
}

static int needs_rotation(const struct target *t, struct stat *st)
{
	if (stat(t->path, st) != 0) { /* @stat all */
		if (errno == ENOENT)
			return 0;
		return -1;
	}
	return st->st_size >= t->limit;
}

static int shift_generations(const struct target *t)
{
	char from[PATH_MAX], to[PATH_MAX];
	int i;

	if ((size_t)snprintf(to, sizeof to, "%s.%d", t->path, t->keep) >= sizeof to) { /* @snprintf all */
		errno = ENAMETOOLONG;
		return -1;
	}
	unlink(to); /* @unlink none ignored */
	for (i = t->keep - 1; i >= 1; i--) {
		snprintf(from, sizeof from, "%s.%d", t->path, i); /* @snprintf none ignored */
		snprintf(to, sizeof to, "%s.%d", t->path, i + 1); /* @snprintf none ignored */
		if (rename(from, to) < 0 && errno != ENOENT) /* @rename all */
			return -1;
	}
	return 0;
}

/* Copy the log aside for daemons that cannot reopen, then cut it. */
static int copy_truncate(const char *src, const char *dst)
{
	char buf[16384];
	ssize_t n;
	int in, out, rc;

	in = open(src, O_RDWR | O_CLOEXEC); /* @open all */
	if (in <= 0)
		return -1;
	out = open(dst, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640); /* @open all */
	if (out == -1) {
		close(in); /* @close? none ignored */
		return -1;
	}
	while ((n = read(in, buf, sizeof buf)) > 0) { /* @read all */
		if (write(out, buf, n) < (size_t)n) { /* @write none used */
			warnx("%s: short write", dst);
			break;
		}
	}
	rc = fsync(out); /* @fsync none ignored/used */
	rc = close(out); /* @close all */
	if (rc != 0)
		warn("close %s", dst);
	if (rc == 0 && n == 0)
		rc = ftruncate(in, 0); /* @ftruncate all */
	else
		rc = -1;
	close(in); /* @close? none ignored */
	return rc;
}

static int rename_and_create(const struct target *t, const struct stat *st)
{
	char to[PATH_MAX];
	int fd;

	if ((size_t)snprintf(to, sizeof to, "%s.1", t->path) >= sizeof to) /* @snprintf all */
		return -1;
	if (rename(t->path, to) == -1) { /* @rename all */
		if (errno == EXDEV || errno == EBUSY)
			return copy_truncate(t->path, to);
		return -1;
	}
	fd = open(t->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, st->st_mode & 0777); /* @open all */
	if (!(fd >= 0))
		return errno == EEXIST ? 0 : -1;
	if (fchown(fd, st->st_uid, st->st_gid) < 0 && errno == EPERM) /* @fchown some missing=EIO */
		warnx("%s: owner not kept", t->path);
	(void)fchmod(fd, st->st_mode & 07777); /* @fchmod none ignored */
	while (close(fd) < 0 && errno == EINTR) /* @close some missing=EIO */
		continue;
	return 0;
}

static int rotate(struct target *t)
{
	struct stat st;
	int need = needs_rotation(t, &st);

	if (need < 0) {
		warn("stat %s", t->path);
		return -2;
	}
	if (!need)
		return 0;
	if (shift_generations(t) < 0) {
		warn("shift %s", t->path);
		return -1;
	}
	if (rename_and_create(t, &st) != 0) { /* @close? none ignored */
		warn("rotate %s", t->path);
		return -1;
	}
	return 0;
}

static void kick_daemon(const char *pidfile)
{
	FILE *f = fopen(pidfile, "r"); /* @fopen all */
	int pid;

	if (!f) {
		warn("%s", pidfile);
		return;
	}
	if (fscanf(f, "%d", &pid) != 1) { /* @fscanf/__isoc99_fscanf all */
		warnx("%s: no process number", pidfile);
		pid = 0;
	}
	fclose(f); /* @fclose none ignored */
	if (pid > 1 && kill(pid, SIGHUP) == -1 && errno == ESRCH) /* @kill some missing=EPERM */
		warnx("process %d is gone", pid);
}

/* Throw away generations beyond the number kept. */
static int purge_dir(const char *dir, const char *base, int keep)
{
	size_t len = strlen(base);
	struct dirent *de;
	int removed = 0;
	DIR *d;

	d = opendir(dir); /* @opendir all */
	if (d == NULL)
		return -1;
	while ((de = readdir(d)) != NULL) { /* @readdir all */
		char *end;
		long gen;

		if (strncmp(de->d_name, base, len) != 0 || de->d_name[len] != '.')
			continue;
		errno = 0;
		gen = strtol(de->d_name + len + 1, &end, 10); /* @strtol all */
		if (errno != 0 || *end != '\0')
			continue;
		if (gen <= keep)
			continue;
		if (unlinkat(dirfd(d), de->d_name, 0) == 0) /* @unlinkat all; @dirfd any */
			removed++;
	}
	return closedir(d) < 0 ? -1 : removed; /* @closedir all */
}

static void stamp(FILE *out)
{
	char text[64];
	time_t now = time(NULL); /* @time any */
	struct tm *tm = localtime(&now); /* @localtime none dereferenced */

	strftime(text, sizeof text, "%F %T", tm); /* @strftime any */
	fprintf(out, "%s rotation of %d files\n", text, ntargets); /* @fprintf none ignored */
}

static void read_config(const char *path)
{
	char line[1024], name[512];
	long limit;
	int keep, lineno = 0;
	FILE *f;

	if ((f = fopen(path, "re")) == NULL) /* @fopen all */
		err(1, "%s", path);
	while (fgets(line, sizeof line, f) != NULL) { /* @fgets all */
		lineno++;
		if (line[0] == '#' || line[0] == '\n')
			continue;
		if (sscanf(line, "%511s %ld %d", name, &limit, &keep) < 3) { /* @sscanf/__isoc99_sscanf all */
			warnx("%s:%d: bad line", path, lineno);
			continue;
		}
		if (ntargets == MAX_TARGETS)
			break;
		targets[ntargets].path = xstrdup(name);
		targets[ntargets].limit = limit;
		targets[ntargets].keep = keep < 1 ? 1 : keep;
		ntargets++;
	}
	if (ferror(f))
		errx(1, "%s: read error", path);
	fclose(f); /* @fclose none ignored */
}

int main(int argc, char **argv)
{
	const char *pidfile = NULL, *purge = NULL;
	int c, i, worst = 0;

	while ((c = getopt(argc, argv, "vp:d:")) != -1) { /* @getopt any */
		switch (c) {
		case 'v':
			verbose++;
			break;
		case 'p':
			pidfile = optarg;
			break;
		case 'd':
			purge = optarg;
			break;
		default:
			errx(2, "usage: rotatelogs [-v] [-p pidfile] [-d dir] config");
		}
	}
	if (optind >= argc)
		errx(2, "no configuration");
	umask(027);
	if (setvbuf(stdout, NULL, _IOLBF, 0) != 0) /* @setvbuf all */
		warnx("output stays buffered");
	take_lock("/tmp/rotatelogs.lock");
	read_config(argv[optind]);
	if (verbose)
		stamp(stdout);

	for (i = 0; i < ntargets; i++) {
		targets[i].rc = rotate(&targets[i]);
		if (targets[i].rc < worst)
			worst = targets[i].rc;
	}
	for (i = 0; purge != NULL && i < ntargets; i++) {
		const char *base = strrchr(targets[i].path, '/'); /* @strrchr any */
		int n = purge_dir(purge, base ? base + 1 : targets[i].path, targets[i].keep);

		if (n < 0)
			warn("%s", purge);
		else if (verbose)
			printf("%s: %d removed\n", purge, n); /* @printf none ignored */
	}
	if (pidfile != NULL)
		kick_daemon(pidfile);
	if (flock(lockfd, LOCK_UN) != 0) /* @flock all */
		warn("unlock");
	return worst < 0 ? 1 : 0;
}
