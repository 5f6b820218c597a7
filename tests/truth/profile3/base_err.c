/* SPDX-License-Identifier: Apache-2.0 */
/* Ways to report failures: a queue for each thread, a record of the caller; and helpers over the system calls. */
#include "lib.h"
#include <errno.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct err_state { unsigned long code[16]; unsigned top, bottom; };
static __thread struct err_state queue;

/* errors: none */
EXPORT void err_raise(int lib, int reason)
{
	queue.top = (queue.top + 1) % 16;
	if (queue.top == queue.bottom)
		queue.bottom = (queue.bottom + 1) % 16;
	queue.code[queue.top] = (unsigned long)lib << 23 | (unsigned)reason;
}

/* errors: none */
EXPORT unsigned long err_peek(void)
{
	if (queue.top == queue.bottom)
		return 0;
	return queue.code[queue.top];
}

/* errors: ?-1 */
EXPORT int err_fill(struct err_record *e, int domain, int code, const char *text)
{
	if (e) {
		e->domain = domain;
		e->code = code;
		strncpy(e->text, text, sizeof e->text - 1);
	}
	return -1;
}

/* errors: 0[@malloc] */
EXPORT void *xm_calloc(size_t n, size_t size)
{
	void *p;
	if (size && n > SIZE_MAX / size) {
		errno = ENOMEM;
		return NULL;
	}
	p = calloc(n ? n : 1, size ? size : 1);
	return p;
}

/* errors: -@read -ENODATA */
EXPORT int os_full_read(int fd, void *buf, size_t n)
{
	char *p = buf;

	while (n > 0) {
		ssize_t k = read(fd, p, n);
		if (k < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		if (k == 0)
			return -ENODATA;
		p += k;
		n -= (size_t)k;
	}
	return 0;
}

/* errors: none */
EXPORT void chunk_abort(void *ctx, const char *why)
{
	(void)why;
	longjmp(*(jmp_buf *)ctx, 1);
}
