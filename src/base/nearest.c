/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "Did you mean": the known name that differs from what was written by the fewest slips.
 *
 * A slip is a character too many, too few, wrong, or swapped with its neighbour. More than two slips, or more than a
 * third of the name, is another word: no suggestion is better than a silly one. Nothing is allocated.
 */
#include "base/base.h"

#include <string.h>

enum { LONGEST = 63 };

static unsigned smaller(unsigned a, unsigned b) { return a < b ? a : b; }

static unsigned fold(char c) { return c >= 'A' && c <= 'Z' ? (unsigned)(c - 'A' + 'a') : (unsigned char)c; }

/* How many slips lead from A to B; case is not one. Both are at most LONGEST long. */
static unsigned slips(const char *a, size_t na, const char *b, size_t nb) {
  unsigned rows[3][LONGEST + 1];
  unsigned *before = rows[0], *above = rows[1], *row = rows[2];
  for (size_t j = 0; j <= nb; j++)
    above[j] = (unsigned)j;
  for (size_t i = 1; i <= na; i++) {
    row[0] = (unsigned)i;
    for (size_t j = 1; j <= nb; j++) {
      bool same = fold(a[i - 1]) == fold(b[j - 1]);
      row[j] = smaller(smaller(above[j], row[j - 1]) + 1, above[j - 1] + !same);
      if (i > 1 && j > 1 && fold(a[i - 1]) == fold(b[j - 2]) && fold(a[i - 2]) == fold(b[j - 1]))
        row[j] = smaller(row[j], before[j - 2] + 1);
    }
    unsigned *oldest = before;
    before = above;
    above = row;
    row = oldest;
  }
  return above[nb];
}

const char *name_nearest(const char *s, const char *const *candidates, size_t n) {
  size_t length = strnlen(s, LONGEST + 1);
  if (length > LONGEST) return NULL;
  const char *best = NULL;
  unsigned fewest = 3;
  for (size_t i = 0; i < n; i++) {
    size_t other = candidates[i] ? strlen(candidates[i]) : LONGEST + 1;
    if (other > LONGEST) continue;
    unsigned count = slips(s, length, candidates[i], other);
    if (count < fewest && count * 3 <= (length > other ? length : other)) {
      fewest = count;
      best = candidates[i];
    }
  }
  return best;
}

const char *errno_nearest(const char *s) {
  const char *names[ERRNO_MAX + 1] = {0};
  for (int i = 1; i <= ERRNO_MAX; i++)
    names[i] = errno_name(i);
  return name_nearest(s, names, COUNT(names));
}
