/* SPDX-License-Identifier: Apache-2.0 */
/* Base library of the second set: a page store with codes of its own beside errno, in the manner of embedded key-value stores. */
#include "common.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KV_CORRUPTED (-30796)
#define KV_VERSION_MISMATCH (-30794)
#define KV_INVALID (-30793)

/* errors: -30796 -30794 -30793 */
EXPORT int kv_page_verify(const uint32_t *page, size_t words)
{
	uint32_t sum = 0;
	size_t i;

	if (words < 4 || page[0] != 0xbeefc0deu)
		return KV_INVALID;
	if (page[1] != 2)
		return KV_VERSION_MISMATCH;
	for (i = 3; i < words; i++)
		sum = (sum << 1 | sum >> 31) ^ page[i];
	return sum == page[2] ? 0 : KV_CORRUPTED;
}

/* From errno to the store's own numbers; unlisted ones pass for a panic. */
/* errors: 100 112 113 128 199 */
EXPORT int kv_errcode(int e)
{
	if (e == 0)
		return 0;
	if (e == ENOMEM)
		return 112;
	if (e == EACCES)
		return 113;
	if (e == ENOSPC)
		return 128;
	if (e < 0)
		return 100;
	return 199;
}

/* errors: 0[EINVAL,@malloc] */
EXPORT void *kv_page_get(size_t bytes)
{
	void *page;

	if (bytes & 511) {
		errno = EINVAL;
		return NULL;
	}
	page = calloc(1, bytes);
	if (!page)
		return NULL;
	*(uint32_t *)page = 0xbeefc0deu;
	return page;
}

/* 0, or the error number as a positive result; a short write is an I/O error. */
/* errors: +@write */
EXPORT int kv_fd_write(int fd, const void *buf, size_t len)
{
	ssize_t got = write(fd, buf, len);

	if (got == (ssize_t)len)
		return 0;
	return got < 0 ? errno : EIO;
}

/* errors: ETIMEDOUT EINVAL */
EXPORT int kv_wait_for(volatile int *word, int value, unsigned spins)
{
	if (spins == 0)
		return EINVAL;
	do {
		if (*word == value)
			return 0;
		__builtin_ia32_pause();
	} while (--spins);
	return ETIMEDOUT;
}
