/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Candidates of library calls: their order, their injections, and what is expected of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "inject/inject.h"

#include <errno.h>
#include <stdlib.h>

static const struct inject_call *call(const struct candidate *all, size_t i) { return inject_last_call(&all[i].x); }

/* --- order -------------------------------------------------------------------------------------------------------- */

static int all_possible(void *context, const struct inject_point *p, const struct inject_fault *f) {
  (void)context;
  (void)p;
  return f->error == EINVAL ? 0 : 2;
}

static void test_order(void **state) {
  (void)state;
  const struct inject_fault faults[] = {{.function = 0, .error = ENOMEM, .rule = 1},
                                        {.function = 0, .error = EIO, .rule = 2},
                                        {.function = 0, .error = EINVAL, .rule = 3},
                                        {.function = 1, .error = EIO, .rule = 4}};
  const struct inject_point points[] = {{.hash = 1, .count = 1, .function = 0, .site = 10},
                                        {.hash = 2, .count = 5, .function = 0, .site = 10},
                                        {.hash = 3, .count = 1, .function = 1, .site = 11, .verdict = 3}};
  struct arena arena = {0};
  struct inject_plan plan = {
      .points = points, .n_points = 3, .faults = faults, .n_faults = 4, .likely = all_possible, .arena = &arena};
  struct candidate *all = NULL;
  size_t n = 0;
  assert_int_equal(inject_plan(&plan, &all, &n), 0);
  /* Once and from then on; the second point the last time too, and its likeliest fault twice in between. */
  assert_int_equal(n, 4 + 6 + 2 + 2);
  assert_int_equal(call(all, 0)->point, 2);
  assert_true(call(all, 1)->persistent);
  assert_int_equal(call(all, 2)->point, 0);
  assert_int_equal(faults[call(all, 2)->fault].error, EIO);
  for (size_t i = 1; i < n; i++)
    assert_true(all[i].weight <= all[i - 1].weight);
  size_t between = 0;
  for (size_t i = 0; i < n; i++) {
    if (call(all, i)->nth != 2 && call(all, i)->nth != 3) continue;
    between++;
    assert_int_equal(faults[call(all, i)->fault].error, EIO);
    assert_true(all[i].weight < all[2].weight && !call(all, i)->persistent);
  }
  assert_int_equal(between, 2);
  free(all);
  plan.random = true;
  size_t first = 0;
  assert_int_equal(inject_plan(&plan, &all, &n), 0);
  assert_int_equal(n, 4 + 6 + 2 + 2);
  for (size_t i = 0; i < 2; i++)
    first += call(all, i)->point == 2;
  assert_true(first < 2); /* the unchecked one no longer comes first */
  free(all);
  arena_done(&arena);
}

static int by_error(void *context, const struct inject_point *p, const struct inject_fault *f) {
  (void)context;
  (void)p;
  return f->error == EROFS ? 1 : 2;
}

/* Every stack has its likeliest fault before any has a second one; input and output before memory, if as likely. */
static void test_each_stack_once(void **state) {
  (void)state;
  const struct inject_fault faults[] = {{.function = 0, .error = EROFS},
                                        {.function = 0, .error = EIO},
                                        {.function = 0, .error = ENOSPC},
                                        {.function = 1, .error = ENOMEM},
                                        {.function = 2, .error = EIO}};
  const struct inject_point points[] = {{.hash = 1, .count = 1, .function = 1, .site = 10},
                                        {.hash = 2, .count = 1, .function = 0, .site = 11},
                                        {.hash = 3, .count = 1, .function = 0, .site = 12},
                                        {.hash = 4, .count = 1, .function = 2, .site = 13, .verdict = 3},
                                        {.hash = 5, .count = 1, .function = 2, .site = 14, .verdict = 3, .usual = 1}};
  struct arena arena = {0};
  struct inject_plan plan = {
      .points = points, .n_points = 5, .faults = faults, .n_faults = 5, .likely = by_error, .arena = &arena};
  struct candidate *all = NULL;
  size_t n = 0, at = 0;
  assert_int_equal(inject_plan(&plan, &all, &n), 0);
  assert_int_equal(call(all, at++)->point, 3);
  while (call(all, at)->point == 3)
    at++;
  assert_int_equal(call(all, at)->point, 1);
  assert_int_equal(faults[call(all, at)->fault].error, EIO);
  assert_int_equal(call(all, at + 1)->point, 2);
  assert_int_equal(call(all, at + 2)->point, 4); /* that it is not checked is usual */
  assert_int_equal(call(all, at + 3)->point, 0); /* memory */
  assert_int_equal(call(all, at + 4)->point, 1);
  assert_int_equal(faults[call(all, at + 4)->fault].error, ENOSPC);
  free(all);
  arena_done(&arena);
}

static unsigned passes(void *context, const struct inject_point *p, const struct inject_fault *f) {
  (void)context;
  (void)p;
  return f->error == EINTR ? TRAIT_PASSES : 0;
}

/* Who tries again after a signal must be able to succeed. */
static void test_what_passes_does_not_stay(void **state) {
  (void)state;
  const struct inject_fault faults[] = {{.error = EINTR}, {.error = EIO}};
  const struct inject_point points[] = {{.hash = 1, .count = 1}};
  struct arena arena = {0};
  struct inject_plan plan = {.points = points,
                             .n_points = 1,
                             .faults = faults,
                             .n_faults = 2,
                             .likely = all_possible,
                             .traits = passes,
                             .arena = &arena};
  struct candidate *all = NULL;
  size_t n = 0;
  assert_int_equal(inject_plan(&plan, &all, &n), 0);
  assert_int_equal(n, 1 + 2);
  for (size_t i = 0; i < n; i++) {
    assert_false(call(all, i)->persistent && faults[call(all, i)->fault].error == EINTR);
    assert_int_equal(all[i].expect.traits, faults[call(all, i)->fault].error == EINTR ? TRAIT_PASSES : 0);
  }
  free(all);
  arena_done(&arena);
}

/* --- lists -------------------------------------------------------------------------------------------------------- */

/* Behind others, at points that these lead to: all their injections, then one that comes once, the first time. */
static void test_behind(void **state) {
  (void)state;
  const struct inject_fault faults[] = {{.error = EIO, .rule = 3}};
  const struct inject_point points[] = {{.hash = 1, .count = 1}, {.hash = 2, .count = 5, .quiet = true}};
  struct arena arena = {0};
  struct inject_plan plan = {
      .points = points, .n_points = 1, .faults = faults, .n_faults = 1, .likely = all_possible, .arena = &arena};
  struct candidate *first = NULL, *second = NULL, *third = NULL;
  size_t n = 0;
  assert_int_equal(inject_plan(&plan, &first, &n), 0);
  assert_int_equal(n, 2);
  plan.n_points = 2;
  plan.from = 1;
  plan.behind = &first[0];
  assert_int_equal(inject_plan(&plan, &second, &n), 0);
  assert_int_equal(n, 1);
  assert_int_equal(second[0].x.n, 2);
  assert_true(second[0].x.injections[0].key == first[0].x.injections[0].key);
  assert_true(second[0].expect.quiet);
  assert_int_equal(call(second, 0)->point, 1);
  assert_int_equal(call(second, 0)->nth, 1);
  assert_true(experiment_prefix_key(&second[0].x) == experiment_key(&first[0].x));
  assert_true(experiment_key(&second[0].x) != experiment_key(&first[0].x));
  plan.behind = &second[0];
  assert_int_equal(inject_plan(&plan, &third, &n), 0);
  assert_int_equal(third[0].x.n, 3);
  assert_true(experiment_prefix_key(&third[0].x) == experiment_key(&second[0].x));
  struct wire_order o = inject_order(points, faults, &third[0].x.injections[1]);
  assert_true(o.hash == 2 && o.nth == 1 && o.rule == 3 && !o.persistent);
  free(first);
  free(second);
  free(third);
  arena_done(&arena);
}

/* What the first one answers excuses nothing that the second one does. */
static void test_expectations_join(void **state) {
  (void)state;
  const struct expectation a = {.error = ENOENT, .traits = TRAIT_ANSWERS | TRAIT_LEAVES, .quiet = true};
  const struct expectation b = {.error = EIO, .traits = TRAIT_LOSES, .indirect = true};
  struct expectation both = expectation_join(&a, &b);
  assert_int_equal(both.error, EIO);
  assert_int_equal(both.traits, TRAIT_LEAVES | TRAIT_LOSES);
  assert_true(both.indirect && !both.quiet);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_order),
      cmocka_unit_test(test_each_stack_once),
      cmocka_unit_test(test_what_passes_does_not_stay),
      cmocka_unit_test(test_behind),
      cmocka_unit_test(test_expectations_join),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
