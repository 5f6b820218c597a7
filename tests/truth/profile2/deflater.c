/* SPDX-License-Identifier: Apache-2.0 */
/* A stream compressor's interface: small codes of both signs, positive ones being news and negative ones failures, a message in the stream. */
#include "common.h"

#include <stdlib.h>
#include <string.h>

#define S_OK 0
#define S_END 1
#define S_DICT 2
#define S_STREAM (-2)
#define S_DATA (-3)
#define S_MEM (-4)
#define S_BUF (-5)
#define S_VERSION (-6)

typedef struct {
	const unsigned char *next_in;
	unsigned avail_in;
	unsigned char *next_out;
	unsigned avail_out;
	const char *msg;
	struct inner *state;
} stream;

struct inner {
	stream *back;
	int mode, wrap, last;
	unsigned hold, bits;
	unsigned char *window;
};

static int state_bad(const stream *s)
{
	struct inner *st;

	if (s == NULL || s->next_out == NULL)
		return 1;
	st = s->state;
	return st == NULL || st->back != s || st->mode < 42 || st->mode > 666;
}

/* errors: -2 -4[@malloc] -6 */
EXPORT int def_init(stream *s, int level, const char *version, int size)
{
	struct inner *st;

	if (version == NULL || version[0] != '1' || size != (int)sizeof(stream))
		return S_VERSION;
	if (s == NULL)
		return S_STREAM;
	s->msg = NULL;
	if (level == -1)
		level = 6;
	if (level < 0 || level > 9)
		return S_STREAM;
	st = malloc(sizeof *st);
	if (st == NULL)
		return S_MEM;
	memset(st, 0, sizeof *st);
	st->window = malloc(32768u << (level > 6));
	if (st->window == NULL) {
		free(st);
		return S_MEM;
	}
	st->back = s;
	st->mode = 42;
	s->state = st;
	return S_OK;
}

/* errors: -2 */
EXPORT int def_reset(stream *s)
{
	if (state_bad(s))
		return S_STREAM;
	s->state->hold = s->state->bits = 0;
	s->state->mode = 42;
	return S_OK;
}

/* errors: -2 -3 */
EXPORT int def_end(stream *s)
{
	int busy;

	if (state_bad(s))
		return S_STREAM;
	busy = s->state->mode == 113;
	free(s->state->window);
	free(s->state);
	s->state = NULL;
	return busy ? S_DATA : S_OK;
}

static NI int fill(stream *s)
{
	struct inner *st = s->state;

	while (st->bits < 16) {
		if (s->avail_in == 0)
			return S_BUF;
		st->hold |= (unsigned)*s->next_in++ << st->bits;
		st->bits += 8;
		s->avail_in--;
	}
	return S_OK;
}

/* Ends with news 1 and 2; failures are the negative ones. */
/* errors: -2 -3 -5 */
EXPORT int inf_step(stream *s)
{
	struct inner *st;
	int ret;

	if (state_bad(s) || (s->next_in == NULL && s->avail_in != 0))
		return S_STREAM;
	st = s->state;
	for (;;) {
		switch (st->mode) {
		case 42:
			ret = fill(s);
			if (ret != S_OK)
				return ret;
			if (st->hold % 31) {
				s->msg = "header check is wrong";
				st->mode = 666;
				break;
			}
			if (st->hold & 0x20)
				return S_DICT;
			st->mode = 113;
			break;
		case 113:
			if (s->avail_out == 0)
				return S_BUF;
			*s->next_out++ = (unsigned char)st->hold;
			s->avail_out--;
			st->hold >>= 8;
			if (st->last)
				return S_END;
			st->mode = 42;
			break;
		case 666:
			return S_DATA;
		default:
			return S_STREAM;
		}
	}
}

/* errors: none */
EXPORT unsigned long def_bound(unsigned long n)
{
	return n + (n >> 12) + (n >> 14) + (n >> 25) + 13;
}

static const char *const texts[10] = {
	"dictionary is needed", "stream has ended", "", "file error", "stream error", "data error", "memory is short", "buffer error", "version does not fit", ""
};

/* errors: none */
EXPORT const char *def_text(int code)
{
	return texts[code < -6 || code > 2 ? 9 : 2 - code];
}

/* The one-shot form folds the stream's news into an error. */
/* errors: -2 -3 -5 */
EXPORT int inf_once(stream *s)
{
	int r = inf_step(s);

	if (r == S_END)
		return S_OK;
	if (r == S_DICT || (r == S_BUF && s->avail_out))
		return S_DATA;
	return r;
}
