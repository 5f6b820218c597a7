/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What programs of Debian do and what was once judged wrongly: a daemon that closes all descriptors before it opens the
 * standard ones anew, lengths whose error is asked for together with a bound, dates in variables of the program, and
 * errno that is asked for after a call that leaves it alone.
 */
/* flags: -D_GNU_SOURCE */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#define NOINLINE __attribute__((noinline))

static time_t started, wanted;
static int notify = -1;

static NOINLINE void set_notify(int fd) { notify = fd; }

/* --- descriptors ------------------------------------------------------------------------------------------------------- */

static NOINLINE int detach(int keep)
{
	for (int fd = 0; fd < 1024; fd++)
		if (fd != keep)
			close(fd); /* @close none ignored */
	set_notify(keep);
	if (open("/dev/null", O_RDONLY) != 0 || /* @open all */
	    open("/dev/null", O_WRONLY) != 1 || /* @open all */
	    open("/dev/null", O_RDWR) != 2) /* @open all */
		return -1;
	return 0;
}

/* What is closed in the same loop was not closed before. */
static NOINLINE int visit(char **names)
{
	int bad = 0;

	for (; *names; names++) {
		int fd = open(*names, O_RDONLY); /* @open none used */
		if (fd == 0)
			bad++;
		close(fd); /* @close none ignored */
	}
	return bad;
}

/* Something was opened in between. */
static NOINLINE int reopen(const char *path, int *log)
{
	for (int fd = 0; fd < 64; fd++)
		close(fd); /* @close none ignored */
	*log = open(path, O_WRONLY | O_CREAT, 0600); /* @open all */
	if (*log < 0)
		return -1;
	if (open("/dev/null", O_RDWR) != 0) /* @open none used/ignored */
		return -1;
	return 0;
}

/* --- lengths ----------------------------------------------------------------------------------------------------------- */

/* That the text is no text is noticed when it is converted; the author has asked for it all the same. */
static NOINLINE int too_long(const char *text)
{
	size_t n = mbstowcs(NULL, text, 0); /* @mbstowcs all */

	if (n != (size_t)-1 && n > 11)
		return 1;
	return 0;
}

static NOINLINE int too_long_only(const char *text)
{
	size_t n = mbstowcs(NULL, text, 0); /* @mbstowcs all */

	return n > 11;
}

static NOINLINE int too_short(const char *text)
{
	size_t n = mbstowcs(NULL, text, 0); /* @mbstowcs all */

	if (n == (size_t)-1 || n < 4)
		return 1;
	return 0;
}

static NOINLINE int in_between(const char *text)
{
	size_t n = mbstowcs(NULL, text, 0); /* @mbstowcs all */

	if (n >= 4 && n <= 11)
		return 0;
	return 1;
}

/* --- errno ------------------------------------------------------------------------------------------------------------- */

static NOINLINE int number(const char *text, long *ret)
{
	char *end;

	errno = 0;
	*ret = strtol(text, &end, 0); /* @strtol all */
	if (!*text || isspace(*text) || *end || errno)
		return -1;
	return 0;
}

static NOINLINE int number_noted(const char *text, long *ret)
{
	char *end, *copy = strdup(text); /* @strdup none dereferenced/used */

	errno = 0;
	*ret = strtol(copy, &end, 0); /* @strtol all */
	free(copy);
	return errno ? -1 : 0;
}

/* errno is asked for, but may be another one by then. */
static NOINLINE int number_late(const char *text, long *ret)
{
	errno = 0;
	*ret = strtol(text, NULL, 0); /* @strtol none used */
	unlink(text); /* @unlink any */
	return errno ? -1 : 0;
}

int main(int argc, char **argv)
{
	long numbers[3];
	struct tm *tm;
	int n = 0, log = -1;

	if (argc < 3)
		return 2;
	n += too_long(argv[1]) + too_long_only(argv[1]) + too_short(argv[2]) + in_between(argv[2]) + visit(argv + 1);
	n += number(argv[1], &numbers[0]) + number_noted(argv[1], &numbers[1]) + number_late(argv[2], &numbers[2]);
	n += numbers[0] + numbers[1] + numbers[2] > 9;
	started = time(NULL); /* @time any */
	tm = localtime(&started); /* @localtime none dereferenced */
	n += tm->tm_hour;
	wanted = atoll(argv[2]); /* @atoll/strtoll any */
	tm = localtime(&wanted); /* @localtime none dereferenced */
	n += tm->tm_hour;
	if (detach(argc) < 0 || reopen(argv[1], &log) < 0)
		return 1;
	return n + notify > 40;
}
