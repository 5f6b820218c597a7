/* SPDX-License-Identifier: Apache-2.0 */
/* A small C library: system calls by hand, errno behind a return, weak names, chosen implementations. */
#include "lib.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline long sys3(long n, long a, long b, long c)
{
	unsigned long ret;
	__asm__ __volatile__("syscall" : "=a"(ret) : "a"(n), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return (long)ret;
}

static inline long sys4(long n, long a, long b, long c, long d)
{
	unsigned long ret;
	register long r10 __asm__("r10") = d;
	__asm__ __volatile__("syscall" : "=a"(ret) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
	return (long)ret;
}

static OUTLINE long syscall_ret(unsigned long r)
{
	if (r > -4096UL) {
		errno = (int)-r;
		return -1;
	}
	return (long)r;
}

/* errors: -1[@close] */
EXPORT int mu_close(int fd)
{
	int r = (int)sys3(SYS_close, fd, 0, 0);
	if (r == -EINTR)
		r = 0;
	return (int)syscall_ret((unsigned long)(long)r);
}

/* errors: -1[@read] */
EXPORT ssize_t mu_read(int fd, void *buf, size_t n)
{
	return syscall_ret((unsigned long)sys3(SYS_read, fd, (long)buf, (long)n));
}

/* errors: -1[@open] */
EXPORT int mu_open(const char *path, int flags)
{
	int fd = (int)sys4(SYS_openat, AT_FDCWD, (long)path, flags | 0100000, 0);
	if (fd >= 0 && flags & O_CLOEXEC)
		sys3(SYS_fcntl, fd, F_SETFD, FD_CLOEXEC);
	return (int)syscall_ret((unsigned long)(long)fd);
}

/* errors: -1[EINVAL,@unlink] */
EXPORT int mu_remove(const char *path, int flags)
{
	if (flags & ~AT_REMOVEDIR)
		return (int)syscall_ret(-EINVAL);
	return (int)syscall_ret((unsigned long)sys3(SYS_unlinkat, AT_FDCWD, (long)path, 0));
}

/* errors: 0[ERANGE,EINVAL] */
EXPORT char *mu_getname(char *buf, size_t size)
{
	static const char name[] = "localhost";
	if (!buf || !size) {
		errno = EINVAL;
		return NULL;
	}
	if (size < sizeof name) {
		errno = ERANGE;
		return NULL;
	}
	return memcpy(buf, name, sizeof name);
}

struct sem { volatile int value; int waiters; };

/* errors: -1[EAGAIN] */
EXPORT int mu_sem_trywait(struct sem *s)
{
	int v;
	while ((v = s->value) > 0) {
		if (__sync_bool_compare_and_swap(&s->value, v, v - 1))
			return 0;
	}
	errno = EAGAIN;
	return -1;
}

/* errors: -1[EOVERFLOW] */
EXPORT int mu_sem_post(struct sem *s)
{
	int v;
	do {
		v = s->value;
		if (v == 0x7fffffff) {
			errno = EOVERFLOW;
			return -1;
		}
	} while (!__sync_bool_compare_and_swap(&s->value, v, v + 1));
	return 0;
}

struct mutex { int type, lock, count; };

/* errors: EBUSY EAGAIN EDEADLK EPERM */
EXPORT int mu_mutex_trylock(struct mutex *m, int tid)
{
	int own = m->lock & 0x3fffffff;
	if ((m->type & 15) == 0)
		return __sync_val_compare_and_swap(&m->lock, 0, EBUSY) & EBUSY;
	if (own == tid) {
		if ((m->type & 3) == 1) {
			if ((unsigned)m->count >= 0x7fffffffu)
				return EAGAIN;
			m->count++;
			return 0;
		}
		return EDEADLK;
	}
	if (own == 0x3fffffff)
		return EPERM;
	return __sync_bool_compare_and_swap(&m->lock, 0, tid) ? 0 : EBUSY;
}

/* errors: EINVAL ENOMEM[@malloc] */
EXPORT int mu_memalign(void **res, size_t align, size_t len)
{
	void *mem;
	if (align < sizeof(void *) || (align & (align - 1)))
		return EINVAL;
	mem = malloc(len + align);
	if (!mem)
		return ENOMEM;
	*res = (void *)(((uintptr_t)mem + align) & -align);
	return 0;
}

static int attr_set(int *attr, int v)
{
	if ((unsigned)v > 2U)
		return EINVAL;
	*attr = v;
	return 0;
}

/* errors: EINVAL */
EXPORT int mu_attr_settype(int *a, int v) __attribute__((alias("attr_set")));

static long find_scan(const unsigned char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] == 0xff)
			return (long)i;
	return -1;
}

static long find_rev(const unsigned char *p, size_t n)
{
	while (n--)
		if (p[n] == 0xff)
			return (long)n;
	return -1;
}

static long (*pick(void))(const unsigned char *, size_t)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("avx2") ? find_rev : find_scan;
}

/* errors: -1 */
EXPORT long mu_find_marker(const unsigned char *p, size_t n) __attribute__((ifunc("pick")));

/* errors: -1[EILSEQ] */
EXPORT size_t mu_wcs_narrow(char *d, const unsigned *s, size_t n)
{
	size_t i;
	for (i = 0; i < n && s[i]; i++) {
		if (s[i] > 0x7f) {
			errno = EILSEQ;
			return (size_t)-1;
		}
		d[i] = (char)s[i];
	}
	return i;
}

/* errors: none */
EXPORT int mu_isxdigit(int c)
{
	return (unsigned)c - '0' < 10 || ((unsigned)c | 32) - 'a' < 6;
}

/* errors: none */
EXPORT int mu_ffs(int i)
{
	return i ? __builtin_ctz((unsigned)i) + 1 : 0;
}

/* errors: -EINVAL[*] -ENOMEM[*] -@read -ENODATA[*] -EPROTO[*] */
EXPORT int mu_load_frame(int fd, unsigned char **out)
{
	struct { uint32_t magic, len; } h;
	int r = os_full_read(fd, &h, sizeof h);

	if (r < 0)
		return r;
	if (h.magic != 0x46524d45)
		return -EPROTO;
	if (h.len == 0 || h.len > 1u << 24)
		return -EINVAL;
	*out = xm_calloc(1, h.len);
	if (!*out)
		return -ENOMEM;
	r = os_full_read(fd, *out, h.len);
	if (r < 0) {
		free(*out);
		*out = NULL;
		return r;
	}
	return (int)h.len;
}

/* errors: -EINVAL[*] -ENOMEM[*] -ECHILD -EBUSY[*] -ENOTCONN -@open */
EXPORT int mu_bus_setup(const char *path, struct bus **ret)
{
	struct bus *b;
	int r = bus_new(&b);

	if (r < 0)
		return r;
	r = bus_attach_file(b, path);
	if (r < 0) {
		bus_unref(b);
		return r;
	}
	*ret = b;
	return 0;
}

/* errors: -1[EINVAL,ERANGE] */
EXPORT int mu_port(const char *s)
{
	uint16_t port;
	int r = bus_parse_port(s, &port);
	if (r < 0) {
		errno = -r;
		return -1;
	}
	return port;
}
