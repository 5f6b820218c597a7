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
static struct rt_term terms[CODE + RULES + 1];

static uint64_t random_state = 88172645463325252u;
static uint32_t random_below(uint32_t n) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (uint32_t)(random_state >> 20) % n;
}

static void put(enum wire_op op, uint32_t operand) { code[n_code++] = OP(op, operand); }

/* A condition at random, over terms whose operands are from 0 up to TERMS. */
static void put_condition(unsigned depth) {
  static const enum wire_op kinds[] = {WIRE_OP_CALLER, WIRE_OP_STACK, WIRE_OP_ASK};
  uint32_t what = depth == 0 ? 0 : random_below(4), jump;
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
  while ((t->instruction & 0xff) != WIRE_OP_END) {
    unsigned next = t->next[answers >> (t->instruction >> 8) & 1];
    if (next == 0) return -1;
    t += next;
  }
  return (int)(t->instruction >> 8);
}

static struct rt_function make(void) {
  struct rt_function f = {.how = RT_TALLY, .hook = WIRE_HOOK_NONE, .rules = rules, .n_rules = 1 + random_below(RULES)};
  n_code = 0;
  rt.code = code;
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
    struct rt_term *room = terms;
    rt_terms_learn(&f, &room);
    if (!f.terms) continue;
    made++;
    assert_true(room > terms && room <= terms + sizeof terms / sizeof *terms);
    for (uint32_t answers = 0; answers < 1u << TERMS; answers++)
      if (follow(f.terms, answers) != injects(&f, answers)) fail_msg("round %u, answers %x", round, answers);
  }
  assert_true(made > ROUNDS / 2);
}

static void others_are_left(void **state) {
  (void)state;
  struct rt_term *room = terms;
  struct rt_function f = {.how = RT_TALLY, .hook = WIRE_HOOK_NONE, .rules = rules, .n_rules = 1};
  static const uint32_t counted[] = {OP(WIRE_OP_CALL, 0), OP(WIRE_OP_END, 0)};
  rt.code = counted;
  rules[0] = (struct wire_rule){.code = 0};
  rt_terms_learn(&f, &room);
  assert_null(f.terms);
  static const uint32_t stack[] = {OP(WIRE_OP_STACK, 0), OP(WIRE_OP_END, 0)};
  rt.code = stack;
  f.how = RT_ONE;
  rt_terms_learn(&f, &room);
  assert_null(f.terms);
  f.how = RT_TALLY;
  f.hook = WIRE_HOOK_FORK;
  rt_terms_learn(&f, &room);
  assert_null(f.terms);
  assert_ptr_equal(room, terms);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(all_answers), cmocka_unit_test(others_are_left)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
