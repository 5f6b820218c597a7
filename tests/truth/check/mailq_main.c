/* SPDX-License-Identifier: Apache-2.0 */
/* program: mailq */
/* mailq: accept a message on standard input, queue it, deliver what is queued. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sysexits.h>
#include <syslog.h>
#include <time.h>
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

extern enum verdict deliver(struct msg *m, const char *maildir);
extern int sync_dir(const char *dir);
extern void *xalloc(size_t n);
extern char *xformat(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
extern void must_zero(int rc, const char *what);

static const char *qdir = "/tmp/mailq";

void *xalloc(size_t n)
{
	void *p = calloc(1, n ? n : 1); /* @calloc all */

	if (p == NULL) {
		syslog(LOG_CRIT, "out of memory");
		exit(EX_OSERR);
	}
	return p;
}

char *xformat(const char *fmt, ...)
{
	va_list ap;
	char *s;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&s, fmt, ap); /* @vasprintf all */
	va_end(ap);
	if (n == -1)
		exit(EX_OSERR);
	return s;
}

void must_zero(int rc, const char *what)
{
	if (rc != 0) {
		syslog(LOG_ERR, "%s: %m", what);
		exit(EX_IOERR);
	}
}

static void setup(void)
{
	must_zero(chdir(qdir), qdir); /* @chdir all */
	if (mkdir("tmp", 0700) == -1 && errno == ENOSPC) /* @mkdir some missing=EACCES */
		exit(EX_IOERR);
	if (mkdir("new", 0700) == -1 && errno != EEXIST) /* @mkdir all */
		exit(EX_IOERR);
	mkdir("dead", 0700); /* @mkdir none ignored */
}

static void unique(char *buf, size_t n)
{
	char host[64];
	struct timespec ts;

	if (gethostname(host, sizeof host) < 0) /* @gethostname all */
		strcpy(host, "localhost");
	host[sizeof host - 1] = '\0';
	clock_gettime(CLOCK_REALTIME, &ts); /* @clock_gettime none ignored */
	snprintf(buf, n, "%lld.%ld_%d.%s", (long long)ts.tv_sec, ts.tv_nsec, (int)getpid(), host); /* @snprintf none ignored */
}

/* Everything is on disk when this says so. */
static int inject(const char *from, const char *to)
{
	char id[128], buf[4096];
	char *tmp, *new;
	size_t n;
	FILE *f;
	int rc = EX_TEMPFAIL;

	unique(id, sizeof id);
	tmp = xformat("tmp/%s", id);
	new = xformat("new/%s", id);
	f = fopen(tmp, "wx"); /* @fopen all */
	if (!f)
		goto out;
	fprintf(f, "%s\n%s\n", from, to); /* @fprintf all */
	while ((n = fread(buf, 1, sizeof buf, stdin)) > 0) /* @fread all */
		fwrite(buf, 1, n, f); /* @fwrite all */
	if (ferror(stdin) | ferror(f)) {
		fclose(f); /* @fclose? none ignored */
		goto remove;
	}
	if (fflush(f) == EOF || fsync(fileno(f)) < 0) { /* @fflush all; @fsync all; @fileno any */
		fclose(f); /* @fclose? none ignored */
		goto remove;
	}
	if (fclose(f) != 0) /* @fclose all */
		goto remove;
	if (link(tmp, new) < 0) { /* @link all */
		syslog(LOG_ERR, "link %s: %m", new);
		goto remove;
	}
	rc = sync_dir("new") < 0 ? EX_TEMPFAIL : EX_OK;
remove:
	unlink(tmp); /* @unlink none ignored */
out:
	free(tmp);
	free(new);
	return rc;
}

static int read_envelope(struct msg *m)
{
	int n;

	if (!fgets(m->from, sizeof m->from, m->body) || !fgets(m->to, sizeof m->to, m->body)) /* @fgets all */
		return -1;
	m->from[strcspn(m->from, "\n")] = '\0';
	m->to[strcspn(m->to, "\n")] = '\0';
	if (fseek(m->body, 0, SEEK_END) != 0) /* @fseek all */
		return -1;
	m->size = ftell(m->body); /* @ftell all */
	n = fseek(m->body, 0, SEEK_SET); /* @fseek none ignored/used */
	n = fscanf(m->body, "%*[^\n]\n%*[^\n]%*c"); /* @fscanf/__isoc99_fscanf none ignored/used */
	(void)n;
	return m->size < 0 ? -1 : 0;
}

static void reschedule(const char *path, int attempts)
{
	struct timeval tv[2];
	time_t now = time(NULL); /* @time any */

	tv[0].tv_sec = tv[1].tv_sec = now + 60 * attempts;
	tv[0].tv_usec = tv[1].tv_usec = 0;
	if (utimes(path, tv) < 0) /* @utimes all */
		syslog(LOG_WARNING, "%s: %m", path);
}

static void process(const char *name)
{
	char *path = xformat("new/%s", name), *dead;
	struct msg *m = xalloc(sizeof *m);
	int rc;

	snprintf(m->id, sizeof m->id, "%s", name); /* @snprintf none ignored */
	m->body = fopen(path, "r"); /* @fopen all */
	if (m->body == NULL) {
		if (errno != ENOENT)
			syslog(LOG_ERR, "%s: %m", path);
		goto done;
	}
	rc = read_envelope(m);
	switch (rc ? BOUNCED : deliver(m, getenv("MAILDIR"))) { /* @getenv all */
	case SENT:
		if (unlink(path) < 0 && errno == EROFS) /* @unlink some missing=EACCES */
			exit(EX_IOERR);
		break;
	case DEFERRED:
		reschedule(path, ++m->attempts);
		break;
	case BOUNCED:
		dead = xformat("dead/%s", name);
		if (rename(path, dead) == -1) /* @rename all */
			syslog(LOG_ERR, "cannot bury %s: %m", path);
		free(dead);
		break;
	}
	fclose(m->body); /* @fclose none ignored */
done:
	free(m);
	free(path);
}

static int run_queue(void)
{
	FILE *p;
	char name[256];
	int count = 0;

	p = popen("ls -tr new", "r"); /* @popen all */
	if (p == NULL)
		return -1;
	while (fgets(name, sizeof name, p) == name) { /* @fgets all */
		name[strcspn(name, "\n")] = '\0';
		process(name);
		count++;
	}
	return pclose(p) == 0 ? count : -1; /* @pclose all */
}

int main(int argc, char **argv)
{
	const char *from = "nobody";
	int c, run = 0, n;

	openlog("mailq", LOG_PID, LOG_MAIL);
	while ((c = getopt(argc, argv, "d:f:q")) != -1) /* @getopt any */
		if (c == 'd')
			qdir = optarg;
		else if (c == 'f')
			from = optarg;
		else if (c == 'q')
			run = 1;
		else
			return EX_USAGE;
	umask(077);
	setup();
	if (run) {
		n = run_queue();
		if (n < 0)
			return EX_OSERR;
		printf("%d messages\n", n); /* @printf none ignored */
		return fclose(stdout); /* @fclose none returned/used */
	}
	if (optind == argc) {
		fputs("mailq: no recipient\n", stderr); /* @fputs/fwrite none ignored */
		return EX_USAGE;
	}
	for (n = EX_OK; optind < argc; optind++)
		n |= inject(from, argv[optind]);
	if (n != EX_OK)
		fputs("mailq: message not queued\n", stderr); /* @fputs/fwrite none ignored */
	return n;
}
