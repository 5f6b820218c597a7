/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shim and runtime together: plans made by hand, tiny targets of tests/target/rt, the faults that these see and the
 * events that the area then holds.
 */
#include <setjmp.h>
#include <stdarg.h>

#include "made_run.h"

#include <cmocka.h>

/* --- one test's plan and run -------------------------------------------------------------------------------------- */

static struct made_plan plan;
static struct made_run run;

static int set_up(void **state) {
  (void)state;
  plan = (struct made_plan){0};
  run = (struct made_run){0};
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  if (run.area) made_end(&run);
  made_done(&plan);
  return 0;
}

#define NUMBER(n) OP(WIRE_OP_NUMBER, made_number(&plan, n))
#define CALL OP(WIRE_OP_CALL, 0)
#define END OP(WIRE_OP_END, 0)

/* FUNCTION fails with -1 and EIO when CALL OP N. */
static struct wire_function *fails_when(const char *function, enum wire_op op, int64_t n) {
  struct wire_function *f = made_function(&plan, function);
  made_fault(&plan, -1, EIO);
  MADE_RULE(&plan, CALL, NUMBER(n), OP(op, 0), END);
  return f;
}

static struct wire_function *always_fails(const char *function) {
  struct wire_function *f = made_function(&plan, function);
  made_fault(&plan, -1, EIO);
  made_rule(&plan, NULL, 0);
  return f;
}

static void hook(const char *function, enum wire_hook kind) {
  struct wire_function *f = made_function(&plan, function);
  f->hook = (uint16_t)kind;
  f->flags = WIRE_ALWAYS_IN;
}

/* Runs tests/target-NAME with one argument or none. */
static void target(const char *name, const char *argument) {
  static char path[512], file[64], words[512];
  (void)snprintf(file, sizeof file, "tests/target-%s", name);
  made_path(path, sizeof path, "MURPHY_BUILD", file);
  (void)snprintf(words, sizeof words, "%s", argument ? argument : "");
  char *argv[8] = {path}, *rest = words;
  for (int i = 1; argument && i < 7; i++)
    argv[i] = strtok_r(i == 1 ? words : NULL, " ", &rest);
  if (!run.area) made_begin(&run, &plan);
  made_start(&run, argv);
}

static void says(const char *expected) {
  if (run.status != 0) print_error("status %x: %s\n", run.status, run.output);
  assert_string_equal(run.output, expected);
  assert_int_equal(run.status, 0);
}

/* --- numbers ------------------------------------------------------------------------------------------------------ */

static void a_call_by_its_number_fails(void **state) {
  (void)state;
  fails_when("close", WIRE_OP_EQ, 3);
  target("calls", "100");
  says("3:-1/EIO end\n");
  assert_int_equal(run.area->attached, 1);
  assert_int_equal(run.area->next_event, 1);
  const struct wire_event *e = made_event(&run, 0);
  assert_non_null(e);
  assert_int_equal(e->function, 0);
  assert_int_equal(e->call, 3);
  assert_int_equal(e->retval, -1);
  assert_int_equal(e->error, EIO);
  assert_int_equal((int)e->args[0], -7);
  assert_int_equal(e->process, 1);
  assert_true(e->pid != 0 && e->tid == e->pid && e->time != 0 && e->n_frames > 0);
}

static void the_first_rule_that_holds_injects(void **state) {
  (void)state;
  fails_when("close", WIRE_OP_GE, 9);
  made_fault(&plan, -2, EINTR);
  MADE_RULE(&plan, CALL, NUMBER(4), OP(WIRE_OP_MOD, 0), OP(WIRE_OP_IS_ZERO, 0), END);
  target("calls", "12");
  says("4:-2/EINTR 8:-2/EINTR 9:-1/EIO 10:-1/EIO 11:-1/EIO 12:-1/EIO end\n");
  assert_int_equal(made_event(&run, 2)->call, 9);
}

static void once_is_once(void **state) {
  (void)state;
  made_function(&plan, "close");
  made_fault(&plan, -1, EIO);
  MADE_RULE(&plan, OP(WIRE_OP_ONCE, plan.slots++), END);
  target("calls", "1000");
  says("1:-1/EIO end\n");
}

static void logic_stops_early(void **state) {
  (void)state;
  made_function(&plan, "close");
  made_fault(&plan, -1, EIO);
  /* call >= 5 && once: the first call that comes so far, not the first of all. */
  MADE_RULE(&plan, CALL, NUMBER(5), OP(WIRE_OP_GE, 0), OP(WIRE_OP_IF_ZERO, 1), OP(WIRE_OP_ONCE, plan.slots++), END);
  target("calls", "20");
  says("5:-1/EIO end\n");
}

static void chance_is_the_same_each_time(void **state) {
  (void)state;
  char first[MADE_OUTPUT] = "";
  for (int i = 0; i < 2; i++) {
    set_up(NULL);
    made_function(&plan, "close");
    made_fault(&plan, -1, EIO);
    MADE_RULE(&plan, NUMBER(INT64_MAX / 4), NUMBER(42), OP(WIRE_OP_RANDOM, plan.slots++), END);
    target("calls", "200");
    size_t n = run.area->next_event;
    assert_true(n > 25 && n < 80); /* a quarter of 200 */
    if (i == 1) assert_string_equal(run.output, first);
    (void)strcpy(first, run.output);
    if (i == 0) tear_down(NULL);
  }
}

static void the_fault_is_drawn_from_several(void **state) {
  (void)state;
  made_function(&plan, "close");
  made_fault(&plan, -1, EIO);
  made_rule(&plan, NULL, 0)->n_faults = 2;
  made_fault(&plan, -1, EINTR);
  target("calls", "40");
  assert_non_null(strstr(run.output, "EIO"));
  assert_non_null(strstr(run.output, "EINTR"));
}

static void numbers_are_exact_among_threads(void **state) {
  (void)state;
  static const int64_t wanted[] = {1, 17, 1000, 39999, 40000, 40001};
  for (size_t i = 0; i < COUNT(wanted); i++) {
    set_up(NULL);
    fails_when("target_nothing", WIRE_OP_EQ, wanted[i]);
    target("threads", "4 10000");
    says(wanted[i] <= 40000 ? "1\n" : "0\n");
    if (wanted[i] <= 40000) assert_int_equal(made_event(&run, 0)->call, wanted[i]);
    tear_down(NULL);
  }
  set_up(NULL);
  made_function(&plan, "target_nothing");
  made_fault(&plan, -1, 0);
  MADE_RULE(&plan, CALL, NUMBER(700), OP(WIRE_OP_MOD, 0), OP(WIRE_OP_IS_ZERO, 0), END);
  target("threads", "4 10000");
  says("57\n");
}

/* Where the number is one thing of several that a rule asks, calls far from it are counted by their threads too. */
static void numbers_are_exact_with_other_conditions(void **state) {
  (void)state;
  static const int64_t wanted[] = {1, 2, 39998, 40000};
  for (size_t i = 0; i < COUNT(wanted); i++) {
    set_up(NULL);
    made_function(&plan, "target_nothing");
    made_fault(&plan, -1, 0);
    struct wire_rule *r = MADE_RULE(&plan, CALL, NUMBER(wanted[i]), OP(WIRE_OP_EQ, 0), OP(WIRE_OP_IF_ZERO, 3),
                                    OP(WIRE_OP_ARG, 0), NUMBER(INT64_MAX), OP(WIRE_OP_NE, 0), END);
    r->first = r->last = (uint64_t)wanted[i];
    target("threads", "4 10000");
    says("1\n");
    assert_int_equal(made_event(&run, 0)->call, wanted[i]);
    tear_down(NULL);
  }
}

/* What a guard lets pass is what the condition does not hold for. */
static void guards_are_part_of_the_condition(void **state) {
  (void)state;
  static const struct {
    enum wire_op op;
    int64_t number;
    bool fails;
  } cases[] = {
      {WIRE_OP_EQ, 0, true},  {WIRE_OP_EQ, -1, false}, {WIRE_OP_NE, -1, true}, {WIRE_OP_NE, 0, false},
      {WIRE_OP_LT, 1, true},  {WIRE_OP_LT, 0, false},  {WIRE_OP_LE, 0, true},  {WIRE_OP_LE, -1, false},
      {WIRE_OP_GT, -1, true}, {WIRE_OP_GT, 0, false},  {WIRE_OP_GE, 0, true},  {WIRE_OP_GE, 1, false},
  };
  for (size_t i = 0; i < COUNT(cases); i++)
    for (int where = 0; where < 4; where++) {
      set_up(NULL);
      made_function(&plan, "close");
      made_fault(&plan, -1, EIO);
      uint32_t arg = OP(WIRE_OP_ARG, 0), number = NUMBER((int64_t)(uint32_t)-7 + cases[i].number),
               compare = OP(cases[i].op, 0);
      if (where == 0) MADE_RULE(&plan, arg, number, compare, END);
      if (where == 1) MADE_RULE(&plan, arg, number, compare, OP(WIRE_OP_IF_ZERO, 1), NUMBER(1), END);
      if (where == 2) MADE_RULE(&plan, arg, number, compare, OP(WIRE_OP_IF_SET, 1), NUMBER(0), END);
      if (where == 3) MADE_RULE(&plan, arg, number, compare, OP(WIRE_OP_IS_ZERO, 0), OP(WIRE_OP_IS_ZERO, 0), END);
      target("calls", "2");
      says(cases[i].fails ? "1:-1/EIO 2:-1/EIO end\n" : "end\n");
      tear_down(NULL);
    }
}

static void handlers_are_counted_too(void **state) {
  (void)state;
  made_function(&plan, "target_nothing");
  made_fault(&plan, -1, 0);
  MADE_RULE(&plan, CALL, NUMBER(1000), OP(WIRE_OP_MOD, 0), OP(WIRE_OP_IS_ZERO, 0), END);
  target("handler", NULL);
  long calls = 0, failed = -1;
  assert_int_equal(sscanf(run.output, "%ld %ld", &calls, &failed), 2);
  assert_true(calls >= 1000);
  /* The ring is short, but nobody may be told of a fault that did not come, or get none that should. */
  assert_int_equal(failed, calls / 1000);
}

static void a_full_ring_counts_what_is_lost(void **state) {
  (void)state;
  always_fails("close");
  target("calls", "70");
  assert_int_equal(run.area->next_event, MADE_EVENTS);
  assert_int_equal(run.area->lost, 70 - MADE_EVENTS);
}

/* --- ways of linking ---------------------------------------------------------------------------------------------- */

static void linked_in_all_ways(void **state) {
  (void)state;
  static const char *const ways[] = {"calls-now", "calls-lazy", "calls-noplt", "calls-nopie", "calls-cet"};
  for (size_t i = 0; i < COUNT(ways); i++) {
    set_up(NULL);
    fails_when("close", WIRE_OP_EQ, 2);
    target(ways[i], "5");
    says("2:-1/EIO end\n");
    tear_down(NULL);
  }
}

static void versions_stay_apart(void **state) {
  (void)state;
  fails_when("memcpy", WIRE_OP_EQ, 1000);
  fails_when("memcpy", WIRE_OP_EQ, 1000)->version = made_text(&plan, "GLIBC_2.2.5");
  fails_when("realpath", WIRE_OP_EQ, 1000);
  fails_when("realpath", WIRE_OP_EQ, 1000)->version = made_text(&plan, "GLIBC_2.2.5");
  target("versions", NULL);
  says("aabcdefh xyz //0 NULL/EINVAL\n");
}

static void one_version_fails(void **state) {
  (void)state;
  fails_when("realpath", WIRE_OP_EQ, 1000);
  struct wire_function *old = always_fails("realpath");
  old->version = made_text(&plan, "GLIBC_2.2.5");
  plan.faults.at[plan.faults.n - 1].retval = 0;
  target("versions", NULL);
  says("aabcdefh xyz //0 NULL/EIO\n");
}

static void what_is_opened_and_asked_for(void **state) {
  (void)state;
  fails_when("close", WIRE_OP_GE, 1);
  fails_when("target_nothing", WIRE_OP_EQ, 1);
  hook("dlopen", WIRE_HOOK_DLOPEN);
  hook("dlclose", WIRE_HOOK_DLCLOSE);
  hook("dlsym", WIRE_HOOK_DLSYM);
  hook("dlvsym", WIRE_HOOK_DLVSYM);
  char library[512];
  made_path(library, sizeof library, "MURPHY_BUILD", "tests/libtarget-nothing.so");
  target("opened", library);
  says("-1 EIO EIO EIO EIO EIO equal\n");
}

static void what_is_opened_works_when_idle(void **state) {
  (void)state;
  fails_when("close", WIRE_OP_EQ, 1000);
  hook("dlopen", WIRE_HOOK_DLOPEN);
  hook("dlclose", WIRE_HOOK_DLCLOSE);
  hook("dlsym", WIRE_HOOK_DLSYM);
  hook("dlvsym", WIRE_HOOK_DLVSYM);
  char library[512];
  made_path(library, sizeof library, "MURPHY_BUILD", "tests/libtarget-nothing.so");
  target("opened", library);
  says("7 EBADF EBADF EBADF EBADF EBADF equal\n");
}

static void loader_hooks(void) {
  hook("dlopen", WIRE_HOOK_DLOPEN);
  hook("dlclose", WIRE_HOOK_DLCLOSE);
  hook("dlsym", WIRE_HOOK_DLSYM);
  hook("dlvsym", WIRE_HOOK_DLVSYM);
}

static void twins(const char *more) {
  char a[300], b[300], both[640];
  made_path(a, sizeof a, "MURPHY_BUILD", "tests/libtarget-twin-a.so");
  made_path(b, sizeof b, "MURPHY_BUILD", "tests/libtarget-twin-b.so");
  (void)snprintf(both, sizeof both, "%s %s %s", a, b, more);
  target("twins", both);
}

static const char undisturbed[] = "1111 111 baba ab baa baa baa ba 00\n";

/* Whatever way their calls are counted, each caller reaches its own, and what is not there is not seen. */
static void libraries_of_the_same_names_stay_apart(void **state) {
  (void)state;
  fails_when("twin_name", WIRE_OP_EQ, 1000)->flags |= WIRE_LATER;
  always_fails("twin_absent")->flags |= WIRE_LATER;
  loader_hooks();
  twins("");
  says(undisturbed);
  tear_down(NULL), set_up(NULL);
  struct wire_function *f = made_function(&plan, "twin_name");
  f->flags |= WIRE_LATER;
  made_fault(&plan, -1, EIO);
  MADE_RULE(&plan, OP(WIRE_OP_ARG, 0), NUMBER(1), OP(WIRE_OP_MOD, 0), END);
  always_fails("twin_absent")->flags |= WIRE_LATER;
  loader_hooks();
  twins("");
  says(undisturbed);
}

static void libraries_come_and_go_under_a_call(void **state) {
  (void)state;
  fails_when("twin_name", WIRE_OP_EQ, 1000000000)->flags |= WIRE_LATER;
  loader_hooks();
  twins("much");
  says("0 0\n");
}

static void each_of_the_same_names_fails(void **state) {
  (void)state;
  fails_when("twin_name", WIRE_OP_LE, 4)->flags |= WIRE_LATER;
  plan.faults.at[0].retval = '-';
  always_fails("twin_absent")->flags |= WIRE_LATER;
  loader_hooks();
  twins("");
  says("1111 111 ---- ab baa baa baa ba 00\n");
}

/* --- what goes through -------------------------------------------------------------------------------------------- */

static const char *const kinds[] = {"kinds_many", "kinds_doubles",  "kinds_long_double", "kinds_large",
                                    "kinds_pair", "kinds_mixed",    "kinds_complex",     "kinds_variadic",
                                    "kinds_wide", "kinds_by_value", "snprintf"};

static void all_kinds_pass_idle(void **state) {
  (void)state;
  for (size_t i = 0; i < COUNT(kinds); i++)
    fails_when(kinds[i], WIRE_OP_EQ, 1000);
  target("intact", NULL);
  says("intact\n");
}

static void all_kinds_pass_when_asked(void **state) {
  (void)state;
  for (size_t i = 0; i < COUNT(kinds); i++) {
    made_function(&plan, kinds[i]);
    made_fault(&plan, -1, EIO);
    MADE_RULE(&plan, OP(WIRE_OP_ARG, 9), NUMBER(1234567), OP(WIRE_OP_EQ, 0), END);
  }
  target("intact", NULL);
  says("intact\n");
}

static void all_kinds_pass_a_call_that_is_made_and_kept(void **state) {
  (void)state;
  for (size_t i = 0; i < COUNT(kinds); i++) {
    made_function(&plan, kinds[i]);
    made_fault(&plan, 0, EIO)->ret = WIRE_KEEP;
    made_rule(&plan, NULL, 0)->flags = WIRE_THEN;
  }
  target("intact", NULL);
  says("intact\n");
  assert_int_equal(run.area->next_event, COUNT(kinds) + 1);
}

/* --- what faults do ----------------------------------------------------------------------------------------------- */

static void then_is_done_and_reported(void **state) {
  (void)state;
  struct wire_function *f = made_function(&plan, "sides_open");
  (void)f;
  made_fault(&plan, -1, EIO);
  made_rule(&plan, NULL, 0)->flags = WIRE_THEN;
  target("sides", NULL);
  says("-1 EIO 97 7 10 20 31 3 0\n");
}

static void a_stack_may_end(void **state) {
  (void)state;
  made_function(&plan, "close");
  made_fault(&plan, -1, EIO);
  made_rule(&plan, NULL, 0)->flags = WIRE_THEN;
  target("edge", NULL);
  says("EIO\nEIO\n");
}

static void sides_are_changed(void **state) {
  (void)state;
  uint32_t module = (uint32_t)plan.modules.n;
  made_must(vec_push(&plan.modules, (struct wire_module){.name = made_text(&plan, "libtarget-sided.so")}) == 0);
  made_function(&plan, "sides_open");
  made_fault(&plan, -1, EIO);
  made_side(&plan, (struct wire_side){.kind = WIRE_SIDE_ARG, .width = 4, .argument = 1, .value = -5});
  made_side(&plan, (struct wire_side){.kind = WIRE_SIDE_ARG, .width = 1, .argument = 2, .offset = 3, .value = 0xab});
  made_side(&plan, (struct wire_side){
                       .kind = WIRE_SIDE_GLOBAL, .width = 4, .name = made_text(&plan, "sides_shown"), .value = 33});
  made_side(&plan, (struct wire_side){.kind = WIRE_SIDE_TLS, .width = 4, .module = module, .value = 44});
  made_side(&plan, (struct wire_side){
                       .kind = WIRE_SIDE_STREAM, .width = 4, .name = made_text(&plan, "stderr"), .value = 0x20});
  made_rule(&plan, NULL, 0);
  target("sides", NULL);
  says("-1 EIO -5 ab000002 10 44 33 3 1\n");
}

static void sides_that_are_nowhere_are_told(void **state) {
  (void)state;
  made_function(&plan, "sides_open");
  made_fault(&plan, -1, EIO);
  made_side(&plan, (struct wire_side){
                       .kind = WIRE_SIDE_GLOBAL, .width = 4, .name = made_text(&plan, "sides_shown"), .value = 33});
  made_side(&plan, (struct wire_side){
                       .kind = WIRE_SIDE_GLOBAL, .width = 4, .name = made_text(&plan, "variable"), .value = 33});
  made_rule(&plan, NULL, 0);
  target("sides", NULL);
  says("-1 EIO 1 2 10 20 33 3 0\n");
  assert_int_equal(made_event(&run, 0)->missed, 2);
}

static void sides_of_libraries_that_come_and_go(void **state) {
  (void)state;
  for (int64_t call = 1; call <= 13; call += 12) {
    set_up(NULL);
    fails_when("twin_name", WIRE_OP_EQ, call)->flags |= WIRE_LATER;
    plan.faults.at[0].retval = '-';
    made_side(&plan, (struct wire_side){
                         .kind = WIRE_SIDE_GLOBAL, .width = 4, .name = made_text(&plan, "twin_variable"), .value = 5});
    loader_hooks();
    twins("");
    says(call == 1 ? "1111 111 -aba ab baa baa baa ba 05\n" : "1111 111 baba ab baa baa b-a ba 50\n");
    assert_int_equal(made_event(&run, 0)->missed, 0);
    tear_down(NULL);
  }
}

static void doubles_come_back(void **state) {
  (void)state;
  made_function(&plan, "sides_double");
  double value = -2.5;
  int64_t bits;
  memcpy(&bits, &value, sizeof bits);
  made_fault(&plan, bits, 0)->ret = WIRE_XMM0;
  made_rule(&plan, NULL, 0);
  target("sides", NULL);
  says("5 0 97 7 10 20 31 -2.5 0\n");
}

static void streams_get_their_flag(void **state) {
  (void)state;
  made_function(&plan, "fgetc");
  made_fault(&plan, -1, EIO);
  made_side(&plan, (struct wire_side){.kind = WIRE_SIDE_STREAM, .width = 4, .argument = 0, .value = 0x20});
  made_rule(&plan, NULL, 0);
  target("streams", NULL);
  says("-1 EIO 1 0 - - -\n");
}

/* Reads fail where OP of the descriptor is N. */
static void reads_fail_where(uint32_t op, int64_t n) {
  made_function(&plan, "read");
  made_fault(&plan, -1, EIO);
  MADE_RULE(&plan, OP(WIRE_OP_ARG, 0), op, NUMBER(n), OP(WIRE_OP_EQ, 0), END);
  target("streams", NULL);
}

static void descriptors_are_told_apart(void **state) {
  (void)state;
  reads_fail_where(OP(WIRE_OP_FD_KIND, 0), WIRE_FD_PIPE);
  says("-1 - 0 1 EIO - -\n");
  tear_down(NULL), set_up(NULL);
  reads_fail_where(OP(WIRE_OP_FD_KIND, 0), WIRE_FD_FILE);
  says("-1 - 0 1 - EIO -\n");
  tear_down(NULL), set_up(NULL);
  reads_fail_where(OP(WIRE_OP_FD_KIND, 0), WIRE_FD_CHAR);
  says("-1 - 0 1 - - EIO\n");
  tear_down(NULL), set_up(NULL);
  reads_fail_where(OP(WIRE_OP_FD_BLOCKS, 0), 0);
  says("-1 - 0 1 EIO - -\n");
  tear_down(NULL), set_up(NULL);
  reads_fail_where(OP(WIRE_OP_FD_PATH, made_text(&plan, "/dev/n*l")), 1);
  says("-1 - 0 1 - - EIO\n");
}

static void jemalloc_is_the_real_one(void **state) {
  (void)state;
  if (access("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2", R_OK) != 0) skip();
  made_function(&plan, "malloc");
  made_fault(&plan, 0, ENOMEM);
  MADE_RULE(&plan, OP(WIRE_OP_ARG, 0), NUMBER(100), OP(WIRE_OP_EQ, 0), OP(WIRE_OP_IF_ZERO, 3),
            OP(WIRE_OP_NEXT, plan.slots++), NUMBER(2), OP(WIRE_OP_EQ, 0), END);
  made_begin(&run, &plan);
  run.more_preload = ":/usr/lib/x86_64-linux-gnu/libjemalloc.so.2";
  target("memory", NULL);
  says(".E... jemalloc\n");
}

/* gcc's sanitizer is a library that insists on being the first; clang's is in the program, which has its malloc. */
#ifdef __clang__
static const bool sanitizer_is_library = false;
#else
static const bool sanitizer_is_library = true;
#endif

static void sanitized(const char *function, int64_t retval, const char *argument) {
  tear_down(NULL), set_up(NULL);
  made_function(&plan, function);
  made_fault(&plan, retval, retval == 0 ? ENOMEM : EIO);
  MADE_RULE(&plan, OP(WIRE_OP_ARG, 0), NUMBER(retval == 0 ? 100 : (uint32_t)-7), OP(WIRE_OP_EQ, 0), END);
  made_shim_name = sanitizer_is_library ? "libasan.so-shim.so" : "shim.so";
  target("sanitized", argument);
  made_shim_name = "shim.so";
}

static void sanitized_programs_work(void **state) {
  (void)state;
  sanitized("close", -1, NULL);
  says("-1 EIO -1 EBADF\n");
  sanitized("read", -1, NULL);
  says("-1 EBADF -1 EIO\n");
  sanitized("close", -1, "bad");
  assert_non_null(strstr(run.output, "heap-buffer-overflow"));
  assert_true(WIFEXITED(run.status) && WEXITSTATUS(run.status) != 0);
  if (!sanitizer_is_library) return;
  sanitized("malloc", 0, NULL);
  says("-1 EBADF -1 EBADF\nno memory\n");
}

/* --- processes ---------------------------------------------------------------------------------------------------- */

static void exec_hooks(void) {
  hook("execve", WIRE_HOOK_EXECVE);
  hook("execveat", WIRE_HOOK_EXECVEAT);
  hook("execv", WIRE_HOOK_EXECV);
  hook("execvp", WIRE_HOOK_EXECVP);
  hook("execl", WIRE_HOOK_EXECL);
  hook("execle", WIRE_HOOK_EXECLE);
  hook("execlp", WIRE_HOOK_EXECLP);
  hook("posix_spawn", WIRE_HOOK_SPAWN);
  hook("system", WIRE_HOOK_SYSTEM);
}

static const char *const ways_to_start[] = {"execve", "execv",   "execvp", "execl", "execle",
                                            "execlp", "fexecve", "spawn",  "vfork", "system"};

static void followed_whatever_the_environment(void **state) {
  (void)state;
  for (size_t i = 0; i < COUNT(ways_to_start); i++) {
    set_up(NULL);
    plan.flags = WIRE_FOLLOW;
    always_fails("close");
    exec_hooks();
    target("children", ways_to_start[i]);
    says("-1/EIO clean\n");
    assert_true(run.area->attached >= 2);
    assert_true(made_event(&run, 0)->process >= 2);
    tear_down(NULL);
  }
}

/* A call that is made first and then fails is made as all others are. */
static void followed_when_made_to_fail_later(void **state) {
  (void)state;
  plan.flags = WIRE_FOLLOW;
  always_fails("close");
  hook("execve", WIRE_HOOK_EXECVE);
  struct wire_function *f = made_function(&plan, "system");
  f->hook = WIRE_HOOK_SYSTEM;
  made_fault(&plan, 0, EIO)->ret = WIRE_KEEP;
  made_rule(&plan, NULL, 0)->flags = WIRE_THEN;
  target("children", "system");
  says("-1/EIO clean\n");
  assert_true(run.area->attached >= 2);
}

static void what_starts_programs_leaves_nothing(void **state) {
  (void)state;
  plan.flags = WIRE_FOLLOW;
  always_fails("dup");
  exec_hooks();
  target("children", "vforks");
  says("nothing is left\n");
  target("children", "change");
  says("good\n");
}

static void not_followed_and_not_seen(void **state) {
  (void)state;
  for (size_t i = 0; i < COUNT(ways_to_start); i++) {
    set_up(NULL);
    always_fails("close");
    exec_hooks();
    target("children", ways_to_start[i]);
    says("-1/EBADF clean\n");
    assert_int_equal(run.area->attached, 1);
    tear_down(NULL);
  }
}

static void nothing_is_seen_in_the_environment(void **state) {
  (void)state;
  always_fails("close");
  target("children", "leaf");
  says("-1/EIO clean\n");
}

static void the_users_preload_stays(void **state) {
  (void)state;
  char library[512];
  made_path(library, sizeof library, "MURPHY_BUILD", "tests/libtarget-nothing.so");
  char more[600];
  (void)snprintf(more, sizeof more, ":%s", library);
  always_fails("close");
  made_begin(&run, &plan);
  run.more_preload = more;
  target("children", "leaf");
  says("-1/EIO preload\n");
}

static void a_forks_child_is_another_process(void **state) {
  (void)state;
  always_fails("close");
  target("children", "fork");
  says("-1/EIO parent\n-1/EIO clean\n");
  const struct wire_event *parent = made_event(&run, 0), *child = made_event(&run, 1);
  assert_true(parent && child);
  assert_int_equal(parent->process, 1);
  assert_int_equal(child->process, 2);
  assert_true(parent->pid != child->pid && child->tid == child->pid);
  /* The child goes on where its parent was. */
  assert_int_equal(parent->call, 1);
  assert_int_equal(child->call, 2);
}

static void descriptors_are_not_left(void **state) {
  (void)state;
  made_begin(&run, &plan);
  char shim[sizeof run.shim_path];
  memcpy(shim, run.shim_path, sizeof shim);
  run.shim_path[0] = 0;
  target("careful", "closefrom");
  char plain[MADE_OUTPUT];
  (void)snprintf(plain, sizeof plain, "%s", run.output);
  memcpy(run.shim_path, shim, sizeof shim);
  tear_down(NULL), set_up(NULL);
  always_fails("close");
  target("careful", "closefrom");
  char *word = strstr(plain, "no fault");
  assert_non_null(word);
  (void)strcpy(word, "EIO\n");
  says(plain);
}

static void filters_are_survived(void **state) {
  (void)state;
  always_fails("close");
  target("careful", "strict");
  says("EIO\n");
  tear_down(NULL), set_up(NULL);
  always_fails("close");
  target("careful", "filter");
  says("EIO\n");
}

static void the_same_random_numbers(void **state) {
  (void)state;
  char path[512], plain[64] = "";
  made_path(path, sizeof path, "MURPHY_BUILD", "tests/target-careful rand");
  FILE *f = popen(path, "r");
  assert_true(f && fgets(plain, sizeof plain, f) && pclose(f) == 0);
  made_function(&plan, "rand");
  made_fault(&plan, -1, 0);
  MADE_RULE(&plan, NUMBER(INT64_MAX / 1000), NUMBER(1), OP(WIRE_OP_RANDOM, plan.slots++), END);
  target("careful", "rand");
  says(plain);
}

/* --- bad input ---------------------------------------------------------------------------------------------------- */

static char flip = 1;

/* Flips bits of the shim's file, AT bytes behind the first WORD. */
static void damage(const char *word, size_t at) {
  struct err e = {0};
  char *bytes;
  size_t n;
  assert_int_equal(file_read(run.shim_path, 1 << 20, &bytes, &n, &e), 0);
  char *found = memmem(bytes, n, word, strlen(word));
  assert_non_null(found);
  found[at] ^= flip;
  assert_int_equal(file_write(run.shim_path, bytes, n, &e), 0);
  free(bytes);
}

static void a_damaged_plan_is_left_alone(void **state) {
  (void)state;
  static const size_t at[] = {0, 8, 12, 16, 24, 40, 100, 200};
  for (size_t i = 0; i < COUNT(at); i++) {
    set_up(NULL);
    always_fails("close");
    fails_when("memcpy", WIRE_OP_EQ, 1)->version = made_text(&plan, "GLIBC_2.2.5");
    made_begin(&run, &plan);
    damage("MRPHPLAN", at[i]);
    target("calls", "5");
    says("end\n");
    assert_int_equal(run.area->attached, 0);
    assert_int_equal(run.area->refused, 1);
    assert_int_equal(run.area->next_event, 0);
    tear_down(NULL);
  }
}

static void a_damaged_table_is_left_alone(void **state) {
  (void)state;
  for (size_t at = 0; at < offsetof(struct wire_shim, enter); at++)
    for (int bit = 0; bit < 2; bit++) {
      set_up(NULL);
      always_fails("close");
      fails_when("memcpy", WIRE_OP_EQ, 1)->version = made_text(&plan, "GLIBC_2.2.5");
      made_begin(&run, &plan);
      flip = bit ? (char)0x80 : 1;
      damage("MRPHSHIM", at);
      target("calls", "5");
      says("end\n");
      assert_int_equal(run.area->attached, 0);
      assert_int_equal(run.area->refused, 1);
      tear_down(NULL);
    }
  flip = 1;
}

static void an_area_that_is_not_one(void **state) {
  (void)state;
  always_fails("close");
  made_begin(&run, &plan);
  run.area->version++;
  target("calls", "5");
  says("end\n");
  run.area->version--;
  assert_int_equal(truncate(run.area_path, 64), 0);
  target("calls", "5");
  says("end\n");
  assert_int_equal(unlink(run.area_path), 0);
  target("calls", "5");
  says("end\n");
  run.area = NULL; /* cannot be looked at any more */
}

static void stop_stops(void **state) {
  (void)state;
  always_fails("close");
  made_begin(&run, &plan);
  run.area->stop = 1;
  target("calls", "5");
  says("end\n");
}

static void counts_are_kept(void **state) {
  (void)state;
  plan.flags = WIRE_COUNT;
  fails_when("close", WIRE_OP_EQ, 2);
  made_function(&plan, "puts");
  target("calls", "5");
  says("2:-1/EIO end\n");
  const uint64_t *counts = (const void *)((const char *)run.area + run.area->counts.at);
  assert_int_equal(counts[0], 5);
  assert_int_equal(counts[1], 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_call_by_its_number_fails),
      TEST(the_first_rule_that_holds_injects),
      TEST(once_is_once),
      TEST(logic_stops_early),
      TEST(chance_is_the_same_each_time),
      TEST(the_fault_is_drawn_from_several),
      TEST(numbers_are_exact_among_threads),
      TEST(numbers_are_exact_with_other_conditions),
      TEST(guards_are_part_of_the_condition),
      TEST(handlers_are_counted_too),
      TEST(a_full_ring_counts_what_is_lost),
      TEST(linked_in_all_ways),
      TEST(versions_stay_apart),
      TEST(one_version_fails),
      TEST(what_is_opened_and_asked_for),
      TEST(what_is_opened_works_when_idle),
      TEST(libraries_of_the_same_names_stay_apart),
      TEST(libraries_come_and_go_under_a_call),
      TEST(each_of_the_same_names_fails),
      TEST(all_kinds_pass_idle),
      TEST(all_kinds_pass_when_asked),
      TEST(all_kinds_pass_a_call_that_is_made_and_kept),
      TEST(then_is_done_and_reported),
      TEST(a_stack_may_end),
      TEST(sides_are_changed),
      TEST(sides_that_are_nowhere_are_told),
      TEST(sides_of_libraries_that_come_and_go),
      TEST(doubles_come_back),
      TEST(streams_get_their_flag),
      TEST(descriptors_are_told_apart),
      TEST(jemalloc_is_the_real_one),
      TEST(sanitized_programs_work),
      TEST(followed_whatever_the_environment),
      TEST(followed_when_made_to_fail_later),
      TEST(what_starts_programs_leaves_nothing),
      TEST(not_followed_and_not_seen),
      TEST(nothing_is_seen_in_the_environment),
      TEST(the_users_preload_stays),
      TEST(a_forks_child_is_another_process),
      TEST(descriptors_are_not_left),
      TEST(filters_are_survived),
      TEST(the_same_random_numbers),
      TEST(a_damaged_plan_is_left_alone),
      TEST(a_damaged_table_is_left_alone),
      TEST(an_area_that_is_not_one),
      TEST(stop_stops),
      TEST(counts_are_kept),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
