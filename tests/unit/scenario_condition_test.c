/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conditions mean what they mean in C: the code that they become is run here, and compared with what the compiler of
 * this test makes of the same text, and with made-up expressions. For every call for which one holds, the rule's range
 * of calls must have it.
 */
#include "tests/unit/made_world.h"

/* --- a small machine ---------------------------------------------------------------------------------------------- */

struct machine {
  struct text plan;
  const struct wire_rule *rule;
  uint64_t slots[8];
};

static void load(struct machine *m, const char *condition) {
  struct scenario *s = scenario_new();
  struct text rule = {0};
  struct err e = {0};
  *m = (struct machine){0};
  text_addf(&rule, "read:EIO when %s", condition);
  if (scenario_add_rule(s, "--fail", rule.at, &e) < 0 || made_compile(s, 0, NULL, &m->plan, &e) < 0)
    fail_msg("%s\n%s", rule.at, e.text);
  assert_null(wire_plan_check(m->plan.at, m->plan.n));
  const struct wire_plan *p = (const struct wire_plan *)(const void *)m->plan.at;
  m->rule = (const struct wire_rule *)(const void *)(m->plan.at + p->rules.at);
  text_done(&rule);
  scenario_free(s);
}

static int64_t push_value(struct machine *m, enum wire_op op, uint32_t operand, int64_t call) {
  const struct wire_plan *p = (const struct wire_plan *)(const void *)m->plan.at;
  switch (op) {
  case WIRE_OP_NUMBER:
    return ((const int64_t *)(const void *)(m->plan.at + p->numbers.at))[operand];
  case WIRE_OP_CALL:
    return call;
  case WIRE_OP_ONCE:
    return m->slots[operand]++ == 0;
  default:
    fail_msg("an instruction %d", (int)op);
    return 0;
  }
}

static int64_t run(struct machine *m, int64_t call) {
  const struct wire_plan *p = (const struct wire_plan *)(const void *)m->plan.at;
  const uint32_t *code = (const uint32_t *)(const void *)(m->plan.at + p->code.at);
  int64_t stack[WIRE_STACK + 1] = {0};
  size_t n = 0;
  if (m->rule->code == WIRE_NO_CODE) return 1;
  for (size_t at = m->rule->code;; at++) {
    enum wire_op op = code[at] & 0xff;
    uint32_t operand = code[at] >> 8;
    if (op == WIRE_OP_END) {
      assert_int_equal(n, 1);
      return stack[0];
    }
    if (op == WIRE_OP_IF_ZERO || op == WIRE_OP_IF_SET) {
      bool jump = (stack[n - 1] == 0) == (op == WIRE_OP_IF_ZERO);
      at += jump ? operand : 0;
      n -= !jump;
    } else if (op == WIRE_OP_NOT || op == WIRE_OP_NEG || op == WIRE_OP_IS_ZERO) {
      int64_t x = stack[n - 1];
      stack[n - 1] = op == WIRE_OP_NOT ? ~x : op == WIRE_OP_NEG ? (int64_t)(0 - (uint64_t)x) : x == 0;
    } else if (op >= WIRE_OP_EQ && op <= WIRE_OP_SHR) {
      n--;
      stack[n - 1] = wire_compute(op, stack[n - 1], stack[n]);
    } else {
      stack[n++] = push_value(m, op, operand, call);
    }
  }
}

static void check_range(const struct machine *m, const char *text, int64_t call, bool holds) {
  if (holds && ((uint64_t)call < m->rule->first || (uint64_t)call > m->rule->last))
    fail_msg("%s holds for call %lld, outside of %llu to %llu", text, (long long)call,
             (unsigned long long)m->rule->first, (unsigned long long)m->rule->last);
}

/* --- against C ---------------------------------------------------------------------------------------------------- */

/* Truth values, as numbers in C, are none here: what is compared is whether the condition holds. */
#define SAME(...)                                                                                                      \
  do {                                                                                                                 \
    struct machine m;                                                                                                  \
    load(&m, #__VA_ARGS__);                                                                                            \
    for (int64_t call = 1; call <= 70; call++) {                                                                       \
      bool want = (__VA_ARGS__), got = run(&m, call) != 0;                                                             \
      if (want != got) fail_msg("%s is %d for call %lld, and not %d", #__VA_ARGS__, got, (long long)call, want);       \
      check_range(&m, #__VA_ARGS__, call, want);                                                                       \
    }                                                                                                                  \
    text_done(&m.plan);                                                                                                \
  } while (0)

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wparentheses"
#pragma GCC diagnostic ignored "-Wlogical-op"
#ifdef __clang__
#pragma clang diagnostic ignored "-Wbitwise-op-parentheses"
#pragma clang diagnostic ignored "-Wlogical-op-parentheses"
#pragma clang diagnostic ignored "-Wshift-op-parentheses"
#endif
static void precedence_is_that_of_c(void **state) {
  (void)state;
  SAME(call == 3);
  SAME(call * 2 + 3 == 11);
  SAME(call - 2 - 3 == 4);
  SAME(call / 2 / 3 == 4);
  SAME(call % 7 * 2 == 6);
  SAME(call << 1 + 1 == 24);
  SAME(call << 1 < 20);
  SAME(call >> 2 > 3);
  SAME(-call + 5 > 0);
  SAME(~call + 9);
  SAME(call & 6 ^ 2);
  SAME(call ^ 5 & 4);
  SAME(call & 4 | call ^ 3);
  SAME(8 | call & 1);
  SAME(call == 3 || call == 5 && call < 4);
  SAME((call == 3 || call == 5) && call < 4);
  SAME(!call || call > 60);
  SAME(!(call > 10) && call != 4);
  SAME(!!call == (call > 0));
  SAME(call + -3 > - -4);
  SAME((call < 5) == (call < 9));
  SAME((call & 1) == 0 && call % 3 == 0 || call >= 69);
  SAME(5 < call && 9 >= call || 20 == call);
  SAME(call > 2 && call > 5 && call <= 11);
}
#pragma GCC diagnostic pop

static void words_are_the_same_as_signs(void **state) {
  (void)state;
  static const struct {
    const char *words, *signs;
  } same[] = {
      {"call==3 or call==5 and call<4", "call==3 || (call==5 && call<4)"},
      {"not call==3", "!(call==3)"},
      {"not call==3 and call<9", "!(call==3) && call<9"},
      {"not not call==3", "call==3"},
      {"not (call==3 or call>7)", "call!=3 && call<=7"},
      {"call>3 and true", "call>3"},
      {"call>3 or false", "call>3"},
  };
  for (size_t i = 0; i < COUNT(same); i++) {
    struct machine a, b;
    load(&a, same[i].words);
    load(&b, same[i].signs);
    for (int64_t call = 1; call <= 20; call++)
      if ((run(&a, call) != 0) != (run(&b, call) != 0)) fail_msg("%s differs from %s", same[i].words, same[i].signs);
    text_done(&a.plan);
    text_done(&b.plan);
  }
}

/* --- made-up expressions ------------------------------------------------------------------------------------------ */

static uint64_t random_state;

static unsigned below(unsigned n) {
  random_state = hash_mix(random_state + 0x9e3779b97f4a7c15u);
  return (unsigned)(random_state % n);
}

#define CALLS 24

/* A truth as text, and what it is for each call. */
static void make_truth(struct text *t, unsigned depth, bool ret[CALLS + 1]) {
  static const struct {
    const char *sign;
    enum wire_op op;
  } signs[] = {{"==", WIRE_OP_EQ}, {"!=", WIRE_OP_NE}, {"<", WIRE_OP_LT},
               {"<=", WIRE_OP_LE}, {">", WIRE_OP_GT},  {">=", WIRE_OP_GE}};
  unsigned kind = depth ? below(5) : 0;
  bool other[CALLS + 1];
  if (kind < 2) {
    unsigned i = below(COUNT(signs)), number = below(CALLS + 4), modulo = below(4) ? 0 : 2 + below(3);
    bool first = below(2);
    if (first) text_addf(t, "%u%s", number, signs[i].sign);
    text_addf(t, modulo ? "call%%%u" : "call", modulo);
    if (!first) text_addf(t, "%s%u", signs[i].sign, number);
    for (int64_t call = 1; call <= CALLS; call++) {
      int64_t value = modulo ? call % modulo : call;
      ret[call] = first ? wire_compute(signs[i].op, number, value) : wire_compute(signs[i].op, value, number);
    }
  } else if (kind == 2) {
    text_add(t, below(2) ? "!(" : "not (");
    make_truth(t, depth - 1, ret);
    text_add(t, ")");
    for (unsigned call = 1; call <= CALLS; call++)
      ret[call] = !ret[call];
  } else {
    bool both = kind == 3;
    text_add(t, "(");
    make_truth(t, depth - 1, ret);
    text_add(t, both ? ") and (" : ") or (");
    make_truth(t, depth - 1, other);
    text_add(t, ")");
    for (unsigned call = 1; call <= CALLS; call++)
      ret[call] = both ? ret[call] && other[call] : ret[call] || other[call];
  }
}

static void made_up_conditions_hold_when_they_should(void **state) {
  (void)state;
  for (unsigned n = 0; n < 300; n++) {
    struct scenario *s = scenario_new();
    struct text t = {0}, rule = {0};
    struct err e = {0};
    bool want[CALLS + 1], ever = false;
    random_state = n;
    make_truth(&t, 4, want);
    for (unsigned call = 1; call <= CALLS; call++)
      ever |= want[call];
    /* What can be seen never to hold is refused, and must then not hold. */
    text_addf(&rule, "read:EIO when %s", t.at);
    struct text plan = {0};
    int r = scenario_add_rule(s, "--fail", rule.at, &e);
    if (r >= 0) r = made_compile(s, 0, NULL, &plan, &e);
    if (r < 0 && ever) fail_msg("%s: %s", t.at, e.text);
    text_done(&plan);
    if (r >= 0) {
      struct machine m;
      load(&m, t.at);
      for (unsigned call = 1; call <= CALLS; call++) {
        if ((run(&m, call) != 0) != want[call]) fail_msg("%s is wrong for call %u", t.at, call);
        check_range(&m, t.at, call, want[call]);
      }
      text_done(&m.plan);
    }
    text_done(&t);
    text_done(&rule);
    scenario_free(s);
  }
}

static void once_is_used_up_by_an_injection_only(void **state) {
  (void)state;
  static const char *const conditions[] = {"once and call>3", "call>3 and once", "once and (call>3 and once)"};
  for (size_t i = 0; i < COUNT(conditions); i++) {
    struct machine m;
    load(&m, conditions[i]);
    for (int64_t call = 1; call <= 10; call++)
      assert_int_equal(run(&m, call) != 0, call == 4);
    assert_int_equal(m.rule->first, 4);
    assert_true(m.rule->flags & WIRE_ONE_SHOT);
    text_done(&m.plan);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(precedence_is_that_of_c),
      cmocka_unit_test(words_are_the_same_as_signs),
      cmocka_unit_test(made_up_conditions_hold_when_they_should),
      cmocka_unit_test(once_is_used_up_by_an_injection_only),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
