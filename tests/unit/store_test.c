/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The campaign's database and folder: what goes in comes out, nothing that is there is overwritten.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/store.h"

#include <errno.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
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

static void in_folder(const char *command) {
  char line[256];
  (void)snprintf(line, sizeof line, "cd %s && %s", folder, command);
  assert_int_equal(system(line), 0);
}

/* --- what goes in comes out --------------------------------------------------------------------------------------- */

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
  assert_string_equal(x->outcome, *n == 0 ? "crash" : "same");
  assert_true(*n == 0 ? x->precision > 0.6 : x->precision < 0);
  assert_int_equal(x->finding, *n == 0 ? 1 : 0);
  assert_true(x->hash == UINT64_MAX - 1);
  assert_int_equal(x->onwards, 1);
  ++*n;
  return 0;
}

static int check_finding(void *context, const struct store_finding *f) {
  assert_string_equal(f->kind, "crash");
  assert_string_equal(f->function, "read");
  assert_int_equal(f->signal, SIGSEGV);
  assert_int_equal(f->count, 1);
  assert_int_equal(f->error, EIO);
  assert_int_equal(f->n_keys[STORE_INJECT], 3);
  assert_true(f->keys[STORE_INJECT][2] == 3);
  assert_int_equal(f->n_keys[STORE_CRASH], 0);
  *(int *)context += 1;
  return 0;
}

static int check_frame(void *context, const struct store_frame *f) {
  assert_string_equal(f->function, "main");
  assert_null(f->file);
  assert_int_equal(f->offset, 0x1234);
  *(int *)context += 1;
  return 0;
}

static int check_left(void *context, const char *name, uint64_t n) {
  assert_string_equal(name, *(int *)context == 0 ? "write" : "read");
  assert_int_equal(n, *(int *)context == 0 ? 7 : 3);
  *(int *)context += 1;
  return 0;
}

static void fill(struct store *s) {
  static const uint64_t keys[] = {1, 2, 3};
  struct store_point p = {.hash = UINT64_MAX - 1, .function = "read", .count = 3};
  assert_int_equal(store_add_point(s, &p, NULL), 0);
  for (int i = 0; i < 2; i++) {
    struct store_experiment x = {.point = p.id,
                                 .nth = 1,
                                 .onwards = true,
                                 .retval = -1,
                                 .error = EIO,
                                 .mode = "exec",
                                 .outcome = i == 0 ? "crash" : "same",
                                 .precision = i == 0 ? 0.67 : -1,
                                 .finding = i == 0};
    assert_int_equal(store_add_experiment(s, &x, NULL), 0);
    assert_int_equal(x.id, i + 1);
  }
  struct store_finding f = {
      .id = 1, .kind = "crash", .signal = SIGSEGV, .experiment = 1, .precision = 0.67, .keys = {keys}, .n_keys = {3}};
  assert_int_equal(store_add_finding(s, &f, NULL), 0);
  struct store_frame frame = {.module = "prog", .function = "main", .offset = 0x1234};
  assert_int_equal(store_add_frame(s, 1, STORE_INJECT, 0, &frame, NULL), 0);
  assert_int_equal(store_plan(s, "read", 5, NULL), 0);
  assert_int_equal(store_plan(s, "write", 7, NULL), 0);
  assert_int_equal(store_set(s, "command", "[\"ls\"]", NULL), 0);
  assert_int_equal(store_set(s, "command", "[\"cat\"]", NULL), 0);
}

/* In a process that may only read. */
static int read_only(void) {
  struct store *s = NULL;
  struct err e = {0};
  int points = 0;
  if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0)) return 77;
  if (store_open(folder, false, &s, &e) < 0) {
    (void)fprintf(stderr, "%s\n", e.text);
    return 1;
  }
  int r = store_points(s, check_point, &points, &e);
  bool good = r == 0 && points == 1 && store_set(s, "command", "[]", &e) == -EACCES;
  store_close(s);
  return !good;
}

static void test_a_campaign_that_can_only_be_read(void **state) {
  (void)state;
  int status = 0;
  struct store *s = open_store(true);
  fill(s);
  store_close(s);
  assert_int_equal(chmod(folder, 0555), 0);
  pid_t pid = fork();
  if (pid == 0) _exit(read_only());
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_int_equal(chmod(folder, 0755), 0);
  assert_true(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) skip();
  assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_round_trip(void **state) {
  (void)state;
  struct store *s = open_store(true);
  fill(s);
  store_close(s);

  s = open_store(false);
  int points = 0, experiments = 0, findings = 0, frames = 0, left = 0, none = 0;
  assert_int_equal(store_points(s, check_point, &points, NULL), 0);
  assert_int_equal(store_experiments(s, check_experiment, &experiments, NULL), 0);
  assert_int_equal(store_findings(s, check_finding, &findings, NULL), 0);
  assert_int_equal(store_frames(s, 1, STORE_INJECT, check_frame, &frames, NULL), 0);
  assert_int_equal(store_frames(s, 1, STORE_CRASH, check_frame, &none, NULL), 0);
  assert_int_equal(store_counts(s, STORE_LEFT, check_left, &left, NULL), 0);
  assert_int_equal(points, 1);
  assert_int_equal(experiments, 2);
  assert_int_equal(findings, 1);
  assert_int_equal(frames, 1);
  assert_int_equal(none, 0);
  assert_int_equal(left, 2);
  assert_string_equal(store_get(s, "command"), "[\"cat\"]");
  assert_null(store_get(s, "nothing"));
  store_close(s);
}

/* --- what is there is left alone ---------------------------------------------------------------------------------- */

static void test_nothing_is_overwritten(void **state) {
  (void)state;
  struct store *s = NULL;
  struct err e = {0};
  assert_int_equal(store_open(folder, false, &s, &e), -ENOENT);
  store_close(open_store(true));
  assert_int_equal(store_open(folder, true, &s, &e), -EEXIST);
}

static void test_damage_is_said(void **state) {
  (void)state;
  struct store *s = NULL;
  struct err e = {0};
  store_close(open_store(true));
  in_folder("tr '\\0' '\\245' </dev/zero | dd of=campaign.db bs=512 seek=2 count=8 conv=notrunc 2>/dev/null");
  assert_int_equal(store_open(folder, false, &s, &e), -EUCLEAN);
  in_folder("tr '\\0' '\\245' </dev/zero | head -c 100 > campaign.db");
  assert_int_equal(store_open(folder, false, &s, &e), -EUCLEAN);
  in_folder(": > campaign.db");
  assert_int_equal(store_open(folder, false, &s, &e), -EUCLEAN);
  assert_non_null(strstr(e.text, "campaign.db"));
  in_folder("rm campaign.db && mkdir campaign.db");
  assert_int_equal(store_open(folder, false, &s, &e), -EUCLEAN);
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

/* A limit of the file size stands for a full disk. */
static int fill_the_disk(void) {
  struct store *s = open_store(true);
  struct err e = {0};
  char value[4096];
  memset(value, 'x', sizeof value - 1);
  value[sizeof value - 1] = '\0';
  if (store_set(s, "kept", "1", NULL) < 0 || store_flush(s, NULL) < 0) return 1;
  struct rlimit limit = {.rlim_cur = 1 << 18, .rlim_max = 1 << 18};
  (void)signal(SIGXFSZ, SIG_IGN);
  if (setrlimit(RLIMIT_FSIZE, &limit) < 0) return 2;
  int r = 0;
  for (int i = 0; i < 1000 && r == 0; i++) {
    char name[16];
    (void)snprintf(name, sizeof name, "fact %d", i);
    r = store_set(s, name, value, &e);
    if (r == 0) r = store_flush(s, &e);
  }
  if (r == 0 || !e.text[0]) return 3;
  bool kept = store_get(s, "kept") != NULL;
  store_close(s);
  return kept ? 0 : 4;
}

static void test_full_disk(void **state) {
  (void)state;
  pid_t pid = fork();
  if (pid == 0) _exit(fill_the_disk());
  int status;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
  struct store *s = open_store(false);
  assert_string_equal(store_get(s, "kept"), "1");
  assert_string_not_equal(store_get(s, "fact 0"), "");
  store_close(s);
}

/* --- the folder --------------------------------------------------------------------------------------------------- */

/* A quota that is used up is a full disk; a disk that is broken is not, whatever SQLite was about to do. */
static int write_error;

static ssize_t failing_write(int fd, const void *from, size_t n, off_t at) {
  (void)fd, (void)from, (void)n, (void)at;
  errno = write_error;
  return -1;
}

static int set_with_error(int error, struct err *e) {
  sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
  static const char *const calls[] = {"pwrite", "pwrite64"};
  struct store *s = open_store(true);
  write_error = error;
  for (size_t i = 0; i < COUNT(calls); i++)
    (void)vfs->xSetSystemCall(vfs, calls[i], (sqlite3_syscall_ptr)failing_write);
  int r = store_set(s, "a", "1", e);
  if (r == 0) r = store_flush(s, e);
  for (size_t i = 0; i < COUNT(calls); i++)
    (void)vfs->xSetSystemCall(vfs, calls[i], NULL);
  store_close(s);
  return r;
}

static void test_which_errors_are_a_full_disk(void **state) {
  (void)state;
  struct err e = {0};
  assert_int_equal(set_with_error(EDQUOT, &e), -ENOSPC);
  assert_non_null(strstr(e.text, "the disk is full"));
  in_folder("rm -f campaign.db*");
  assert_int_equal(set_with_error(EIO, &e), -EIO);
  assert_null(strstr(e.text, "full"));
}

static void test_folder_of_others(void **state) {
  (void)state;
  struct store_folder f = {.fd = -1};
  struct err e = {0};
  in_folder("echo mine > notes");
  assert_int_equal(store_folder_take(folder, &f, &e), -ENOTEMPTY);
  assert_non_null(strstr(e.text, "notes"));
  in_folder("rm notes && mkdir findings");
  assert_int_equal(store_folder_take(folder, &f, &e), -ENOTEMPTY);
  in_folder("rmdir findings && test -z \"$(ls)\" && : > file");
  char path[96];
  (void)snprintf(path, sizeof path, "%s/file", folder);
  assert_int_equal(store_folder_take(path, &f, &e), -EEXIST);
}

static void test_folder_comes_and_goes(void **state) {
  (void)state;
  struct store_folder f = {.fd = -1}, other = {.fd = -1};
  struct err e = {0};
  char path[96];
  struct stat st;
  (void)snprintf(path, sizeof path, "%s/c", folder);
  assert_int_equal(store_folder_take(path, &f, &e), 0);
  assert_int_equal(store_folder_take(path, &other, &e), -EBUSY);
  store_folder_done(&f);
  assert_int_equal(stat(path, &st), -1);
}

static void test_earlier_campaign_is_kept(void **state) {
  (void)state;
  struct store_folder f = {.fd = -1};
  struct err e = {0};
  unsigned kept = 9;
  assert_int_equal(store_folder_take(folder, &f, &e), 0);
  assert_int_equal(store_folder_clear(&f, &kept, &e), 0);
  assert_int_equal(kept, 0);
  in_folder("test \"$(cat .gitignore)\" = '*'");
  for (unsigned i = 1; i <= 2; i++) {
    struct store *s = open_store(true);
    char *finding = NULL;
    fill(s);
    store_close(s);
    assert_int_equal(store_folder_finding(folder, 1, true, &finding, &e), 0);
    free(finding);
    assert_int_equal(store_folder_clear(&f, &kept, &e), 0);
    assert_int_equal(kept, i);
  }
  in_folder("test -d campaign-1/findings/1 && test -f campaign-2/campaign.db && test ! -e campaign.db");
  in_folder("echo rubbish > campaign.db");
  assert_int_equal(store_folder_clear(&f, &kept, &e), -EUCLEAN);
  in_folder("test -f campaign.db && test ! -e campaign-3");
  store_folder_done(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_round_trip, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_a_campaign_that_can_only_be_read, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_nothing_is_overwritten, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_damage_is_said, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_killed_keeps_what_was_flushed, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_full_disk, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_which_errors_are_a_full_disk, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_folder_of_others, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_folder_comes_and_goes, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_earlier_campaign_is_kept, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
