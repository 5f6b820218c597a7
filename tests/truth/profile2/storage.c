/* SPDX-License-Identifier: Apache-2.0 */
/* flags: -fcf-protection=full -fstack-protector-strong */
/* A client of the base library, with its values kept, changed and dropped; wide results and pages. */
#include "common.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct shelf {
	uint32_t *page;
	size_t words;
	unsigned dirty : 1, broken : 1;
	int fd;
};

/* errors: -30796 -30794 -30793 */
EXPORT int shelf_check(const struct shelf *s)
{
	return kv_page_verify(s->page, s->words);
}

/* An old version is upgraded in place. */
/* errors: -30796 -30793 -30000 */
EXPORT int shelf_load(struct shelf *s, int may_upgrade)
{
	int rc = kv_page_verify(s->page, s->words);

	switch (rc) {
	case -30794:
		if (!may_upgrade)
			return -30000;
		s->page[1] = 2;
		s->dirty = 1;
		return 0;
	case -30796:
		s->broken = 1;
		break;
	}
	return rc;
}

/* errors: 0[EINVAL,@malloc] */
EXPORT struct shelf *shelf_new(size_t bytes)
{
	struct shelf *s = malloc(sizeof(struct shelf));

	if (s) {
		memset(s, 0, sizeof *s);
		s->page = kv_page_get(bytes);
		if (!s->page) {
			free(s);
			return NULL;
		}
		s->words = bytes / 4;
		s->fd = -1;
	}
	return s;
}

/* The argument cannot be negative, so 100 does not come back; to see that is more than is asked. */
/* errors: 112 113 128 199 ?100 */
EXPORT int shelf_code(unsigned short e)
{
	return kv_errcode(e);
}

/* errors: EBADFD +@write */
EXPORT int shelf_flush(struct shelf *s)
{
	int rc;

	if (s->broken)
		return EBADFD;
	if (!s->dirty)
		return 0;
	rc = kv_fd_write(s->fd, s->page, s->words * 4);
	if (rc == 0)
		s->dirty = 0;
	return rc;
}

/* errors: -110 */
EXPORT int shelf_wait(volatile int *word)
{
	return kv_wait_for(word, 1, 1000) ? -ETIMEDOUT : 0;
}

/* errors: -1 */
EXPORT int64_t shelf_find(const struct shelf *s, uint32_t key)
{
	int64_t found = -1;
	size_t i;

	for (i = 3; i + 1 < s->words; i += 2)
		if (s->page[i] == key) {
			found = (int64_t)((uint64_t)i << 32 | s->page[i + 1]);
			break;
		}
	return found;
}

/* errors: -1[EOVERFLOW,@mmap] */
EXPORT void *shelf_map(size_t pages)
{
	if (pages >> 40) {
		errno = EOVERFLOW;
		return MAP_FAILED;
	}
	return mmap(NULL, pages << 12, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* errors: none */
EXPORT size_t shelf_used(const struct shelf *s)
{
	size_t i, used = 0;

	for (i = 3; i < s->words; i += 2)
		used += s->page[i] != 0;
	return used;
}

/* errors: -1[*] -2 */
EXPORT int shelf_describe(const struct shelf *s, char *to, size_t room)
{
	char line[96];
	int n;

	if (s->page == NULL)
		return -2;
	n = snprintf(line, sizeof line, "%zu words, version %u", s->words, s->page[1]);
	if (n < 0 || (size_t)n >= room)
		return -1;
	memcpy(to, line, (size_t)n + 1);
	return 0;
}
