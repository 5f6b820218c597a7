/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions, trees and rings: recursion, cold parts, tables of codes, all-ones results, callbacks. */
#include "lib.h"
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define unlikely(x) __builtin_expect(!!(x), 0)

enum { RX_OK, RX_NOMATCH, RX_BADPAT, RX_ECOLLATE, RX_ECTYPE, RX_EESCAPE, RX_ESUBREG, RX_EBRACK, RX_EPAREN, RX_ESPACE = 12 };

static int group(const char **s, int depth)
{
	int err;
	if (depth > 50)
		return RX_ESPACE;
	for (; **s; (*s)++) {
		switch (**s) {
		case '(':
			(*s)++;
			if ((err = group(s, depth + 1)) != RX_OK)
				return err;
			if (**s != ')')
				return RX_EPAREN;
			break;
		case ')':
			return depth ? RX_OK : RX_EPAREN;
		case '[':
			while (**s && **s != ']')
				(*s)++;
			if (!**s)
				return RX_EBRACK;
			break;
		case '\\':
			(*s)++;
			if (!**s)
				return RX_EESCAPE;
			break;
		}
	}
	return RX_OK;
}

/* errors: 12 8 7 5 */
EXPORT int rx_compile(const char *pattern)
{
	return group(&pattern, 0);
}

struct node { struct node *l, *r; int key, height; };

/* errors: none */
EXPORT int tn_height(const struct node *n)
{
	int l, r;
	if (!n)
		return 0;
	l = tn_height(n->l);
	r = tn_height(n->r);
	return 1 + (l > r ? l : r);
}

/* errors: -EINVAL -ELOOP */
EXPORT int tn_verify(const struct node *n, int lo, int hi, unsigned depth)
{
	int r;
	if (!n)
		return 0;
	if (depth > 64)
		return -ELOOP;
	if (n->key < lo || n->key > hi)
		return -EINVAL;
	r = tn_verify(n->l, lo, n->key, depth + 1);
	if (r)
		return r;
	return tn_verify(n->r, n->key, hi, depth + 1);
}

/* errors: 0 */
EXPORT struct node *tn_find(struct node *n, int key)
{
	while (n && n->key != key)
		n = key < n->key ? n->l : n->r;
	return n;
}

/* errors: -1[@mmap,EINVAL] */
EXPORT void *ring_map(int fd, size_t size)
{
	if (size & 4095) {
		errno = EINVAL;
		return MAP_FAILED;
	}
	return mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
}

/* errors: -1[@write] */
EXPORT int ring_kick(int fd)
{
	uint64_t one = 1;
	return -(write(fd, &one, sizeof one) != sizeof one);
}

/* errors: -1 */
EXPORT int ring_index(const uint64_t *mask)
{
	return *mask ? __builtin_ctzl(*mask) : -1;
}

/* errors: -1 */
EXPORT int ring_check(unsigned head, unsigned tail, unsigned size)
{
	return head - tail <= size ? 0 : -1;
}

static __attribute__((cold, noinline)) int ring_broken(unsigned *flags, unsigned bit)
{
	*flags |= bit;
	return -EUCLEAN;
}

/* errors: -EUCLEAN -EAGAIN -EFAULT */
EXPORT int ring_take(unsigned *flags, const unsigned *head, const unsigned *tail, unsigned *out)
{
	unsigned h = __atomic_load_n(head, __ATOMIC_ACQUIRE), t = *tail;
	if (unlikely(!out))
		return -EFAULT;
	if (h == t)
		return -EAGAIN;
	if (unlikely(h - t > 1024))
		return ring_broken(flags, 4);
	*out = t & 1023;
	return 0;
}

/* errors: EINVAL ERANGE EPROTO ENOSYS */
EXPORT int ring_code(unsigned wire)
{
	static const uint16_t map[] = { 0, EINVAL, ERANGE, EPROTO };
	if (wire >= sizeof map / sizeof *map)
		return ENOSYS;
	return map[wire];
}

static pthread_mutex_t ring_lock = PTHREAD_MUTEX_INITIALIZER;
static int ring_users;

/* errors: EBUSY EMFILE */
EXPORT int ring_join(void)
{
	int ret = 0;
	if (pthread_mutex_trylock(&ring_lock) != 0)
		return EBUSY;
	if (ring_users >= 64)
		ret = EMFILE;
	else
		ring_users++;
	pthread_mutex_unlock(&ring_lock);
	return ret;
}

/* errors: none */
EXPORT int ring_order(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/* errors: none */
EXPORT unsigned ring_hash(const char *s)
{
	unsigned h = 5381;
	while (*s)
		h = h * 33 ^ (unsigned char)*s++;
	return h;
}

/* errors: none */
EXPORT int ring_class(int c)
{
	switch (c) {
	case ' ': case '\t': return 1;
	case '\n': return 2;
	case '"': case '\'': return 3;
	case '{': case '}': return 4;
	default: return 0;
	}
}
