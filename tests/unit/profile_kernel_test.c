/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The profile of a kernel of three system calls: what is written, what is asked with --why, and with every allocation
 * failing in turn. More system calls are in tests/kernel/.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "allocator.h"
#include "folder.h"
#include "profile/profile.h"

static const char source[] =
    "#define far __attribute__((noipa))\n"
    "const char linux_banner[] = \"Linux version 6.1.0-three (none) #1\";\n"
    "far int waits(int x) { return x ? -512 : 0; }\n"
    "far long __x64_sys_sleep(const long *regs) { return regs[0] ? -22 : waits((int)regs[1]); }\n"
    "far long __x64_sys_works(const long *regs) { return regs[0] & 7; }\n"
    "far long sys_ni_syscall(const long *regs) { return -38; }\n"
    "far long __x64_sys_inner(const long *regs) { return regs[0] ? -524 : regs[1] ? -514 : 0; }\n"
    "long (*const sys_call_table[])(const long *) = {__x64_sys_sleep, __x64_sys_works, sys_ni_syscall,\n"
    "  __x64_sys_inner, __x64_sys_sleep};\n"
    "void _start(void) {}\n";

static const char ways[] = "# murphy kernel ways, format 1\ncondition nap EINVAL[0!0]\nmodule none_such\n";
static const char calls[] = "# names\n4 nap\n";

static struct profile_request request;
static char kernel[160], data[160];

static bool write_text(const char *name, const char *text) {
  return file_write(in_folder(name), text, strlen(text), NULL) == 0;
}

static int make_folder(void **state) {
  (void)state;
  strcpy(folder, "/tmp/murphy-calls-XXXXXX");
  if (!mkdtemp(folder) || chmod(folder, 0755) < 0 || !shell("mkdir -p data/kernel")) return -1;
  if (!write_text("kernel.c", source) || !write_text("data/kernel/ways", ways) ||
      !write_text("data/kernel/x86_64.calls", calls) || !write_text("data/functions", "noreturn panic\n"))
    return -1;
  (void)snprintf(kernel, sizeof kernel, "%s/kernel", folder);
  (void)snprintf(data, sizeof data, "%s/data", folder);
  request = (struct profile_request){.kernel = kernel, .data = data, .workers = 1};
  return shell(
             "gcc -w -O2 -gbtf -ffreestanding -nostdlib -static -mcmodel=kernel -fno-pic -no-pie -fcf-protection=none "
             "-fno-asynchronous-unwind-tables -Wl,-Ttext-segment=0xffffffff81000000 -Wl,--build-id=0xabcd kernel.c "
             "-o kernel")
             ? 0
             : -1;
}

static int remove_folder(void **state) {
  (void)state;
  return shell("cd / && rm -rf \"$OLDPWD\"") ? 0 : -1;
}

static int write_errors(struct text *to, struct err *e) {
  struct profile p = {0};
  int r = profile_kernel(&request, &p, e);
  if (r >= 0) r = profile_write_errors(&p, data, to, e);
  profile_done(&p);
  return r;
}

/* Numbers that were never given out have no line; those in the data have their name from there. */
static const char expected[] = "0 sleep EINTR EINVAL\n1 works\n3 inner EINTR\n4 nap EINTR EINVAL[0!0]\n";

static void test_errors(void **state) {
  (void)state;
  struct text t = {0};
  struct err e = {0};
  if (write_errors(&t, &e) < 0) fail_msg("%s", e.text);
  assert_non_null(strstr(t.at, "\n# kernel: 6.1.0-three\n# build-id: abcd\n"));
  assert_string_equal(strstr(t.at, "\n0 ") + 1, expected);
  text_done(&t);
}

static void test_model(void **state) {
  (void)state;
  struct profile p = {0};
  struct err e = {0};
  assert_int_equal(profile_kernel(&request, &p, &e), 0);
  const struct profile_function *f = profile_function(&p, "sleep");
  assert_non_null(f);
  assert_int_equal(f->syscall, 1);
  assert_int_equal(f->n_errors, 1);
  assert_int_equal(f->errors[0].retval, -1);
  assert_true(f->errors[0].wide);
  assert_true(errno_set_has(&f->errors[0].errnos, EINTR) && errno_set_has(&f->errors[0].errnos, EINVAL));
  assert_null(profile_function(&p, "ni_syscall"));
  assert_int_equal(profile_function(&p, "works")->n_errors, 0);
  profile_done(&p);
}

static void assert_why(const char *what, const char *words) {
  struct text t = {0};
  struct err e = {0};
  if (profile_kernel_why(&request, what, &t, &e) < 0) fail_msg("%s: %s", what, e.text);
  if (!strstr(t.at, words)) fail_msg("%s: not '%s': %s", what, words, t.at);
  text_done(&t);
}

static void assert_why_not(const char *what, int code, const char *words) {
  struct text t = {0};
  struct err e = {0};
  assert_int_equal(profile_kernel_why(&request, what, &t, &e), code);
  if (!strstr(e.text, words)) fail_msg("%s: not '%s': %s", what, words, e.text);
  text_done(&t);
}

static void test_why(void **state) {
  (void)state;
  assert_why("sleep:EINTR", "sleep returns EINTR (a signal arrives");
  assert_why("sleep:EINTR", "  waits\n");
  assert_why("nap:EINVAL", "  __x64_sys_sleep\n");
  assert_why("works", "works: no errors were found");
  assert_why_not("sleeep", -ENOENT, "no system call 'sleeep' (did you mean 'sleep'?)");
  assert_why_not("sleep:EIO", -ENOENT, "no way was found on which sleep returns EIO (--all");
  assert_why_not("sleep:EIEIO", -EINVAL, "no errno 'EIEIO' (as in write:ENOSPC)");
  assert_why_not("sleep:", -EINVAL, "no errno '' (as in write:ENOSPC)");
  assert_why_not("", -EINVAL, "no system call in ''");
  assert_why_not(":EIO", -EINVAL, "no system call in ':EIO'");
  /* What is wrong with the question is told before the kernel is read. */
  struct profile_request nowhere = request;
  request.kernel = "/nonexistent/vmlinuz";
  assert_why_not("sleep:EINTTR", -EINVAL, "(did you mean 'EINTR'?)");
  request = nowhere;
}

static void test_no_modules(void **state) {
  (void)state;
  struct profile_request with = request;
  struct profile p = {0};
  struct err e = {0};
  with.modules = folder;
  assert_int_equal(profile_kernel(&with, &p, &e), -ENOENT);
  assert_non_null(strstr(e.text, "no modules"));
}

#if OWN_ALLOCATOR
static void test_lack_of_memory(void **state) {
  (void)state;
  for (long n = 0;; n++) {
    struct text t = {0}, why = {0};
    struct err e = {0};
    assert_true(n < 20000);
    alive = 0;
    failed_one = false;
    failing = true;
    countdown = n;
    int r = write_errors(&t, &e), second = r < 0 ? r : profile_kernel_why(&request, "sleep", &why, &e);
    countdown = -1;
    bool right = r < 0 || strcmp(strstr(t.at, "\n0 ") + 1, expected) == 0;
    bool told = second < 0 || strstr(why.at, "EINTR");
    text_done(&t);
    text_done(&why);
    failing = false;
    if (alive != 0) fail_msg("allocation %ld fails: %ld are not freed", n, alive);
    if (!right || !told) fail_msg("allocation %ld fails: the answer is wrong", n);
    if (!failed_one) break;
    assert_true(second >= 0 || second == -ENOMEM);
  }
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_errors),
    cmocka_unit_test(test_model),
    cmocka_unit_test(test_why),
    cmocka_unit_test(test_no_modules),
#if OWN_ALLOCATOR
    cmocka_unit_test(test_lack_of_memory),
#endif
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
