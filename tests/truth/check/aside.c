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

/* Either way leads to the same place. */
static NOINLINE void test_nothing(const char *from, const char *to)
{
	if (rename(from, to) < 0) { /* @rename none ignored */
	}
	if (link(from, to) < 0) /* @link all */
		note(from);
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	test_nothing(argv[1], argv[2]);
	return total > 100;
}
