/* SPDX-License-Identifier: Apache-2.0 */
/* Small old libraries: EOF and ERR, global status words, state machines, getopt-like answers. */
#include "common.h"

#include <stdio.h>
#include <string.h>

int tt_status;
static int tt_lines = 24, tt_columns = 80, tt_y, tt_x;

/* errors: -1 */
EXPORT int tt_move(int y, int x)
{
	if (y < 0 || x < 0 || y >= tt_lines || x >= tt_columns)
		return -1;
	tt_y = y;
	tt_x = x;
	return 0;
}

/* errors: -1 */
EXPORT int tt_advance(int by)
{
	int x = tt_x + by, y = tt_y;

	while (x >= tt_columns) {
		x -= tt_columns;
		y++;
	}
	return tt_move(y, x);
}

/* errors: 0 | side: global:tt_status=2,3 */
EXPORT const char *tt_capability(const char *entry, const char *name)
{
	const char *at;

	if (!entry) {
		tt_status = 2;
		return (const char *)0;
	}
	at = strstr(entry, name);
	if (!at) {
		tt_status = 3;
		return (const char *)0;
	}
	return at + strlen(name) + 1;
}

/* The character, or EOF at the end and -2 for a broken escape. */
/* errors: -1 -2 */
EXPORT int tt_decode(const unsigned char **p)
{
	int c = *(*p)++;

	if (c == 0)
		return EOF;
	if (c != '\\')
		return c;
	switch (c = *(*p)++) {
	case 'n':
		return '\n';
	case 't':
		return '\t';
	case 'e':
		return 27;
	case '\\':
		return c;
	case '0': case '1': case '2': case '3':
		return (c - '0') * 64 + (*(*p)++ & 7) * 8;
	default:
		return -2;
	}
}

/* errors: none */
EXPORT int tt_is_control(int c)
{
	return c < 32 || c == 127;
}

/* errors: none */
EXPORT int tt_compare(const char *a, const char *b)
{
	for (; *a && *a == *b; a++, b++)
		;
	return (unsigned char)*a < (unsigned char)*b ? -1 : (unsigned char)*a > (unsigned char)*b;
}

/* errors: none */
EXPORT void tt_size(int *lines, int *columns)
{
	*lines = tt_lines;
	*columns = tt_columns;
}

static NI int need(int have, int want)
{
	return have < want ? -5 : 0;
}

/* Two calls of one helper, either of which may fail. */
/* errors: -5 */
EXPORT int tt_require(int lines, int columns)
{
	int r = need(tt_lines, lines);

	if (r == 0)
		r = need(tt_columns, columns);
	return r;
}

/* errors: -1 */
EXPORT int tt_color(unsigned pair)
{
	static const signed char known[16] = { 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31 };

	if (pair >= 16)
		return -1;
	return known[pair] + tt_x;
}
