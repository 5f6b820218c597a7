/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of room cmd: arguments, profiles put together, help and where data lies.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "profile/profile.h"

/* --- arguments ---------------------------------------------------------------------------------------------------- */

#define PARSE(args, e, ...)                                                                                            \
  cmd_parse(cmd_find("profile"), COUNT(((const char *[]){__VA_ARGS__})),                                               \
            (char *const *)(const char *const[]){__VA_ARGS__}, args, NULL, e)

static void options_and_operands_mix(void **state) {
  (void)state;
  struct cmd_args args;
  struct err e = {0};

  assert_int_equal(
      PARSE(&args, &e, "a.so", "--format", "json", "-", "-ofile", "--format=xml", "-aj", "4", "--", "--all"), 0);
  assert_int_equal(args.operands.n, 3);
  assert_string_equal(args.operands.at[0], "a.so");
  assert_string_equal(args.operands.at[1], "-");
  assert_string_equal(args.operands.at[2], "--all");
  static const struct {
    int id;
    const char *value;
  } want[] = {{OPT_FORMAT, "json"}, {OPT_OUTPUT, "file"}, {OPT_FORMAT, "xml"}, {OPT_ALL, NULL}, {OPT_JOBS, "4"}};
  assert_int_equal(args.options.n, COUNT(want));
  for (size_t i = 0; i < COUNT(want); i++) {
    assert_int_equal(args.options.at[i].option->id, want[i].id);
    if (want[i].value)
      assert_string_equal(args.options.at[i].value, want[i].value);
    else
      assert_null(args.options.at[i].value);
  }
  cmd_args_done(&args);
}

static void values_may_look_like_anything(void **state) {
  (void)state;
  struct cmd_args args;

  assert_int_equal(PARSE(&args, NULL, "--output=", "--why", "--all", "--profile=a=b"), 0);
  assert_string_equal(args.options.at[0].value, "");
  assert_string_equal(args.options.at[1].value, "--all");
  assert_string_equal(args.options.at[2].value, "a=b");
  assert_int_equal(args.operands.n, 0);
  cmd_args_done(&args);
}

static void bad_arguments_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *argument, *message;
  } cases[] = {
      {"--formt", "did you mean --format"}, {"--format=", "cannot be ''"},     {"--format=tex", "one of text|json|xml"},
      {"--format=text|json", "cannot be"},  {"--output", "needs an argument"}, {"-o", "needs an argument"},
      {"--all=1", "takes no argument"},     {"-z", "unknown option -z"},       {"-az", "unknown option -z"},
      {"--=x", "unknown option --"},        {"---", "unknown option"},
  };
  for (size_t i = 0; i < COUNT(cases); i++) {
    struct cmd_args args = {.command = (const void *)1};
    struct err e = {0};
    char argument[32];
    assert_true((size_t)snprintf(argument, sizeof argument, "%s", cases[i].argument) < sizeof argument);
    assert_int_equal(PARSE(&args, &e, argument), -EINVAL);
    if (!strstr(e.text, cases[i].message)) fail_msg("%s: '%s' has no '%s'", argument, e.text, cases[i].message);
    assert_ptr_equal(args.command, (const void *)1); /* left alone */
  }
}

static void a_command_ends_the_global_options(void **state) {
  (void)state;
  struct cmd_args args;
  int used = 0;
  char *argv[] = {(char[]){"--version"}, (char[]){"profile"}, (char[]){"--all"}};

  assert_int_equal(cmd_parse(NULL, 3, argv, &args, &used, NULL), 0);
  assert_int_equal(used, 1);
  assert_int_equal(args.options.n, 1);
  assert_int_equal(args.options.at[0].option->id, OPT_VERSION);
  cmd_args_done(&args);
}

/* --- the table ---------------------------------------------------------------------------------------------------- */

static void check_options(const struct cmd_option *options) {
  bool help = false;

  for (const struct cmd_option *o = options; o->name; o++) {
    help = help || (o->id == 'h' && o->letter == 'h' && strcmp(o->name, "help") == 0);
    assert_true(o->help && o->help[strlen(o->help) - 1] == '.');
    for (const struct cmd_option *other = options; other < o; other++) {
      assert_string_not_equal(other->name, o->name);
      assert_int_not_equal(other->id, o->id);
      assert_true(!o->letter || other->letter != o->letter);
    }
  }
  assert_true(help);
}

static void the_table_is_sound(void **state) {
  (void)state;
  check_options(cmd_global_options);
  for (const struct cmd_command *c = cmd_commands; c->name; c++) {
    assert_ptr_equal(cmd_find(c->name), c);
    assert_non_null(c->run);
    assert_true(c->summary && c->about && c->operands);
    check_options(c->options);
  }
  assert_null(cmd_find("profil"));
}

/* --- profiles put together ---------------------------------------------------------------------------------------- */

#define FUNCTIONS(...)                                                                                                 \
  .functions = (const struct profile_function[]){__VA_ARGS__},                                                         \
  .n_functions = COUNT(((const struct profile_function[]){__VA_ARGS__}))

static const struct profile_error minus_one = {.retval = -1}, minus_two = {.retval = -2};

#define FUNCTION(text, error)                                                                                          \
  { .name = text, .errors = error, .n_errors = 1 }

static const struct profile_library below_libraries[] = {
    {.name = "one", .path = "/one", FUNCTIONS(FUNCTION("b", &minus_one), FUNCTION("d", &minus_one))},
    {.name = "two", .path = "/two", FUNCTIONS(FUNCTION("x", &minus_one))},
};
static const struct profile below = {.libraries = below_libraries, .n_libraries = 2, .errno_module = "libc"};

static const struct profile_library over_libraries[] = {
    {.name = "three", FUNCTIONS(FUNCTION("q", &minus_two))},
    {.name = "one", FUNCTIONS(FUNCTION("a", &minus_two), FUNCTION("d", &minus_two), FUNCTION("e", &minus_two))},
};
static const struct profile over = {.libraries = over_libraries, .n_libraries = 2};

/* The profile as "library: function value ..." for comparison. */
static void assert_profile(const struct profile *p, const char *want) {
  struct text t = {0};

  for (size_t i = 0; i < p->n_libraries; i++) {
    text_addf(&t, "%s:", p->libraries[i].name);
    for (size_t j = 0; j < p->libraries[i].n_functions; j++) {
      const struct profile_function *f = &p->libraries[i].functions[j];
      text_addf(&t, " %s%s%s%d", f->name, f->version ? "@" : "", f->version ? f->version : "",
                (int)f->errors[0].retval);
    }
    text_add(&t, "\n");
  }
  assert_false(t.failed);
  assert_string_equal(t.at ? t.at : "", want);
  text_done(&t);
}

static void an_overlay_replaces_and_adds(void **state) {
  (void)state;
  struct profile both, empty = {0};

  assert_int_equal(profile_overlay(&below, &over, &both), 0);
  assert_profile(&both, "one: a-2 b-1 d-2 e-2\ntwo: x-1\nthree: q-2\n");
  assert_string_equal(both.libraries[0].path, "/one");
  assert_string_equal(both.errno_module, "libc");
  profile_done(&both);

  assert_int_equal(profile_overlay(&empty, &over, &both), 0);
  assert_profile(&both, "three: q-2\none: a-2 d-2 e-2\n");
  profile_done(&both);
  assert_int_equal(profile_overlay(&below, &empty, &both), 0);
  assert_profile(&both, "one: b-1 d-1\ntwo: x-1\n");
  profile_done(&both);
}

static void versions_are_told_apart_if_they_are_known(void **state) {
  (void)state;
  static const struct profile_function found[] = {
      {.name = "f", .version = "V1", .errors = &minus_one, .n_errors = 1},
      {.name = "f", .version = "V2", .errors = &minus_one, .n_errors = 1},
      {.name = "g", .version = "V1", .errors = &minus_one, .n_errors = 1},
  };
  static const struct profile_function second[] = {{.name = "f", .version = "V2", .errors = &minus_two, .n_errors = 1}};
  static const struct profile_function any[] = {FUNCTION("f", &minus_two)};
  struct profile_library one = {.name = "l", .functions = found, .n_functions = 3},
                         other = {.name = "l", .n_functions = 1};
  struct profile lower = {.libraries = &one, .n_libraries = 1}, upper = {.libraries = &other, .n_libraries = 1}, both;

  other.functions = second;
  assert_int_equal(profile_overlay(&lower, &upper, &both), 0);
  assert_profile(&both, "l: f@V1-1 f@V2-2 g@V1-1\n");
  profile_done(&both);
  other.functions = any;
  assert_int_equal(profile_overlay(&lower, &upper, &both), 0);
  assert_profile(&both, "l: f-2 g@V1-1\n");
  profile_done(&both);
}

static void functions_are_selected(void **state) {
  (void)state;
  struct profile few;
  const char *missing = NULL;

  assert_int_equal(profile_select(&below, (const char *[]){"x", "d", "x"}, 3, &few, &missing), 0);
  assert_profile(&few, "one: d-1\ntwo: x-1\n");
  profile_done(&few);
  assert_int_equal(profile_select(&below, (const char *[]){"x"}, 1, &few, &missing), 0);
  assert_profile(&few, "two: x-1\n");
  profile_done(&few);
  assert_null(missing);
  assert_int_equal(profile_select(&below, (const char *[]){"x", "nope"}, 2, &few, &missing), -ENOENT);
  assert_string_equal(missing, "nope");
}

/* --- texts and data ----------------------------------------------------------------------------------------------- */

static void help_names_every_option(void **state) {
  (void)state;
  struct text t = {0}, all = {0};

  cmd_help(&all);
  for (const struct cmd_command *c = cmd_commands; c->name; c++) {
    assert_non_null(strstr(all.at, c->name));
    cmd_help_command(c, &t);
    for (const struct cmd_option *o = c->options; o->name; o++)
      assert_non_null(strstr(t.at, o->name));
  }
  text_done(&t);
  text_done(&all);
}

static void data_can_be_elsewhere(void **state) {
  (void)state;
  char *path = NULL;

  assert_int_equal(setenv("MURPHY_DATA", "/some/where", 1), 0);
  assert_int_equal(installed_data_dir(&path), 0);
  assert_string_equal(path, "/some/where");
  free(path);
  assert_int_equal(unsetenv("MURPHY_DATA"), 0);
  assert_int_equal(installed_data_dir(&path), 0);
  assert_true(path[0] == '/');
  free(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(options_and_operands_mix),
      cmocka_unit_test(values_may_look_like_anything),
      cmocka_unit_test(bad_arguments_are_refused),
      cmocka_unit_test(a_command_ends_the_global_options),
      cmocka_unit_test(the_table_is_sound),
      cmocka_unit_test(an_overlay_replaces_and_adds),
      cmocka_unit_test(versions_are_told_apart_if_they_are_known),
      cmocka_unit_test(functions_are_selected),
      cmocka_unit_test(help_names_every_option),
      cmocka_unit_test(data_can_be_elsewhere),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
