/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How likely errors are, of calls that were seen.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "site/site.h"

#include <errno.h>
#include <stdlib.h>

static struct site_likely *likely;

static int set_up(void **state) {
  (void)state;
  const char *data = getenv("MURPHY_DATA");
  return site_likely_load(data ? data : "data", &likely, NULL);
}

static int tear_down(void **state) {
  (void)state;
  site_likely_free(likely);
  return 0;
}

static int how(const char *function, enum site_descriptor what, int error) {
  struct site_call c = {.function = function, .descriptor = what};
  return site_likely_of(likely, &c, error, -1);
}

static void test_descriptors_decide(void **state) {
  (void)state;
  assert_int_equal(how("write", DESCRIPTOR_SOCKET, ENOSPC), 0);
  assert_true(how("write", DESCRIPTOR_FILE, ENOSPC) > 1);
  assert_int_equal(how("read", DESCRIPTOR_FILE, ECONNRESET), 0);
  assert_true(how("read", DESCRIPTOR_SOCKET, ECONNRESET) > 0);
}

static void test_blocking_decides(void **state) {
  (void)state;
  struct site_call c = {.function = "read", .descriptor = DESCRIPTOR_SOCKET};
  assert_int_equal(site_likely_of(likely, &c, EAGAIN, -1), 0);
  c.nonblocking = true;
  assert_true(site_likely_of(likely, &c, EAGAIN, -1) > 0);
}

/* The other side of a local socket is on this machine. */
static void test_networks_are_elsewhere(void **state) {
  (void)state;
  struct site_call c = {.function = "recv", .descriptor = DESCRIPTOR_SOCKET};
  assert_true(site_likely_of(likely, &c, ETIMEDOUT, -1) > 0);
  c.local = true;
  assert_int_equal(site_likely_of(likely, &c, ETIMEDOUT, -1), 0);
  assert_int_equal(site_likely_of(likely, &c, EHOSTDOWN, -1), 0);
  assert_true(site_likely_of(likely, &c, ECONNRESET, -1) > 0);
}

static void test_handlers_decide(void **state) {
  (void)state;
  struct site_call c = {.function = "read", .descriptor = DESCRIPTOR_PIPE};
  assert_int_equal(site_likely_of(likely, &c, EINTR, -1), 0);
  c.any_handler = c.plain_handler = true;
  assert_true(site_likely_of(likely, &c, EINTR, -1) > 0);
}

static void test_mistakes_are_not_likely(void **state) {
  (void)state;
  assert_int_equal(how("close", DESCRIPTOR_FILE, EBADF), 0);
  assert_int_equal(how("read", DESCRIPTOR_FILE, EFAULT), 0);
}

static int how_with(const char *function, uint64_t first, uint64_t second, int error) {
  struct site_call c = {.function = function, .args = {first, second}, .n_args = 2};
  return site_likely_of(likely, &c, error, -1);
}

/* A child is there until it was waited for; a thread has place for the first keys. */
static void test_what_cannot_be(void **state) {
  (void)state;
  assert_int_equal(how_with("kill", 100, 15, ESRCH), 0);
  assert_true(how_with("kill", 100, 0, ESRCH) > 0);
  assert_int_equal(how_with("pthread_setspecific", 3, 0, ENOMEM), 0);
  assert_true(how_with("pthread_setspecific", 40, 0, ENOMEM) > 0);
}

/* What argp_parse tells itself never comes out. */
static void test_other_codes(void **state) {
  (void)state;
  struct site_call c = {.function = "argp_parse"};
  assert_true(site_likely_of(likely, &c, ENOMEM, ENOMEM) > 0);
  assert_int_equal(site_likely_of(likely, &c, 0, 7), 0);
  assert_int_equal(how("write", DESCRIPTOR_FILE, EADDRNOTAVAIL), 0);
}

/* fread's profile has no errno: it is the end of the file, or one of those that the data names. */
static void test_errno_that_is_not_known(void **state) {
  (void)state;
  assert_int_equal(how("fread", DESCRIPTOR_FILE, 0), how("fread", DESCRIPTOR_FILE, EIO));
  assert_int_equal(how("strptime", DESCRIPTOR_NONE, 0), 0);
}

static unsigned traits(const char *function, enum site_descriptor what, int error) {
  struct site_call c = {.function = function, .descriptor = what};
  return site_likely_traits(likely, &c, error, -1);
}

static void test_traits(void **state) {
  (void)state;
  assert_int_equal(traits("read", DESCRIPTOR_PIPE, EINTR), SITE_PASSES);
  assert_int_equal(traits("read", DESCRIPTOR_SOCKET, EAGAIN), SITE_PASSES);
  assert_int_equal(traits("fork", DESCRIPTOR_NONE, EAGAIN), 0); /* a limit stays */
  assert_int_equal(traits("open", DESCRIPTOR_NONE, ENOENT), SITE_ANSWERS);
  assert_int_equal(traits("open", DESCRIPTOR_NONE, EACCES), 0);
  assert_int_equal(traits("mkdir", DESCRIPTOR_NONE, EEXIST), SITE_ANSWERS | SITE_PASSES);
  /* Another thread is faster; one that is alone never meets it. */
  assert_int_equal(traits("dup2", DESCRIPTOR_FILE, EBUSY), SITE_ANSWERS | SITE_PASSES);
  assert_int_equal(traits("fsync", DESCRIPTOR_FILE, EIO), SITE_LOSES);
  assert_int_equal(traits("fsync", DESCRIPTOR_DIR, EIO), 0);
  assert_int_equal(traits("write", DESCRIPTOR_FILE, EIO), 0);
  assert_int_equal(traits("ftello64", DESCRIPTOR_FILE, EIO), SITE_ANSWERS);
}

/* close tells of what was written through it; write itself does not. */
static void test_close_of_output_loses(void **state) {
  (void)state;
  struct site_call c = {.function = "close", .descriptor = DESCRIPTOR_FILE};
  assert_int_equal(site_likely_traits(likely, &c, EIO, -1), 0);
  c.writable = true;
  assert_int_equal(site_likely_traits(likely, &c, EIO, -1), SITE_LOSES);
  assert_true(site_likely_closes(likely, "close") && !site_likely_closes(likely, "fsync"));
}

static void test_errnos_of_streams(void **state) {
  (void)state;
  assert_true(site_likely_names(likely, "fclose", ENOSPC));
  assert_true(site_likely_names(likely, "__fprintf_chk", ENOSPC));
  assert_false(site_likely_names(likely, "fclose", ENOENT));
}

static void test_where_it_writes_to(void **state) {
  (void)state;
  struct site_call c = {.function = "__fprintf_chk", .args = {7, 8}, .n_args = 2};
  uint64_t to = 0;
  assert_true(site_likely_writes(likely, &c, &to));
  assert_int_equal(to, 7);
  c.function = "puts";
  assert_false(site_likely_writes(likely, &c, &to));
  assert_string_equal(site_likely_written(likely, "__fprintf_chk"), "fprintf");
}

/* Children that ignore SIGCHLD have no status; waiting for any ends with ECHILD in any case. */
static void test_who_is_waited_for(void **state) {
  (void)state;
  struct site_call c = {.function = "waitpid", .args = {42}, .n_args = 3};
  assert_true(site_likely_of(likely, &c, ECHILD, -1) > 0);
  c.args[0] = UINT32_MAX;
  assert_int_equal(site_likely_of(likely, &c, ECHILD, -1), 0);
  c.args[0] = UINT64_MAX;
  assert_int_equal(site_likely_of(likely, &c, ECHILD, -1), 0);
}

static void test_who_seeks_writes_first(void **state) {
  (void)state;
  struct site_call c = {.function = "fseek", .descriptor = DESCRIPTOR_FILE, .writable = true};
  assert_int_equal(site_likely_of(likely, &c, EIO, -1), 0);
  c.pending = true;
  assert_int_equal(site_likely_of(likely, &c, EIO, -1), 2);
  c.function = "fseeko64";
  assert_int_equal(site_likely_of(likely, &c, EIO, -1), 2);
  c.descriptor = DESCRIPTOR_PIPE;
  assert_int_equal(site_likely_of(likely, &c, EIO, -1), 0);
}

static void test_who_tells_later(void **state) {
  (void)state;
  assert_true(site_likely_told_by(likely, "gzread", "gzerror"));
  assert_true(site_likely_told_by(likely, "gzwrite", "gzclose"));
  assert_true(site_likely_told_by(likely, "__fprintf_chk", "ferror"));
  /* It forgets what reading has met, but for the end in the middle. */
  assert_false(site_likely_told_by(likely, "gzread", "gzclose"));
  assert_false(site_likely_told_by(likely, "gzread", "ferror"));
}

static void test_standard_output_is_excused(void **state) {
  (void)state;
  assert_true(site_likely_excused(likely, "puts"));
  assert_true(site_likely_excused(likely, "getenv"));
  assert_false(site_likely_excused(likely, "write"));
  assert_false(site_likely_excused(likely, "fclose"));
  assert_true(site_likely_keeps(likely, "fwrite"));
  assert_false(site_likely_keeps(likely, "puts") || site_likely_keeps(likely, "fclose"));
  assert_false(site_likely_keeps(likely, "fgets"));
  assert_true(site_likely_brings_out(likely, "fflush"));
  assert_false(site_likely_brings_out(likely, "fwrite") || site_likely_brings_out(likely, "fsync"));
}

/* An error of fgets is taken for the end by everybody; a copy that is too short is another matter. */
static void test_input_is_quiet(void **state) {
  (void)state;
  assert_true(site_likely_reads(likely, "fgets"));
  assert_false(site_likely_excused(likely, "fgets"));
  assert_false(site_likely_reads(likely, "read"));
  assert_true(site_likely_input(likely, "read") && site_likely_input(likely, "fgets"));
  assert_false(site_likely_input(likely, "write"));
  assert_true(site_likely_reads(likely, "readdir"));
  assert_false(site_likely_excused(likely, "readdir"));
}

/* Without an errno, no more entries are the end of the directory; of a stream, ferror tells what it was. */
static void test_ends_are_no_failures(void **state) {
  (void)state;
  struct site_call c = {.function = "readdir"};
  assert_int_equal(site_likely_of(likely, &c, 0, 0), 0);
  assert_true(site_likely_of(likely, &c, EIO, 0) > 0);
  c.function = "fallocate"; /* nor does it look for a name */
  assert_int_equal(site_likely_of(likely, &c, ENOENT, -1), 0);
  assert_true(site_likely_of(likely, &c, ENOSPC, -1) > 0);
  c.function = "nftw";
  assert_int_equal(site_likely_of(likely, &c, ENOSPC, -1), 0);
  c.function = "getc";
  assert_true(site_likely_of(likely, &c, 0, -1) > 0);
  c.function = "fgets";
  assert_true(site_likely_of(likely, &c, 0, 0) > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_descriptors_decide),
      cmocka_unit_test(test_blocking_decides),
      cmocka_unit_test(test_networks_are_elsewhere),
      cmocka_unit_test(test_handlers_decide),
      cmocka_unit_test(test_mistakes_are_not_likely),
      cmocka_unit_test(test_what_cannot_be),
      cmocka_unit_test(test_other_codes),
      cmocka_unit_test(test_errno_that_is_not_known),
      cmocka_unit_test(test_traits),
      cmocka_unit_test(test_close_of_output_loses),
      cmocka_unit_test(test_errnos_of_streams),
      cmocka_unit_test(test_who_seeks_writes_first),
      cmocka_unit_test(test_where_it_writes_to),
      cmocka_unit_test(test_who_is_waited_for),
      cmocka_unit_test(test_who_tells_later),
      cmocka_unit_test(test_standard_output_is_excused),
      cmocka_unit_test(test_input_is_quiet),
      cmocka_unit_test(test_ends_are_no_failures),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
