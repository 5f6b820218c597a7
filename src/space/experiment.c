/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of experiments, and what is expected of lists of injections. */
#include "space/space.h"

static uint64_t key_of(const struct experiment *x, uint32_t n) {
  uint64_t key = hash_mix(x->test + 1);
  for (uint32_t i = 0; i < n; i++)
    key = hash_mix(key + x->injections[i].key);
  return key ? key : 1;
}

uint64_t experiment_key(const struct experiment *x) { return key_of(x, x->n); }

uint64_t experiment_prefix_key(const struct experiment *x) { return key_of(x, x->n ? x->n - 1 : 0); }

struct experiment experiment_prefix(const struct experiment *x) {
  return (struct experiment){.test = x->test, .n = x->n ? x->n - 1 : 0, .injections = x->injections};
}

struct expectation expectation_join(const struct expectation *before, const struct expectation *last) {
  struct expectation joined = *last;
  joined.traits = (before->traits & ~(unsigned)TRAIT_ANSWERS) | last->traits;
  return joined;
}
