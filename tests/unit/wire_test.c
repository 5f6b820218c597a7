/* SPDX-License-Identifier: Apache-2.0 */
/* The wire room: a plan with one wrong index anywhere is refused, and a good one is not. */
#include <setjmp.h>
#include <stdarg.h>

#include "made_plan.h"

#include <cmocka.h>

/* A plan that has something in each of its tables. */
static struct text full_plan(void) {
  struct made_plan p = {.slots = 1};
  made_must(vec_push(&p.rows, (struct wire_row){.start = 1, .cfa = WIRE_CFA_RSP}) == 0);
  made_must(vec_push(&p.modules, (struct wire_module){.name = made_text(&p, "m"), .n_rows = 1}) == 0);
  made_must(vec_push(&p.places, (struct wire_place){.flags = WIRE_LAST, .start = 1, .end = 2}) == 0);
  made_must(vec_push(&p.patterns, (struct wire_pattern){.flags = WIRE_LAST}) == 0);
  made_function(&p, "f")->n_args = 2;
  made_fault(&p, -1, 5);
  made_side(&p, (struct wire_side){.kind = WIRE_SIDE_GLOBAL, .width = 4});
  uint32_t number = made_number(&p, 3);
  MADE_RULE(&p, OP(WIRE_OP_CALL, 0), OP(WIRE_OP_NUMBER, number), OP(WIRE_OP_EQ, 0), OP(WIRE_OP_IF_ZERO, 3),
            OP(WIRE_OP_CALLER, 0), OP(WIRE_OP_IF_SET, 1), OP(WIRE_OP_STACK, 0), OP(WIRE_OP_END, 0));
  struct text t = made_bytes(&p);
  made_done(&p);
  return t;
}

static struct wire_plan *head(struct text *t) { return (void *)t->at; }
#define PART(t, span, type) ((type *)((t)->at + head(t)->span.at))

static const char *check(struct text *t) {
  made_sum(t);
  return wire_plan_check(t->at, t->n);
}

static void a_good_plan_is_good(void **state) {
  (void)state;
  struct text t = full_plan();
  assert_null(check(&t));
  text_done(&t);
}

/* Sets LVALUE to VALUE in a fresh plan, whose start is T, and sees that it is refused. */
#define REFUSED(lvalue, value)                                                                                         \
  do {                                                                                                                 \
    struct text t = full_plan();                                                                                       \
    (lvalue) = (value);                                                                                                \
    if (!check(&t)) fail_msg("accepted: %s = %s", #lvalue, #value);                                                    \
    text_done(&t);                                                                                                     \
  } while (0)

static void headers_are_checked(void **state) {
  (void)state;
  REFUSED(head(&t)->magic, 0);
  REFUSED(head(&t)->version, WIRE_VERSION + 1);
  REFUSED(head(&t)->header, 8);
  REFUSED(head(&t)->size, head(&t)->size - 8);
  REFUSED(head(&t)->size, UINT64_MAX);
  REFUSED(head(&t)->slots, UINT32_MAX);
  REFUSED(head(&t)->area, head(&t)->text.n);
  REFUSED(head(&t)->preload, UINT32_MAX);
}

static void tables_are_checked(void **state) {
  (void)state;
  REFUSED(head(&t)->text.n, 0);
  REFUSED(head(&t)->text.n, head(&t)->text.n - 1);
  REFUSED(head(&t)->functions.at, head(&t)->functions.at + 4);
  REFUSED(head(&t)->functions.at, 0);
  REFUSED(head(&t)->functions.n, UINT32_MAX);
  REFUSED(head(&t)->functions, ((struct wire_span){UINT32_MAX & ~7u, 0}));
  REFUSED(head(&t)->rules.n, 1000);
  REFUSED(head(&t)->rules.n, 0);
  REFUSED(head(&t)->code.n, 3);
  REFUSED(head(&t)->numbers.n, 0);
  REFUSED(head(&t)->faults.n, 0);
  REFUSED(head(&t)->sides.n, 0);
  REFUSED(head(&t)->modules.n, 0);
  REFUSED(head(&t)->places.n, 0);
  REFUSED(head(&t)->patterns.n, 0);
  REFUSED(head(&t)->rows.n, 0);
  REFUSED(head(&t)->rows.at, UINT32_MAX - 7);
}

static void parts_are_checked(void **state) {
  (void)state;
  REFUSED(PART(&t, functions, struct wire_function)->name, 0);
  REFUSED(PART(&t, functions, struct wire_function)->name, 99);
  REFUSED(PART(&t, functions, struct wire_function)->version, 99);
  REFUSED(PART(&t, functions, struct wire_function)->rule, 2);
  REFUSED(PART(&t, functions, struct wire_function)->n_rules, 2);
  REFUSED(PART(&t, functions, struct wire_function)->n_args, 7);
  REFUSED(PART(&t, functions, struct wire_function)->descriptor, WIRE_MAX_ARGS);
  REFUSED(PART(&t, functions, struct wire_function)->stream, WIRE_STDOUT - 1);
  REFUSED(PART(&t, functions, struct wire_function)->hook, WIRE_HOOK_COUNT);
  REFUSED(PART(&t, rules, struct wire_rule)->code, 99);
  REFUSED(PART(&t, rules, struct wire_rule)->code, 1); /* takes a value that is not there */
  REFUSED(PART(&t, rules, struct wire_rule)->fault, 2);
  REFUSED(PART(&t, rules, struct wire_rule)->n_faults, 0);
  REFUSED(PART(&t, rules, struct wire_rule)->n_faults, 2);
  REFUSED(PART(&t, rules, struct wire_rule)->slot, 2);
  REFUSED(PART(&t, rules, struct wire_rule)->trigger, 99);
  REFUSED(PART(&t, faults, struct wire_fault)->ret, WIRE_KEEP); /* without WIRE_THEN */
  REFUSED(PART(&t, faults, struct wire_fault)->ret, 9);
  REFUSED(PART(&t, faults, struct wire_fault)->n_sides, 2);
  REFUSED(PART(&t, faults, struct wire_fault)->act, WIRE_ACT_COUNT);
  REFUSED(PART(&t, faults, struct wire_fault)->act, WIRE_ACT_SHORT); /* of -1 bytes */
  REFUSED(PART(&t, sides, struct wire_side)->kind, 9);
  REFUSED(PART(&t, sides, struct wire_side)->width, 3);
  REFUSED(PART(&t, sides, struct wire_side)->module, 1);
  REFUSED(PART(&t, sides, struct wire_side)->name, 99);
  REFUSED(PART(&t, modules, struct wire_module)->name, 99);
  REFUSED(PART(&t, modules, struct wire_module)->n_rows, 2);
  REFUSED(PART(&t, modules, struct wire_module)->n_build_id, 21);
  REFUSED(PART(&t, places, struct wire_place)->module, 1);
  REFUSED(PART(&t, places, struct wire_place)->flags, 0);
  REFUSED(PART(&t, places, struct wire_place)->start, 3);
  REFUSED(PART(&t, patterns, struct wire_pattern)->place, 1);
  REFUSED(PART(&t, patterns, struct wire_pattern)->within, 1);
  REFUSED(PART(&t, patterns, struct wire_pattern)->flags, 0);
  REFUSED(PART(&t, rows, struct wire_row)->cfa, WIRE_CFA_COUNT);
}

/* As long as the runtime compares, and not longer. */
static void patterns_have_an_end(void **state) {
  (void)state;
  for (unsigned frames = WIRE_PATTERN_MAX; frames <= WIRE_PATTERN_MAX + 1; frames++) {
    struct made_plan p = {0};
    made_must(vec_push(&p.modules, (struct wire_module){.name = made_text(&p, "m")}) == 0);
    made_must(vec_push(&p.places, (struct wire_place){.flags = WIRE_LAST, .start = 1, .end = 2}) == 0);
    for (unsigned i = 1; i <= 2 * frames; i++)
      made_must(vec_push(&p.patterns, (struct wire_pattern){.flags = i % frames == 0 ? WIRE_LAST : 0}) == 0);
    struct text t = made_bytes(&p);
    made_done(&p);
    assert_int_equal(wire_plan_check(t.at, t.n) == NULL, frames == WIRE_PATTERN_MAX);
    text_done(&t);
  }
}

static void conditions_are_checked(void **state) {
  (void)state;
  uint32_t none = OP(WIRE_OP_COUNT, 0);
  REFUSED(PART(&t, code, uint32_t)[0], none);
  REFUSED(PART(&t, code, uint32_t)[0], OP(WIRE_OP_EQ, 0));
  REFUSED(PART(&t, code, uint32_t)[0], OP(WIRE_OP_CALL, 1));
  REFUSED(PART(&t, code, uint32_t)[0], OP(WIRE_OP_ARG, WIRE_MAX_ARGS));
  REFUSED(PART(&t, code, uint32_t)[1], OP(WIRE_OP_NUMBER, 1));
  REFUSED(PART(&t, code, uint32_t)[1], OP(WIRE_OP_ONCE, 2));
  REFUSED(PART(&t, code, uint32_t)[2], OP(WIRE_OP_SERIES, 0));  /* has one number of three */
  REFUSED(PART(&t, code, uint32_t)[3], OP(WIRE_OP_IF_ZERO, 2)); /* lands with two values */
  REFUSED(PART(&t, code, uint32_t)[3], OP(WIRE_OP_IF_ZERO, 100));
  REFUSED(PART(&t, code, uint32_t)[4], OP(WIRE_OP_CALLER, 1));
  REFUSED(PART(&t, code, uint32_t)[6], OP(WIRE_OP_STACK, 1));
  REFUSED(PART(&t, code, uint32_t)[7], OP(WIRE_OP_CALL, 0)); /* no end */
  REFUSED(PART(&t, code, uint32_t)[2], OP(WIRE_OP_CALL, 0)); /* three values where one is wanted */
}

static void a_condition_has_its_depth(void **state) {
  (void)state;
  for (unsigned deep = WIRE_STACK; deep <= WIRE_STACK + 1; deep++) {
    struct made_plan p = {0};
    made_function(&p, "f");
    made_fault(&p, -1, 5);
    uint32_t code[2 * WIRE_STACK + 4];
    unsigned n = 0;
    for (unsigned i = 0; i < deep; i++)
      code[n++] = OP(WIRE_OP_CALL, 0);
    for (unsigned i = 1; i < deep; i++)
      code[n++] = OP(WIRE_OP_ADD, 0);
    code[n++] = OP(WIRE_OP_END, 0);
    made_rule(&p, code, n);
    struct text t = made_bytes(&p);
    assert_int_equal(check(&t) == NULL, deep == WIRE_STACK);
    text_done(&t);
    made_done(&p);
  }
}

static void every_byte_counts(void **state) {
  (void)state;
  struct text t = full_plan();
  for (size_t i = 0; i < t.n; i++) {
    t.at[i] ^= 0x10;
    assert_non_null(wire_plan_check(t.at, t.n));
    t.at[i] ^= 0x10;
  }
  for (size_t n = 0; n < t.n; n++)
    assert_non_null(wire_plan_check(t.at, n));
  text_done(&t);
}

static void draws_are_even(void **state) {
  (void)state;
  unsigned below = 0, pairs = 0;
  for (uint64_t k = 0; k < 100000; k++) {
    below += wire_draw(1, k) >> 1 < INT64_MAX / 10;
    pairs += (wire_draw(1, k) ^ wire_draw(2, k)) >> 63;
  }
  assert_in_range(below, 9500, 10500);
  assert_in_range(pairs, 49000, 51000);
}

#define MEMBER(type, name) offsetof(struct type, name), sizeof(((struct type *)0)->name)

/*
 * How what the two sides share is laid out, and how many kinds there are of what: of each structure the size and where
 * its last members are. A reader that was built for another layout must refuse, so a number that is another one now
 * means another version too: WIRE_VERSION, or that of the server or hub.
 */
static void layouts_are_of_this_version(void **state) {
  (void)state;
  static const size_t shared[] = {sizeof(struct wire_plan),
                                  sizeof(struct wire_function),
                                  sizeof(struct wire_rule),
                                  sizeof(struct wire_fault),
                                  sizeof(struct wire_side),
                                  sizeof(struct wire_module),
                                  sizeof(struct wire_place),
                                  sizeof(struct wire_pattern),
                                  sizeof(struct wire_row),
                                  sizeof(struct wire_setting),
                                  sizeof(struct wire_trigger),
                                  sizeof(struct wire_variable),
                                  sizeof(struct wire_location),
                                  sizeof(struct wire_entry),
                                  sizeof(struct wire_allowance),
                                  sizeof(struct wire_shim),
                                  sizeof(struct wire_frame),
                                  sizeof(struct wire_event),
                                  sizeof(struct wire_loaded),
                                  sizeof(struct wire_point),
                                  sizeof(struct wire_order),
                                  sizeof(struct wire_asking),
                                  sizeof(struct wire_trouble),
                                  sizeof(struct wire_area),
                                  MEMBER(wire_side, flags),
                                  WIRE_SIDE_ASKED,
                                  MEMBER(wire_point, first),
                                  MEMBER(wire_point, local),
                                  MEMBER(wire_point, frames),
                                  MEMBER(wire_order, about),
                                  MEMBER(wire_asking, pad),
                                  MEMBER(wire_trouble, error),
                                  MEMBER(wire_trouble, text),
                                  MEMBER(wire_event, frames),
                                  MEMBER(wire_area, held),
                                  MEMBER(wire_area, branches),
                                  MEMBER(wire_area, troubles),
                                  MEMBER(wire_area, orders),
                                  WIRE_HOOK_COUNT,
                                  WIRE_ACT_COUNT,
                                  WIRE_LENGTH_COUNT,
                                  WIRE_CFA_COUNT,
                                  WIRE_TRIGGER_COUNT,
                                  WIRE_OP_COUNT,
                                  WIRE_TEXT_COUNT,
                                  WIRE_MATCH_COUNT,
                                  WIRE_LOCATION_COUNT,
                                  WIRE_TROUBLE_COUNT};
  static const size_t server[] = {sizeof(struct wire_server),
                                  sizeof(struct wire_hello),
                                  sizeof(struct wire_fork_request),
                                  sizeof(struct wire_fork_answer),
                                  sizeof(struct wire_branch),
                                  sizeof(struct wire_branch_message),
                                  sizeof(struct wire_identity),
                                  sizeof(struct wire_number),
                                  MEMBER(wire_hello, refusal),
                                  MEMBER(wire_fork_request, kept),
                                  MEMBER(wire_branch, seen),
                                  WIRE_REFUSALS,
                                  WIRE_BRANCH_GO};
  static const size_t hub[] = {sizeof(struct wire_hub_head),   sizeof(struct wire_hub_hello),
                               sizeof(struct wire_hub_frame),  sizeof(struct wire_hub_ask),
                               sizeof(struct wire_hub_answer), WIRE_HUB_ANSWER};
  assert_int_equal(wire_sum(shared, sizeof shared), 0x9211935a27bad6f5u);
  assert_int_equal(WIRE_VERSION, 6);
  assert_int_equal(wire_sum(server, sizeof server), 0xaa3c3b6e4c02ee1eu);
  assert_int_equal(WIRE_SERVER_VERSION, 6);
  assert_int_equal(wire_sum(hub, sizeof hub), 0xee1751aa6de7b2du);
  assert_int_equal(WIRE_HUB_VERSION, 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_good_plan_is_good),
      cmocka_unit_test(headers_are_checked),
      cmocka_unit_test(tables_are_checked),
      cmocka_unit_test(parts_are_checked),
      cmocka_unit_test(patterns_have_an_end),
      cmocka_unit_test(conditions_are_checked),
      cmocka_unit_test(a_condition_has_its_depth),
      cmocka_unit_test(every_byte_counts),
      cmocka_unit_test(draws_are_even),
      cmocka_unit_test(layouts_are_of_this_version),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
