/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns as of a shell. The target reads them as they are; here it is seen that nothing in them is misread. */
#include "scenario/model.h"

#include <errno.h>
#include <string.h>

const char no_such_class[] = "there is no such class (write alnum, alpha, blank, cntrl, digit, graph, lower, print, "
                             "punct, space, upper or xdigit between [: and :])";

/* The end of the set at AT of PATTERN, behind its bracket; where it has none, its pattern's. -EINVAL with *ret_at. */
static int skip_set(const char *pattern, size_t *at, size_t *ret_at) {
  size_t i = *at + 1, n;
  if (pattern[i] == '!' || pattern[i] == '^') i++;
  for (size_t first = i; pattern[i] && (pattern[i] != ']' || i == first); i += n) {
    if (wire_class(pattern + i, &n)) continue;
    if (pattern[i] == '[' && pattern[i + 1] == ':' && strstr(pattern + i, ":]")) {
      *ret_at = i;
      return -EINVAL;
    }
    n = pattern[i] == '\\' && pattern[i + 1] ? 2 : 1;
  }
  if (pattern[i]) *at = i;
  return 0;
}

int glob_check(const char *pattern, const char **ret_why, size_t *ret_at) {
  for (size_t i = 0; pattern[i]; i++) {
    if (pattern[i] == '\\' && pattern[i + 1]) {
      i++;
    } else if (pattern[i] == '[' && skip_set(pattern, &i, ret_at) < 0) {
      *ret_why = no_such_class;
      return -EINVAL;
    }
  }
  return 0;
}
