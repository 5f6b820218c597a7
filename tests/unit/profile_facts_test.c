/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What data/functions says about how functions are called.
 */
#include "profile/profile.h"

#include <errno.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/murphy-facts-XXXXXX", path[64];

static int load(const char *text, struct profile_facts **ret, struct err *e) {
  assert_int_equal(file_write(path, text, strlen(text), e), 0);
  return profile_facts_load(folder, ret, e);
}

static void facts_are_about_their_function(void **state) {
  (void)state;
  struct profile_facts *f = NULL;
  struct err e = {0};
  static const char text[] = "# a comment\n"
                             "twice again\nstruct pair\nfloat half\nreturned number\n"
                             "descriptor 4 map\nsize 1 map\narguments 6 map\n"
                             "stream 3 fetch\nstream stdout say\nstream stdin ask\ncleared 5 look\n";
  if (load(text, &f, &e) < 0) fail_msg("%s", e.text);
  assert_true(profile_facts_twice(f, "again") && !profile_facts_twice(f, "pair"));
  assert_true(profile_facts_struct(f, "pair") && !profile_facts_struct(f, "half"));
  assert_true(profile_facts_float(f, "half") && !profile_facts_float(f, "number"));
  assert_true(profile_facts_returned(f, "number") && !profile_facts_returned(f, "again"));
  struct profile_roles map = profile_facts_roles(f, "map"), fetch = profile_facts_roles(f, "fetch");
  assert_int_equal(map.descriptor, 4);
  assert_int_equal(map.size, 1);
  assert_int_equal(map.arguments, 6);
  assert_int_equal(map.stream, -1);
  assert_int_equal(map.cleared, -1);
  assert_null(map.variable);
  assert_int_equal(fetch.stream, 3);
  assert_int_equal(fetch.descriptor, -1);
  assert_null(fetch.variable);
  assert_int_equal(profile_facts_roles(f, "say").stream, -1);
  assert_string_equal(profile_facts_roles(f, "say").variable, "stdout");
  assert_string_equal(profile_facts_roles(f, "ask").variable, "stdin");
  assert_int_equal(profile_facts_roles(f, "look").cleared, 5);
  assert_int_equal(profile_facts_roles(f, "nobody").arguments, -1);
  profile_facts_free(f);
}

static void what_is_no_fact_is_refused(void **state) {
  (void)state;
  static const struct {
    const char *text, *why;
  } bad[] = {
      {"twice\n", "a name is missing behind 'twice'"},
      {"\ndescriptor 0\n", "a name is missing behind '0'"},
      {"descriptor x read\n", "not the number of an argument: 'x'"},
      {"size 16 read\n", "not the number of an argument: '16'"},
      {"size stdin read\n", "not the number of an argument: 'stdin'"},
      {"stream stderr perror\n", "not the number of an argument: 'stderr'"},
      {"thrice read\n", "not a fact about functions: 'thrice'"},
  };
  for (size_t i = 0; i < COUNT(bad); i++) {
    struct profile_facts *f = NULL;
    struct err e = {0};
    assert_int_equal(load(bad[i].text, &f, &e), -EINVAL);
    if (!strstr(e.text, bad[i].why)) fail_msg("'%s' is not in '%s'", bad[i].why, e.text);
    if (!strstr(e.text, bad[i].text[0] == '\n' ? "functions:2: " : "functions:1: ")) fail_msg("%s", e.text);
  }
}

/* A handful that conformance depends on. */
static void the_real_file_knows_libc(void **state) {
  (void)state;
  const char *data = getenv("MURPHY_DATA");
  struct profile_facts *f = NULL;
  struct err e = {0};
  if (profile_facts_load(data ? data : "data", &f, &e) < 0) fail_msg("%s", e.text);
  assert_true(profile_facts_twice(f, "vfork") && profile_facts_twice(f, "_setjmp"));
  assert_true(profile_facts_struct(f, "ldiv") && profile_facts_struct(f, "inet_makeaddr"));
  assert_true(profile_facts_float(f, "strtod"));
  assert_true(profile_facts_returned(f, "pthread_create") && !profile_facts_returned(f, "read"));
  assert_int_equal(profile_facts_roles(f, "write").size, 2);
  assert_int_equal(profile_facts_roles(f, "mmap").arguments, 6);
  assert_int_equal(profile_facts_roles(f, "fwrite").stream, 3);
  assert_int_equal(profile_facts_roles(f, "fclose").stream, -1);
  assert_int_equal(profile_facts_roles(f, "getpwnam_r").cleared, 4);
  profile_facts_free(f);
}

static int make_folder(void **state) {
  (void)state;
  if (!mkdtemp(folder)) return -1;
  return snprintf(path, sizeof path, "%s/functions", folder) < (int)sizeof path ? 0 : -1;
}

static int remove_folder(void **state) {
  (void)state;
  return unlink(path) == 0 && rmdir(folder) == 0 ? 0 : -1;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(facts_are_about_their_function),
      cmocka_unit_test(what_is_no_fact_is_refused),
      cmocka_unit_test(the_real_file_knows_libc),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
