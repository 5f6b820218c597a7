/* SPDX-License-Identifier: Apache-2.0 */
/* System calls, raw and through syscall(). */
#include "truth4.h"
static inline long raw1(long n, long a)
{
    long r;
    __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a) : "rcx", "r11", "memory");
    return r;
}
static inline long raw3(long n, long a, long b, long c)
{
    long r;
    __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return r;
}
/* errors: -@close */
EXPORT long s4_close_raw(int fd)
{
    return raw1(SYS_close, fd);
}
/* errors: -1[@write] */
EXPORT long s4_write(int fd, const void *p, size_t n)
{
    long r = raw3(SYS_write, fd, (long)p, (long)n);
    if (r < 0) {
        errno = (int)-r;
        return -1;
    }
    return r;
}
/* errors: -1[@read] */
EXPORT ssize_t s4_read(int fd, void *p, size_t n)
{
    unsigned long r = (unsigned long)raw3(SYS_read, fd, (long)p, (long)n);
    if (r > -4096UL) {
        errno = (int)-r;
        return -1;
    }
    return (ssize_t)r;
}
static NOINLINE long ret(unsigned long r)
{
    if (r > -4096UL) {
        errno = (int)-r;
        return -1;
    }
    return (long)r;
}
/* errors: -1[@mkdir] */
EXPORT int s4_mkdir(const char *p, int mode)
{
    return (int)ret((unsigned long)raw3(SYS_mkdir, (long)p, mode, 0));
}
/* errors: -1[@fsync] */
EXPORT int s4_fsync(int fd)
{
    return (int)syscall(SYS_fsync, fd);
}
/* errors: -1[@lseek] */
EXPORT long s4_lseek(int fd, long off)
{
    long r = syscall(SYS_lseek, fd, off, SEEK_SET);
    if (r == -1)
        return -1;
    return r;
}
/* errors: none */
EXPORT int s4_getpid(void)
{
    return (int)raw1(SYS_getpid, 0);
}
/* errors: +@ftruncate */
EXPORT int s4_truncate_pos(int fd, long n)
{
    long r = raw3(SYS_ftruncate, fd, n, 0);
    return (int)-r;
}
