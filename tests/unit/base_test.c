/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The base room: what its header promises, at the edges.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* strerrorname_np, sigabbrev_np */
#endif

#include "base/base.h"

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* --- errors ------------------------------------------------------------------------------------------------------- */

static void err_keeps_code_and_text(void **state) {
  (void)state;
  struct err e = {0};
  assert_int_equal(err_set(&e, -EIO, "%s:%d: broken", "a.xml", 3), -EIO);
  assert_string_equal(e.text, "a.xml:3: broken");
  assert_int_equal(err_set(NULL, -EIO, "nobody reads this"), -EIO);
}

static void err_cuts_between_characters(void **state) {
  (void)state;
  struct err e;
  for (int pad = 0; pad < 4; pad++) {
    char text[2048] = "";
    memset(text, 'a', (size_t)pad);
    for (int i = 0; i < 400; i++)
      (void)strcat(text, "…");
    assert_int_equal(err_set(&e, -EINVAL, "%s", text), -EINVAL);
    size_t n = strlen(e.text);
    assert_true(n < sizeof e.text && n > sizeof e.text - 5);
    assert_int_equal(utf8_prefix(e.text, n), n);
  }
}

static void err_keeps_both_ends(void **state) {
  (void)state;
  struct err e;
  char path[3000];
  memset(path, 'p', sizeof path - 1);
  path[sizeof path - 1] = '\0';
  assert_int_equal(err_set(&e, -EIO, "/a/%s: does not exist (make it)", path), -EIO);
  assert_int_equal(strncmp(e.text, "/a/ppp", 6), 0);
  static const char end[] = "ppp: does not exist (make it)";
  assert_string_equal(e.text + strlen(e.text) - strlen(end), end);
}

/* --- sources ------------------------------------------------------------------------------------------------------ */

static void messages_say_where(void **state) {
  (void)state;
  static const char bytes[] = "a\n\xc3\xa4\xc3\xb6x\n";
  struct source_text s = {.name = "f", .bytes = bytes, .size = sizeof bytes - 1};
  struct err e = {0};
  assert_int_equal(source_error(&s, 6, &e, -EINVAL, "no %s", "x"), -EINVAL);
  assert_string_equal(e.text, "f:2:3: no x");
  assert_int_equal(source_error(&s, 1000, &e, -EINVAL, "the end"), -EINVAL);
  assert_string_equal(e.text, "f:3:1: the end");
  s.one_line = true;
  s.bytes += 2;
  s.size -= 2;
  assert_int_equal(source_error(&s, 4, &e, -ENOENT, "\x1b[2J\n"), -ENOENT);
  assert_string_equal(e.text, "f:3: ?[2J?");
}

static void sources_are_text(void **state) {
  (void)state;
  struct source_text good = {.name = "f", .bytes = "\xc3\xa4", .size = 2}, empty = {.name = "f"};
  struct source_text cut = {.name = "f", .bytes = "a\n\xc3", .size = 3},
                     nul = {.name = "f", .bytes = "a\0b", .size = 3};
  struct err e = {0};
  assert_int_equal(source_check(&good, &e), 0);
  assert_int_equal(source_check(&empty, &e), 0);
  assert_int_equal(source_check(&cut, &e), -EINVAL);
  assert_string_equal(e.text, "f:2:1: this byte (0xc3) is not UTF-8 text (save the file as UTF-8)");
  assert_int_equal(source_check(&nul, &e), -EINVAL);
  assert_string_equal(e.text, "f:1:2: this byte (0x00) is not UTF-8 text (save the file as UTF-8)");
}

static void hints_name_what_is_near(void **state) {
  (void)state;
  char way[SOURCE_HINT];
  assert_string_equal(source_hint("read", "remove it", way), "did you mean read?");
  assert_string_equal(source_hint(NULL, "remove it", way), "remove it");
}

/* --- arena -------------------------------------------------------------------------------------------------------- */

static void arena_gives_aligned_separate_memory(void **state) {
  (void)state;
  struct arena a = {0};
  unsigned char *blocks[2000];
  for (size_t i = 0; i < COUNT(blocks); i++) {
    size_t size = i % 100 == 99 ? 100000 : i % 200;
    blocks[i] = arena_alloc(&a, size);
    assert_non_null(blocks[i]);
    assert_int_equal((uintptr_t)blocks[i] % 16, 0);
    memset(blocks[i], (int)(i & 0xff), size);
  }
  for (size_t i = 0; i < COUNT(blocks); i++)
    for (size_t k = 0; k < (i % 100 == 99 ? 100000 : i % 200); k++)
      assert_int_equal(blocks[i][k], i & 0xff);
  arena_done(&a);
  assert_null(a.chunk);
}

static void arena_copies_and_clears(void **state) {
  (void)state;
  struct arena a = {0};
  assert_string_equal(arena_strdup(&a, "text"), "text");
  assert_memory_equal(arena_memdup(&a, "a\0b", 3), "a\0b", 3);
  assert_non_null(arena_memdup(&a, NULL, 0));
  memset(arena_alloc(&a, 4000), 0xff, 4000);
  arena_reset(&a);
  unsigned char *zero = arena_zalloc(&a, 4000);
  for (size_t i = 0; i < 4000; i++)
    assert_int_equal(zero[i], 0);
  arena_done(&a);
}

static void arena_refuses_the_impossible(void **state) {
  (void)state;
  struct arena a = {0};
  assert_null(arena_alloc(&a, SIZE_MAX));
  assert_null(arena_alloc(&a, SIZE_MAX - 15));
  assert_null(arena_zalloc(&a, (size_t)PTRDIFF_MAX));
  arena_reset(&a);
  arena_done(&a);
  arena_done(NULL);
}

/* --- vectors and maps --------------------------------------------------------------------------------------------- */

static void vec_grows(void **state) {
  (void)state;
  VEC(struct err) v = {0};
  for (int i = 0; i < 1000; i++) {
    struct err *more = vec_more(&v);
    assert_non_null(more);
    more->text[0] = (char)i;
  }
  assert_int_equal(v.n, 1000);
  for (int i = 0; i < 1000; i++)
    assert_int_equal(v.at[i].text[0], (char)i);
  vec_done(&v);
  assert_null(v.at);

  VEC(const char *) names = {0};
  assert_int_equal(vec_push(&names, "one"), 0);
  assert_string_equal(names.at[0], "one");
  vec_done(&names);
}

static void vec_says_no_memory(void **state) {
  (void)state;
  void *at = NULL;
  size_t cap = 0;
  assert_int_equal(vec_grow(&at, &cap, SIZE_MAX / 2, 16), -ENOMEM);
  assert_null(at);
  assert_int_equal(cap, 0);
}

static void map_finds_what_was_put(void **state) {
  (void)state;
  struct map m = {0};
  uint64_t value = 77;
  assert_false(map_get(&m, 0, &value));
  for (uint64_t i = 0; i < 100000; i++)
    assert_int_equal(map_put(&m, i * 0x1000000001, i), 0);
  assert_int_equal(map_put(&m, UINT64_MAX, 5), 0);
  assert_int_equal(m.n, 100001);
  for (uint64_t i = 0; i < 100000; i++) {
    assert_true(map_get(&m, i * 0x1000000001, &value));
    assert_int_equal(value, i);
  }
  assert_false(map_get(&m, 1, &value));
  assert_int_equal(value, 99999);
  assert_int_equal(map_put(&m, 0, 42), 0);
  assert_true(map_get(&m, 0, NULL));
  assert_true(map_get(&m, 0, &value));
  assert_int_equal(value, 42);
  map_clear(&m);
  assert_false(map_get(&m, 0, NULL));
  assert_int_equal(m.n, 0);
  map_done(&m);
  map_done(NULL);
}

/* What is forgotten stays so when the map grows, and is not met when it is gone through. */
static void map_forgets(void **state) {
  (void)state;
  struct map m = {0};
  uint64_t key, sum = 0;
  size_t at = 0;
  assert_false(map_next(&m, &at, &key));
  for (unsigned round = 0; round < 3; round++) {
    map_clear(&m);
    for (uint64_t i = 0; i < 10; i++)
      assert_int_equal(map_put(&m, 100 * round + i, i), 0);
  }
  assert_int_equal(m.n, 10);
  for (uint64_t i = 200; i < 300; i++)
    assert_int_equal(map_put(&m, i, 7), 0);
  assert_false(map_get(&m, 100, NULL));
  assert_false(map_get(&m, 5, NULL));
  for (at = 0; map_next(&m, &at, &key);)
    sum += key;
  assert_int_equal(m.n, 100);
  assert_int_equal(sum, 24950);
  map_done(&m);
}

static void hashes_are_the_known_ones(void **state) {
  (void)state;
  assert_true(hash_string("") == 0xcbf29ce484222325u);
  assert_true(hash_string("a") == 0xaf63dc4c8601ec8cu);
  assert_true(hash_bytes("foobar", 6) == 0x85944171f73967e8u);
  assert_true(hash_bytes("foobar", 6) == hash_string("foobar"));
  assert_true(hash_mix(1) != hash_mix(2));
}

/* --- text --------------------------------------------------------------------------------------------------------- */

static void text_grows(void **state) {
  (void)state;
  struct text t = {0};
  for (int i = 0; i < 1000; i++)
    text_addf(&t, "%d,", i);
  text_add(&t, "end");
  assert_false(t.failed);
  assert_int_equal(t.n, strlen(t.at));
  assert_string_equal(t.at + t.n - 7, "999,end");
  char wide[5000];
  memset(wide, 'x', sizeof wide - 1);
  wide[sizeof wide - 1] = '\0';
  size_t before = t.n;
  text_addf(&t, "%s%s", wide, wide);
  assert_int_equal(t.n, before + 2 * (sizeof wide - 1));
  assert_int_equal(strlen(t.at), t.n);
  text_done(&t);
  text_done(NULL);
}

static void text_failure_sticks(void **state) {
  (void)state;
  struct text t = {0};
  text_add(&t, "a");
  t.failed = true;
  text_add(&t, "b");
  text_addf(&t, "%d", 1);
  text_pad(&t, 10);
  assert_string_equal(t.at, "a");
  text_done(&t);
}

static void check_escape(void (*add)(struct text *, const char *), const char *from, const char *to) {
  struct text t = {0};
  add(&t, from);
  assert_string_equal(t.at, to);
  text_done(&t);
}

static void json_is_escaped(void **state) {
  (void)state;
  check_escape(text_add_json, "", "\"\"");
  check_escape(text_add_json, "a\"b\\c\n\t\r\b\f", "\"a\\\"b\\\\c\\n\\t\\r\\b\\f\"");
  check_escape(text_add_json, "\x01\x1f\x7f", "\"\\u0001\\u001f\x7f\"");
  check_escape(text_add_json, "é€😀", "\"é€😀\"");
  check_escape(text_add_json, "\xff", "\"\xef\xbf\xbd\"");
  check_escape(text_add_json, "\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\"");
  check_escape(text_add_json, "\xe2\x82", "\"\xef\xbf\xbd\xef\xbf\xbd\"");
  check_escape(text_add_json, "\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

static void xml_is_escaped(void **state) {
  (void)state;
  check_escape(text_add_xml, "", "");
  check_escape(text_add_xml, "<a b=\"c\" d='e'>&", "&lt;a b=&quot;c&quot; d=&apos;e&apos;&gt;&amp;");
  check_escape(text_add_xml, "a\n\t\r", "a&#10;&#9;&#13;");
  check_escape(text_add_xml, "\x01\xff\xef\xbf\xbe", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
  check_escape(text_add_xml, "é€😀", "é€😀");
}

static void terminals_are_safe(void **state) {
  (void)state;
  check_escape(text_add_plain, "a b~é€😀", "a b~é€😀");
  check_escape(text_add_plain, "\033[31mx\n\x7f", "\\x1b[31mx\\x0a\\x7f");
  check_escape(text_add_plain, "\xc2\x9b\xc2\xa0\xff\xe2\x82", "\\xc2\\x9b\xc2\xa0\\xff\\xe2\\x82");
}

static void pad_counts_columns(void **state) {
  (void)state;
  struct text t = {0};
  text_pad(&t, 2);
  text_add(&t, "é\n\033[1mab\033[0m");
  text_pad(&t, 4);
  text_add(&t, "c");
  text_pad(&t, 1);
  text_add(&t, "d");
  assert_string_equal(t.at, "  é\n\033[1mab\033[0m  c d");
  text_done(&t);
}

static void utf8_ends_where_it_breaks(void **state) {
  (void)state;
  assert_int_equal(utf8_prefix("", 0), 0);
  assert_int_equal(utf8_prefix("a\0b", 3), 3);
  assert_int_equal(utf8_prefix("aé", 3), 3);
  assert_int_equal(utf8_prefix("aé", 2), 1);
  assert_int_equal(utf8_prefix("ab\x80", 3), 2);
  assert_int_equal(utf8_prefix("\xf4\x90\x80\x80", 4), 0);
  assert_int_equal(utf8_prefix("\xf4\x8f\xbf\xbf", 4), 4);
}

/* --- files -------------------------------------------------------------------------------------------------------- */

static char folder[] = "/tmp/murphy-base-XXXXXX";

static int make_folder(void **state) {
  (void)state;
  return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
  (void)state;
  return rmdir(folder);
}

static const char *in_folder(const char *name, char path[PATH_MAX]) {
  (void)snprintf(path, PATH_MAX, "%s/%s", folder, name);
  return path;
}

static void files_come_back(void **state) {
  (void)state;
  char path[PATH_MAX], *bytes;
  size_t size;
  struct err e = {0};
  in_folder("a", path);
  assert_int_equal(file_write(path, "one\0two", 7, &e), 0);
  assert_int_equal(file_read(path, 7, &bytes, &size, &e), 0);
  assert_int_equal(size, 7);
  assert_memory_equal(bytes, "one\0two", 8);
  free(bytes);
  assert_int_equal(chmod(path, 0640), 0);
  assert_int_equal(file_write(path, "", 0, &e), 0);
  struct stat st;
  assert_int_equal(stat(path, &st), 0);
  assert_int_equal(st.st_mode & 0777, 0640);
  assert_int_equal(file_read(path, 0, &bytes, &size, &e), 0);
  assert_int_equal(size, 0);
  assert_string_equal(bytes, "");
  free(bytes);
  assert_int_equal(unlink(path), 0);
}

static void files_that_cannot_be_read(void **state) {
  (void)state;
  char path[PATH_MAX], *bytes = NULL;
  size_t size = 9;
  struct err e = {0};
  assert_int_equal(file_read(in_folder("none", path), 10, &bytes, &size, &e), -ENOENT);
  assert_non_null(strstr(e.text, "/none: "));
  assert_int_equal(file_read(folder, 10, &bytes, &size, &e), -EISDIR);
  assert_int_equal(file_write(in_folder("b", path), "0123456789", 10, &e), 0);
  assert_int_equal(file_read(path, 9, &bytes, &size, &e), -EFBIG);
  assert_int_equal(file_read("/dev/zero", 100000, &bytes, &size, &e), -EFBIG);
  assert_null(bytes);
  assert_int_equal(size, 9);
  assert_int_equal(unlink(path), 0);
}

static void files_that_cannot_be_written(void **state) {
  (void)state;
  char path[PATH_MAX];
  struct err e = {0};
  assert_int_equal(file_write(in_folder("none/a", path), "a", 1, &e), -ENOENT);
  assert_non_null(strstr(e.text, "/none/a: "));
  assert_true(file_write(folder, "a", 1, NULL) < 0);
  assert_int_equal(file_write("/dev/full", "a", 1, &e), -ENOSPC);
  assert_int_equal(file_write("/dev/null", "a", 1, &e), 0);
}

static void a_link_stays_a_link(void **state) {
  (void)state;
  char path[PATH_MAX], link[PATH_MAX], *bytes;
  size_t size;
  struct stat st;
  assert_int_equal(file_write(in_folder("file", path), "old", 3, NULL), 0);
  assert_int_equal(symlink("file", in_folder("link", link)), 0);
  assert_int_equal(file_write(link, "new", 3, NULL), 0);
  assert_int_equal(lstat(link, &st), 0);
  assert_true(S_ISLNK(st.st_mode));
  assert_int_equal(file_read(path, 10, &bytes, &size, NULL), 0);
  assert_string_equal(bytes, "new");
  free(bytes);
  assert_int_equal(unlink(path), 0);
  assert_int_equal(unlink(link), 0);
}

static void directories_are_made_with_parents(void **state) {
  (void)state;
  char path[PATH_MAX];
  struct stat st;
  assert_int_equal(dir_make(in_folder("x//y/z/", path)), 0);
  assert_int_equal(dir_make(path), 0);
  assert_int_equal(stat(path, &st), 0);
  assert_true(S_ISDIR(st.st_mode));
  assert_int_equal(dir_make(""), -ENOENT);
  assert_int_equal(dir_make("/"), 0);
  assert_int_equal(file_write(in_folder("x/file", path), "", 0, NULL), 0);
  assert_int_equal(dir_make(path), -ENOTDIR);
  assert_int_equal(dir_make(in_folder("x/file/more", path)), -ENOTDIR);
  assert_int_equal(unlink(in_folder("x/file", path)), 0);
  assert_int_equal(rmdir(in_folder("x/y/z", path)), 0);
  assert_int_equal(rmdir(in_folder("x/y", path)), 0);
  assert_int_equal(rmdir(in_folder("x", path)), 0);
}

/* --- names and numbers -------------------------------------------------------------------------------------------- */

static void errno_names_are_the_systems(void **state) {
  (void)state;
  int known = 0;
  for (int i = -1; i <= ERRNO_MAX + 1; i++) {
    const char *name = errno_name(i);
    known += name != NULL;
    if (name) assert_int_equal(errno_number(name), i);
    /* glibc calls 41 and 58 by no name either. */
    if (i > 0) assert_int_equal(name != NULL, strerrorname_np(i) != NULL);
    if (name && i != EOPNOTSUPP) assert_string_equal(name, strerrorname_np(i));
  }
  assert_int_equal(known, 131);
  assert_int_equal(errno_number("EWOULDBLOCK"), EAGAIN);
  assert_int_equal(errno_number("EDEADLOCK"), EDEADLK);
  assert_int_equal(errno_number("ENOTSUP"), EOPNOTSUPP);
  assert_int_equal(errno_number(""), 0);
  assert_int_equal(errno_number("E"), 0);
  assert_int_equal(errno_number("eio"), 0);
}

static void signal_names_are_the_systems(void **state) {
  (void)state;
  for (int i = 1; i < 32; i++) {
    assert_non_null(signal_name(i));
    /* glibc says SIGPOLL; kill -l and everybody's handlers say SIGIO. */
    assert_string_equal(signal_name(i) + 3, i == SIGIO ? "IO" : sigabbrev_np(i));
  }
  assert_string_equal(signal_name(SIGRTMIN), "SIGRTMIN");
  assert_string_equal(signal_name(SIGRTMAX), "SIGRTMAX");
  assert_null(signal_name(0));
  assert_null(signal_name(65));
  assert_null(signal_name(-1));
}

static void near_names_are_found(void **state) {
  (void)state;
  static const char *const names[] = {"profile", NULL, "library", "function"};
  assert_string_equal(name_nearest("functoin", names, COUNT(names)), "function");
  assert_string_equal(name_nearest("Profile", names, COUNT(names)), "profile");
  assert_string_equal(name_nearest("librarys", names, COUNT(names)), "library");
  assert_null(name_nearest("html", names, COUNT(names)));
  assert_null(name_nearest("", names, COUNT(names)));
  assert_null(name_nearest("an extremely long name that is longer than anything that could ever be known", names,
                           COUNT(names)));
  assert_string_equal(errno_nearest("ENOMEN"), "ENOMEM");
  assert_string_equal(errno_nearest("ebadf"), "EBADF");
  assert_null(errno_nearest("nonsense"));
}

static void numbers_are_parsed_whole(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int result;
    int64_t value;
  } cases[] = {
      {"0", 0, 0},
      {"-1", 0, -1},
      {"+7", 0, 7},
      {"007", 0, 7},
      {"0x1F", 0, 31},
      {"-0x10", 0, -16},
      {"9223372036854775807", 0, INT64_MAX},
      {"-9223372036854775808", 0, INT64_MIN},
      {"0xffffffffffffffff", 0, -1},
      {"9223372036854775808", -ERANGE, 0},
      {"-9223372036854775809", -ERANGE, 0},
      {"+0xffffffffffffffff", -ERANGE, 0},
      {"0x10000000000000000", -ERANGE, 0},
      {"99999999999999999999999", -ERANGE, 0},
      {"99999999999999999999999x", -EINVAL, 0},
      {"", -EINVAL, 0},
      {"-", -EINVAL, 0},
      {"0x", -EINVAL, 0},
      {" 1", -EINVAL, 0},
      {"1 ", -EINVAL, 0},
      {"1f", -EINVAL, 0},
      {"--1", -EINVAL, 0},
      {"1.0", -EINVAL, 0},
  };
  for (size_t i = 0; i < COUNT(cases); i++) {
    int64_t value = 12345;
    assert_int_equal(number_parse(cases[i].text, &value), cases[i].result);
    assert_true(value == (cases[i].result ? 12345 : cases[i].value));
  }
}

/* --- workers ------------------------------------------------------------------------------------------------------ */

struct job {
  unsigned next, done[1000], workers[64];
};

static void take_work(void *context, unsigned worker) {
  struct job *job = context;
  assert_true(worker < COUNT(job->workers));
  (void)__atomic_fetch_add(&job->workers[worker], 1, __ATOMIC_RELAXED);
  for (;;) {
    unsigned i = __atomic_fetch_add(&job->next, 1, __ATOMIC_RELAXED);
    if (i >= COUNT(job->done)) return;
    (void)__atomic_fetch_add(&job->done[i], 1, __ATOMIC_RELAXED);
  }
}

static void workers_do_all_work_once(void **state) {
  (void)state;
  assert_true(worker_count() >= 1);
  static const unsigned counts[] = {0, 1, 2, 64};
  for (size_t k = 0; k < COUNT(counts); k++) {
    struct job job = {0};
    worker_run(counts[k], take_work, &job);
    for (size_t i = 0; i < COUNT(job.done); i++)
      assert_int_equal(job.done[i], 1);
    for (size_t i = 0; i < COUNT(job.workers); i++)
      assert_true(job.workers[i] <= 1);
    assert_int_equal(job.workers[0], 1);
  }
}

static void symbols_of_rust_are_read(void **state) {
  static const struct {
    const char *symbol, *name;
  } cases[] = {
      {"_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE", "core::fmt::Formatter::write_str"},
      {"_ZN3foo17h05af221e174051e9E", "foo"},
      {"_ZN34_$LT$T$u20$as$u20$alloc..Clone$GT$5clone17h05af221e174051e9E", "<T as alloc::Clone>::clone"},
      {"_RINvCs1234_1t3runNCNvB2_4main0EB2_", "t::run::<t::main::{closure#0}>"},
      {"_RINvCs1234_1t3arrKj3_EB2_", "t::arr::<3>"},
      {"_RNvXs_C1tINtB4_1PlENtB4_2Tr2go", "<t::P<i32> as t::Tr>::go"},
      {"_RNvMC1tINtB2_1PTlReEE3newB2_", "<t::P<(i32, &str)>>::new"},
      {"_RINvC1t1fDINtB2_2TrTlEEp6OutputmNtB2_4SyncEL_E", "t::f::<dyn t::Tr<(i32,), Output = u32> + t::Sync>"},
      {"_RINvC1t1fFUKCOhPAaj4_QSyEuEB2_", "t::f::<unsafe extern \"C\" fn(*mut u8, *const [i8; 4], &mut [u64])>"},
      {"_RNvC3f_o8u6_caller.llvm.123", NULL},
      {"_RNvC1tu5caf_d", "t::punycode{caf_d}"},
      {"_RNvC1t3foo.llvm.123", "t::foo"},
      {"_RNvC1t4foo", NULL},
      {"_RNvC1t3fooZ", NULL},
      {"_RTB_B_E", NULL},
      {"_RB_", NULL},
      {"_RNvB_3foo", NULL},
      {"_RNvC1t99999999999999999999999", NULL},
      {"_R", NULL},
      {"_ZN3foo3barE", NULL},
      {"_ZN3std6stringC1Ev", NULL},
      {"_ZN99foo17h05af221e174051e9E", NULL},
      {"_ZN", NULL},
      {"main", NULL},
      {"", NULL},
  };
  (void)state;
  for (size_t i = 0; i < COUNT(cases); i++) {
    struct text t = {0};
    assert_int_equal(name_rust(cases[i].symbol, &t), cases[i].name != NULL);
    if (cases[i].name) assert_string_equal(t.at, cases[i].name);
    text_done(&t);
  }
}

static void symbols_of_cpp_are_read(void **state) {
  static const struct {
    const char *symbol, *name;
  } cases[] = {
      {"_ZN9MirrorJob10HandleFileEP8FileInfo", "MirrorJob::HandleFile"},
      {"_ZN9MirrorJob10HandleFileEP8FileInfo.cold", "MirrorJob::HandleFile.cold"},
      {"_ZNSt13basic_filebufIcSt11char_traitsIcEE9underflowEv", "std::basic_filebuf<...>::underflow"},
      {"_ZNKSt10unique_ptrIA_cSt14default_deleteIS0_EEcvbEv", "std::unique_ptr<...>::operator bool"},
      {"_Znwm", "operator new"},
      {"_ZnamSt11align_val_t", "operator new[]"},
      {"_ZnwmRKSt9nothrow_t", "operator new (nothrow)"},
      {"_ZdlPv", "operator delete"},
      {"_Z3foov", "foo"},
      {"_ZL3fooi", "foo"},
      {"_ZN12_GLOBAL__N_13fooEv", "(anonymous namespace)::foo"},
      {"_ZN1AC2ERKS_", "A::A"},
      {"_ZNSt6vectorIiSaIiEED1Ev", "std::vector<...>::~vector"},
      {"_ZNSsC1EPKcRKSaIcE", "std::string::basic_string"},
      {"_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc", "std::operator<< <...>"},
      {"_ZNSolsEi", "std::ostream::operator<<"},
      {"_ZZN1A1fEvENKUlvE0_clEv", "A::f::{lambda#2}::operator()"},
      {"_ZNSt17_Function_handlerIFvvEZN1A1fEvEUlvE_E9_M_invokeERKSt9_Any_data",
       "std::_Function_handler<...>::_M_invoke"},
      {"_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE4swapERS4_", "std::__cxx11::basic_string<...>::swap"},
      {"_ZThn16_N1A1fEv", "non-virtual thunk to A::f"},
      {"_ZTv0_n24_NSdD0Ev", "virtual thunk to std::iostream::~basic_iostream"},
      {"_RNvC1t3foo", "t::foo"},
      {"_ZN3foo17h05af221e174051e9E", "foo"},
      {"_ZTV1A", NULL},
      {"_ZN", NULL},
      {"_ZNE", NULL},
      {"_ZN3foo", NULL},
      {"_ZN3fo", NULL},
      {"_ZNS_3fooEv", NULL},
      {"_ZC1v", NULL},
      {"_Z99999999999999999999999", NULL},
      {"_ZNIIIIIIII", NULL},
      {"_Z", NULL},
      {"_", NULL},
      {"main", NULL},
      {"__read_chk", NULL},
  };
  (void)state;
  for (size_t i = 0; i < COUNT(cases); i++) {
    struct text t = {0};
    assert_int_equal(name_readable(cases[i].symbol, &t), cases[i].name != NULL);
    assert_string_equal(t.at, cases[i].name ? cases[i].name : cases[i].symbol);
    text_done(&t);
  }
}

/* A symbol is what a file says: it may be deep, and it may end anywhere. */
static void symbols_that_lie_end(void **state) {
  static const char good[] = "_ZZNKSt3mapIFvPKcREM1AKFivELb1EJLi3ENS_1BEEED0EvENUlSt6vectorIiSaIiEEE1_clEDn";
  char deep[4000] = "_Z1f";
  (void)state;
  for (size_t n = 0; n < sizeof good; n++) {
    char *part = strndup(good, n); /* so that the sanitizer knows its end */
    struct text t = {0};
    assert_non_null(part);
    (void)name_readable(part, &t);
    assert_false(t.failed);
    text_done(&t);
    free(part);
  }
  for (size_t n = 4; n + 3 < sizeof deep; n += 2)
    (void)memcpy(deep + n, "I1", 3);
  struct text t = {0};
  assert_false(name_readable(deep, &t));
  assert_string_equal(t.at, deep);
  text_done(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(err_keeps_code_and_text),
      cmocka_unit_test(err_cuts_between_characters),
      cmocka_unit_test(err_keeps_both_ends),
      cmocka_unit_test(messages_say_where),
      cmocka_unit_test(sources_are_text),
      cmocka_unit_test(hints_name_what_is_near),
      cmocka_unit_test(arena_gives_aligned_separate_memory),
      cmocka_unit_test(arena_copies_and_clears),
      cmocka_unit_test(arena_refuses_the_impossible),
      cmocka_unit_test(vec_grows),
      cmocka_unit_test(vec_says_no_memory),
      cmocka_unit_test(map_finds_what_was_put),
      cmocka_unit_test(map_forgets),
      cmocka_unit_test(hashes_are_the_known_ones),
      cmocka_unit_test(text_grows),
      cmocka_unit_test(text_failure_sticks),
      cmocka_unit_test(json_is_escaped),
      cmocka_unit_test(xml_is_escaped),
      cmocka_unit_test(terminals_are_safe),
      cmocka_unit_test(pad_counts_columns),
      cmocka_unit_test(utf8_ends_where_it_breaks),
      cmocka_unit_test(files_come_back),
      cmocka_unit_test(files_that_cannot_be_read),
      cmocka_unit_test(files_that_cannot_be_written),
      cmocka_unit_test(a_link_stays_a_link),
      cmocka_unit_test(directories_are_made_with_parents),
      cmocka_unit_test(errno_names_are_the_systems),
      cmocka_unit_test(signal_names_are_the_systems),
      cmocka_unit_test(near_names_are_found),
      cmocka_unit_test(symbols_of_rust_are_read),
      cmocka_unit_test(symbols_of_cpp_are_read),
      cmocka_unit_test(symbols_that_lie_end),
      cmocka_unit_test(numbers_are_parsed_whole),
      cmocka_unit_test(workers_do_all_work_once),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
