/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What two runs have in common: streams with what varies taken out, files under an overlay.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "observe/observe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* A run that wrote OUT and nothing else. */
static struct observation run_of(const char *out) {
  struct observation o = {0};
  o.streams[OBSERVE_OUT] = (struct observe_stream){.at = out, .n = strlen(out)};
  return o;
}

static enum observe_level level_of(const char *a, const char *b) {
  struct observation runs[2] = {run_of(a), run_of(b)};
  struct observe_mask mask;
  struct text what = {0};
  if (observe_learn(runs, 2, &mask, &what) < 0) {
    text_done(&what);
    return OBSERVE_NOTHING + 1;
  }
  enum observe_level level = mask.streams[OBSERVE_OUT];
  observe_mask_done(&mask);
  text_done(&what);
  return level;
}

static void test_levels(void **state) {
  (void)state;
  assert_int_equal(level_of("same\n", "same\n"), OBSERVE_EXACT);
  assert_int_equal(level_of("at 0x7ffe12\n", "at 0x7ffc0012\n"), OBSERVE_NO_ADDRESSES);
  assert_int_equal(level_of("in /tmp/tmp.aXbYcZ: x\n", "in /tmp/tmp.QWERty: x\n"), OBSERVE_NO_TEMPORARY);
  assert_int_equal(level_of("in /tmp/a: x\n", "in /tmp/b: y\n"), OBSERVE_NOTHING + 1);
  assert_int_equal(level_of("took 12.5 ms at 10:00:01\n", "took 9 ms at 10:00:02\n"), OBSERVE_NO_NUMBERS);
  assert_int_equal(level_of("copied, 6.0397e-05 s\n", "copied, 0.000104 s\n"), OBSERVE_NO_NUMBERS);
  assert_int_equal(level_of("12345678e-05 s\n", "1E+3 s\n"), OBSERVE_NO_NUMBERS);
  assert_int_equal(level_of("in 0.1 s, 756 kB/s\n", "in 2e-4 s, 150 MB/s\n"), OBSERVE_NO_NUMBERS);
  assert_int_equal(level_of("12MiB\n", "900B\n"), OBSERVE_NO_NUMBERS);
  assert_int_equal(level_of("3 Bytes\n", "3 kBytes\n"), OBSERVE_NOTHING + 1);
  assert_int_equal(level_of("1e5x 2em\n", "1 2em\n"), OBSERVE_NOTHING + 1);
  assert_int_equal(level_of("2e-\n", "2\n"), OBSERVE_NOTHING + 1);
  assert_int_equal(level_of("a 1\nb 2\n", "b 1\na 2\n"), OBSERVE_NO_ORDER);
  assert_int_equal(level_of("abc\n", "xyz\n"), OBSERVE_NOTHING + 1);
  assert_int_equal(level_of("", "1\n"), OBSERVE_NOTHING + 1);
}

static unsigned differences(const char *a, const char *b, enum observe_level level) {
  struct observation x = run_of(a), y = run_of(b);
  struct observe_mask mask = {.streams = {level}};
  return observe_compare(&x, &y, &mask, NULL);
}

static void test_masked_numbers_are_still_there(void **state) {
  (void)state;
  assert_int_equal(differences("took 12 ms\n", "took 13 ms\n", OBSERVE_NO_NUMBERS), 0);
  assert_int_equal(differences("took 12 ms\n", "took ms\n", OBSERVE_NO_NUMBERS), DIFFERS_OUT);
  assert_int_equal(differences("12\n", "", OBSERVE_NO_NUMBERS), DIFFERS_OUT);
  assert_int_equal(differences("anything", "else", OBSERVE_NOTHING), 0);
  assert_int_equal(differences("anything", "", OBSERVE_NOTHING), DIFFERS_OUT);
}

static void test_difference_shows_the_first_line(void **state) {
  (void)state;
  struct observation x = run_of("one\ntwo\nthree\n"), y = run_of("one\n2\n");
  struct observe_mask mask = {0};
  struct text what = {0};
  assert_int_equal(observe_compare(&x, &y, &mask, &what), DIFFERS_OUT);
  assert_string_equal(what.at, "standard output:\n- two\n+ 2\n");
  text_done(&what);
  y = run_of("one\n\n\nno memory\n");
  assert_int_equal(observe_compare(&x, &y, &mask, &what), DIFFERS_OUT);
  assert_string_equal(what.at, "standard output:\n- two\n+ no memory\n");
  text_done(&what);
  y = run_of("one\n\n");
  assert_int_equal(observe_compare(&x, &y, &mask, &what), DIFFERS_OUT);
  assert_string_equal(what.at, "standard output:\n- two\n+ \n");
  text_done(&what);
}

/* --- files -------------------------------------------------------------------------------------------------------- */

static void leave(struct observation *o, const char *path, enum observe_kind kind) {
  assert_true(vec_push(&o->entries, ((struct observe_entry){.path = path, .kind = kind, .mode = 0600})) >= 0);
}

static unsigned compare_left(struct observation *a, struct observation *b) {
  struct observe_mask mask = {0};
  observe_finish(a);
  observe_finish(b);
  unsigned differs = observe_compare(a, b, &mask, NULL);
  observation_done(a);
  observation_done(b);
  *a = *b = (struct observation){0};
  return differs;
}

static void test_temporary_files_are_litter(void **state) {
  (void)state;
  struct observation a = {0}, b = {0};
  leave(&b, "/tmp/x.12345", OBSERVE_FILE);
  assert_int_equal(compare_left(&a, &b), DIFFERS_LITTER);
  leave(&b, "/tmp/made", OBSERVE_FOLDER);
  leave(&b, "/tmp/made/x", OBSERVE_FILE);
  assert_int_equal(compare_left(&a, &b), DIFFERS_LITTER);
  leave(&b, "/tmp/there/x", OBSERVE_FILE); /* a folder that was there before */
  assert_int_equal(compare_left(&a, &b), DIFFERS_FILES | DIFFERS_MORE);
  leave(&b, "/home/x", OBSERVE_FILE);
  leave(&b, "/tmp/x", OBSERVE_FILE);
  assert_int_equal(compare_left(&a, &b), DIFFERS_FILES | DIFFERS_MORE);
  leave(&b, "/home/socket", OBSERVE_OTHER);
  assert_int_equal(compare_left(&a, &b), DIFFERS_LITTER);
  leave(&a, "/home/socket", OBSERVE_OTHER);
  assert_int_equal(compare_left(&a, &b), DIFFERS_FILES | DIFFERS_LOSS);
  leave(&a, "/tmp/x", OBSERVE_FILE); /* and one that is not there any more is a loss */
  assert_int_equal(compare_left(&a, &b), DIFFERS_FILES | DIFFERS_LOSS);
}

static void test_a_cache_is_spare(void **state) {
  (void)state;
  struct observation a = {0}, b = {0};
  leave(&a, "/home/me/.cache", OBSERVE_FOLDER);
  leave(&a, "/home/me/.cache/x", OBSERVE_FILE);
  observe_spare(&a, "/home/me/.cache");
  assert_int_equal(compare_left(&a, &b), DIFFERS_LITTER);
  leave(&a, "/home/me/.cached", OBSERVE_FILE); /* another one */
  observe_spare(&a, "/home/me/.cache");
  assert_int_equal(compare_left(&a, &b), DIFFERS_FILES | DIFFERS_LOSS);
}

static unsigned compare_typed(const char *path) {
  static const char *const patterns[] = {".*_history", ".viminfo"};
  struct observation a = {0}, b = {0};
  leave(&a, path, OBSERVE_FILE);
  observe_spare_named(&a, "/home/me", patterns, COUNT(patterns));
  return compare_left(&a, &b);
}

static void test_what_was_typed_is_spare(void **state) {
  (void)state;
  assert_int_equal(compare_typed("/home/me/.prog_history"), DIFFERS_LITTER);
  assert_int_equal(compare_typed("/home/me/.viminfo"), DIFFERS_LITTER);
  assert_int_equal(compare_typed("/home/me/.purchase_history.db"), DIFFERS_FILES | DIFFERS_LOSS);
  assert_int_equal(compare_typed("/home/me/.viminfo.bak"), DIFFERS_FILES | DIFFERS_LOSS);
  assert_int_equal(compare_typed("/home/me/below/.prog_history"), DIFFERS_FILES | DIFFERS_LOSS);
  assert_int_equal(compare_typed("/home/meat/.prog_history"), DIFFERS_FILES | DIFFERS_LOSS);
}

struct world {
  char lower[64], upper[64];
};

static void put(const char *folder, const char *name, const char *content) {
  char path[256];
  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, content, strlen(content)), (ssize_t)strlen(content));
  assert_int_equal(close(fd), 0);
}

static int set_up(void **state) {
  struct world *w = malloc(sizeof *w);
  if (!w) return -1;
  strcpy(w->lower, "/tmp/observe-XXXXXX");
  strcpy(w->upper, "/tmp/observe-XXXXXX");
  if (!mkdtemp(w->lower) || !mkdtemp(w->upper)) return -1;
  *state = w;
  return 0;
}

static int tear_down(void **state) {
  struct world *w = *state;
  char command[256];
  (void)snprintf(command, sizeof command, "rm -rf %s %s", w->lower, w->upper);
  int r = system(command);
  free(w);
  return r;
}

static struct observation look(const struct world *w) {
  struct observation o = {0};
  int fd = open(w->upper, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  assert_true(fd >= 0);
  assert_int_equal(observe_layer(&o, w->lower, fd, NULL), 0);
  observe_finish(&o);
  assert_int_equal(close(fd), 0);
  return o;
}

static void test_only_changes_count(void **state) {
  const struct world *w = *state;
  put(w->lower, "opened", "the same");
  put(w->upper, "opened", "the same");
  put(w->lower, "changed", "before");
  put(w->upper, "changed", "after.");
  put(w->upper, "new", "new");
  put(w->lower, "gone", "gone");
  char path[128];
  (void)snprintf(path, sizeof path, "%s/gone", w->upper);
  if (mknod(path, S_IFCHR, makedev(0, 0)) < 0) put(w->upper, "gone", "a kernel that refuses whiteouts");
  (void)snprintf(path, sizeof path, "%s/link", w->upper);
  assert_int_equal(symlink("/nowhere", path), 0);

  struct observation o = look(w);
  assert_int_equal(o.entries.n, 4);
  assert_non_null(strstr(o.entries.at[0].path, "/changed"));
  assert_string_equal(o.entries.at[0].head, "after.");
  assert_non_null(strstr(o.entries.at[1].path, "/gone"));
  assert_int_equal(o.entries.at[2].kind, OBSERVE_LINK);
  assert_int_equal(o.entries.at[3].kind, OBSERVE_FILE);
  observation_done(&o);
}

static void test_temporary_names_are_learned(void **state) {
  const struct world *w = *state;
  struct observation runs[2];
  put(w->upper, "tmp.Ab3dEf", "x");
  runs[0] = look(w);
  char path[128];
  (void)snprintf(path, sizeof path, "%s/tmp.Ab3dEf", w->upper);
  assert_int_equal(unlink(path), 0);
  put(w->upper, "tmp.9xYz12", "x");
  runs[1] = look(w);

  struct observe_mask mask;
  struct text what = {0};
  assert_int_equal(observe_learn(runs, 2, &mask, &what), 0);
  assert_int_equal(mask.names.n, 1);
  struct observation none = {0};
  assert_int_equal(observe_compare(&runs[0], &none, &mask, NULL), DIFFERS_FILES | DIFFERS_LOSS);
  observe_mask_done(&mask);
  text_done(&what);
  observation_done(&runs[0]);
  observation_done(&runs[1]);
}

static struct observation with_file(const char *path) {
  struct observation o = {0};
  struct observe_entry e = {.path = path, .kind = OBSERVE_FILE};
  assert_int_equal(vec_push(&o.entries, e), 0);
  return o;
}

/* What is said of a file with BEFORE in it, if there is NOW instead. */
static void says_of_content(const char *before, size_t n, const char *now, size_t m, const char *expected) {
  struct observation a = with_file("/x/f"), b = with_file("/x/f");
  struct observe_mask mask = {0};
  struct text what = {0};
  a.entries.at[0].head = before;
  a.entries.at[0].size = a.entries.at[0].n_head = n;
  b.entries.at[0].head = now;
  b.entries.at[0].size = b.entries.at[0].n_head = m;
  b.entries.at[0].hash = a.entries.at[0].hash + 1;
  assert_int_equal(observe_compare(&a, &b, &mask, &what), DIFFERS_FILES | DIFFERS_LOSS);
  assert_string_equal(what.at, expected);
  text_done(&what);
  observation_done(&a);
  observation_done(&b);
}

static void test_other_content_is_shown(void **state) {
  (void)state;
  says_of_content("a\nb\n", 4, "a\nc\n", 4, "/x/f: other content, 4 bytes instead of 4\n- b\n+ c\n");
  says_of_content("a\n", 2, "", 0, "/x/f: other content, 0 bytes instead of 2\n");
  says_of_content("\0\1\2", 3, "\0\1\3", 3,
                  "/x/f: other content, 3 bytes instead of 3\nfrom byte 2 on: 03 instead of 02\n");
  says_of_content("\0\1\2", 3, "\0\1", 2, "/x/f: other content, 2 bytes instead of 3\nthe same up to byte 2\n");
}

static void test_lost_file_is_said(void **state) {
  const struct world *w = *state;
  put(w->upper, "result", "x");
  struct observation with = look(w), without = {0};
  struct observe_mask mask = {0};
  struct text what = {0};
  assert_int_equal(observe_compare(&with, &without, &mask, &what), DIFFERS_FILES | DIFFERS_LOSS);
  assert_int_equal(observe_compare(&without, &with, &mask, NULL), DIFFERS_FILES | DIFFERS_MORE);
  assert_non_null(strstr(what.at, "/result: missing\n"));
  text_done(&what);
  observation_done(&with);
}

static void test_names_that_are_hashes(void **state) {
  (void)state;
  struct observation runs[] = {with_file("/x/objects/3f/00aabbccdd"), with_file("/x/objects/a0/12ffee9911")};
  struct observation other = with_file("/x/objects/3f/00aabb.lock"), none = {0};
  struct observe_mask mask = {0};
  struct text what = {0};
  assert_int_equal(observe_learn(runs, COUNT(runs), &mask, &what), 0);
  assert_int_equal(observe_compare(&runs[1], &runs[0], &mask, NULL), 0);
  assert_int_not_equal(observe_compare(&runs[0], &other, &mask, NULL), 0);
  assert_int_not_equal(observe_compare(&runs[0], &none, &mask, NULL), 0);
  observe_mask_done(&mask);
  text_done(&what);
  observation_done(&runs[0]);
  observation_done(&runs[1]);
  observation_done(&other);
}

/* Folders may be called ada, or 2024; and what looks like a pattern is none. */
static void test_folders_that_look_like_hashes(void **state) {
  (void)state;
  struct observation runs[] = {with_file("/home/ada/2024/tmpg5m1bo"), with_file("/home/ada/2024/tmpi2mlde")};
  struct observation store[] = {with_file("/x/[a]/objects/3f/00aabbccdd"), with_file("/x/[a]/objects/a0/12ffee9911")};
  struct observe_mask masks[2] = {{.streams = {0}}, {.streams = {0}}};
  struct text what = {0};
  assert_int_equal(observe_learn(runs, COUNT(runs), &masks[0], &what), 0);
  assert_string_equal(masks[0].names.at[0], "/home/ada/2024/tmp*");
  assert_int_equal(observe_learn(store, COUNT(store), &masks[1], &what), 0);
  assert_int_equal(observe_compare(&store[0], &store[1], &masks[1], NULL), 0);
  for (size_t i = 0; i < 2; i++) {
    observe_mask_done(&masks[i]);
    observation_done(&runs[i]);
    observation_done(&store[i]);
  }
  text_done(&what);
}

/* The first two end alike by chance. */
static void test_names_of_three_runs(void **state) {
  (void)state;
  struct observation runs[] = {with_file("/x/tmpg5m1boj5"), with_file("/x/tmpi2mlde85"), with_file("/x/tmpq7x2kk1a")};
  struct observe_mask mask = {0};
  struct text what = {0};
  assert_int_equal(observe_learn(runs, COUNT(runs), &mask, &what), 0);
  assert_int_equal(mask.names.n, 1);
  assert_string_equal(mask.names.at[0], "/x/tmp*");
  observe_mask_done(&mask);
  text_done(&what);
  for (size_t i = 0; i < COUNT(runs); i++)
    vec_done(&runs[i].entries);
}

static struct observation with_content(const char *path, uint64_t size, uint64_t hash) {
  struct observation o = with_file(path);
  o.entries.at[0].size = size;
  o.entries.at[0].hash = hash;
  return o;
}

/* How the third looks to who has learnt from the first two, which has noted this. Frees them. */
static unsigned against(struct observation runs[3], const char *note) {
  struct observe_mask mask = {0};
  struct text what = {0};
  assert_int_equal(observe_learn(runs, 2, &mask, &what), 0);
  assert_non_null(strstr(what.at, note));
  unsigned differs = observe_compare(&runs[0], &runs[2], &mask, NULL);
  observe_mask_done(&mask);
  text_done(&what);
  for (size_t i = 0; i < 3; i++)
    observation_done(&runs[i]);
  return differs;
}

static struct observation with_text(const char *text) {
  struct observation o = with_content("/x/f", strlen(text), hash_string(text));
  o.entries.at[0].head = text;
  o.entries.at[0].n_head = strlen(text);
  return o;
}

/* Of a file that has the time in it, all else is compared; of one that is all chance, whether it is empty. */
static void test_content_that_varies(void **state) {
  (void)state;
  struct observation same[] = {with_text("at 10:01:02\na\n"), with_text("at 10:01:03\na\n"),
                               with_text("at 9:59:59\na\n")};
  assert_int_equal(against(same, "/x/f: its content varies from run to run: numbers and times not compared\n"), 0);
  struct observation lost[] = {with_text("at 10:01:02\na\n"), with_text("at 10:01:03\na\n"),
                               with_text("at 10:01:03\n")};
  assert_int_equal(against(lost, "numbers and times not compared\n"), DIFFERS_FILES | DIFFERS_LOSS);
  struct observation other[] = {with_text("qwerty"), with_text("asdfgh"), with_text("yxcvbn")};
  assert_int_equal(against(other, "is not compared, but for whether it is empty\n"), 0);
  struct observation empty[] = {with_text("qwerty"), with_text("asdfgh"), with_text("")};
  assert_int_equal(against(empty, "is not compared, but for whether it is empty\n"), DIFFERS_FILES | DIFFERS_LOSS);
  struct observation mixed[] = {with_text("qwerty"), with_text(""), with_text("yxcvbn")};
  assert_int_equal(against(mixed, "/x/f: its content varies from run to run and is not compared\n"), 0);
}

/* What was not kept as a whole, and what is no text, is not taken for other content. */
static void test_content_that_cannot_be_told(void **state) {
  (void)state;
  struct observation part[] = {with_text("at 10:01:02\na\n"), with_text("at 10:01:03\na\n"),
                               with_text("at 10:01:04\na\n")};
  part[2].entries.at[0].n_head = 5;
  assert_int_equal(against(part, "numbers and times not compared\n"), 0);
  struct observation binary[] = {with_text("\1\2 5"), with_text("\1\2 6"), with_text("\1\2 x")};
  assert_int_equal(against(binary, "is not compared, but for whether it is empty\n"), 0);
}

/* An address is one wherever it begins among other digits. */
static void test_addresses_behind_letters(void **state) {
  (void)state;
  struct observation runs[] = {run_of("aaaa0x12 deadbeef\n"), run_of("aaaa0x34 deadbeef\n"),
                               run_of("aaaa0x56 deadbeef\n")};
  assert_int_equal(against(runs, "standard output varies from run to run: addresses not compared\n"), 0);
  struct observation other[] = {run_of("aaaa0x12 deadbeef\n"), run_of("aaaa0x34 deadbeef\n"),
                                run_of("aaaa0x34 deadbeee\n")};
  assert_int_equal(against(other, "addresses not compared\n"), DIFFERS_OUT);
}

/* That only modes differ is told apart from all else. */
static void test_modes(void **state) {
  (void)state;
  struct observation a = with_text("text"), b = with_text("text"), c = with_text("other");
  struct observe_mask mask = {0};
  b.entries.at[0].mode = c.entries.at[0].mode = a.entries.at[0].mode ^ 044;
  assert_int_equal(observe_compare(&a, &b, &mask, NULL), DIFFERS_FILES | DIFFERS_LOSS | DIFFERS_MODES);
  assert_int_equal(observe_compare(&a, &c, &mask, NULL), DIFFERS_FILES | DIFFERS_LOSS);
  struct observe_entry more = {.path = "/x/g", .kind = OBSERVE_FILE};
  assert_int_equal(vec_push(&b.entries, more), 0);
  assert_int_equal(observe_compare(&a, &b, &mask, NULL), DIFFERS_FILES | DIFFERS_LOSS);
  observation_done(&a);
  observation_done(&b);
  observation_done(&c);
}

/* What is in files whose names vary is compared as far as it is the same without faults. */
static void test_content_behind_names_that_vary(void **state) {
  (void)state;
  struct observation same[] = {with_content("/x/r-ab", 13, 7), with_content("/x/r-cd", 13, 7),
                               with_content("/x/r-ef", 13, 7)};
  assert_int_equal(against(same, "varies from run to run\n"), 0);
  struct observation lost[] = {with_content("/x/r-ab", 13, 7), with_content("/x/r-cd", 13, 7),
                               with_content("/x/r-ef", 0, 1)};
  assert_int_equal(against(lost, "varies from run to run\n"), DIFFERS_FILES | DIFFERS_LOSS);
  struct observation other[] = {with_content("/x/r-ab", 13, 7), with_content("/x/r-cd", 14, 8),
                                with_content("/x/r-ef", 15, 9)};
  assert_int_equal(against(other, "so does the content"), 0);
  struct observation empty[] = {with_content("/x/r-ab", 13, 7), with_content("/x/r-cd", 14, 8),
                                with_content("/x/r-ef", 0, 1)};
  assert_int_equal(against(empty, "so does the content"), DIFFERS_FILES | DIFFERS_LOSS);
  struct observation mixed[] = {with_content("/x/r-ab", 13, 7), with_content("/x/r-cd", 0, 1),
                                with_content("/x/r-ef", 5, 9)};
  assert_int_equal(against(mixed, "so does the file"), 0);
}

static struct observation long_run(uint64_t more) {
  struct observation o = run_of("the beginning\n");
  o.streams[OBSERVE_OUT].more = more;
  return o;
}

/* Of a stream that is too long to keep, the length counts, unless it varies. */
static void test_long_streams(void **state) {
  (void)state;
  struct observation same[] = {long_run(100), long_run(100), long_run(50)};
  assert_int_equal(against(same, "standard output is long: only its beginning and its length are compared"),
                   DIFFERS_OUT);
  struct observation alike[] = {long_run(100), long_run(100), long_run(100)};
  assert_int_equal(against(alike, "its length are"), 0);
  struct observation varying[] = {long_run(100), long_run(101), long_run(50)};
  assert_int_equal(against(varying, "standard output is long: only its beginning is compared"), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_levels),
      cmocka_unit_test(test_masked_numbers_are_still_there),
      cmocka_unit_test(test_difference_shows_the_first_line),
      cmocka_unit_test(test_temporary_files_are_litter),
      cmocka_unit_test(test_a_cache_is_spare),
      cmocka_unit_test(test_what_was_typed_is_spare),
      cmocka_unit_test_setup_teardown(test_only_changes_count, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_temporary_names_are_learned, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_lost_file_is_said, set_up, tear_down),
      cmocka_unit_test(test_other_content_is_shown),
      cmocka_unit_test(test_names_that_are_hashes),
      cmocka_unit_test(test_folders_that_look_like_hashes),
      cmocka_unit_test(test_names_of_three_runs),
      cmocka_unit_test(test_content_that_cannot_be_told),
      cmocka_unit_test(test_addresses_behind_letters),
      cmocka_unit_test(test_modes),
      cmocka_unit_test(test_content_that_varies),
      cmocka_unit_test(test_content_behind_names_that_vary),
      cmocka_unit_test(test_long_streams),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
