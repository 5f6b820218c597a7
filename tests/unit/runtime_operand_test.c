/* SPDX-License-Identifier: Apache-2.0 */
/* What conditions ask of the program: texts, memory, threads, locks, bytes, stacks that were seen. */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "made_plan.h"
#include "runtime/rt_condition.h"
#include "runtime/count.h"
#include "runtime/operand.h"
#include "runtime/process.h"
#include "runtime/written.h"

#include <cmocka.h>

static struct made_plan plan;
static struct text bytes;
static uint64_t slots[64];
static struct wire_area area;
static struct rt_function function;

#define NUMBER(n) OP(WIRE_OP_NUMBER, made_number(&plan, n))
#define ARG(n) OP(WIRE_OP_ARG, n)
#define END OP(WIRE_OP_END, 0)
#define KNOWN OP(WIRE_OP_KNOWN, 0)

static void begin(void) {
  made_done(&plan);
  text_done(&bytes);
  plan = (struct made_plan){.slots = 8, .thread_slots = WIRE_THREAD_OWN + 2};
  made_function(&plan, "f")->descriptor = 0;
  made_fault(&plan, -1, 5);
}

static void ready(void) {
  bytes = made_bytes(&plan);
  const char *bad = wire_plan_check(bytes.at, bytes.n);
  if (bad) fail_msg("%s", bad);
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

static bool holds(uint32_t rule, uint64_t first) {
  uint64_t stack[] = {0, 16, 17};
  struct rt_call c = {.rule = rule, .number = 1, .args = {first, 11}, .sp = stack};
  return rt_holds(&c);
}

/* An operand for WIRE_OP_MATCH. */
static uint32_t match(enum wire_text text, unsigned how, const char *with) {
  uint32_t at = made_number(&plan, text);
  (void)made_number(&plan, (int64_t)how);
  (void)made_number(&plan, made_text(&plan, with));
  return at;
}

static void texts_are_matched(void **state) {
  (void)state;
  char folder[4096];
  int fd = open("/dev/null", O_RDONLY);
  assert_true(fd >= 0 && getcwd(folder, sizeof folder));
  begin();
  MADE_RULE(&plan, ARG(0), OP(WIRE_OP_MATCH, match(WIRE_TEXT_AT, WIRE_MATCH_SAME, "abc")), END);
  MADE_RULE(&plan, ARG(0), OP(WIRE_OP_MATCH, match(WIRE_TEXT_AT, WIRE_MATCH_SAME | WIRE_MATCH_NOT, "abc")), END);
  MADE_RULE(&plan, ARG(0), OP(WIRE_OP_MATCH, match(WIRE_TEXT_AT, WIRE_MATCH_GLOB, "a*c")), END);
  MADE_RULE(&plan, ARG(0), OP(WIRE_OP_MATCH, match(WIRE_TEXT_FD, WIRE_MATCH_SAME, "/dev/null")), END);
  MADE_RULE(&plan, ARG(0), OP(WIRE_OP_MATCH, match(WIRE_TEXT_FD, WIRE_MATCH_GLOB | WIRE_MATCH_NOT, "/x*")), END);
  MADE_RULE(&plan, ARG(0), OP(WIRE_OP_MATCH, match(WIRE_TEXT_THREAD, WIRE_MATCH_SAME, "unit-test")), END);
  MADE_RULE(&plan, ARG(0), OP(WIRE_OP_MATCH, match(WIRE_TEXT_PROGRAM, WIRE_MATCH_SAME, "runtime_operand_test")), END);
  ready();
  assert_true(holds(0, (uint64_t) "abc") && !holds(1, (uint64_t) "abc") && holds(2, (uint64_t) "abbc"));
  assert_true(!holds(0, (uint64_t) "abcd") && !holds(0, (uint64_t) "ab") && !holds(0, (uint64_t) ""));
  assert_true(holds(1, (uint64_t) "ab") && !holds(2, (uint64_t) "ab"));
  /* What cannot be read neither is the text nor is it another one. */
  assert_true(!holds(0, 0) && !holds(1, 0) && !holds(1, 8) && !holds(1, 1ull << 63) && !holds(1, UINT64_MAX));
  assert_true(holds(3, (uint64_t)fd) && !holds(3, 9999) && holds(4, (uint64_t)fd) && !holds(4, 9999));
  assert_int_equal(prctl(PR_SET_NAME, "unit-test"), 0);
  assert_true(holds(5, 0) && holds(6, 0));
  assert_int_equal(close(fd), 0);
}

static void memory_is_read_if_it_is_there(void **state) {
  (void)state;
  static const uint64_t words[] = {0x80ff, UINT64_MAX};
  int64_t value = 5;
  assert_true(rt_read((uint64_t)words, 1, true, &value) && value == -1);
  assert_true(rt_read((uint64_t)words, 1, false, &value) && value == 0xff);
  assert_true(rt_read((uint64_t)words, 2, true, &value) && value == -0x7f01);
  assert_true(rt_read((uint64_t)words + 1, 4, false, &value) && value == 0x80);
  assert_true(rt_read((uint64_t)&words[1], 8, false, &value) && value == -1);
  assert_false(rt_read(8, 1, false, &value) || rt_read(UINT64_MAX, 8, false, &value));
  begin();
  MADE_RULE(&plan, ARG(0), OP(WIRE_OP_LOAD, 8), NUMBER(7), OP(WIRE_OP_NE, 0), KNOWN, END);
  MADE_RULE(&plan, ARG(0), OP(WIRE_OP_LOAD, 8), OP(WIRE_OP_LOAD, 1), NUMBER(7), OP(WIRE_OP_NE, 0), KNOWN,
            OP(WIRE_OP_IS_ZERO, 0), END);
  ready();
  assert_true(holds(0, (uint64_t)words) && !holds(0, 8));
  assert_true(holds(1, 8)); /* not (not known) */
  assert_true(rt_may_hold(0, 1, 1) && rt_may_hold(1, 1, 1));
}

static void without_modules_nothing_is_there(void **state) {
  (void)state;
  int64_t value;
  begin();
  made_must(vec_push(&plan.modules, (struct wire_module){.name = made_text(&plan, "m")}) == 0);
  made_must(vec_push(&plan.places, (struct wire_place){.flags = WIRE_LAST, .end = 1}) == 0);
  made_must(vec_push(&plan.locations, (struct wire_location){.kind = WIRE_IS_NUMBER, .end = 1}) == 0);
  made_must(vec_push(&plan.variables, (struct wire_variable){.n_locations = 1, .width = 4}) == 0);
  uint32_t pair = made_number(&plan, 0);
  (void)made_number(&plan, 0x10);
  MADE_RULE(&plan, OP(WIRE_OP_STATIC, pair), NUMBER(0), OP(WIRE_OP_EQ, 0), KNOWN, END);
  MADE_RULE(&plan, OP(WIRE_OP_LOCAL, 0), NUMBER(0), OP(WIRE_OP_EQ, 0), KNOWN, END);
  ready();
  struct rt_call c = {.sp = (uint64_t[]){0}};
  assert_false(holds(0, 0) || holds(1, 0) || rt_static(0, 0x10) != 0);
  assert_false(rt_local(&c, &rt_array(variables, struct wire_variable)[0], &value));
}

/* --- threads ------------------------------------------------------------------------------------------------------ */

static void *ask_marks(void *result) {
  *(bool *)result = !holds(1, 0) && !holds(2, 0) && holds(3, 0);
  return NULL;
}

static void marks_are_each_threads_own(void **state) {
  (void)state;
  bool good = false;
  pthread_t other;
  begin();
  uint32_t slot = WIRE_THREAD_OWN;
  MADE_RULE(&plan, NUMBER(1), OP(WIRE_OP_MARK, slot), END);
  MADE_RULE(&plan, OP(WIRE_OP_MARKED, slot), KNOWN, END);
  MADE_RULE(&plan, OP(WIRE_OP_SINCE, slot), NUMBER(2), OP(WIRE_OP_EQ, 0), KNOWN, END);
  MADE_RULE(&plan, OP(WIRE_OP_THREAD, 0), NUMBER(2), OP(WIRE_OP_EQ, 0), KNOWN, END);
  ready();
  rt_process_start();
  assert_true(rt_count_start(1));
  assert_true(!holds(1, 0) && !holds(2, 0));
  assert_true(holds(0, 0) && holds(1, 0));
  assert_true(!holds(2, 0) && holds(2, 0) && !holds(2, 0)); /* the second since then */
  assert_true(!holds(3, 0));
  assert_int_equal(pthread_create(&other, NULL, ask_marks, &good), 0);
  assert_int_equal(pthread_join(other, NULL), 0);
  assert_true(good && holds(1, 0));
}

static uint64_t result_of_call;
static uint64_t made_call(uint64_t a) {
  (void)a;
  return result_of_call;
}

static void hook(enum wire_hook kind, uint64_t result) {
  struct rt_call c = {.args = {5}, .real = (uint64_t)made_call};
  struct rt_function f = {.hook = (uint16_t)kind};
  result_of_call = result;
  enum rt_action action = rt_hook_watch(&c, &f);
  assert_int_equal(action, kind == WIRE_HOOK_CLOSE ? RT_PASS : RT_RETURN);
  if (action == RT_RETURN) assert_true(c.retval == result);
}

static void locks_that_were_taken_are_held(void **state) {
  (void)state;
  begin();
  MADE_RULE(&plan, OP(WIRE_OP_MARKED, WIRE_THREAD_LOCKS), NUMBER(1), OP(WIRE_OP_EQ, 0), KNOWN, END);
  ready();
  assert_false(holds(0, 0));
  hook(WIRE_HOOK_LOCK, 16 /* EBUSY */);
  hook(WIRE_HOOK_UNLOCK, 0); /* of one that was taken before murphy looked */
  assert_false(holds(0, 0));
  hook(WIRE_HOOK_LOCK, 0);
  assert_true(holds(0, 0));
  hook(WIRE_HOOK_LOCK, 130 /* EOWNERDEAD: it is held */);
  assert_false(holds(0, 0));
  hook(WIRE_HOOK_UNLOCK, 1 /* EPERM */);
  hook(WIRE_HOOK_UNLOCK, 0);
  assert_true(holds(0, 0));
  hook(WIRE_HOOK_UNLOCK, 0);
}

static void written_bytes_are_counted(void **state) {
  (void)state;
  begin();
  plan.functions.at[0].hook = WIRE_HOOK_OUTPUT;
  MADE_RULE(&plan, ARG(0), OP(WIRE_OP_WRITTEN, 0), NUMBER(30), OP(WIRE_OP_EQ, 0), KNOWN, END);
  MADE_RULE(&plan, ARG(0), OP(WIRE_OP_WRITTEN, 0), NUMBER(0), OP(WIRE_OP_EQ, 0), KNOWN, END);
  ready();
  rt_written_start();
  hook(WIRE_HOOK_OUTPUT, 10);
  hook(WIRE_HOOK_OUTPUT, UINT64_MAX);
  hook(WIRE_HOOK_OUTPUT, 20);
  assert_true(dup2(1, 5) == 5 && dup2(1, 6) == 6);
  assert_true(holds(0, 5) && holds(1, 6) && !holds(1, 70000) && !holds(1, UINT64_MAX));
  hook(WIRE_HOOK_DUP, 9); /* the same file, under two numbers */
  assert_true(holds(0, 9));
  hook(WIRE_HOOK_OUTPUT, 1);
  assert_true(!holds(0, 9) && !holds(0, 5));
  hook(WIRE_HOOK_DUP, UINT64_MAX); /* there was no room for another one */
  hook(WIRE_HOOK_CLOSE, 0);
  assert_true(holds(1, 5) && !holds(1, 9));
  assert_true(close(5) == 0 && close(6) == 0);
  assert_true(!holds(1, 5) && !holds(1, 6)); /* nothing was written to what is not open, not even 0 bytes */
}

/* Whatever is opened and closed, there is a counter for each. */
static void counters_come_back(void **state) {
  (void)state;
  begin();
  plan.functions.at[0].hook = WIRE_HOOK_OUTPUT;
  ready();
  rt_written_start();
  for (unsigned i = 0; i < 200000; i++) {
    rt_written_add(20 + i % 7, 5);
    assert_int_equal(rt_written(20 + i % 7), 5);
    rt_written_forget(20 + i % 7);
  }
  assert_int_equal(dup2(1, 20), 20);
  assert_int_equal(rt_written(20), 0);
  assert_int_equal(close(20), 0);
  assert_int_equal(rt_written(20), -1);
  rt_written_lose(21);
  assert_true(rt_written(21) == -1 && rt_written(70000) == -1 && rt_written(UINT64_MAX) == -1);
}

static void streams_have_descriptors(void **state) {
  (void)state;
  FILE *f = fopen("/dev/null", "w");
  assert_non_null(f);
  assert_int_equal(rt_stream_fd((uint64_t)f), fileno(f));
  assert_true(rt_stream_fd(0) == -1 && rt_stream_fd(8) == -1);
  int64_t before = rt_written_by_thread();
  assert_true(before >= 0);
  assert_int_equal(fprintf(f, "%s", "hello"), 5);
  assert_int_equal(rt_written_by_thread(), before);
  assert_int_equal(fclose(f), 0);
  assert_int_equal(rt_written_by_thread(), before + 5);
}

/* --- stacks that were seen ---------------------------------------------------------------------------------------- */

static void stacks_are_new_once(void **state) {
  (void)state;
  char path[] = "/tmp/murphy-seen.XXXXXX";
  int fd = mkstemp(path);
  assert_true(fd >= 0 && close(fd) == 0);
  begin();
  made_must(vec_push(&plan.memories, 0) == 0);
  made_must(vec_push(&plan.memories, made_text(&plan, path)) == 0);
  MADE_RULE(&plan, OP(WIRE_OP_FRESH, 0), END);
  MADE_RULE(&plan, OP(WIRE_OP_FRESH, 1), END);
  ready();
  rt_fresh_start();
  assert_true(holds(0, 0) && !holds(0, 0));
  assert_true(holds(1, 0) && !holds(1, 0));
  rt_fresh_start(); /* as in another process */
  assert_true(holds(0, 0) && !holds(1, 0));
  assert_int_equal(unlink(path), 0);
}

static void time_goes_on(void **state) {
  (void)state;
  begin();
  MADE_RULE(&plan, OP(WIRE_OP_TIME, 0), NUMBER(0), OP(WIRE_OP_GE, 0), END);
  ready();
  assert_true(holds(0, 0) && rt_may_hold(0, 1, 1));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(texts_are_matched),
      cmocka_unit_test(memory_is_read_if_it_is_there),
      cmocka_unit_test(without_modules_nothing_is_there),
      cmocka_unit_test(marks_are_each_threads_own),
      cmocka_unit_test(locks_that_were_taken_are_held),
      cmocka_unit_test(written_bytes_are_counted),
      cmocka_unit_test(counters_come_back),
      cmocka_unit_test(streams_have_descriptors),
      cmocka_unit_test(stacks_are_new_once),
      cmocka_unit_test(time_goes_on),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
