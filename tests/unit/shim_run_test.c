/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shim and runtime together: plans made by hand, tiny targets of tests/target/rt, the faults that these see and the
 * events that the area then holds.
 */
#include <setjmp.h>
#include <stdarg.h>

#include "made_run.h"

#include <cmocka.h>

static void target(struct made_run *r, const char *name, const char *argument) {
  char path[512], file[64];
  (void)snprintf(file, sizeof file, "tests/target-%s", name);
  made_path(path, sizeof path, "MURPHY_BUILD", file);
  char words[64];
  (void)snprintf(words, sizeof words, "%s", argument ? argument : "");
  char *argv[] = {path, argument ? words : NULL, NULL};
  made_start(r, argv);
}

static void a_call_by_its_number_fails(void **state) {
  (void)state;
  struct made_plan p = {0};
  made_function(&p, "close");
  made_fault(&p, -1, EIO);
  MADE_RULE(&p, OP(WIRE_OP_CALL, 0), OP(WIRE_OP_NUMBER, made_number(&p, 3)), OP(WIRE_OP_EQ, 0), OP(WIRE_OP_END, 0));
  struct made_run r;
  made_begin(&r, &p);
  target(&r, "calls", "100");
  assert_string_equal(r.output, "3:-1/EIO end\n");
  assert_int_equal(r.status, 0);
  assert_int_equal(r.area->attached, 1);
  assert_int_equal(r.area->next_event, 1);
  const struct wire_event *e = made_event(&r, 0);
  assert_non_null(e);
  assert_int_equal(e->function, 0);
  assert_int_equal(e->call, 3);
  assert_int_equal(e->retval, -1);
  assert_int_equal(e->error, EIO);
  assert_int_equal((int)e->args[0], -7);
  assert_int_equal(e->process, 1);
  assert_true(e->pid != 0 && e->tid == e->pid && e->time != 0 && e->n_frames > 0);
  made_end(&r);
  made_done(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_call_by_its_number_fails),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
