/* SPDX-License-Identifier: Apache-2.0 */
/* errno by hand, through callees and helpers; own variables and output arguments. */
#include "truth4.h"
/* errors: -1[EINVAL,ERANGE] */
EXPORT int e4_parse_port(const char *s)
{
    if (!s || !*s) {
        errno = EINVAL;
        return -1;
    }
    char *end;
    long v = strtol(s, &end, 10);
    if (*end) {
        errno = EINVAL;
        return -1;
    }
    if (v < 1 || v > 65535) {
        errno = ERANGE;
        return -1;
    }
    return (int)v;
}
static NOINLINE int fail(int e)
{
    errno = e;
    return -1;
}
/* errors: -1[EINVAL,EBADF,ENOTSUP] */
EXPORT int e4_helper(int fd, int op)
{
    if (fd < 0)
        return fail(EBADF);
    if (op == 0)
        return fail(EINVAL);
    if (op > 5)
        return fail(EOPNOTSUPP);
    return 0;
}
static NOINLINE void *fail_null(int e)
{
    errno = e;
    return NULL;
}
/* errors: 0[EINVAL,ENAMETOOLONG] */
EXPORT char *e4_skip_prefix(char *s, const char *prefix)
{
    size_t n = strlen(prefix);
    if (n > 255)
        return fail_null(ENAMETOOLONG);
    if (strncmp(s, prefix, n))
        return fail_null(EINVAL);
    return s + n;
}
/* errors: -1[@open,@fstat] */
EXPORT long e4_size(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY);
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) < 0) {
        int e = errno;
        close(fd);
        errno = e;
        return -1;
    }
    close(fd);
    return st.st_size;
}
/* errors: -@open */
EXPORT int e4_open_neg(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    return fd;
}
/* errors: -1[@open] */
EXPORT int e4_log(void)
{
    return b4_open_log("/tmp/log");
}
/* errors: -1[@read,EIO] */
EXPORT int e4_exact(int fd, void *p, size_t n)
{
    ssize_t r = b4_read_full(fd, p, n);
    if (r < 0)
        return -1;
    if ((size_t)r != n) {
        errno = EIO;
        return -1;
    }
    return 0;
}
/* errors: -1[EINVAL,ENOENT,ERANGE] */
EXPORT int e4_from_neg(const char *key)
{
    int v;
    int r = b4_config_get(key, &v);
    if (r < 0) {
        errno = -r;
        return -1;
    }
    return v;
}
/* errors: 0[@fopen] */
EXPORT FILE *e4_fopen(const char *p)
{
    return fopen(p, "re");
}
/* errors: -1[@mmap,EINVAL] */
EXPORT void *e4_map(int fd, size_t n)
{
    if (!n) {
        errno = EINVAL;
        return MAP_FAILED;
    }
    return mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0);
}
/* errors: 0[@mmap] */
EXPORT void *e4_map_null(size_t n)
{
    void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    return p;
}
/* errors: -1[E2BIG,EILSEQ] */
EXPORT size_t e4_conv(const unsigned char *s, size_t n, unsigned char *d, size_t room)
{
    size_t i;
    for (i = 0; i < n; i++) {
        if (i >= room) {
            errno = E2BIG;
            return (size_t)-1;
        }
        if (s[i] >= 0x80) {
            errno = EILSEQ;
            return (size_t)-1;
        }
        d[i] = s[i];
    }
    return i;
}
/* errors: -1[@unlink] */
EXPORT int e4_remove_quiet(const char *p)
{
    if (unlink(p) == 0)
        return 0;
    if (errno == EINTR)
        return 0;
    return -1;
}
/* errors: -1[EAGAIN] */
EXPORT int e4_branch_errno(int *q)
{
    int r = 0;
    if (q[0] == q[1]) {
        errno = EAGAIN;
        r = -1;
    }
    return r;
}
/* errors: -1[EPERM,EACCES] */
EXPORT int e4_ternary(int uid, int mode)
{
    if (mode & 2) {
        errno = uid == 0 ? EPERM : EACCES;
        return -1;
    }
    return 0;
}
/* errors: EINVAL ENOMEM[@malloc] */
EXPORT int e4_pthread_init(void **out, size_t n)
{
    if (n > 4096)
        return EINVAL;
    void *p = malloc(n);
    if (!p)
        return ENOMEM;
    memset(p, 0, n);
    *out = p;
    return 0;
}
/* errors: +@close EINVAL */
EXPORT int e4_close_pos(int fd)
{
    if (fd < 0)
        return EINVAL;
    if (close(fd) != 0)
        return errno;
    return 0;
}
/* errors: -1[@pipe] */
EXPORT int e4_pair(int *fds)
{
    if (pipe(fds) == -1)
        return -1;
    fcntl(fds[0], F_SETFD, FD_CLOEXEC);
    fcntl(fds[1], F_SETFD, FD_CLOEXEC);
    return 0;
}
static __thread int my_err;
/* errors: -1 | side: tls:my_err=3,4 */
EXPORT int e4_tls(const char *s)
{
    if (!s) {
        my_err = 3;
        return -1;
    }
    if (strlen(s) > 100) {
        my_err = 4;
        return -1;
    }
    my_err = 0;
    return 0;
}
static int last_error;
/* errors: 0 | side: global:last_error=7,8 */
EXPORT void *e4_global(char *base, size_t off)
{
    if (off & 7) {
        last_error = 7;
        return NULL;
    }
    if (off > 4096) {
        last_error = 8;
        return NULL;
    }
    return base + off;
}
/* errors: none */
EXPORT int e4_get_last_error(void)
{
    return last_error;
}
/* errors: 0 | side: arg2=-5,-6 */
EXPORT char *e4_outarg(const char *s, int *err)
{
    if (!*s) {
        *err = -5;
        return NULL;
    }
    char *c = strchr(s, ':');
    if (!c) {
        *err = -6;
        return NULL;
    }
    *err = 0;
    return c + 1;
}
struct ctx { int fd; int error; char *buf; size_t len; };
/* errors: -1 | side: arg1=12,34 */
EXPORT int e4_ctx(struct ctx *c, size_t n)
{
    if (c->fd < 0) {
        c->error = 12;
        return -1;
    }
    if (n > c->len) {
        c->error = ERANGE;
        return -1;
    }
    c->len -= n;
    return 0;
}
/* errors: none */
EXPORT int e4_tls_get(void)
{
    return my_err;
}
