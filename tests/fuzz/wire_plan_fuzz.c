/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a plan: refused, or taken, and then used as the target and the writer of shims use it. What a chance
 * cannot get right (magic, sizes, the sum) is put right first, so that the rest is reached.
 */
#include "runtime/rt_condition.h"
#include "runtime/runtime.h"
#include "shim/shim.h"
#include "tests/fuzz/fuzz.h"
#include "wire/wire.h"

#include <stdlib.h>
#include <string.h>

static void put_right(struct wire_plan *p, size_t size) {
  size_t from = offsetof(struct wire_plan, sum) + sizeof p->sum;
  p->magic = WIRE_PLAN_MAGIC;
  p->version = WIRE_VERSION;
  p->header = sizeof *p;
  p->size = size;
  p->sum = wire_sum((const char *)p + from, size - from);
}

/* Conditions that only count are evaluated; others would walk this program's stack. */
static void use(const struct wire_plan *p) {
  static uint64_t none;
  uint64_t stack[32] = {0};
  rt.plan = p;
  rt.rules = rt_array(rules, struct wire_rule);
  rt.code = rt_array(code, uint32_t);
  rt.numbers = rt_array(numbers, int64_t);
  rt.slots = p->slots > 0 ? calloc(p->slots, sizeof(uint64_t)) : &none;
  for (uint32_t i = 0; rt.slots && i < p->rules.n; i++) {
    struct rt_call c = {.rule = i, .number = 3, .sp = stack};
    (void)rt_may_hold(i, 1, INT64_MAX);
    bool counts = rt.rules[i].code != WIRE_NO_CODE && rt_only_counts(rt.rules[i].code);
    if (counts && rt_may_hold(i, 3, 3) != rt_holds(&c) && !rt.rules[i].flags && rt.rules[i].first <= 3 &&
        rt.rules[i].last >= 3)
      abort();
  }
  if (rt.slots != &none) free(rt.slots);
  struct text shim = {0};
  struct err e = {0};
  if (p->functions.n < 1000) (void)!shim_write(p, p->size, "/runtime.so", &shim, &e);
  text_done(&shim);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < sizeof(struct wire_plan) || size > 1 << 16) return 0;
  void *copy = aligned_alloc(16, (size + 15) / 16 * 16);
  if (!copy) return 0;
  memcpy(copy, data, size);
  (void)wire_plan_check(copy, size);
  put_right(copy, size);
  if (!wire_plan_check(copy, size)) use(copy);
  free(copy);
  return 0;
}
