/* SPDX-License-Identifier: Apache-2.0 */
/* Predicates, comparisons, counts, getters, pointers and void functions. */
#include "truth4.h"
/* errors: none */
EXPORT int p4_is_space(int c)
{
    return c == ' ' || c == '\t' || c == '\n';
}
/* errors: none */
EXPORT bool p4_has_prefix(const char *s, const char *p)
{
    return strncmp(s, p, strlen(p)) == 0;
}
/* errors: none */
EXPORT int p4_contains(const int *v, int n, int x)
{
    for (int i = 0; i < n; i++)
        if (v[i] == x)
            return 1;
    return 0;
}
/* errors: -1 */
EXPORT int p4_index(const int *v, int n, int x)
{
    for (int i = 0; i < n; i++)
        if (v[i] == x)
            return i;
    return -1;
}
/* errors: none */
EXPORT int p4_valid_header(const unsigned char *p, size_t n)
{
    return b4_check_header(p, n) == 0;
}
/* errors: none */
EXPORT int p4_compare(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return x < y ? -1 : x > y;
}
struct list { struct list *next; int key; };
/* errors: 0 */
EXPORT struct list *p4_find(struct list *l, int key)
{
    for (; l; l = l->next)
        if (l->key == key)
            return l;
    return NULL;
}
/* errors: 0 */
EXPORT const char *p4_extension(const char *s)
{
    const char *d = strrchr(s, '.');
    if (!d || d == s)
        return NULL;
    return d + 1;
}
static char names[4][8] = { "red", "green", "blue", "grey" };
/* errors: 0 */
EXPORT const char *p4_name(unsigned i)
{
    if (i > 3)
        return NULL;
    return names[i];
}
/* errors: 0[@malloc] */
EXPORT struct list *p4_new(int key)
{
    struct list *l = malloc(sizeof *l);
    if (l) {
        l->key = key;
        l->next = NULL;
    }
    return l;
}
/* errors: none */
EXPORT void p4_free(struct list *l)
{
    while (l) {
        struct list *n = l->next;
        free(l);
        l = n;
    }
}
/* errors: none */
EXPORT int p4_key(const struct list *l)
{
    return l->key;
}
/* errors: none */
EXPORT int p4_version(void)
{
    return 10203;
}
/* errors: none */
EXPORT int p4_count(const struct list *l)
{
    int n = 0;
    for (; l; l = l->next)
        n++;
    return n;
}
/* errors: none */
EXPORT void p4_set_key(struct list *l, int k)
{
    l->key = k;
}
/* errors: none */
EXPORT int p4_noop_ok(void *x)
{
    (void)x;
    return 0;
}
/* errors: none */
EXPORT unsigned p4_hash(const char *s)
{
    unsigned h = 5381;
    while (*s)
        h = h * 33 + (unsigned char)*s++;
    return h;
}
/* errors: -1[@malloc] */
EXPORT int p4_push(struct list **l, int key)
{
    struct list *n = malloc(sizeof *n);
    if (!n)
        return -1;
    n->key = key;
    n->next = *l;
    *l = n;
    return 0;
}
/* errors: -1 */
EXPORT int p4_pop(struct list **l, int *key)
{
    struct list *n = *l;
    if (n == NULL)
        return -1;
    *key = n->key;
    *l = n->next;
    free(n);
    return 0;
}
