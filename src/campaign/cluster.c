/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Experiments with one cause, told by their stacks: AFEX's clusters by edit distance.
 *
 * The inner frames matter most: a crash in the same function, reached in two ways, is one bug. So stacks are compared
 * up to a depth, and may differ in a quarter of that, or in who called what is the same: a cleanup that crashes is
 * reached from every error.
 */
#include "campaign/campaign.h"

enum { DEPTH = 6, ALLOWED = 4, INNER = 4 };

static size_t least(size_t a, size_t b, size_t c) {
  size_t m = a < b ? a : b;
  return m < c ? m : c;
}

static size_t depth_of(const struct campaign_stack *s) { return s->n < DEPTH ? s->n : DEPTH; }

size_t campaign_distance(const struct campaign_stack *a, const struct campaign_stack *b) {
  size_t row[DEPTH + 1], n = depth_of(a), m = depth_of(b);
  for (size_t k = 0; k <= m; k++)
    row[k] = k;
  for (size_t i = 1; i <= n; i++) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t k = 1; k <= m; k++) {
      size_t above = row[k];
      row[k] = least(row[k] + 1, row[k - 1] + 1, diagonal + (a->at[i - 1] != b->at[k - 1]));
      diagonal = above;
    }
  }
  return row[m];
}

static bool same_inner(const struct campaign_stack *a, const struct campaign_stack *b) {
  size_t i = 0;
  while (i < INNER && i < a->n && i < b->n && a->at[i] == b->at[i])
    i++;
  return i == INNER;
}

static bool is_near(const struct campaign_stack *a, const struct campaign_stack *b) {
  if (!a->n || !b->n || a->at[0] != b->at[0]) return false;
  size_t n = depth_of(a), m = depth_of(b), longer = n > m ? n : m;
  return same_inner(a, b) || campaign_distance(a, b) * ALLOWED <= longer;
}

static bool is_same(const struct campaign_stack *a, const struct campaign_stack *b) {
  return a->n && b->n && depth_of(a) == depth_of(b) && campaign_distance(a, b) == 0;
}

/* One call that fails, and one place where that ends, with many ways from main to them. */
static bool is_same_pair(const struct campaign_failure *a, const struct campaign_failure *b) {
  if (!a->inject.n || !b->inject.n || a->inject.at[0] != b->inject.at[0]) return false;
  return a->crash.n > 1 && b->crash.n > 1 && a->crash.at[0] == b->crash.at[0] && a->crash.at[1] == b->crash.at[1];
}

/* Nothing crashed: one call that fails, in one function that was called from one place. */
static bool is_same_call(const struct campaign_failure *a, const struct campaign_failure *b) {
  const struct campaign_stack *x = &a->inject, *y = &b->inject;
  return !a->crash.n && !b->crash.n && x->n > 1 && y->n > 1 && x->at[0] == y->at[0] && x->at[1] == y->at[1];
}

static bool is_loop(const struct campaign_failure *f) {
  return f->outcome == OUTCOME_HANG && f->crash.n >= CAMPAIGN_LOOP_HEAD && f->crash.at[0] == CAMPAIGN_LOOP;
}

static struct campaign_failure without_loop(const struct campaign_failure *f) {
  struct campaign_failure without = *f;
  without.crash.at += CAMPAIGN_LOOP_HEAD;
  without.crash.n -= CAMPAIGN_LOOP_HEAD;
  return without;
}

/* Were they met at places that have nothing to do with each other? One function may have several loops. */
static bool is_apart(const struct campaign_stack *a, const struct campaign_stack *b) {
  return a->at[1] > b->at[2] || b->at[1] > a->at[2];
}

static bool is_same_loop(const struct campaign_failure *a, const struct campaign_failure *b) {
  if (is_apart(&a->crash, &b->crash)) return is_same(&a->inject, &b->inject);
  struct campaign_failure x = without_loop(a), y = without_loop(b);
  return campaign_same_cause(&x, &y);
}

bool campaign_same_cause(const struct campaign_failure *a, const struct campaign_failure *b) {
  if (a->outcome != b->outcome || a->signal != b->signal) return false;
  if (is_loop(a) && is_loop(b)) return is_same_loop(a, b);
  if (is_same(&a->inject, &b->inject) || is_same_pair(a, b) || is_same_call(a, b)) return true;
  if (a->crash.n || b->crash.n) return is_near(&a->crash, &b->crash);
  return is_near(&a->inject, &b->inject);
}
