/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results that are put aside before somebody looks, or that nobody looks at though it seems so: variables behind
 * pointers, tests without a consequence, slots of the stack that compilers use twice.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static long total;

static NOINLINE void note(const char *what) { total += what[0]; }
static NOINLINE void touch(int *at) { if (total == -77) *at = 0; }

/* Either way leads to the same place. */
static NOINLINE void test_nothing(const char *from, const char *to)
{
	if (rename(from, to) < 0) { /* @rename none ignored */
	}
	if (link(from, to) < 0) /* @link all */
		note(from);
}

/* A variable behind a pointer of which nothing else is known but that. */
static NOINLINE void set_behind(int fd)
{
	int rc = 0, *at = &rc;

	*at = fdatasync(fd); /* @fdatasync all */
	if (rc)
		note("sync");
}

static NOINLINE void set_behind_unasked(int fd)
{
	int rc, *at = &rc;

	*at = fsync(fd); /* @fsync none ignored/used */
	touch(&rc);
}

static NOINLINE void set_either(int fd, int which)
{
	int rc = 0, other = 0, *at = which ? &rc : &other;

	*at = ftruncate(fd, 0); /* @ftruncate none ignored/used */
	if (which == 7 && total == 3)
		note("other");
	touch(&other);
	touch(&rc);
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	test_nothing(argv[1], argv[2]);
	set_behind(argc);
	set_behind_unasked(argc);
	set_either(argc, argc);
	return total > 100;
}
