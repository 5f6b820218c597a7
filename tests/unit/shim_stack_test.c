/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where calls come from, inside a target: tests/target/rt/stacks.c calls by left and by right in many ways, and only
 * what the plan asks for fails. By unwind rows of the plan, by tables in memory, and by frame pointers where there are
 * none.
 */
#include <setjmp.h>
#include <stdarg.h>

#include "made_module.h"
#include "made_run.h"

#include <cmocka.h>

static struct made_plan plan;
static struct made_run run;
static struct image *program;
static const char *variant;
static bool rows;

/* --- plans -------------------------------------------------------------------------------------------------------- */

static void add_library(const char *name) {
  struct image *img;
  struct err e = {0};
  char *path;
  assert_int_equal(image_find(name, program, &path, &e), 0);
  assert_int_equal(image_open(path, &img, &e), 0);
  (void)made_module(&plan, path, 0, img, rows);
  image_free(img);
  free(path);
}

static void begin(const char *target, bool with_rows) {
  static char path[512];
  struct err e = {0};
  variant = target;
  rows = with_rows;
  plan = (struct made_plan){0};
  run = (struct made_run){0};
  made_path(path, sizeof path, "MURPHY_BUILD", target);
  assert_int_equal(image_open(path, &program, &e), 0);
  (void)made_module(&plan, "stacks", WIRE_PROGRAM | WIRE_IN_SCOPE, program, rows);
  add_library("libc.so.6");
  made_function(&plan, "target_nothing")->n_args = 1;
}

static int by_rows(void **state) {
  (void)state;
  begin("tests/target-stacks", true);
  return 0;
}

static int by_memory(void **state) {
  (void)state;
  begin("tests/target-stacks", false);
  return 0;
}

/* There are tables, but not for this program's code. */
static int by_pointers(void **state) {
  (void)state;
  begin("tests/target-stacks-bare", true);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  if (run.area) made_end(&run);
  made_done(&plan);
  image_free(program);
  return 0;
}

static uint32_t place_of(const char *function) {
  const struct image_function *f = made_find(program, function);
  assert_true(f && f->end);
  return made_place(&plan, 0, 0, f->address, f->end);
}

/* target_nothing fails when OP, about the place or pattern, holds. */
static void fails_when(enum wire_op op, uint32_t operand) {
  made_fault(&plan, -1, 0);
  MADE_RULE(&plan, OP(op, operand), OP(WIRE_OP_END, 0));
}

#define PLUGIN "tests/libtarget-plugin.so"

/* WAYS are separated by spaces; "plugin" stands for the library's path. */
static void go(const char *ways) {
  static char path[512], plugin[512], words[128];
  char *argv[16] = {path};
  unsigned n = 1;
  made_path(path, sizeof path, "MURPHY_BUILD", variant);
  made_path(plugin, sizeof plugin, "MURPHY_BUILD", PLUGIN);
  (void)snprintf(words, sizeof words, "%s", ways);
  for (char *word = strtok(words, " "); word && n < 15; word = strtok(NULL, " "))
    argv[n++] = strcmp(word, "plugin") == 0 ? plugin : word;
  if (!run.area) made_begin(&run, &plan);
  made_start(&run, argv);
  assert_int_equal(run.status, 0);
  assert_int_equal(run.area->attached > 0, 1);
}

/* --- triggers ----------------------------------------------------------------------------------------------------- */

static void right_fails(void **state) {
  (void)state;
  fails_when(WIRE_OP_STACK, place_of("right"));
  go("plain sorted deep handled aside thread child");
  assert_string_equal(run.output, "1/-1 1/-1 1/-1 1/-1 1/-1 1/-1 0/-1 end\n");
}

static void the_start_of_the_stack_is_found(void **state) {
  (void)state;
  fails_when(WIRE_OP_STACK, place_of("main"));
  go("plain sorted deep handled aside thread child");
  assert_string_equal(run.output, "-1/-1 -1/-1 -1/-1 -1/-1 -1/-1 1/2 -1/-1 end\n"); /* a thread is not below main */
}

static void a_caller_fails(void **state) {
  (void)state;
  fails_when(WIRE_OP_CALLER, place_of("inner"));
  go("plain thread plugin");
  assert_string_equal(run.output, "-1/-1 -1/-1 1/-1 end\n");
}

static void not_the_caller_itself(void **state) {
  (void)state;
  fails_when(WIRE_OP_CALLER, place_of("right"));
  go("plain");
  assert_string_equal(run.output, "1/2 end\n");
}

static void opened_library(const char *ways, const char *expected, bool hooks) {
  struct image *img;
  struct err e = {0};
  char path[512];
  made_path(path, sizeof path, "MURPHY_BUILD", PLUGIN);
  assert_int_equal(image_open(path, &img, &e), 0);
  uint32_t module = made_module(&plan, "libtarget-plugin.so", 0, img, rows);
  image_free(img);
  fails_when(WIRE_OP_CALLER, made_place(&plan, module, WIRE_ANYWHERE, 0, 0));
  if (hooks) {
    made_function(&plan, "dlopen")->hook = WIRE_HOOK_DLOPEN;
    made_function(&plan, "dlclose")->hook = WIRE_HOOK_DLCLOSE;
  }
  go(ways);
  assert_string_equal(run.output, expected);
}

/* Opened and closed more often than there are lists of modules. */
#define MANY "plugin plugin plugin plugin plugin plugin plugin plugin plugin plugin plugin plugin"
#define MANY_FAIL "-1/2 -1/2 -1/2 -1/2 -1/2 -1/2 -1/2 -1/2 -1/2 -1/2 -1/2 -1/2"

static void a_library_that_is_opened_later(void **state) {
  (void)state;
  opened_library("plain " MANY, "1/2 " MANY_FAIL " end\n", true);
}

static void a_library_that_nobody_says_is_opened(void **state) {
  (void)state;
  opened_library("plain " MANY, "1/2 " MANY_FAIL " end\n", false);
}

/* Lists of modules come and go under those who read them. */
static void libraries_come_and_go(void **state) {
  (void)state;
  fails_when(WIRE_OP_STACK, place_of("right"));
  made_function(&plan, "dlopen")->hook = WIRE_HOOK_DLOPEN;
  made_function(&plan, "dlclose")->hook = WIRE_HOOK_DLCLOSE;
  go("race plugin plain");
  assert_string_equal(run.output, "0/0 1/-1 end\n");
}

/* To look for a caller, the loader is asked, which uses vector registers: arguments may be in them. */
static void arguments_stay_in_their_registers(void **state) {
  (void)state;
  static const char *const functions[] = {"kinds_doubles", "kinds_pair", "kinds_mixed", "kinds_complex",
                                          "kinds_variadic"};
  char path[512];
  uint32_t place = made_place(&plan, 1, 0, 16, 32); /* nothing in libc that calls */
  fails_when(WIRE_OP_CALLER, place);
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    made_function(&plan, functions[i]);
    fails_when(WIRE_OP_CALLER, place);
  }
  made_begin(&run, &plan);
  made_path(path, sizeof path, "MURPHY_BUILD", "tests/target-intact");
  made_start(&run, (char *[]){path, NULL});
  assert_string_equal(run.output, "intact\n");
}

/* --- events and points -------------------------------------------------------------------------------------------- */

/* The function of the program that a frame is in; "" if it is elsewhere. */
static const char *name_of(const struct wire_frame *f) {
  const struct wire_loaded *l = (const void *)((const char *)run.area + run.area->loaded.at);
  if (f->module == 0 || f->module > run.area->next_loaded || !strstr(l[f->module - 1].path, "target-stacks")) return "";
  const struct image_function *in = image_function_before(program, f->at - 1);
  return in && in->name ? in->name : "?";
}

static void an_event_has_its_frames(void **state) {
  (void)state;
  fails_when(WIRE_OP_STACK, place_of("right"));
  go("plain");
  const struct wire_event *e = made_event(&run, 0);
  assert_non_null(e);
  assert_true(e->n_frames >= 4 && e->n_frames <= WIRE_FRAMES);
  assert_string_equal(name_of(&e->frames[0]), "inner");
  assert_string_equal(name_of(&e->frames[1]), "right");
  assert_string_equal(name_of(&e->frames[2]), "both");
  assert_string_equal(name_of(&e->frames[3]), "main");
}

static const struct wire_point *point(unsigned i) {
  return &((const struct wire_point *)((const char *)run.area + run.area->points.at))[i];
}

static uint64_t points_sum(unsigned *ret_n, uint64_t *ret_calls) {
  uint64_t sum = 0;
  *ret_n = 0;
  *ret_calls = 0;
  for (unsigned i = 0; i < run.area->points.n; i++) {
    if (point(i)->hash == 0) continue;
    assert_int_equal(point(i)->ready, 1);
    assert_string_equal(name_of(&point(i)->frames[0]), "inner");
    assert_int_equal(point(i)->args[0], strcmp(name_of(&point(i)->frames[1]), "left") == 0 ? 1 : 2);
    sum += point(i)->hash;
    *ret_calls += point(i)->count;
    ++*ret_n;
  }
  return sum;
}

/* Two runs in one area: the second adds no point, although everything lies elsewhere. */
static void points_are_the_same_in_each_run(void **state) {
  (void)state;
  unsigned n, again;
  uint64_t calls, first, second;
  plan.flags |= WIRE_POINTS;
  go("plain plain sorted deep thread child");
  first = points_sum(&n, &calls);
  assert_int_equal(n, 10); /* deep's last 48 frames, then the same ways for plain and plain */
  assert_int_equal(calls, 12);
  run.area->next_process = 0; /* the second command is a first process too */
  go("plain plain sorted deep thread child");
  second = points_sum(&again, &calls);
  assert_int_equal(again, n);
  assert_int_equal(calls, 24);
  assert_true(first == second);
  assert_int_equal(run.area->lost_points, 0);
}

int main(void) {
#define BY_ROWS(test) cmocka_unit_test_setup_teardown(test, by_rows, tear_down)
#define BY_MEMORY(test) cmocka_unit_test_setup_teardown(test, by_memory, tear_down)
#define BY_POINTERS(test) cmocka_unit_test_setup_teardown(test, by_pointers, tear_down)
  const struct CMUnitTest tests[] = {
      BY_ROWS(right_fails),
      BY_MEMORY(right_fails),
      BY_POINTERS(right_fails),
      BY_ROWS(the_start_of_the_stack_is_found),
      BY_MEMORY(the_start_of_the_stack_is_found),
      BY_POINTERS(the_start_of_the_stack_is_found),
      BY_ROWS(a_caller_fails),
      BY_ROWS(not_the_caller_itself),
      BY_ROWS(a_library_that_is_opened_later),
      BY_ROWS(a_library_that_nobody_says_is_opened),
      BY_ROWS(arguments_stay_in_their_registers),
      BY_ROWS(libraries_come_and_go),
      BY_MEMORY(libraries_come_and_go),
      BY_ROWS(an_event_has_its_frames),
      BY_POINTERS(an_event_has_its_frames),
      BY_ROWS(points_are_the_same_in_each_run),
      BY_POINTERS(points_are_the_same_in_each_run),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
