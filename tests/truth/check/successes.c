/* SPDX-License-Identifier: Apache-2.0 */
/* A survey of files: what a success looks like decides which comparisons tell a failure from it. */
/* flags: -D_GNU_SOURCE */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <pwd.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))

static long sum;
static unsigned notes;

static APART void note(void) { notes++; }

static APART void add(long n) { sum += n; }

/* --- offsets and sizes: that one is 0, or not, says nothing of a failure --- */

APART void size_or_empty(int fd)
{
	off_t at = lseek(fd, 0, SEEK_END); /* @lseek none used */

	if (at == 0)
		note();
	add(at);
}

APART void where_or_start(int fd)
{
	off_t at = lseek(fd, 0, SEEK_CUR); /* @lseek none used */

	if (at)
		note();
	add(at);
}

APART void size_well(int fd)
{
	off_t at = lseek(fd, 0, SEEK_END); /* @lseek all */

	if (at <= 0) {
		note();
		return;
	}
	add(at);
}

APART int to_start(int fd)
{
	return lseek(fd, 0, SEEK_SET) != 0 ? 1 : 0; /* @lseek all */
}

APART int to_header(int fd)
{
	if (lseek(fd, 512, SEEK_SET) != 512) /* @lseek all */
		return 1;
	return 0;
}

APART int has_size(int fd)
{
	return lseek(fd, 0, SEEK_END) == 40 ? 0 : 1; /* @lseek all */
}

APART void attributes_or_none(const char *path)
{
	char b[256];
	ssize_t n = llistxattr(path, b, sizeof b); /* @llistxattr none used */

	if (n == 0)
		note();
	add(n);
}

APART void attributes_well(const char *path)
{
	char b[256];
	ssize_t n = llistxattr(path, b, sizeof b); /* @llistxattr all */

	if (n > 0)
		add(n);
}

APART void date_or_epoch(struct tm *tm)
{
	time_t t = mktime(tm); /* @mktime none used */

	if (t == 0)
		note();
	add(t);
}

APART int date_well(struct tm *tm)
{
	time_t t = mktime(tm); /* @mktime all */

	if (t == -1)
		return 1;
	add(t);
	return 0;
}

/* --- descriptors without a sign: those above 2 are ordinary, and -1 is above 2 --- */

APART void open_above(const char *path)
{
	unsigned fd = open(path, O_RDWR); /* @open none used */

	if (fd > 2)
		add(fd);
	else
		note();
}

APART void open_below(const char *path)
{
	unsigned fd = open(path, O_RDONLY); /* @open none used */

	if (fd < 3)
		note();
	add(fd);
}

APART int open_in_table(const char *path)
{
	int fd = open(path, O_RDONLY); /* @open all */

	if (fd < 0 || fd > 63)
		return 1;
	add(fd);
	return 0;
}

APART int open_unsigned_in_table(const char *path)
{
	unsigned fd = open(path, O_WRONLY); /* @open all */

	if (fd >= 1024)
		return 1;
	add(fd);
	return 0;
}

/* --- 0 and no other: there is no number above it --- */

APART void resolve_above(const char *host, struct addrinfo **to)
{
	if (getaddrinfo(host, NULL, NULL, to) > 0) /* @getaddrinfo none used/ignored */
		note();
}

APART int resolve_well(const char *host, struct addrinfo **to)
{
	return getaddrinfo(host, "80", NULL, to) < 0 ? 1 : 0; /* @getaddrinfo all */
}

APART void name_above(const struct sockaddr *a, socklen_t n, char *host)
{
	if (getnameinfo(a, n, host, 100, NULL, 0, 0) > 0) /* @getnameinfo none used/ignored */
		note();
}

/* --- two errors, of which one depends on an argument --- */

APART int address_of(int family, const char *text, void *to)
{
	if (inet_pton(family, text, to) == 0) /* @inet_pton some */
		return 1;
	return 0;
}

APART int address_of_4(const char *text, void *to)
{
	if (inet_pton(AF_INET, text, to) == 0) /* @inet_pton all */
		return 1;
	return 0;
}

APART int address_of_6(const char *text, void *to)
{
	return inet_pton(AF_INET6, text, to) != 1 ? 1 : 0; /* @inet_pton all */
}

APART int address_refused(int family, const char *text, void *to)
{
	return inet_pton(family, text, to) <= 0 ? 1 : 0; /* @inet_pton all */
}

APART int address_negative(const char *text, void *to)
{
	if (inet_pton(AF_INET, text, to) < 0) /* @inet_pton none used/ignored */
		return 1;
	return 0;
}

APART int old_address(const char *text, struct in_addr *to)
{
	if (inet_aton(text, to) < 0) /* @inet_aton none used/ignored */
		return 1;
	return 0;
}

/* --- errors that come through other processes and services --- */

APART void run_or_none(char **argv)
{
	pid_t pid = 0;

	if (posix_spawnp(&pid, argv[0], NULL, NULL, argv, argv) == ENOENT) /* @posix_spawnp some missing=EACCES */
		note();
	add(pid);
}

APART void user_too_long(const char *name)
{
	char b[256];
	struct passwd pw, *user = NULL;

	if (getpwnam_r(name, &pw, b, sizeof b, &user) == ERANGE) /* @getpwnam_r some missing=EMFILE,EIO */
		note();
	add(user != NULL);
}

/* --- what was not read, a stream tells later --- */

APART int read_then_ask(FILE *f, char *b, size_t n)
{
	fread(b, 1, n, f); /* @fread/__fread_chk all */
	if (ferror(f))
		return 1;
	add(b[0]);
	return 0;
}

APART int read_all_then_ask(FILE *f, char *b, size_t n)
{
	size_t all = 0;

	while (!feof(f)) {
		all += fread(b, 1, n, f); /* @fread/__fread_chk all */
		if (ferror(f))
			return 1;
	}
	add(all);
	return 0;
}

APART int skip_lines_then_ask(FILE *f, char *b)
{
	fgets(b, 100, f); /* @fgets/__fgets_chk all */
	fgets(b, 100, f); /* @fgets/__fgets_chk all */
	sum += getc(f); /* @getc all */
	return ferror(f) ? 1 : 0;
}

APART int read_and_perhaps_ask(FILE *f, char *b, size_t n)
{
	fread(b, 1, n, f); /* @fread/__fread_chk none ignored */
	if (n > 10 && ferror(f))
		return 1;
	add(b[0]);
	return 0;
}

APART int read_and_forget(FILE *f, char *b, size_t n)
{
	fread(b, 1, n, f); /* @fread/__fread_chk none ignored */
	rewind(f);
	return ferror(f) ? 1 : 0;
}

APART int read_other(FILE *f, FILE *g, char *b, size_t n)
{
	fread(b, 1, n, f); /* @fread/__fread_chk none ignored */
	return ferror(g) ? 1 : 0;
}

APART int line_used_before(FILE *f, char *b)
{
	add(*fgets(b, 100, f)); /* @fgets/__fgets_chk none dereferenced */
	return ferror(f) ? 1 : 0;
}

int main(int argc, char **argv)
{
	struct tm tm = { .tm_year = argc };
	struct addrinfo *info = NULL;
	struct sockaddr_in6 address = { 0 };
	char host[100];

	size_or_empty(argc);
	where_or_start(argc);
	size_well(argc);
	attributes_or_none(argv[0]);
	attributes_well(argv[0]);
	date_or_epoch(&tm);
	open_above(argv[0]);
	open_below(argv[0]);
	resolve_above(argv[0], &info);
	name_above((struct sockaddr *)&address, sizeof address, host);
	run_or_none(argv);
	user_too_long(argv[0]);
	if (resolve_well(argv[0], &info) || address_of(argc, argv[0], &address) || address_of_4(argv[0], &address))
		return 1;
	if (address_of_6(argv[0], &address) || address_refused(argc, argv[0], &address))
		return 1;
	if (address_negative(argv[0], &address) || old_address(argv[0], (struct in_addr *)&address))
		return 1;
	if (read_then_ask(stdin, host, argc) || read_all_then_ask(stdin, host, argc) || skip_lines_then_ask(stdin, host))
		return 1;
	if (read_and_perhaps_ask(stdin, host, argc) || read_and_forget(stdin, host, argc))
		return 1;
	if (read_other(stdin, stdout, host, argc) || line_used_before(stdin, host))
		return 1;
	if (to_start(argc) || to_header(argc) || has_size(argc) || date_well(&tm))
		return 1;
	return open_in_table(argv[0]) || open_unsigned_in_table(argv[0]);
}
