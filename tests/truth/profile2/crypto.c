/* SPDX-License-Identifier: Apache-2.0 */
/* flags: -fno-plt */
/* Cryptographic manners: 1 is success and 0 failure, with the reason in a per-thread record; or -1 for the worse kind. */
#include "common.h"

#include <stdlib.h>
#include <string.h>

static __thread int err_reason;
static __thread const char *err_where;

#define RAISE(r) (err_reason = (r), err_where = __func__)

struct key {
	int type, bits;
	unsigned char *secret;
	size_t len;
};

/* errors: 0 | side: tls:err_reason=101,102,103 */
EXPORT int key_set(struct key *k, int type, const unsigned char *p, size_t n)
{
	if (k == NULL) {
		RAISE(101);
		return 0;
	}
	if (type != 6 && type != 408) {
		RAISE(102);
		return 0;
	}
	if (n > 64) {
		RAISE(103);
		return 0;
	}
	memcpy(k->secret, p, n);
	k->len = n;
	k->type = type;
	return 1;
}

/* errors: 0[@malloc] | side: tls:err_reason=65 */
EXPORT struct key *key_new(void)
{
	struct key *k = malloc(sizeof(*k));

	if (k == NULL)
		goto err;
	memset(k, 0, sizeof(*k));
	k->secret = malloc(64);
	if (k->secret == NULL)
		goto err;
	return k;
err:
	RAISE(65);
	free(k);
	return NULL;
}

/* 1 good, 0 bad signature, -1 could not tell. */
/* errors: -1 ?0 | side: tls:err_reason=110 */
EXPORT int key_verify(const struct key *k, const unsigned char *sig, const unsigned char *msg, size_t n)
{
	unsigned char acc = 0;
	size_t i;

	if (k->len == 0 || n > k->len) {
		RAISE(110);
		return -1;
	}
	for (i = 0; i < n; i++)
		acc |= sig[i] ^ msg[i] ^ k->secret[i];
	if (acc != 0) {
		err_reason = 111;
		return 0;
	}
	return 1;
}

/* errors: none */
EXPORT int key_bits(const struct key *k)
{
	return k->bits;
}

/* errors: none */
EXPORT int key_error(void)
{
	int r = err_reason;

	err_reason = 0;
	return r;
}

/* Constant time; an answer, not a failure. */
/* errors: none */
EXPORT int key_same(const struct key *a, const struct key *b)
{
	unsigned d = (unsigned)(a->type ^ b->type) | (unsigned)(a->bits ^ b->bits);

	return (int)((d - 1) & ~d) >> 31 & 1;
}
