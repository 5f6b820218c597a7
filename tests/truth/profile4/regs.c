/* SPDX-License-Identifier: Apache-2.0 */
/* Constants through registers, slots, tables, switches and arithmetic. */
#include "truth4.h"
/* errors: -7[@malloc] -9[@malloc] */
EXPORT int r4_goto_cleanup(const char *a, const char *b)
{
    int rc = -7;
    char *x = strdup(a);
    if (!x)
        goto out;
    rc = -9;
    char *y = strdup(b);
    if (!y)
        goto freex;
    rc = 0;
    b4_trace(x);
    b4_trace(y);
    free(y);
freex:
    free(x);
out:
    return rc;
}
/* errors: -3 */
EXPORT int r4_stack_slot(const char *s)
{
    volatile int rc = 0;
    if (*s == 0)
        rc = -3;
    b4_trace(s);
    return rc;
}
/* errors: -1 -2 */
EXPORT int r4_cmov(int a, int b)
{
    if (a > 100)
        return b > 5 ? -1 : -2;
    return 0;
}
/* errors: -1 */
EXPORT int r4_or(const char *s)
{
    if (!s)
        return -1;
    return (int)strlen(s);
}
/* errors: -1 */
EXPORT int r4_neg_set(int a)
{
    return -(a != 7);
}
/* errors: -1 */
EXPORT int r4_sbb(unsigned a, unsigned b)
{
    return a < b ? -1 : 0;
}
/* errors: -1 */
EXPORT int r4_sar(int x)
{
    return x >> 31;
}
/* errors: -22 */
EXPORT int r4_and_mask(unsigned x)
{
    return x > 64 ? -22 : 0;
}
/* errors: -2 -1 */
EXPORT int r4_dec(int mode, const char *s)
{
    if (!s)
        return -2 + (mode == 3);
    b4_trace(s);
    return 0;
}
/* errors: -1 -2 -4 */
EXPORT int r4_loop(const unsigned char *p, size_t n)
{
    int err = 0;
    for (size_t i = 0; i < n; i++) {
        if (p[i] == 0) { err = -1; break; }
        if (p[i] > 200) { err = -2; break; }
        if (i > 1000) { err = -4; break; }
    }
    return err;
}
/* errors: -1 */
EXPORT long r4_long(long v)
{
    if (v < 0)
        return -1L;
    return v * 3;
}
/* errors: -1~4294967295 */
EXPORT uint32_t r4_u32(const uint32_t *t, uint32_t i)
{
    if (i >= t[0])
        return UINT32_MAX;
    return t[i + 1];
}
/* errors: -100 -101 ?-9223372036854775808 ?9223372036854775807 */
EXPORT int64_t r4_i64(const char *s)
{
    if (!s)
        return -100;
    if (!*s)
        return -101;
    return strtoll(s, NULL, 0);
}
/* errors: -2147483648 */
EXPORT int r4_intmin(int a, int b)
{
    if (b == 0)
        return -2147483647 - 1;
    return a / b;
}
static const short code_table[6] = { 0, -5, -12, -22, -28, -110 };
/* errors: -5 -12 -22 -28 -110 -1 */
EXPORT int r4_table(unsigned i)
{
    if (i >= 6)
        return -1;
    return code_table[i];
}
static const int errs[] = { 0, ENOENT, EIO, ENOMEM, EACCES };
/* errors: ENOENT EIO ENOMEM EACCES EINVAL */
EXPORT int r4_table_pos(unsigned i)
{
    if (i >= sizeof errs / sizeof *errs)
        return EINVAL;
    return errs[i];
}
static const struct { const char *name; int code; } named[] = { { "missing", -2 }, { "denied", -13 }, { "busy", -16 } };
/* errors: -2 -13 -16 -22 */
EXPORT int r4_table_struct(const char *name)
{
    for (unsigned i = 0; i < 3; i++)
        if (strcmp(name, named[i].name) == 0)
            return named[i].code;
    return -22;
}
/* errors: -10 -20 -35 -41 -99 */
EXPORT int r4_jump(int op, int *v)
{
    switch (op) {
    case 0: *v += 1; return 0;
    case 1: if (*v < 0) return -10; *v -= 1; return 0;
    case 2: b4_trace("two"); return -20;
    case 3: *v *= 3; return 0;
    case 4: b4_trace("four"); return -35;
    case 5: if (*v > 9) return -41; *v = 0; return 0;
    case 6: *v ^= 1; return 0;
    default: return -99;
    }
}
/* errors: none */
EXPORT const char *r4_strerror(int c)
{
    switch (c) {
    case 0: return "ok";
    case -1: return "short";
    case -2: return "magic";
    case -3: return "version";
    default: return "unknown";
    }
}
