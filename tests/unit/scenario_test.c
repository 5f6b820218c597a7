/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scenarios as a whole: files, includes, seeds, what a plan always has, and lack of memory. What rules and XML become
 * is in the golden cases.
 */
#include "tests/unit/allocator.h"
#include "tests/unit/made_world.h"
#include "tests/unit/folder.h"

#include <sys/stat.h>
#include <unistd.h>

static void write_in_folder(const char *name, const char *text) {
  struct err e = {0};
  if (file_write(in_folder(name), text, strlen(text), &e) < 0) fail_msg("%s", e.text);
}

/* The message without the folder's name. */
static void expect_message(const struct err *e, const char *want) {
  size_t n = strlen(folder);
  const char *text = strncmp(e->text, folder, n) == 0 ? e->text + n + 1 : e->text;
  assert_string_equal(text, want);
}

static void file_is_refused(const char *name, int code, const char *want) {
  struct scenario *s = scenario_new();
  struct err e = {0};
  assert_int_equal(scenario_load(s, in_folder(name), &e), code);
  expect_message(&e, want);
  const char *const *names;
  size_t n;
  assert_int_equal(scenario_functions(s, &names, &n), 0);
  assert_int_equal(n, 0);
  scenario_free(s);
}

/* The plan of S reads as WANT. */
static void expect_dump(const struct scenario *s, const char *want) {
  struct text plan = {0}, dump = {0};
  struct err e = {0};
  if (made_compile(s, 0, NULL, &plan, &e) < 0) fail_msg("%s", e.text);
  assert_null(wire_plan_check(plan.at, plan.n));
  plan_dump(plan.at, &dump);
  assert_string_equal(dump.at, want);
  text_done(&plan);
  text_done(&dump);
}

/* --- files -------------------------------------------------------------------------------------------------------- */

static void functions_are_named_once(void **state) {
  (void)state;
  static const char rules[] = "read:EIO\nclose:EIO when call==1\nread:EINTR when once\n";
  struct scenario *s = scenario_new();
  struct err e = {0};
  const char *const *names;
  size_t n;
  assert_int_equal(scenario_parse(s, "rules", rules, sizeof rules - 1, &e), 0);
  assert_int_equal(scenario_add_rule(s, "--fail", "malloc:ENOMEM", &e), 0);
  assert_int_equal(scenario_functions(s, &names, &n), 0);
  assert_int_equal(n, 3);
  assert_string_equal(names[0], "read");
  assert_string_equal(names[1], "close");
  assert_string_equal(names[2], "malloc");
  scenario_free(s);
}

static void positions_count_lines_and_characters(void **state) {
  (void)state;
  write_in_folder("rules", "# ä comment\r\n\r\n\tread:EIO when caller(\"ä\") and cal\n");
  file_is_refused("rules", -EINVAL, "rules:3:32: 'cal' is not known in a condition (did you mean call?)");
  write_in_folder("bytes", "read:EIO\nread:E\xff\n");
  file_is_refused("bytes", -EINVAL, "bytes:2:7: this byte (0xff) is not UTF-8 text (save the file as UTF-8)");
  write_in_folder("empty", " \n\n");
  file_is_refused("empty", -EINVAL, "empty:3:1: the file is empty (write <scenario>, or rules, one a line)");
  file_is_refused("missing", -ENOENT, "missing: cannot open: No such file or directory");
}

static void a_byte_order_mark_is_no_text(void **state) {
  (void)state;
  static const char rules[] = "\xef\xbb\xbfread:EI";
  struct scenario *s = scenario_new();
  struct err e = {0};
  assert_int_equal(scenario_parse(s, "rules", rules, sizeof rules - 1, &e), -EINVAL);
  assert_string_equal(e.text, "rules:1:6: 'EI' is not an errno of Linux (did you mean EIO?)");
  scenario_free(s);
}

static void a_file_counts_as_a_whole(void **state) {
  (void)state;
  static const char bad[] =
      "<scenario><trigger id='t' class='SingletonTrigger'/><rule>read:EIO</rule><rule>x</rule></scenario>";
  static const char good[] = "<scenario><trigger id='t' class='SingletonTrigger'/><rule>close:EIO</rule></scenario>";
  struct scenario *s = scenario_new();
  struct err e = {0};
  assert_int_equal(scenario_parse(s, "bad", bad, sizeof bad - 1, &e), -EINVAL);
  assert_int_equal(scenario_parse(s, "good", good, sizeof good - 1, &e), 0);
  expect_dump(s, "function close, 1 arguments, descriptor 0, only counts\n"
                 "  rule, injections @0\n"
                 "    fault: return -1, errno EIO\n");
  scenario_free(s);
}

/* --- includes ----------------------------------------------------------------------------------------------------- */

static void included_files_are_beside_the_file(void **state) {
  (void)state;
  assert_int_equal(mkdir(in_folder("sub"), 0700), 0);
  write_in_folder("top.xml", "<scenario><include file='sub/middle.xml'/>"
                             "<function name='read' errno='EIO'><reftrigger ref='deep'/></function></scenario>");
  write_in_folder("sub/middle.xml", "<scenario><include file='low.xml'/></scenario>");
  write_in_folder("sub/low.xml", "<trigger id='deep' class='SingletonTrigger'/>");
  struct scenario *s = scenario_new();
  struct err e = {0};
  if (scenario_load(s, in_folder("top.xml"), &e) < 0) fail_msg("%s", e.text);
  expect_dump(s, "function read, 3 arguments, descriptor 0, size 2\n"
                 "  rule \"deep\", one shot, injections @1\n"
                 "    once @0\n"
                 "    fault: return -1, errno EIO\n");
  scenario_free(s);
}

static void circles_are_noticed(void **state) {
  (void)state;
  write_in_folder("self.xml", "<scenario>\n  <include file='./self.xml'/></scenario>");
  write_in_folder("a.xml", "<scenario><include file='b.xml'/></scenario>");
  write_in_folder("b.xml", "<scenario><include file='c.xml'/></scenario>");
  assert_int_equal(symlink("a.xml", in_folder("c.xml")), 0);
  char want[400];
  (void)snprintf(want, sizeof want, "self.xml:2:18: %s/./self.xml includes itself (remove one of the includes)",
                 folder);
  file_is_refused("self.xml", -ELOOP, want);
  (void)snprintf(want, sizeof want, "b.xml:1:26: %s/c.xml includes itself (remove one of the includes)", folder);
  file_is_refused("a.xml", -ELOOP, want);
}

static void errors_are_those_of_the_included_file(void **state) {
  (void)state;
  char want[400];
  write_in_folder("outer.xml", "<scenario><include file='inner'/></scenario>");
  write_in_folder("inner", "\nread:EI\n");
  file_is_refused("outer.xml", -EINVAL, "inner:2:6: 'EI' is not an errno of Linux (did you mean EIO?)");
  write_in_folder("gone.xml", "<scenario><include file='gone'/></scenario>");
  (void)snprintf(want, sizeof want, "gone.xml:1:26: %s/gone cannot be read: No such file or directory", folder);
  file_is_refused("gone.xml", -ENOENT, want);
}

/* --- plans -------------------------------------------------------------------------------------------------------- */

static void compile_rule(const char *rule, uint64_t seed, struct text *plan) {
  struct scenario *s = scenario_new();
  struct err e = {0};
  if (scenario_add_rule(s, "--fail", rule, &e) < 0 || made_compile(s, seed, NULL, plan, &e) < 0) fail_msg("%s", e.text);
  assert_null(wire_plan_check(plan->at, plan->n));
  scenario_free(s);
}

static void the_same_seed_gives_the_same_plan(void **state) {
  (void)state;
  struct text a = {0}, b = {0}, c = {0};
  compile_rule("read:EIO when random(0.5) or random(0.5)", 1, &a);
  compile_rule("read:EIO when random(0.5) or random(0.5)", 1, &b);
  compile_rule("read:EIO when random(0.5) or random(0.5)", 2, &c);
  assert_int_equal(a.n, b.n);
  assert_memory_equal(a.at, b.at, a.n);
  assert_memory_not_equal(a.at, c.at, a.n);
  /* Threshold, seed, seed: the two draws must not be the same. */
  const struct wire_plan *p = (const struct wire_plan *)(const void *)a.at;
  const int64_t *numbers = (const int64_t *)(const void *)(a.at + p->numbers.at);
  assert_int_equal(p->numbers.n, 3);
  assert_int_equal(numbers[0], INT64_C(1) << 62);
  assert_true(numbers[1] != numbers[2]);
  text_done(&a);
  text_done(&b);
  text_done(&c);
}

/* A scenario that is compiled twice gives the same plan: nothing is left in it. */
static void compiling_leaves_no_traces(void **state) {
  (void)state;
  struct scenario *s = scenario_new();
  struct text a = {0}, b = {0};
  struct err e = {0};
  assert_int_equal(scenario_add_rule(s, "--fail", "read:EIO when once and random(0.5)", &e), 0);
  assert_int_equal(made_compile(s, 0, NULL, &a, &e), 0);
  assert_int_equal(made_compile(s, 0, NULL, &b, &e), 0);
  assert_int_equal(a.n, b.n);
  assert_memory_equal(a.at, b.at, a.n);
  text_done(&a);
  text_done(&b);
  scenario_free(s);
}

static const struct wire_function *find_function(const struct text *plan, const char *name) {
  const struct wire_plan *p = (const struct wire_plan *)(const void *)plan->at;
  const struct wire_function *f = (const struct wire_function *)(const void *)(plan->at + p->functions.at);
  for (uint32_t i = 0; i < p->functions.n; i++)
    if (strcmp(plan->at + p->text.at + f[i].name, name) == 0) return &f[i];
  return NULL;
}

static void hooks_are_in_every_plan(void **state) {
  (void)state;
  struct text plan = {0};
  compile_rule("dlsym:ret=0 when call==2", 0, &plan);
  const struct wire_function *f = find_function(&plan, "execve");
  assert_non_null(f);
  assert_int_equal(f->hook, WIRE_HOOK_EXECVE);
  assert_int_equal(f->flags, WIRE_ALWAYS_IN);
  assert_int_equal(f->n_rules, 0);
  /* One entry for a function that has both. */
  f = find_function(&plan, "dlsym");
  assert_non_null(f);
  assert_int_equal(f->hook, WIRE_HOOK_DLSYM);
  assert_int_equal(f->n_rules, 1);
  assert_int_equal(f->flags, WIRE_ALWAYS_IN | WIRE_ONLY_COUNTS);
  const struct wire_plan *p = (const struct wire_plan *)(const void *)plan.at;
  assert_string_equal(plan.at + p->text.at + p->area, "/area");
  assert_string_equal(plan.at + p->text.at + p->preload, "/shim.so");
  text_done(&plan);
}

static void without_rules_there_is_no_plan(void **state) {
  (void)state;
  struct scenario *s = scenario_new();
  struct text plan = {0};
  struct err e = {0};
  assert_int_equal(made_compile(s, 0, NULL, &plan, &e), -ENOENT);
  assert_string_equal(e.text, "the scenario has no rules (write FUNCTION:ERRNO)");
  /* One of two functions is imported: that is enough, if the other one exists. */
  assert_int_equal(scenario_add_rule(s, "--fail", "chmod:EIO", &e), 0);
  assert_int_equal(made_compile(s, 0, NULL, &plan, &e), -ENOENT);
  assert_int_equal(scenario_add_rule(s, "--fail", "read:EIO", &e), 0);
  assert_int_equal(made_compile(s, 0, NULL, &plan, &e), 0);
  assert_int_equal(scenario_add_rule(s, "--fail", "reed:EIO", &e), 0);
  assert_int_equal(made_compile(s, 0, NULL, &plan, &e), -ENOENT);
  text_done(&plan);
  scenario_free(s);
}

/* Programs that are started later import what they like. */
static void who_follows_intercepts_all_names(void **state) {
  (void)state;
  struct scenario *s = scenario_new();
  struct text plan = {0};
  struct err e = {0};
  assert_int_equal(scenario_add_rule(s, "--fail", "write:ret=-1 errno=EIO", &e), 0);
  assert_int_equal(scenario_add_rule(s, "--fail", "open:ENOENT", &e), 0);
  if (made_compile_with(s, 0, WIRE_FOLLOW, NULL, &plan, &e) < 0) fail_msg("%s", e.text);
  assert_null(wire_plan_check(plan.at, plan.n));
  assert_non_null(find_function(&plan, "write"));
  assert_non_null(find_function(&plan, "open"));
  assert_non_null(find_function(&plan, "open64"));
  assert_non_null(find_function(&plan, "__open64_2"));
  text_done(&plan);
  if (made_compile_with(s, 0, 0, NULL, &plan, &e) < 0) fail_msg("%s", e.text);
  assert_null(find_function(&plan, "__open64_2"));
  text_done(&plan);
  scenario_free(s);
}

static void large_scenarios_are_plans_too(void **state) {
  (void)state;
  struct text rules = {0}, plan = {0};
  struct scenario *s = scenario_new();
  struct err e = {0};
  for (int i = 1; i <= 20000; i++)
    text_addf(&rules, "read:EIO when call==%d and once and random(0.%d)\n", i, i);
  if (scenario_parse(s, "many", rules.at, rules.n, &e) < 0) fail_msg("%s", e.text);
  if (made_compile(s, 0, NULL, &plan, &e) < 0) fail_msg("%s", e.text);
  assert_null(wire_plan_check(plan.at, plan.n));
  text_done(&rules);
  text_done(&plan);
  scenario_free(s);
}

/* --- its own medicine --------------------------------------------------------------------------------------------- */

#if OWN_ALLOCATOR
static int starved_run(const char *bytes, size_t size, struct err *e) {
  struct scenario *s = scenario_new();
  struct text plan = {0};
  if (!s) return -ENOMEM;
  int r = scenario_parse(s, "starved", bytes, size, e);
  if (r >= 0) {
    static const char *const functions[] = {"close", "read"};
    struct scenario_world world = {.data = made_data(), .functions = functions, .n_functions = 2};
    world.places = made_places;
    world.modules = made_modules;
    world.module_names = made_module_names;
    world.n_modules = COUNT(made_modules);
    r = plan_compile(s, &world, &plan, e);
  }
  text_done(&plan);
  scenario_free(s);
  return r;
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  static const char xml[] = "<scenario><trigger id='t' class='CallStackTrigger'><args><frame><function>main</function>"
                            "</frame></args></trigger><function name='read' return='-1' errno='EIO' when='call &gt; 1'>"
                            "<reftrigger ref='t'/><side kind='global' name='x' value='1'/></function>"
                            "<rule>close:ret=-1 when random(0.5) and once</rule></scenario>";
  struct err e = {0};
  assert_int_equal(starved_run(xml, sizeof xml - 1, &e), 0);
  for (long n = 0;; n++) {
    failed_one = false;
    alive = 0;
    failing = true;
    countdown = n;
    int r = starved_run(xml, sizeof xml - 1, &e);
    countdown = -1;
    failing = false;
    if (alive != 0) fail_msg("%ld allocations are left after failure %ld", alive, n);
    if (!failed_one) {
      assert_int_equal(r, 0);
      return;
    }
    if (r != 0 && r != -ENOMEM) fail_msg("allocation %ld: %d %s", n, r, e.text);
  }
}
#endif

static int make_folder(void **state) {
  (void)state;
  (void)snprintf(folder, sizeof folder, "/tmp/murphy-scenario-XXXXXX");
  return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
  (void)state;
  return shell("rm -r ./*") && rmdir(folder) == 0 ? 0 : -1;
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(functions_are_named_once),
    cmocka_unit_test(positions_count_lines_and_characters),
    cmocka_unit_test(a_byte_order_mark_is_no_text),
    cmocka_unit_test(a_file_counts_as_a_whole),
    cmocka_unit_test(included_files_are_beside_the_file),
    cmocka_unit_test(circles_are_noticed),
    cmocka_unit_test(errors_are_those_of_the_included_file),
    cmocka_unit_test(the_same_seed_gives_the_same_plan),
    cmocka_unit_test(compiling_leaves_no_traces),
    cmocka_unit_test(hooks_are_in_every_plan),
    cmocka_unit_test(without_rules_there_is_no_plan),
    cmocka_unit_test(who_follows_intercepts_all_names),
    cmocka_unit_test(large_scenarios_are_plans_too),
#if OWN_ALLOCATOR
    cmocka_unit_test(every_allocation_may_fail),
#endif
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
