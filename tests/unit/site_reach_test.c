/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which calls pass through the loader: the same source, linked and compiled in ways that make a difference.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder.h"
#include "site/site.h"

/* Two calls of own and a jump to it, two of far and a jump; a system call. */
static const char source[] =
    "int far(int);\n"
    "int own(int x) { return x + 1; }\n"
    "int one(int x) { return own(x) + own(x + 1); }\n"
    "int two(int x) { return own(x + 2); }\n"
    "int three(int x) { return far(x) + far(x + 1); }\n"
    "int four(int x) { return far(x + 2); }\n"
    "long five(void) { long r; __asm__ volatile(\"syscall\" : \"=a\"(r) : \"a\"(39) : \"rcx\", "
    "\"r11\", \"memory\"); return r; }\n";

static int make_folder(void **state) {
  (void)state;
  strcpy(folder, "/tmp/murphy-reach-XXXXXX");
  if (!mkdtemp(folder)) return -1;
  return file_write(in_folder("l.c"), source, sizeof source - 1, NULL);
}

static int remove_folder(void **state) {
  (void)state;
  return shell("cd / && rm -rf \"$OLDPWD\"") ? 0 : -1;
}

static void reach(const char *options, struct site_reach ret[2], uint64_t *syscalls) {
  static const char *const names[] = {"own", "far"};
  char line[512];
  (void)snprintf(line, sizeof line, "cc -w -shared -fPIC -O2 -fno-inline -fno-ipa-icf %s l.c -o l.so", options);
  if (!shell(line)) fail_msg("failed: %s", line);
  struct image *img = open_image("l.so");
  assert_int_equal(site_reach(img, names, 2, ret, syscalls), 0);
  image_free(img);
}

static void test_far(void **state) {
  (void)state;
  static const char *const ways[] = {"", "-fno-plt", "-Wl,-z,now", "-fcf-protection=full", "-Wl,-Bsymbolic", "-s"};
  for (size_t i = 0; i < COUNT(ways); i++) {
    struct site_reach r[2];
    uint64_t syscalls = 0;
    print_message("# %s\n", ways[i]);
    reach(ways[i], r, &syscalls);
    assert_false(r[1].defined);
    assert_int_equal(r[1].imports, 1);
    assert_int_equal(r[1].through, 3);
    assert_int_equal(r[1].inside, 0);
    assert_int_equal(syscalls, 1);
    assert_true(r[0].defined);
  }
}

/* The loader is asked for a library's own function unless the linker or the compiler was told not to. */
static void test_own(void **state) {
  (void)state;
  struct site_reach r[2];
  uint64_t syscalls = 0;
  reach("", r, &syscalls);
  assert_int_equal(r[0].through, 3);
  assert_int_equal(r[0].inside, 0);
  reach("-Wl,-Bsymbolic", r, &syscalls);
  assert_int_equal(r[0].through, 0);
  assert_int_equal(r[0].inside, 3);
  reach("-fvisibility=protected", r, &syscalls);
  assert_int_equal(r[0].through, 0);
  assert_int_equal(r[0].inside, 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_far), cmocka_unit_test(test_own)};
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
