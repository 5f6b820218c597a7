/* SPDX-License-Identifier: Apache-2.0 */
/* Rules as terms: whatever the answers are, the rule that injects is the one that the conditions say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/terms.h"

#define OP(op, operand) ((uint32_t)(op) | (uint32_t)(operand) << 8)
#define TERMS 10
#define RULES 4
#define CODE 2048
#define ROUNDS 400

static uint32_t code[CODE];
static uint32_t n_code;
static struct wire_rule rules[RULES];
static struct {
  struct wire_plan plan;
  struct rt_term terms[CODE + RULES];
  struct rt_guard compared[CODE];
} memory;
/* Arguments are compared with 1, those from this one on as int. */
#define NARROW 3
enum { ONE, BITS, NUMBERS };
static const int64_t numbers[NUMBERS] = {[ONE] = 1, [BITS] = 32};

static uint64_t random_state = 88172645463325252u;
static uint32_t random_below(uint32_t n) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (uint32_t)(random_state >> 20) % n;
}

static void put(enum wire_op op, uint32_t operand) { code[n_code++] = OP(op, operand); }

static void put_comparison(uint32_t argument) {
  put(WIRE_OP_ARG, argument);
  if (argument >= NARROW) {
    put(WIRE_OP_NUMBER, BITS);
    put(WIRE_OP_SHL, 0);
    put(WIRE_OP_NUMBER, BITS);
    put(WIRE_OP_SHR, 0);
  }
  put(WIRE_OP_NUMBER, ONE);
  put(WIRE_OP_EQ, 0);
}

/* A condition at random, over terms whose operands are from 0 up to TERMS. */
static void put_condition(unsigned depth) {
  static const enum wire_op kinds[] = {WIRE_OP_CALLER, WIRE_OP_STACK, WIRE_OP_ASK};
  uint32_t what = depth == 0 ? 0 : random_below(4), jump;
  if (what == 0 && random_below(2)) return put_comparison(random_below(6));
  if (what == 0) return put(kinds[random_below(3)], random_below(TERMS));
  put_condition(depth - 1);
  if (what == 1) return put(WIRE_OP_IS_ZERO, 0);
  jump = n_code;
  put(what == 2 ? WIRE_OP_IF_ZERO : WIRE_OP_IF_SET, 0);
  put_condition(depth - 1);
  code[jump] |= (n_code - jump - 1) << 8;
}

/* As the stack machine does it; one value is enough for these. The bits of ANSWERS are those of the terms. */
static bool holds(uint32_t at, uint32_t answers) {
  bool value = false;
  for (;; at++) {
    uint32_t operand = code[at] >> 8;
    switch (code[at] & 0xff) {
    case WIRE_OP_END:
      return value;
    case WIRE_OP_IS_ZERO:
      value = !value;
      break;
    case WIRE_OP_IF_ZERO:
      if (!value) at += operand;
      break;
    case WIRE_OP_IF_SET:
      if (value) at += operand;
      break;
    case WIRE_OP_ARG:
      value = answers >> operand & 1;
      at += operand < NARROW ? 2 : 6;
      break;
    default:
      value = answers >> operand & 1;
    }
  }
}

static int injects(const struct rt_function *f, uint32_t answers) {
  for (uint32_t i = 0; i < f->n_rules; i++)
    if ((rules[i].code == WIRE_NO_CODE || holds(rules[i].code, answers)) && !(rules[i].flags & WIRE_UNUSED))
      return (int)i;
  return -1;
}

static int follow(const struct rt_term *t, uint32_t answers) {
  struct rt_call c = {0};
  for (unsigned i = 0; i < 6; i++)
    c.args[i] = (answers >> i & 1) | (i < NARROW ? 0 : 0xdead00000000);
  while ((t->instruction & 0xff) != WIRE_OP_END) {
    uint32_t operand = t->instruction >> 8;
    bool compares = (t->instruction & 0xff) == RT_TERM_COMPARES;
    unsigned next = t->next[compares ? rt_guard_compares(&rt_terms_compared[operand], &c) : answers >> operand & 1];
    if (next == 0) return -1;
    t += next;
  }
  return (int)(t->instruction >> 8);
}

static void start(const uint32_t *at, uint32_t n) {
  rt.rules = rules;
  memory.plan = (struct wire_plan){.code = {.n = n}, .rules = {.n = RULES}};
  rt.plan = &memory.plan;
  rt.code = at;
  rt.numbers = numbers;
  assert_true(rt_terms_room() <= sizeof memory - offsetof(typeof(memory), terms));
  rt_terms_start(memory.terms);
}

static struct rt_function make(void) {
  struct rt_function f = {.how = RT_TALLY, .hook = WIRE_HOOK_NONE, .n_rules = 1 + random_below(RULES)};
  n_code = 0;
  start(code, CODE);
  for (uint32_t i = 0; i < f.n_rules; i++) {
    bool always = random_below(8) == 0;
    rules[i] = (struct wire_rule){.code = always ? WIRE_NO_CODE : n_code, .flags = random_below(2) ? WIRE_UNUSED : 0};
    if (always) continue;
    put_condition(4);
    put(WIRE_OP_END, 0);
  }
  return f;
}

static void all_answers(void **state) {
  (void)state;
  unsigned made = 0;
  for (unsigned round = 0; round < ROUNDS; round++) {
    struct rt_function f = make();
    rt_terms_learn(&f);
    if (!f.terms) continue;
    made++;
    for (uint32_t answers = 0; answers < 1u << TERMS; answers++)
      if (follow(f.terms, answers) != injects(&f, answers)) fail_msg("round %u, answers %x", round, answers);
  }
  assert_true(made > ROUNDS / 2);
}

static void others_are_left(void **state) {
  (void)state;
  struct rt_function f = {.how = RT_TALLY, .hook = WIRE_HOOK_NONE, .n_rules = 1};
  static const uint32_t counted[] = {OP(WIRE_OP_CALL, 0), OP(WIRE_OP_END, 0)};
  start(counted, 2);
  rules[0] = (struct wire_rule){.code = 0};
  rt_terms_learn(&f);
  assert_null(f.terms);
  static const uint32_t stack[] = {OP(WIRE_OP_STACK, 0), OP(WIRE_OP_END, 0)};
  start(stack, 2);
  f.how = RT_ONE;
  rt_terms_learn(&f);
  assert_null(f.terms);
  f.how = RT_TALLY;
  f.hook = WIRE_HOOK_FORK;
  rt_terms_learn(&f);
  assert_null(f.terms);
}

/* All rules have the N instructions at SHARED for their condition: is nothing written behind the room? */
static void share(const uint32_t *shared, uint32_t n) {
  struct rt_function f = {.how = RT_TALLY, .hook = WIRE_HOOK_NONE, .n_rules = RULES};
  const unsigned char *bytes = (const unsigned char *)memory.terms;
  memset(memory.terms, 0xa5, sizeof memory - offsetof(typeof(memory), terms));
  start(shared, n);
  for (uint32_t i = 0; i < RULES; i++)
    rules[i] = (struct wire_rule){.code = 0};
  rt_terms_learn(&f);
  assert_null(f.terms);
  for (size_t i = rt_terms_room(); i < sizeof memory - offsetof(typeof(memory), terms); i++)
    assert_int_equal(bytes[i], 0xa5);
  /* There is room for one of them, still. */
  f.n_rules = 1;
  rt_terms_learn(&f);
  assert_non_null(f.terms);
}

static void shared_code(void **state) {
  (void)state;
  static const uint32_t stacks[] = {OP(WIRE_OP_STACK, 0),   OP(WIRE_OP_IF_ZERO, 5), OP(WIRE_OP_STACK, 1),
                                    OP(WIRE_OP_IF_ZERO, 3), OP(WIRE_OP_STACK, 2),   OP(WIRE_OP_IF_ZERO, 1),
                                    OP(WIRE_OP_STACK, 3),   OP(WIRE_OP_END, 0)};
  share(stacks, sizeof stacks / sizeof *stacks);
  static const uint32_t compared[] = {OP(WIRE_OP_ARG, 0), OP(WIRE_OP_NUMBER, ONE), OP(WIRE_OP_EQ, 0),
                                      OP(WIRE_OP_END, 0)};
  share(compared, sizeof compared / sizeof *compared);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(all_answers), cmocka_unit_test(others_are_left),
                                     cmocka_unit_test(shared_code)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
