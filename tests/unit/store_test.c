/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The campaign's database: what goes in comes out, nothing that is there is overwritten.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/store.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64];

static int set_up(void **state) {
  (void)state;
  strcpy(folder, "/tmp/store-XXXXXX");
  return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state) {
  (void)state;
  char command[128];
  (void)snprintf(command, sizeof command, "rm -rf %s", folder);
  return system(command);
}

static struct store *open_store(bool create) {
  struct store *s = NULL;
  struct err e = {0};
  if (store_open(folder, create, &s, &e) < 0) fail_msg("%s", e.text);
  return s;
}

static int check_point(void *context, const struct store_point *p) {
  assert_int_equal(p->id, 1);
  assert_true(p->hash == UINT64_MAX - 1);
  assert_string_equal(p->function, "read");
  assert_null(p->file);
  *(int *)context += 1;
  return 0;
}

static int check_experiment(void *context, const struct store_experiment *x) {
  int *n = context;
  if ((*n)++ == 0)
    assert_string_equal(x->outcome, "crash");
  else
    assert_null(x->outcome);
  return 0;
}

static void test_round_trip(void **state) {
  (void)state;
  struct store *s = open_store(true);
  struct store_point p = {.hash = UINT64_MAX - 1, .function = "read", .count = 3, .stack = "[]"};
  assert_int_equal(store_add_point(s, &p, NULL), 0);
  for (int i = 0; i < 2; i++) {
    struct store_experiment x = {.point = p.id, .nth = 1, .retval = -1, .error = EIO};
    assert_int_equal(store_plan(s, &x, NULL), 0);
    x.mode = "exec";
    x.outcome = "crash";
    if (i == 0) assert_int_equal(store_done(s, &x, NULL), 0);
  }
  assert_int_equal(store_set(s, "command", "[\"ls\"]", NULL), 0);
  assert_int_equal(store_set(s, "command", "[\"cat\"]", NULL), 0);
  store_close(s);

  s = open_store(false);
  int points = 0, experiments = 0;
  assert_int_equal(store_points(s, check_point, &points, NULL), 0);
  assert_int_equal(store_experiments(s, check_experiment, &experiments, NULL), 0);
  assert_int_equal(points, 1);
  assert_int_equal(experiments, 2);
  assert_string_equal(store_get(s, "command"), "[\"cat\"]");
  assert_null(store_get(s, "nothing"));
  store_close(s);
}

static void test_nothing_is_overwritten(void **state) {
  (void)state;
  struct store *s = NULL;
  struct err e = {0};
  assert_int_equal(store_open(folder, false, &s, &e), -ENOENT);
  store_close(open_store(true));
  assert_int_equal(store_open(folder, true, &s, &e), -EEXIST);
}

static void damage(const char *command) {
  char line[256];
  (void)snprintf(line, sizeof line, "cd %s && rm -f campaign.db-* && %s", folder, command);
  assert_int_equal(system(line), 0);
}

static void test_damage_is_said(void **state) {
  (void)state;
  struct store *s = NULL;
  struct err e = {0};
  store_close(open_store(true));
  damage("cp campaign.db whole && dd if=/dev/urandom of=campaign.db bs=512 seek=2 count=8 conv=notrunc 2>/dev/null");
  assert_int_equal(store_open(folder, false, &s, &e), -EUCLEAN);
  damage("head -c 100 /dev/urandom > campaign.db");
  assert_int_equal(store_open(folder, false, &s, &e), -EUCLEAN);
  damage(": > campaign.db");
  assert_int_equal(store_open(folder, false, &s, &e), -EUCLEAN);
  assert_non_null(strstr(e.text, "campaign.db"));
}

static void test_killed_keeps_what_was_flushed(void **state) {
  (void)state;
  pid_t pid = fork();
  if (pid == 0) {
    struct store *s = open_store(true);
    if (store_set(s, "a", "1", NULL) < 0 || store_flush(s, NULL) < 0 || store_set(s, "b", "2", NULL) < 0) _exit(1);
    (void)kill(getpid(), SIGKILL);
  }
  int status;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_true(WIFSIGNALED(status));
  struct store *s = open_store(false);
  assert_string_equal(store_get(s, "a"), "1");
  assert_null(store_get(s, "b"));
  store_close(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_round_trip, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_nothing_is_overwritten, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_damage_is_said, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_killed_keeps_what_was_flushed, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
