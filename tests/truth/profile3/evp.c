/* SPDX-License-Identifier: Apache-2.0 */
/* 1 is success, 0 and less are failures, the reason waits in a queue. */
#include "lib.h"
#include <stdlib.h>
#include <string.h>

enum { R_PASSED_NULL = 67, R_MALLOC = 65, R_BAD_LENGTH = 101, R_NO_CIPHER = 131, R_NOT_INIT = 111 };
#define RAISE(r) err_raise(6, (r))

struct cipher { int nid, key_len, iv_len, flags; int (*init)(void *, const unsigned char *); int (*ctrl)(void *, int, int, void *); };
struct ctx { const struct cipher *cipher; unsigned char key[32]; int init, enc, num; void *data; };

/* errors: 0 */
EXPORT int crypt_set_key(struct ctx *c, const unsigned char *key, int len)
{
	if (c == NULL || key == NULL) {
		RAISE(R_PASSED_NULL);
		return 0;
	}
	if (c->cipher == NULL) {
		RAISE(R_NO_CIPHER);
		return 0;
	}
	if (len != c->cipher->key_len) {
		RAISE(R_BAD_LENGTH);
		return 0;
	}
	memcpy(c->key, key, (size_t)len);
	c->init = 1;
	return 1;
}

/* errors: 0 -1 -2 */
EXPORT int crypt_control(struct ctx *c, int cmd, int arg)
{
	if (c == NULL || c->cipher == NULL) {
		RAISE(R_NO_CIPHER);
		return -2;
	}
	if (!c->init) {
		RAISE(R_NOT_INIT);
		return -1;
	}
	switch (cmd) {
	case 1:
		c->num = arg;
		return 1;
	case 2:
		if (arg < 0 || arg > 16) {
			RAISE(R_BAD_LENGTH);
			return 0;
		}
		c->num = arg;
		return 1;
	case 3:
		c->enc = arg;
		return 1;
	default:
		RAISE(147);
		return -2;
	}
}

/* errors: 0[@malloc] */
EXPORT struct ctx *crypt_ctx_new(const struct cipher *k)
{
	struct ctx *c = calloc(1, sizeof *c);

	if (c == NULL) {
		RAISE(R_MALLOC);
		return NULL;
	}
	c->data = malloc(64);
	if (c->data == NULL)
		goto err;
	c->cipher = k;
	return c;
err:
	RAISE(R_MALLOC);
	free(c);
	return NULL;
}

/* errors: 0[@malloc] */
EXPORT int crypt_derive(struct ctx *c, const unsigned char *salt, size_t n, unsigned char *out)
{
	int ret = 0;
	unsigned char *tmp = NULL, *pad = NULL;
	size_t i;

	if (n == 0 || n > 1024)
		goto done;
	if ((tmp = malloc(n)) == NULL)
		goto done;
	if ((pad = malloc(32)) == NULL)
		goto done;
	memset(pad, 0x36, 32);
	for (i = 0; i < n; i++)
		tmp[i] = salt[i] ^ c->key[i % 32] ^ pad[i % 32];
	memcpy(out, tmp, n);
	ret = 1;
done:
	free(pad);
	free(tmp);
	return ret;
}

/* errors: -1 */
EXPORT int crypt_final(struct ctx *c, unsigned char *out, int used)
{
	int i, pad;

	if (!c->init) {
		RAISE(R_NOT_INIT);
		return -1;
	}
	pad = 16 - used % 16;
	if (used < 0) {
		RAISE(R_BAD_LENGTH);
		return -1;
	}
	for (i = 0; i < pad; i++)
		out[used + i] = (unsigned char)pad;
	return used + pad;
}

/* errors: none */
EXPORT int crypt_key_length(const struct ctx *c)
{
	return c->cipher ? c->cipher->key_len : 16;
}

/* errors: none */
EXPORT int crypt_memcmp(const void *a, const void *b, size_t n)
{
	const volatile unsigned char *p = a, *q = b;
	unsigned char x = 0;
	while (n--)
		x |= *p++ ^ *q++;
	return x;
}
