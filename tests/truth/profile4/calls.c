/* SPDX-License-Identifier: Apache-2.0 */
/* Values through callees: internal, of the other library, tail calls, recursion, filters on the way. */
#include "truth4.h"
/* errors: -1 -2 -3 */
EXPORT int c4_pass_neg(const unsigned char *p, size_t n)
{
    int r = b4_check_header(p, n);
    if (r < 0)
        return r;
    b4_trace("ok");
    return 0;
}
/* errors: -1 -2 */
EXPORT int c4_except(const unsigned char *p, size_t n)
{
    int r = b4_check_header(p, n);
    if (r == -3)
        return 0;
    return r;
}
/* errors: -11 -12 -1 */
EXPORT int c4_translate(const unsigned char *p, size_t n)
{
    switch (b4_check_header(p, n)) {
    case 0: return 0;
    case -2: return -11;
    case -3: return -12;
    default: return -1;
    }
}
/* errors: -EINVAL -ENOENT -ERANGE[*] */
EXPORT int c4_tail(int *out)
{
    return b4_config_get("PORT", out);
}
/* errors: -EINVAL -ERANGE[*] */
EXPORT int c4_default(const char *key, int *out, int def)
{
    int r = b4_config_get(key, out);
    if (r == -ENOENT) {
        *out = def;
        return 0;
    }
    return r;
}
static NOINLINE int level3(int x)
{
    if (x > 1000)
        return -33;
    b4_trace("3");
    return 0;
}
static NOINLINE int level2(int x)
{
    if (x < 0)
        return -32;
    int r = level3(x);
    if (r)
        return r;
    b4_trace("2");
    return 0;
}
static NOINLINE int level1(int x)
{
    if (x == 77)
        return -31;
    return level2(x * 2);
}
/* errors: -31 -32 -33 */
EXPORT int c4_levels(int x)
{
    int r = level1(x);
    b4_trace("1");
    return r;
}
/* errors: -1 */
EXPORT int c4_any_to_minus1(int x)
{
    if (level1(x) != 0)
        return -1;
    return 0;
}
/* errors: -1 */
EXPORT int c4_bool_to_err(int x)
{
    return level1(x) ? -1 : 0;
}
/* errors: -5 -6 */
EXPORT int c4_recursive(const int *node, int depth)
{
    if (depth > 64)
        return -5;
    if (!node)
        return 0;
    if (node[0] < 0)
        return -6;
    int r = c4_recursive(node[1] ? node + node[1] : NULL, depth + 1);
    if (r < 0)
        return r;
    b4_trace("node");
    return c4_recursive(node[2] ? node + node[2] : NULL, depth + 1);
}
static int odd_level(const char *s);
static NOINLINE int even_level(const char *s)
{
    if (!*s)
        return 0;
    if (*s == '(')
        return odd_level(s + 1);
    return -51;
}
static NOINLINE int odd_level(const char *s)
{
    if (!*s)
        return -52;
    b4_trace(s);
    return even_level(s + 1);
}
/* errors: -51 -52 */
EXPORT int c4_mutual(const char *s)
{
    return even_level(s);
}
/* errors: none */
EXPORT int c4_indirect(int (*f)(void *), void *a)
{
    return f(a);
}
/* errors: -38 */
EXPORT int c4_ops(int (*const *ops)(int), int x)
{
    if (!ops[2])
        return -38;
    return ops[2](x);
}
/* errors: -38 */
EXPORT int c4_hook(int x)
{
    return b4_hook ? b4_hook(x) : -ENOSYS;
}
/* errors: 0[@malloc,EINVAL] */
EXPORT void *c4_alloc_copy(const void *p, size_t n)
{
    void *b = b4_buffer_new(n);
    if (!b)
        return NULL;
    memcpy((char *)b + 16, p, n);
    return b;
}
/* errors: -12[@malloc,EINVAL] */
EXPORT int c4_enomem(void **out, size_t n)
{
    void *b = b4_buffer_new(n);
    if (!b)
        return -ENOMEM;
    *out = b;
    return 0;
}
/* errors: EBUSY */
EXPORT int c4_lock_checked(int *l)
{
    int r = b4_trylock(l);
    if (r == EINVAL)
        abort();
    return r;
}
/* errors: -16 -22 */
EXPORT int c4_negate(int *l)
{
    return -b4_trylock(l);
}
/* errors: -1 -2 */
EXPORT long c4_decode_all(const unsigned char *p, size_t n)
{
    long count = 0;
    while (n) {
        size_t k = b4_decode(p, n);
        if (k == (size_t)-1)
            return -1;
        if (k == (size_t)-2)
            return -2;
        p += k;
        n -= k;
        count++;
    }
    return count;
}
/* errors: -5 -12 -22 -71 */
EXPORT int c4_status(const int *s)
{
    int r = b4_map_status(s[3]);
    if (r < 0)
        b4_trace("status");
    return r;
}
static int impl_plain(const char *s)
{
    if (!s)
        return -61;
    return 0;
}
static int impl_fast(const char *s)
{
    if (!*s)
        return -62;
    return 0;
}
static void *pick(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") ? (void *)impl_fast : (void *)impl_plain;
}
/* errors: -61 -62 */
EXPORT int c4_ifunc(const char *s) __attribute__((ifunc("pick")));
static COLD NOINLINE int fail_cold(const char *m)
{
    b4_trace(m);
    return -71;
}
/* errors: -71 -72 */
EXPORT int c4_cold(int *q, int v)
{
    if (unlikely(v < 0)) {
        b4_trace("negative");
        b4_trace("value");
        return -72;
    }
    if (unlikely(q[0] == q[1]))
        return fail_cold("full");
    q[2 + q[0]++] = v;
    return 0;
}
static NOINLINE int set_code(int *st, int code)
{
    st[4] = code;
    return code;
}
/* errors: -81 -82 | side: arg1=-81,-82 */
EXPORT int c4_helper_code(int *st, int x)
{
    if (x < 0)
        return set_code(st, -81);
    if (x > 500)
        return set_code(st, -82);
    st[0] = x;
    return 0;
}
