/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions in the target: what they give, and what is foretold of them. */
#include <setjmp.h>
#include <stdarg.h>

#include "made_plan.h"
#include "runtime/rt_condition.h"
#include "runtime/count.h"
#include "runtime/fd.h"

#include <cmocka.h>

static struct made_plan plan;
static struct text bytes;
static uint64_t slots[64];
static struct wire_area area;
static struct rt_function function;

#define NUMBER(n) OP(WIRE_OP_NUMBER, made_number(&plan, n))
#define CALL OP(WIRE_OP_CALL, 0)
#define END OP(WIRE_OP_END, 0)

static void begin(void) {
  made_done(&plan);
  text_done(&bytes);
  plan = (struct made_plan){.slots = 8};
  made_function(&plan, "f");
  made_fault(&plan, -1, 5);
}

/* The plan's rules can be asked. */
static void ready(void) {
  bytes = made_bytes(&plan);
  assert_null(wire_plan_check(bytes.at, bytes.n));
  memset(slots, 0, sizeof slots);
  rt.plan = (const void *)bytes.at;
  rt.rules = rt_array(rules, struct wire_rule);
  rt.code = rt_array(code, uint32_t);
  rt.numbers = rt_array(numbers, int64_t);
  rt.slots = slots;
  rt.area = &area;
  function = (struct rt_function){.n_rules = (uint32_t)plan.rules.n};
  rt.functions = &function;
}

static bool holds(uint32_t rule, uint64_t number) {
  struct rt_call c = {.rule = rule, .number = number, .args = {10, 11, 12, 13, 14, 15}};
  uint64_t stack[] = {0, 16, 17};
  c.sp = stack;
  return rt_holds(&c);
}

static void operators(void **state) {
  (void)state;
  static const struct {
    enum wire_op op;
    int64_t a, b, result;
  } cases[] = {
      {WIRE_OP_EQ, 3, 3, 1},
      {WIRE_OP_NE, 3, 3, 0},
      {WIRE_OP_LT, -1, 0, 1},
      {WIRE_OP_LE, 0, 0, 1},
      {WIRE_OP_GT, -1, 0, 0},
      {WIRE_OP_GE, 0, 0, 1},
      {WIRE_OP_ADD, INT64_MAX, 1, INT64_MIN},
      {WIRE_OP_SUB, 1, 3, -2},
      {WIRE_OP_MUL, 4, -3, -12},
      {WIRE_OP_DIV, 7, 0, 0},
      {WIRE_OP_DIV, -7, 2, -3},
      {WIRE_OP_DIV, INT64_MIN, -1, INT64_MIN},
      {WIRE_OP_MOD, 7, 0, 0},
      {WIRE_OP_MOD, -7, 2, -1},
      {WIRE_OP_AND, 6, 3, 2},
      {WIRE_OP_OR, 6, 3, 7},
      {WIRE_OP_XOR, 6, 3, 5},
      {WIRE_OP_SHL, 1, 4, 16},
      {WIRE_OP_SHR, -16, 2, -4},
  };
  for (size_t i = 0; i < COUNT(cases); i++) {
    begin();
    MADE_RULE(&plan, NUMBER(cases[i].a), NUMBER(cases[i].b), OP(cases[i].op, 0), NUMBER(cases[i].result),
              OP(WIRE_OP_EQ, 0), END);
    ready();
    if (!holds(0, 1)) fail_msg("operator %d", cases[i].op);
  }
}

static void arguments_and_one_value(void **state) {
  (void)state;
  begin();
  for (uint32_t i = 0; i < 8; i++)
    MADE_RULE(&plan, OP(WIRE_OP_ARG, i), NUMBER(10 + i), OP(WIRE_OP_EQ, 0), END);
  MADE_RULE(&plan, NUMBER(5), OP(WIRE_OP_NEG, 0), OP(WIRE_OP_NOT, 0), NUMBER(4), OP(WIRE_OP_EQ, 0), END);
  MADE_RULE(&plan, NUMBER(0), OP(WIRE_OP_IS_ZERO, 0), END);
  ready();
  for (uint32_t i = 0; i < 10; i++)
    assert_true(holds(i, 1));
}

static void state_moves_on(void **state) {
  (void)state;
  begin();
  MADE_RULE(&plan, OP(WIRE_OP_ONCE, 0), END);
  MADE_RULE(&plan, OP(WIRE_OP_NEXT, 1), NUMBER(3), OP(WIRE_OP_EQ, 0), END);
  MADE_RULE(&plan, OP(WIRE_OP_NEXT, 2), OP(WIRE_OP_SERIES, made_number(&plan, 2)), END);
  (void)made_number(&plan, 6);
  (void)made_number(&plan, 2);
  ready();
  assert_true(rt_may_hold(0, 1, 1));
  assert_true(holds(0, 1) && !holds(0, 2) && !holds(0, 3));
  assert_false(rt_may_hold(0, 1, INT64_MAX));
  assert_true(!holds(1, 1) && !holds(1, 2) && rt_may_hold(1, 1, 1) && holds(1, 3) && !holds(1, 4));
  assert_false(rt_may_hold(1, 1, INT64_MAX));
  char seen[16] = "";
  for (int i = 0; i < 10; i++)
    (void)strcat(seen, holds(2, 1) ? "x" : ".");
  assert_string_equal(seen, ".x.x.x....");
  assert_false(rt_may_hold(2, 1, INT64_MAX));
}

static void jumps_keep_or_drop(void **state) {
  (void)state;
  begin();
  /* call > 2 && call < 5 || call == 9 */
  MADE_RULE(&plan, CALL, NUMBER(2), OP(WIRE_OP_GT, 0), OP(WIRE_OP_IF_ZERO, 3), CALL, NUMBER(5), OP(WIRE_OP_LT, 0),
            OP(WIRE_OP_IF_SET, 3), CALL, NUMBER(9), OP(WIRE_OP_EQ, 0), END);
  ready();
  char seen[16] = "";
  for (uint64_t n = 1; n <= 10; n++)
    (void)strcat(seen, holds(0, n) ? "x" : ".");
  assert_string_equal(seen, "..xx....x.");
  assert_int_equal(rt_quiet(0, 1), 2);
  assert_int_equal(rt_quiet(0, 5), 4);
  assert_int_equal(rt_quiet(0, 10), UINT64_MAX);
}

/* A term about the caller, which is never true here, in all places that it can have in a condition. */
static void callers_in_all_places(void **state) {
  (void)state;
  const uint32_t caller = OP(WIRE_OP_CALLER, 0), both = OP(WIRE_OP_IF_ZERO, 1), either = OP(WIRE_OP_IF_SET, 1);
  begin();
  made_must(vec_push(&plan.modules, (struct wire_module){.name = made_text(&plan, "m")}) == 0);
  made_must(vec_push(&plan.places, (struct wire_place){.flags = WIRE_LAST | WIRE_ANYWHERE}) == 0);
  const uint32_t one = NUMBER(1);
  MADE_RULE(&plan, caller, END);
  MADE_RULE(&plan, caller, both, one, END);
  MADE_RULE(&plan, caller, both, one, both, one, END);
  MADE_RULE(&plan, one, both, caller, END);
  MADE_RULE(&plan, caller, both, caller, either, caller, END);
  /* From here on they hold. */
  MADE_RULE(&plan, caller, OP(WIRE_OP_IS_ZERO, 0), END);
  MADE_RULE(&plan, caller, either, one, END);
  MADE_RULE(&plan, caller, both, one, either, one, END);
  MADE_RULE(&plan, caller, either, one, both, one, END);
  MADE_RULE(&plan, caller, NUMBER(0), OP(WIRE_OP_EQ, 0), END);
  ready();
  for (uint32_t i = 0; i < 10; i++)
    if (holds(i, 1) != (i >= 5)) fail_msg("condition %u", i);
}

static void orders_are_for_one_rule(void **state) {
  (void)state;
  begin();
  MADE_RULE(&plan, OP(WIRE_OP_ORDER, 0), END);
  MADE_RULE(&plan, OP(WIRE_OP_ORDER, 0), END);
  ready();
  area.orders[0] = (struct wire_order){.rule = 1, .nth = 2};
  assert_true(rt_may_hold(0, 1, 1)); /* could still be given */
  area.n_orders = 1;
  assert_false(rt_may_hold(0, 1, 1));
  assert_true(rt_may_hold(1, 1, 1));
  area.orders[0].seen = 2;
  assert_false(rt_may_hold(1, 1, 1));
  area.orders[0].persistent = 1;
  assert_true(rt_may_hold(1, 1, 1));
  area.orders[0] = (struct wire_order){.rule = 1, .nth = 1, .seen = 1};
  area.orders[1] = (struct wire_order){.rule = 0, .nth = 1};
  area.n_orders = 2;
  assert_true(rt_may_hold(0, 1, 1));
  assert_false(rt_may_hold(1, 1, 1));
}

/* --- conditions at random ----------------------------------------------------------------------------------------- */

static uint64_t drawn;

static uint32_t choose(uint32_t n) { return (uint32_t)(wire_draw(7, drawn++) % n); }

/* Appends code that leaves one value. */
static void any_value(uint32_t *code, unsigned *n, unsigned depth) {
  static const enum wire_op twos[] = {WIRE_OP_EQ,  WIRE_OP_NE,  WIRE_OP_LT,  WIRE_OP_LE,  WIRE_OP_GT,  WIRE_OP_GE,
                                      WIRE_OP_ADD, WIRE_OP_SUB, WIRE_OP_MUL, WIRE_OP_DIV, WIRE_OP_MOD, WIRE_OP_AND,
                                      WIRE_OP_OR,  WIRE_OP_XOR, WIRE_OP_SHL, WIRE_OP_SHR};
  static const enum wire_op ones[] = {WIRE_OP_NOT, WIRE_OP_NEG, WIRE_OP_IS_ZERO};
  uint32_t what = depth == 0 ? choose(2) : choose(6);
  if (what == 0) {
    code[(*n)++] = CALL;
  } else if (what == 1) {
    code[(*n)++] = NUMBER((int64_t)choose(40) - 5);
  } else if (what == 2) {
    any_value(code, n, depth - 1);
    code[(*n)++] = OP(ones[choose(COUNT(ones))], 0);
  } else if (what == 3) {
    any_value(code, n, depth - 1);
    unsigned jump = (*n)++;
    any_value(code, n, depth - 1);
    code[jump] = OP(choose(2) ? WIRE_OP_IF_ZERO : WIRE_OP_IF_SET, *n - jump - 1);
  } else {
    any_value(code, n, depth - 1);
    any_value(code, n, depth - 1);
    code[(*n)++] = OP(twos[choose(COUNT(twos))], 0);
  }
}

/* What is foretold for a range is never wrong, and for one number it is exact. */
static void nothing_wrong_is_foretold(void **state) {
  (void)state;
  for (int round = 0; round < 3000; round++) {
    begin();
    uint32_t code[256];
    unsigned n = 0;
    any_value(code, &n, 4);
    code[n++] = END;
    made_rule(&plan, code, n);
    ready();
    assert_true(rt_only_counts(rt.rules[0].code));
    bool held[101] = {false};
    for (uint64_t k = 1; k <= 100; k++) {
      held[k] = holds(0, k);
      assert_int_equal(rt_may_hold(0, k, k), held[k]);
    }
    for (uint64_t from = 1; from <= 100; from += 7) {
      bool any = false;
      for (uint64_t to = from; to <= 100; to++) {
        any |= held[to];
        if (any) assert_true(rt_may_hold(0, from, to));
      }
      uint64_t quiet = rt_quiet(0, from);
      for (uint64_t k = from; k <= 100 && k - from < quiet; k++)
        assert_false(held[k]);
    }
  }
}

static void globs(void **state) {
  (void)state;
  static const struct {
    const char *pattern, *s;
    bool matches;
  } cases[] = {
      {"*", "", true},
      {"*", "/a/b", true},
      {"/dev/*", "/dev/null", true},
      {"/dev/*", "/etc", false},
      {"*.[ch]", "a.c", true},
      {"*.[!ch]", "a.c", false},
      {"?", "a", true},
      {"?", "", false},
      {"a*b*c", "aXbYbc", true},
      {"a*b*c", "aXbYb", false},
      {"[a-c]x", "bx", true},
      {"[]x]", "]", true},
      {"[", "[", true},
      {"\\*", "*", true},
      {"\\*", "a", false},
      {"x[[:digit:]_]", "x7", true},
      {"x[[:digit:]_]", "x_", true},
      {"x[[:digit:]_]", "xd", false},
      {"[![:space:]]", " ", false},
      {"[[:alpha:]-]*", "-x", true},
      {"[\\]a]b", "]b", true},
      {"[[.-.]]", "-", true},
      {"[a-\xff]", "\xc3", true},
      {"", "", true},
  };
  for (size_t i = 0; i < COUNT(cases); i++)
    if (rt_glob(cases[i].pattern, cases[i].s, strlen(cases[i].s)) != cases[i].matches) fail_msg("%s", cases[i].pattern);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(operators),
      cmocka_unit_test(arguments_and_one_value),
      cmocka_unit_test(state_moves_on),
      cmocka_unit_test(jumps_keep_or_drop),
      cmocka_unit_test(callers_in_all_places),
      cmocka_unit_test(orders_are_for_one_rule),
      cmocka_unit_test(nothing_wrong_is_foretold),
      cmocka_unit_test(globs),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  begin();
  made_done(&plan);
  text_done(&bytes);
  return failed;
}
