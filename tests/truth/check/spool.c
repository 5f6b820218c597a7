/* SPDX-License-Identifier: Apache-2.0 */
/* A spooler: fortified calls, calls in the last place of a function, conditions that choose values. */
/* flags: -D_FORTIFY_SOURCE=2 -D_FILE_OFFSET_BITS=64 -fcf-protection=full */
/* link: -lpthread */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

enum { OK, GONE, FULL, BROKEN };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int last_error;
static char where[512];

/* The last call of a function that returns nothing. */
static NOINLINE void forget(const char *path)
{
	unlink(path); /* @unlink none ignored */
}

static NOINLINE void hand_over(int fd, uid_t user)
{
	fchown(fd, user, (gid_t)-1); /* @fchown none ignored */
}

/* The last call, and its result is the function's. */
static NOINLINE int take(const char *from, const char *to)
{
	return link(from, to); /* @link all */
}

static NOINLINE int drop(const char *path)
{
	return rmdir(path); /* @rmdir none returned/ignored */
}

static NOINLINE int state_of(const char *path)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW); /* @open all */
	struct stat st;
	int state;

	if (fd < 0)
		return errno == ENOENT ? GONE : errno == ENOSPC ? FULL : BROKEN;
	state = fstat(fd, &st) < 0 ? BROKEN : st.st_size ? OK : GONE; /* @fstat all */
	close(fd); /* @close none ignored */
	return state;
}

/* Where am I? The answer is shown without a look. */
static NOINLINE const char *here(char *buffer, size_t size)
{
	return getcwd(buffer, size); /* @getcwd none returned/used/dereferenced */
}

static NOINLINE const char *here_for_sure(void)
{
	return getcwd(where, sizeof where) ? where : "?"; /* @getcwd all */
}

static NOINLINE int target_of(const char *path, char *to, size_t size)
{
	ssize_t n = readlink(path, to, size - 1); /* @readlink all */

	if (n == -1) {
		last_error = errno;
		return -1;
	}
	to[n] = 0;
	return 0;
}

/* A byte before the beginning if it fails. */
static NOINLINE void target_blindly(const char *path, char *to, size_t size)
{
	to[readlink(path, to, size - 1)] = 0; /* @readlink none used */
}

static NOINLINE bool slurp(int fd, char *to, size_t size)
{
	size_t have = 0;
	ssize_t n;

	while ((n = read(fd, to + have, size - have)) > 0) /* @read all */
		have += (size_t)n;
	return n == 0;
}

/* Ends at the error as at the end: the loop is the check. */
static NOINLINE size_t drain(int fd)
{
	char buffer[100];
	size_t all = 0;
	ssize_t n;

	while ((n = read(fd, buffer, sizeof buffer)) > 0) /* @read all */
		all += (size_t)n;
	return all;
}

static NOINLINE int locked(int (*unused)(void))
{
	int rc = pthread_mutex_lock(&lock); /* @pthread_mutex_lock all */

	(void)unused;
	if (rc != 0) {
		errno = rc;
		return -1;
	}
	pthread_mutex_unlock(&lock); /* @pthread_mutex_unlock none ignored */
	return 0;
}

/* pthread functions do not return -1. */
static NOINLINE int locked_wrongly(void)
{
	if (pthread_mutex_lock(&lock) < 0) /* @pthread_mutex_lock none ignored/used */
		return -1;
	return pthread_mutex_unlock(&lock) == 0; /* @pthread_mutex_unlock all */
}

static NOINLINE int newest(const char *folder)
{
	struct dirent **list;
	int n = scandir(folder, &list, NULL, alphasort); /* @scandir all */
	int i = n;

	if (n <= 0)
		return n;
	while (i-- > 0)
		free(list[i]);
	free(list);
	return n;
}

/* -1 is no null. */
static NOINLINE int make_temporary(char *template)
{
	int fd = mkstemp(template); /* @mkstemp none used */

	if (!fd)
		return 0;
	fchmod(fd, 0644); /* @fchmod none ignored */
	return fd;
}

static NOINLINE char *format(const char *a, int n)
{
	char *text;

	if (asprintf(&text, "%s.%d", a, n) < 0) /* @asprintf all */
		return NULL;
	return text;
}

static NOINLINE char *format_blindly(const char *a, int n)
{
	char *text = NULL;

	asprintf(&text, "%s.%d", a, n); /* @asprintf none ignored */
	return text;
}

/* errno was made 0, and is the sign. */
static NOINLINE long number(const char *text, bool *good)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(text, &end, 10); /* @strtol all */
	*good = errno == 0 && *end == 0;
	return n;
}

static NOINLINE FILE *reopen(const char *path)
{
	FILE *f = freopen(path, "a", stdout); /* @freopen all */

	return f ? f : stderr;
}

/* Both in one condition; the first one's failure leaves the second out. */
static NOINLINE int refresh(const char *path)
{
	int rc = -1;

	if (access(path, W_OK) == 0 && utimes(path, NULL) == 0) /* @access all; @utimes all */
		rc = 0;
	return rc;
}

static NOINLINE int store(FILE *f, const char *text)
{
	int bad = fputs(text, f) == EOF; /* @fputs/fwrite all */

	bad |= fflush(f) != 0; /* @fflush all */
	bad |= ferror(f); /* @ferror any */
	return bad ? -1 : 0;
}

int main(int argc, char **argv)
{
	char buffer[256], small[64];
	bool good;
	char *a = format("a", argc), *b = format_blindly("b", argc);
	int fd = make_temporary(argv[1]);

	if (!a)
		return 1;
	if (take(argv[1], argv[2]) != 0)
		return 2;
	drop(argv[3]);
	hand_over(fd, 1);
	target_blindly(argv[1], small, sizeof small);
	if (target_of(argv[1], buffer, sizeof buffer) < 0 || locked(NULL) < 0 || newest(".") < 0)
		return last_error;
	if (!slurp(fd, buffer, sizeof buffer))
		return 3;
	puts(here(buffer, sizeof buffer)); /* @puts none ignored */
	puts(here_for_sure()); /* @puts none ignored */
	if (store(reopen(b), small) < 0 || refresh(a) < 0)
		return 4;
	forget(a);
	number(argv[1], &good);
	return good && locked_wrongly() ? state_of(argv[1]) + (int)drain(fd) : 5;
}
