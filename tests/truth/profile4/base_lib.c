/* SPDX-License-Identifier: Apache-2.0 */
/* The library that the others call. */
#include "truth4.h"
__attribute__((visibility("default"))) int (*b4_hook)(int);
/* errors: -1 -2 -3 */
EXPORT int b4_check_header(const unsigned char *p, size_t n)
{
    if (n < 8)
        return -1;
    if (memcmp(p, "MRPH", 4) != 0)
        return -2;
    if (p[4] > 3)
        return -3;
    return 0;
}
/* errors: -EINVAL -ENOENT -ERANGE[*] */
EXPORT int b4_config_get(const char *key, int *out)
{
    if (!key || !out)
        return -EINVAL;
    const char *v = getenv(key);
    if (!v)
        return -ENOENT;
    long n = strtol(v, NULL, 10);
    if (n < 0 || n > 65535)
        return -ERANGE;
    *out = (int)n;
    return 0;
}
/* errors: 0[EINVAL,@malloc] */
EXPORT void *b4_buffer_new(size_t n)
{
    if (n == 0) {
        errno = EINVAL;
        return NULL;
    }
    size_t *b = malloc(n + 16);
    if (!b)
        return NULL;
    b[0] = n;
    b[1] = 0;
    return b;
}
/* errors: -1[@open] */
EXPORT int b4_open_log(const char *path)
{
    return open(path, O_WRONLY | O_APPEND | O_CREAT, 0644);
}
/* errors: EBUSY EINVAL */
EXPORT int b4_trylock(int *l)
{
    if (!l)
        return EINVAL;
    if (__sync_val_compare_and_swap(l, 0, 1) != 0)
        return EBUSY;
    return 0;
}
/* errors: -1[@read] */
EXPORT ssize_t b4_read_full(int fd, void *buf, size_t n)
{
    size_t done = 0;
    while (done < n) {
        ssize_t r = read(fd, (char *)buf + done, n - done);
        if (r < 0) {
            if (errno == EINTR)
                continue;
            return -1;
        }
        if (r == 0)
            break;
        done += (size_t)r;
    }
    return (ssize_t)done;
}
/* errors: -5 -12 -22 -71 */
EXPORT int b4_map_status(int s)
{
    switch (s) {
    case 0: return 0;
    case 1: return -EIO;
    case 2: return -ENOMEM;
    case 3: return -EINVAL;
    default: return -EPROTO;
    }
}
/* errors: -1 -2 */
EXPORT size_t b4_decode(const unsigned char *p, size_t n)
{
    if (n == 0)
        return (size_t)-2;
    if (p[0] < 0x80)
        return 1;
    if (p[0] < 0xc2)
        return (size_t)-1;
    if (n < 2)
        return (size_t)-2;
    if ((p[1] & 0xc0) != 0x80)
        return (size_t)-1;
    return 2;
}
/* errors: none */
EXPORT void b4_trace(const char *m)
{
    fputs(m, stderr);
}
