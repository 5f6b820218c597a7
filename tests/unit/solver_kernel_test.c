/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The errors of a kernel as flow finds them: where each comes from, which ways count, the same with many workers, and
 * with every allocation failing in turn. The idioms themselves are in tests/kernel/.
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
#include "solver/solver.h"
#include "folder.h"

/* Three tables, a list of hooks, an error behind a pointer, a circle, and memory that others fill. */
static const char source[] =
    "#define far __attribute__((noipa))\n"
    "struct file { int mode; const struct operations *ops; };\n"
    "struct operations { int (*read)(struct file *f); int (*flush)(struct file *f, int *error); };\n"
    "far int disk_read(struct file *f) { return f->mode ? -5 : 0; }\n"
    "far int pipe_read(struct file *f) { return f->mode == 7 ? -5 : f->mode ? -11 : 0; }\n"
    "far int odd_read(struct file *f) { return f->mode ? -6 : 0; }\n"
    "far int disk_flush(struct file *f, int *error) { if (f->mode) { *error = -28; return 0; } return 1; }\n"
    "const struct operations disk = {disk_read, disk_flush}, pipe = {pipe_read}, odd = {odd_read};\n"
    "far int read_file(struct file *f) { return f->ops->read(f); }\n"
    "far int sync_file(struct file *f) { int e = 0; return disk_flush(f, &e) ? 0 : e; }\n"
    "struct hook { struct hook *next, **before; struct hook **head; int (*run)(int); };\n"
    "struct hook *heads[2];\n"
    "far int first_hook(int x) { return x ? -1 : 0; }\n"
    "far int second_hook(int x) { return x ? -13 : 0; }\n"
    "struct hook hooks[2] = {{.head = &heads[0], .run = first_hook}, {.head = &heads[1], .run = second_hook}};\n"
    "far int run_hooks(int x) {\n"
    "  for (struct hook *h = heads[1]; h; h = h->next) { int e = h->run(x); if (e) return e; }\n"
    "  return 0;\n"
    "}\n"
    "far int even(int n); far int odd_one(int n) { return n == 3 ? -33 : even(n - 1); }\n"
    "far int even(int n) { return n == 4 ? -34 : odd_one(n - 1); }\n"
    "int stored; far int pending(void) { return stored; }\n"
    "far int asks(int x) { int e = pending(); return e < 0 ? e : x ? -95 : 0; }\n"
    /* A return that is a conditional jump to a thunk: what waits for it goes on. */
    "asm(\".globl __x86_return_thunk\\n.type __x86_return_thunk,@function\\n\"\n"
    "    \"__x86_return_thunk: ret\\nint3\\n.size __x86_return_thunk,.-__x86_return_thunk\\n\"\n"
    "    \".p2align 4\\n.globl stops\\n.type stops,@function\\n\"\n"
    "    \"stops: cmpl $0,(%rdi)\\nje __x86_return_thunk\\npause\\njmp stops\\n.size stops,.-stops\\n\"\n"
    "    \".p2align 4\\n.globl waits\\n.type waits,@function\\n\"\n"
    "    \"waits: sub $8,%rsp\\ncall stops\\nnop\\nmov $-5,%eax\\nadd $8,%rsp\\n\"\n"
    "    \"jmp __x86_return_thunk\\n.size waits,.-waits\\n\");\n"
    "int waits(int *); int stops(int *); void *keep_them[] = {waits, stops};\n"
    "void _start(void) {}\n";

static const char *const functions[] = {"read_file", "sync_file", "run_hooks", "even", "asks", "waits"};

static struct image *kernel;

static int make_folder(void **state) {
  (void)state;
  struct err e = {0};
  strcpy(folder, "/tmp/murphy-flowk-XXXXXX");
  if (!mkdtemp(folder) || chmod(folder, 0755) < 0) return -1;
  if (file_write(in_folder("kernel.c"), source, sizeof source - 1, NULL) < 0) return -1;
  /* Only gcc writes the types by itself. */
  if (!shell("gcc -w -O2 -gbtf -ffreestanding -nostdlib -static -mcmodel=kernel -fno-pic -no-pie -fcf-protection=none "
             "-fno-asynchronous-unwind-tables -Wl,-Ttext-segment=0xffffffff81000000 -Wl,--build-id=none kernel.c "
             "-o kernel"))
    return -1;
  int r = image_open_kernel(in_folder("kernel"), NULL, 0, &kernel, &e);
  if (r < 0) print_error("%s\n", e.text);
  return r;
}

static int remove_folder(void **state) {
  (void)state;
  image_free(kernel);
  return shell("cd / && rm -rf \"$OLDPWD\"") ? 0 : -1;
}

static int solve(unsigned workers, const struct solver_ways *ways, struct solver **ret, int nodes[]) {
  struct solver_options o = {.workers = workers};
  struct solver *w = NULL;
  int r = solver_new_kernel(&o, ways, kernel, &w);
  for (size_t i = 0; i < COUNT(functions) && r >= 0; i++)
    r = nodes[i] = solver_want(w, 0, image_symbol_named(kernel, functions[i])->address, false);
  if (r >= 0) r = solver_run_errors(w);
  if (r < 0)
    solver_free(w);
  else
    *ret = w;
  return r;
}

static const struct solver_error *find(const struct solver *w, int node, unsigned number) {
  const struct solver_error *all;
  size_t n = solver_errors(w, (uint32_t)node, &all);
  for (size_t i = 0; i < n; i++)
    if (all[i].number == number && all[i].place == 0) return &all[i];
  return NULL;
}

/* Errors that the function returns, in order, as text. */
static void print_errors(const struct solver *w, int node, struct text *to) {
  to->n = 0;
  for (unsigned i = 1; i < 600; i++)
    if (find(w, node, i)) text_addf(to, "%s%u", to->n ? " " : "", i);
  if (!to->n) text_add(to, "none");
}

static void assert_errors(const struct solver_ways *ways, const char *const expected[]) {
  struct solver *w = NULL;
  int nodes[COUNT(functions)];
  struct text got = {0};
  assert_int_equal(solve(2, ways, &w, nodes), 0);
  for (size_t i = 0; i < COUNT(functions); i++) {
    print_errors(w, nodes[i], &got);
    if (strcmp(got.at, expected[i]) != 0) fail_msg("%s: %s, not %s", functions[i], got.at, expected[i]);
  }
  text_done(&got);
  solver_free(w);
}

static void test_without_ways(void **state) {
  (void)state;
  assert_errors(NULL, (const char *const[]){"5 6 11", "28", "13", "33 34", "95", "5"});
}

/* --- ways --------------------------------------------------------------------------------------------------------- */

static bool table(void *context, const char *name) {
  (void)context;
  return strcmp(name, "disk") == 0 || strcmp(name, "pipe") == 0;
}

static bool beyond(void *context, const char *name) {
  (void)context;
  return strcmp(name, "second_hook") == 0;
}

static bool never(void *context, const char *name, unsigned error) {
  (void)context;
  return strcmp(name, "odd_one") == 0 && error == 33;
}

static const uint64_t *gives(void *context, const char *name) {
  static const uint64_t errors[3] = {1ull << 5, 1ull << (110 - 64), 0};
  (void)context;
  return strcmp(name, "pending") == 0 ? errors : NULL;
}

static void test_each_way(void **state) {
  (void)state;
  struct solver_ways w = {.table = table};
  assert_errors(&w, (const char *const[]){"5 11", "28", "13", "33 34", "95", "5"});
  w = (struct solver_ways){.beyond = beyond};
  assert_errors(&w, (const char *const[]){"5 6 11", "28", "none", "33 34", "95", "5"});
  w = (struct solver_ways){.never = never};
  assert_errors(&w, (const char *const[]){"5 6 11", "28", "13", "34", "95", "5"});
  w = (struct solver_ways){.gives = gives};
  assert_errors(&w, (const char *const[]){"5 6 11", "28", "13", "33 34", "5 95 110", "5"});
  w = (struct solver_ways){.table = table, .beyond = beyond, .never = never, .gives = gives};
  assert_errors(&w, (const char *const[]){"5 11", "28", "none", "34", "5 95 110", "5"});
}

/* --- where it comes from ------------------------------------------------------------------------------------------ */

static const char *name_of(const struct solver *w, uint32_t node) {
  unsigned image;
  uint64_t address;
  solver_node(w, node, &image, &address);
  return image_function_at(kernel, address)->name;
}

static void test_explanations(void **state) {
  (void)state;
  struct solver *w = NULL;
  int nodes[COUNT(functions)];
  assert_int_equal(solve(1, NULL, &w, nodes), 0);
  const struct solver_error *e = find(w, nodes[0], 6);
  assert_non_null(e);
  assert_string_equal(name_of(w, e->via - 1), "odd_read");
  assert_true(e->table == image_symbol_named(kernel, "odd")->address);
  assert_int_equal(e->from, 6);
  e = find(w, (int)(e->via - 1), 6);
  assert_int_equal(e->via, 0);
  assert_int_equal(e->table, 0);
  assert_non_null(image_bytes(kernel, e->at, 1));
  e = find(w, nodes[1], 28);
  assert_int_equal(e->from_place, 2); /* what it stores behind its second argument */
  assert_string_equal(name_of(w, e->via - 1), "disk_flush");
  e = find(w, nodes[2], 13);
  assert_string_equal(image_symbol_before(kernel, e->table)->name, "hooks");
  struct solver_kernel_counts c = solver_count_kernel(w);
  assert_int_equal(c.pointer_calls, 2);
  assert_int_equal(c.resolved, 2);
  assert_int_equal(c.targets, 4);
  solver_free(w);
}

/* --- workers and memory ------------------------------------------------------------------------------------------- */

static void print_all(unsigned workers, struct text *to) {
  struct solver *w = NULL;
  int nodes[COUNT(functions)];
  assert_int_equal(solve(workers, NULL, &w, nodes), 0);
  for (size_t i = 0; i < COUNT(functions); i++) {
    const struct solver_error *all;
    size_t n = solver_errors(w, (uint32_t)nodes[i], &all);
    for (size_t k = 0; k < n; k++)
      text_addf(to, "%s %u %u %s %llx %llx\n", functions[i], all[k].number, all[k].place,
                all[k].via ? name_of(w, all[k].via - 1) : "", (unsigned long long)all[k].at,
                (unsigned long long)all[k].table);
  }
  assert_false(to->failed);
  solver_free(w);
}

static void test_workers_do_not_matter(void **state) {
  (void)state;
  struct text one = {0}, many = {0};
  print_all(1, &one);
  for (int i = 0; i < 20; i++) {
    many.n = 0;
    print_all(2 + (unsigned)i % 7, &many);
    assert_string_equal(one.at, many.at);
  }
  text_done(&one);
  text_done(&many);
}

#if OWN_ALLOCATOR
static void test_lack_of_memory(void **state) {
  (void)state;
  struct solver_ways ways = {.table = table, .never = never, .gives = gives};
  for (long n = 0;; n++) {
    struct solver *w = NULL;
    int nodes[COUNT(functions)];
    assert_true(n < 20000);
    alive = 0;
    failed_one = false;
    failing = true;
    countdown = n;
    int r = solve(1, &ways, &w, nodes);
    countdown = -1;
    bool right = r < 0 || (find(w, nodes[0], 5) && find(w, nodes[2], 13) && find(w, nodes[4], 110));
    if (r >= 0) solver_free(w);
    failing = false;
    if (alive != 0) fail_msg("allocation %ld fails: %ld are not freed", n, alive);
    if (!right) fail_msg("allocation %ld fails: the answer is wrong", n);
    if (!failed_one) break;
    assert_true(r >= 0 || r == -ENOMEM);
  }
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_without_ways),
    cmocka_unit_test(test_each_way),
    cmocka_unit_test(test_explanations),
    cmocka_unit_test(test_workers_do_not_matter),
#if OWN_ALLOCATOR
    cmocka_unit_test(test_lack_of_memory),
#endif
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
