/* SPDX-License-Identifier: Apache-2.0 */
/* Functions without failure: answers of yes and no, orders, fields, counts. */
#include "truth.h"

#include <string.h>

struct span {
  unsigned from, to;
  int weight;
};

/* errors: none */
EXPORT bool span_empty(const struct span *s) {
  return s->from >= s->to;
}

/* errors: none */
EXPORT int span_contains(const struct span *s, unsigned at) {
  if (at < s->from)
    return 0;
  if (at >= s->to)
    return 0;
  return 1;
}

/* errors: none */
EXPORT int span_overlap(const struct span *a, const struct span *b) {
  return a->from < b->to && b->from < a->to;
}

/* errors: none */
EXPORT int span_compare(const void *a, const void *b) {
  const struct span *x = a, *y = b;
  if (x->from != y->from)
    return x->from < y->from ? -1 : 1;
  return (x->to > y->to) - (x->to < y->to);
}

/* errors: none */
EXPORT int weight_compare(const void *a, const void *b) {
  int x = ((const struct span *)a)->weight, y = ((const struct span *)b)->weight;
  if (x < y)
    return -1;
  if (x > y)
    return 1;
  return 0;
}

/* errors: none */
EXPORT int name_is_reserved(const char *name) {
  static const char *const words[] = {"con", "nul", "prn", "aux"};
  for (unsigned i = 0; i < 4; i++)
    if (strcmp(name, words[i]) == 0)
      return 1;
  return 0;
}

/* errors: none */
EXPORT int span_weight(const struct span *s) {
  return s->weight;
}

/* errors: none */
EXPORT unsigned span_length(const struct span *s) {
  return s->to - s->from;
}

/* errors: none */
EXPORT size_t spans_heavy(const struct span *s, size_t n, int limit) {
  size_t count = 0;
  for (size_t i = 0; i < n; i++)
    if (s[i].weight > limit)
      count++;
  return count;
}

/* errors: none */
EXPORT unsigned long spans_hash(const struct span *s, size_t n) {
  unsigned long h = 14695981039346656037ul;
  for (size_t i = 0; i < n; i++)
    h = (h ^ s[i].from ^ (unsigned long)s[i].to << 32) * 1099511628211ul;
  return h;
}

/* errors: none */
EXPORT void span_clip(struct span *s, unsigned limit) {
  if (s->from > limit)
    s->from = limit;
  if (s->to > limit)
    s->to = limit;
}

/* errors: none */
EXPORT void span_swap(struct span *a, struct span *b) {
  struct span t = *a;
  *a = *b;
  *b = t;
}
