/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of any size: carries, orders and signs are answers; some functions fail. */
#include "lib.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { MP_OKAY = 0, MP_ERR = -1, MP_MEM = -2, MP_VAL = -3, MP_BUF = -5 };
enum { MP_LT = -1, MP_EQ = 0, MP_GT = 1 };
struct mp { int used, alloc, sign; uint32_t *dp; };

/* errors: none */
EXPORT uint64_t mp_add_n(uint64_t *r, const uint64_t *a, const uint64_t *b, size_t n)
{
	uint64_t carry = 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t s = a[i] + carry;
		carry = s < carry;
		r[i] = s + b[i];
		carry += r[i] < s;
	}
	return carry;
}

/* errors: none */
EXPORT int mp_cmp_mag(const struct mp *a, const struct mp *b)
{
	if (a->used > b->used)
		return MP_GT;
	if (a->used < b->used)
		return MP_LT;
	for (int n = a->used - 1; n >= 0; n--) {
		if (a->dp[n] > b->dp[n])
			return MP_GT;
		if (a->dp[n] < b->dp[n])
			return MP_LT;
	}
	return MP_EQ;
}

/* errors: none */
EXPORT int mp_sgn(const struct mp *a)
{
	return a->used == 0 ? 0 : a->sign ? -1 : 1;
}

/* errors: -2[@malloc] -3 */
EXPORT int mp_grow(struct mp *a, int size)
{
	if (size < 0)
		return MP_VAL;
	if (a->alloc < size) {
		uint32_t *d = realloc(a->dp, (size_t)size * sizeof *d);
		if (d == NULL)
			return MP_MEM;
		memset(d + a->alloc, 0, (size_t)(size - a->alloc) * sizeof *d);
		a->dp = d;
		a->alloc = size;
	}
	return MP_OKAY;
}

/* errors: -2[@malloc] -3 */
EXPORT int mp_lshd(struct mp *a, int b)
{
	int err;
	if (b <= 0)
		return MP_OKAY;
	if ((err = mp_grow(a, a->used + b)) != MP_OKAY)
		return err;
	memmove(a->dp + b, a->dp, (size_t)a->used * sizeof *a->dp);
	a->used += b;
	return MP_OKAY;
}

/* errors: -2[@malloc] -3 -5 */
EXPORT int mp_radix_size(const struct mp *a, int radix, size_t cap, struct mp *t)
{
	int err;
	if (radix < 2 || radix > 64)
		return MP_VAL;
	if ((err = mp_grow(t, a->used)) != 0)
		goto out;
	if (cap < (size_t)a->used * 10) {
		err = MP_BUF;
		goto out;
	}
	err = MP_OKAY;
out:
	t->used = 0;
	return err;
}

/* errors: -1[ERANGE,EDOM] */
EXPORT long mp_isqrt(long n)
{
	long x, y;
	if (n < 0) {
		errno = EDOM;
		return -1;
	}
	if (n > LONG_MAX / 2) {
		errno = ERANGE;
		return -1;
	}
	if (n < 2)
		return n;
	x = n;
	y = (x + 1) / 2;
	while (y < x) {
		x = y;
		y = (x + n / x) / 2;
	}
	return x;
}

/* errors: -1 */
EXPORT int mp_set_str(struct mp *a, const char *s, int base)
{
	uint64_t acc = 0;

	if (*s == '-')
		s++;
	if (*s == '\0')
		return -1;
	for (; *s; s++) {
		int d = *s >= '0' && *s <= '9' ? *s - '0' : *s >= 'a' && *s <= 'z' ? *s - 'a' + 10 : 255;
		if (d >= base)
			return -1;
		acc = acc * (unsigned)base + (unsigned)d;
	}
	a->dp[0] = (uint32_t)acc;
	return 0;
}

/* errors: none */
EXPORT unsigned mp_popcount(const struct mp *a)
{
	unsigned n = 0;
	for (int i = 0; i < a->used; i++)
		n += (unsigned)__builtin_popcount(a->dp[i]);
	return n;
}

/* errors: ?-9223372036854775808 ?9223372036854775807 */
EXPORT long mp_get_clamped(const struct mp *a)
{
	if (a->used > 2)
		return a->sign ? LONG_MIN : LONG_MAX;
	return a->used ? (long)a->dp[0] : 0;
}
