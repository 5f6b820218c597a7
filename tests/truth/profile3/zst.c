/* SPDX-License-Identifier: Apache-2.0 */
/* Error codes at the top of size_t; forwarded by range tests. */
#include "lib.h"
#include <stdlib.h>
#include <string.h>

enum { E_generic = 1, E_prefix = 10, E_version = 12, E_window = 16, E_corrupt = 20, E_checksum = 22, E_param = 42, E_memory = 64, E_dst = 70, E_src = 72, E_max = 120 };
#define ERROR(n) ((size_t)-E_##n)
#define FORWARD(x) do { size_t const err_ = (x); if (is_err(err_)) return err_; } while (0)

static unsigned is_err(size_t c) { return c > ERROR(max); }

struct zctx { int level; size_t window; unsigned char *buf; uint32_t sum; };

/* errors: none */
EXPORT unsigned zx_isError(size_t code) { return is_err(code); }

/* errors: none */
EXPORT const char *zx_error_name(size_t code)
{
	if (!is_err(code))
		return "No error detected";
	switch (0 - code) {
	case E_generic: return "Error (generic)";
	case E_prefix: return "Unknown frame descriptor";
	case E_corrupt: return "Data corruption detected";
	case E_memory: return "Allocation error";
	case E_dst: return "Destination buffer is too small";
	case E_src: return "Src size is incorrect";
	default: return "Unspecified error code";
	}
}

static OUTLINE size_t read_header(const unsigned char *p, size_t n, size_t *content)
{
	uint32_t magic;
	if (n < 8)
		return ERROR(src);
	memcpy(&magic, p, 4);
	if (magic != 0xFD2FB528u)
		return ERROR(prefix);
	if (p[4] & 8)
		return ERROR(version);
	*content = p[5] | (size_t)p[6] << 8 | (size_t)p[7] << 16;
	return 8;
}

/* errors: -72 -10 -12 -70 -20 */
EXPORT size_t zx_decompress(void *dst, size_t cap, const void *src, size_t n)
{
	const unsigned char *p = src;
	unsigned char *d = dst;
	size_t want, used, i;

	used = read_header(p, n, &want);
	if (is_err(used))
		return used;
	if (want > cap)
		return ERROR(dst);
	p += used;
	n -= used;
	for (i = 0; i < want && n >= 2; ) {
		size_t run = p[0];
		if (run == 0 || run > want - i)
			return ERROR(corrupt);
		memset(d + i, p[1], run);
		i += run;
		p += 2;
		n -= 2;
	}
	return i;
}

/* errors: -2 ?-1 */
EXPORT unsigned long long zx_content_size(const void *src, size_t n)
{
	size_t content;
	if (is_err(read_header(src, n, &content)))
		return 0ULL - 2;
	if (content == 0)
		return 0ULL - 1;
	return content;
}

/* errors: -42 -16 -64[@malloc] */
EXPORT size_t zx_set_parameter(struct zctx *c, int which, int value)
{
	switch (which) {
	case 100:
		if (value < 1)
			value = 1;
		if (value > 22)
			value = 22;
		c->level = value;
		return (size_t)value;
	case 101:
		if (value < 10 || value > 31)
			return ERROR(window);
		c->window = (size_t)1 << value;
		free(c->buf);
		c->buf = malloc(c->window);
		if (!c->buf)
			return ERROR(memory);
		return 0;
	default:
		return ERROR(param);
	}
}

/* errors: -72 -10 -12 -70 -20 -22 -64[@malloc] */
EXPORT size_t zx_stream_frame(struct zctx *c, void *dst, size_t cap, const void *src, size_t n)
{
	size_t got;
	uint32_t sum = 0;

	if (!c->buf && !(c->buf = malloc(1 << 17)))
		return ERROR(memory);
	got = zx_decompress(dst, cap, src, n);
	FORWARD(got);
	for (size_t i = 0; i < got; i++)
		sum = sum * 31 + ((unsigned char *)dst)[i];
	if (sum != c->sum)
		return ERROR(checksum);
	return got;
}

/* errors: none */
EXPORT size_t zx_bound(size_t n)
{
	return n + (n >> 8) + (n < (128u << 10) ? ((128u << 10) - n) >> 11 : 0);
}

/* errors: none */
EXPORT int zx_error_code(size_t r)
{
	if (!is_err(r))
		return 0;
	return (int)(0 - r);
}
