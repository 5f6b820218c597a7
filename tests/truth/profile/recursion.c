/* SPDX-License-Identifier: Apache-2.0 */
/* Recursion, direct and mutual: the analysis must end, and find what each turn can add. */
#include "truth.h"

#include <errno.h>

struct node {
  int op;
  long value;
  struct node *left, *right;
};

/* errors: -EDOM -EINVAL -ELOOP */
EXPORT int tree_eval(const struct node *n, unsigned depth, long *ret) {
  long a, b;
  int r;
  if (depth > 100)
    return -ELOOP;
  if (n->op == 0) {
    *ret = n->value;
    return 0;
  }
  r = tree_eval(n->left, depth + 1, &a);
  if (r < 0)
    return r;
  r = tree_eval(n->right, depth + 1, &b);
  if (r < 0)
    return r;
  if (n->op == 1)
    *ret = a + b;
  else if (n->op == 2) {
    if (b == 0)
      return -EDOM;
    *ret = a / b;
  } else
    return -EINVAL;
  return 0;
}

/* errors: none */
EXPORT unsigned tree_depth(const struct node *n) {
  unsigned a, b;
  if (n == NULL)
    return 0;
  a = tree_depth(n->left);
  b = tree_depth(n->right);
  return 1 + (a > b ? a : b);
}

static NOINLINE int even_list(const char **s, unsigned fuel);

static NOINLINE int odd_list(const char **s, unsigned fuel) {
  if (fuel == 0)
    return -40;
  if (**s == ')')
    return -41;
  if (**s == 0)
    return 0;
  (*s)++;
  return even_list(s, fuel - 1);
}

static NOINLINE int even_list(const char **s, unsigned fuel) {
  int r;
  if (**s == '(')
    return -42;
  if (**s == 0)
    return -43;
  (*s)++;
  r = odd_list(s, fuel);
  if (r == -41)
    r = -44;
  return r;
}

/* errors: -40 -42 -43 -44 */
EXPORT int list_check(const char *s) {
  return even_list(&s, 64);
}

/* errors: -40 -41 -42 -43 -44 */
EXPORT int list_check_tail(const char *s, unsigned fuel) {
  return odd_list(&s, fuel);
}
