/* SPDX-License-Identifier: Apache-2.0 */
/* Allocation that cannot fail, and its relatives that can. */
/* program: wordcount */
#include "wordcount.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void out_of_memory(size_t n)
{
	fprintf(stderr, "out of memory (%zu bytes)\n", n); /* @fprintf none ignored */
	exit(3);
}

void *xmalloc(size_t n)
{
	void *p = malloc(n ? n : 1); /* @malloc all */

	if (!p)
		out_of_memory(n);
	return p;
}

void *xrealloc(void *old, size_t n)
{
	void *p = realloc(old, n); /* @realloc all */

	if (p == NULL && n != 0)
		out_of_memory(n);
	return p;
}

char *xstrdup(const char *s)
{
	char *p = strdup(s); /* @strdup all */

	return p ? p : (out_of_memory(strlen(s)), p);
}

/* May fail: every caller looks. */
void *try_alloc(size_t count, size_t size)
{
	return calloc(count, size); /* @calloc all */
}

/* May fail: no caller looks. */
char *copy_text(const char *s, size_t n)
{
	return strndup(s, n); /* @strndup none returned/used/dereferenced */
}
