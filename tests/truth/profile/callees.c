/* SPDX-License-Identifier: Apache-2.0 */
/* Values that come from internal functions, some levels deep, and from exported ones of the same library. */
#include "truth.h"

#include <string.h>

struct cursor {
  const unsigned char *at, *end;
  int nesting;
};

enum { J_EOF = -1, J_SYNTAX = -2, J_DEPTH = -3, J_NUMBER = -4, J_STRING = -5 };

static NOINLINE int skip_space(struct cursor *c) {
  while (c->at < c->end && (*c->at == ' ' || *c->at == '\n' || *c->at == '\t'))
    c->at++;
  return c->at < c->end ? 0 : J_EOF;
}

static NOINLINE int parse_number(struct cursor *c) {
  const unsigned char *start = c->at;
  if (*c->at == '-')
    c->at++;
  while (c->at < c->end && *c->at >= '0' && *c->at <= '9')
    c->at++;
  if (c->at == start || (c->at == start + 1 && *start == '-'))
    return J_NUMBER;
  return 0;
}

static NOINLINE int parse_string(struct cursor *c) {
  for (c->at++; c->at < c->end; c->at++) {
    if (*c->at == '"') {
      c->at++;
      return 0;
    }
    if (*c->at < 0x20)
      return J_STRING;
  }
  return J_EOF;
}

static NOINLINE int parse_scalar(struct cursor *c) {
  int r = skip_space(c);
  if (r < 0)
    return r;
  if (*c->at == '"')
    return parse_string(c);
  if (*c->at == '-' || (*c->at >= '0' && *c->at <= '9'))
    return parse_number(c);
  return J_SYNTAX;
}

/* errors: -1 -2 -4 -5 */
EXPORT int json_scalar(const char *text, size_t n) {
  struct cursor c = {(const unsigned char *)text, (const unsigned char *)text + n, 0};
  int r = parse_scalar(&c);
  if (r != 0)
    return r;
  if (skip_space(&c) == 0)
    return J_SYNTAX;
  return 0;
}

static NOINLINE int parse_list(struct cursor *c) {
  int r;
  if (++c->nesting > 32)
    return J_DEPTH;
  do {
    r = parse_scalar(c);
    if (r < 0)
      return r;
    r = skip_space(c);
    if (r < 0)
      return r;
  } while (*c->at++ == ',');
  c->nesting--;
  return 0;
}

/* errors: -1 -2 -3 -4 -5 */
EXPORT int json_list(const char *text, size_t n, int nesting) {
  struct cursor c = {(const unsigned char *)text, (const unsigned char *)text + n, nesting};
  int r = skip_space(&c);
  if (r)
    return r;
  return parse_list(&c);
}

/* One value of the callee is turned into success, another into a different code. */
/* errors: -2 -4 -50 */
EXPORT int json_probe(const char *text, size_t n) {
  int r = json_scalar(text, n);
  if (r == J_EOF)
    return 0;
  if (r == J_STRING)
    return -50;
  return r;
}

static NOINLINE int level3(int x) {
  return x > 9000 ? -93 : 0;
}
static NOINLINE int level2(int *x) {
  if (*x & 1)
    return -92;
  *x *= 3;
  return level3(*x);
}
static NOINLINE int level1(int *x, int bias) {
  int r;
  *x += bias;
  r = level2(x);
  return r;
}

/* errors: -91 -92 -93 */
EXPORT int dose_compute(int x, int bias, int *ret) {
  int r;
  if (bias < 0)
    return -91;
  r = level1(&x, bias);
  if (r == 0)
    *ret = x;
  return r;
}

/* Only whether it failed matters. */
/* errors: -1 */
EXPORT int dose_check(int x) {
  if (level1(&x, 4) != 0)
    return -1;
  return 0;
}

/* A predicate over a failing callee. */
/* errors: none */
EXPORT bool dose_ok(int x) {
  return level1(&x, 1) == 0;
}
