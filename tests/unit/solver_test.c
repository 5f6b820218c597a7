/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flow room on a library that is assembled here: one small function for each idiom, with all that it can return
 * and set written beside it; the same with many workers; and with every allocation failing in turn.
 *
 * Results are compared as text, sorted: -1 is eax, -1L is rax, {errno=9} is what is set along with it.
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

/* --- the library -------------------------------------------------------------------------------------------------- */

/* What errno is; the world looks here for what the library imports. */
static const char base_text[] = "__thread int errno; int *__errno_location(void) { return &errno; }\n"
                                "int imported(int x) { return x ? -6 : 0; }\n";

static const struct function {
  const char *name, *text, *results;
} functions[] = {
    /* constants */
    {"plain", "mov eax, -22\n ret", "-22"},
    {"wide", "mov rax, -22\n ret", "-22L"},
    {"or_all", "or eax, -1\n ret", "-1"},
    {"or_wide", "or rax, -1\n ret", "-1L"},
    {"xor_self", "xor eax, eax\n ret", "0"},
    {"lea_of_zero", "xor edx, edx\n lea eax, [rdx - 22]\n ret", "-22"},
    {"not_zero", "xor eax, eax\n not eax\n ret", "-1"},
    {"inc", "mov eax, -3\n inc eax\n ret", "-2"},
    {"dec", "xor eax, eax\n dec eax\n ret", "-1"},
    {"neg", "mov eax, 22\n neg eax\n ret", "-22"},
    {"sub", "mov eax, 5\n sub eax, 7\n ret", "-2"},
    {"from_constant", "mov eax, 5\n mov edx, 7\n sub eax, edx\n ret", "-2"},
    {"sub_least", "movabs rdx, 0x8000000000000000\n mov rax, 0\n sub rax, rdx\n ret", "-9223372036854775808L"},
    {"shift_left", "mov eax, 3\n shl eax, 4\n ret", "48"},
    {"mul", "mov eax, 3\n imul eax, eax, -7\n ret", "-21"},
    {"zero_extended", "mov eax, -1\n movzx eax, al\n ret", "255"},
    {"sign_extended", "mov eax, 254\n movsx eax, al\n ret", "-2"},
    {"widened", "mov eax, -5\n cdqe\n ret", "-5L"},
    {"push_pop", "push -14\n pop rax\n ret", "-14L"},
    {"nothing", "ret", "garbage"},
    {"address", "lea rax, [rip + numbers]\n ret", "pointer"},
    {"argument", "mov eax, edi\n ret", "arg0'"},
    {"argument_wide", "mov rax, rsi\n ret", "arg1"},
    {"loaded", "mov eax, [rdi]\n ret", "opaque"},
    {"indirect", "sub rsp, 8\n call [rdi]\n add rsp, 8\n ret", "opaque"},
    {"bad_code", "test edi, edi\n je 1f\n mov eax, -2\n ret\n1: .byte 0x06", "-2 opaque"},

    /* choices */
    /* what was asked of a value before it was given to a function that returns it, two blocks away */
    {"given_back", "mov rax, rdi\n ret", "arg0"},
    {"asked_and_given",
     "push rbx\n mov rbx, rdi\n call branch\n test eax, eax\n js 1f\n test byte ptr [rbx], 4\n jne 2f\n ud2\n"
     "2: mov edi, eax\n call given_back\n pop rbx\n ret\n1: ud2",
     "0"},
    {"branch", "test edi, edi\n js 1f\n xor eax, eax\n ret\n1: mov eax, -5\n ret", "-5 0"},
    {"cmov", "mov eax, -2\n mov edx, -7\n cmp esi, 3\n cmovg eax, edx\n ret", "-2 -7"},
    {"sbb_self", "cmp edi, 1\n sbb eax, eax\n ret", "-1 0"},
    {"sbb_wide", "cmp edi, 1\n sbb rax, rax\n ret", "-1L 0"},
    {"sbb_and", "cmp edi, 1\n sbb eax, eax\n and eax, -22\n ret", "-22 0"},
    {"sbb_or", "cmp edi, 1\n sbb eax, eax\n or eax, 1\n ret", "-1 1"},
    {"sbb_number", "mov eax, 0\n cmp edi, 1\n sbb eax, 0\n ret", "-1 0"},
    {"set", "xor eax, eax\n test edi, edi\n sete al\n neg eax\n ret", "-1 0"},
    {"set_movzx", "test edi, edi\n setne al\n movzx eax, al\n sub eax, 1\n ret", "-1 0"},
    {"set_lea", "xor eax, eax\n test edi, edi\n setne al\n lea eax, [rax + rax * 4 - 5]\n ret", "-5 0"},
    {"sar", "mov eax, edi\n sar eax, 31\n ret", "-1 0"},
    {"sign_bit", "mov eax, edi\n shr eax, 31\n ret", "0 1"},
    {"sar_and", "mov eax, edi\n sar eax, 31\n and eax, -13\n ret", "-13 0"},

    /* ways through the function */
    {"callee_saved", "push rbx\n mov ebx, -5\n call unknown@plt\n mov eax, ebx\n pop rbx\n ret", "-5"},
    {"stack_slot",
     "sub rsp, 24\n mov dword ptr [rsp + 12], -9\n call unknown@plt\n mov eax, [rsp + 12]\n add rsp, 24\n ret", "-9"},
    {"frame_slot",
     "push rbp\n mov rbp, rsp\n sub rsp, 16\n mov qword ptr [rbp - 8], -9\n mov rax, [rbp - 8]\n leave\n ret", "-9L"},
    {"escaped_slot",
     "sub rsp, 24\n mov dword ptr [rsp + 12], -9\n lea rdi, [rsp + 12]\n call unknown@plt\n mov eax, [rsp + 12]\n"
     " add rsp, 24\n ret",
     "opaque"},
    {"slot_on_two_ways",
     "sub rsp, 24\n mov dword ptr [rsp + 12], 0\n test edi, edi\n je 1f\n mov dword ptr [rsp + 12], -17\n"
     "1: call unknown@plt\n mov eax, [rsp + 12]\n add rsp, 24\n ret",
     "-17 0"},
    {"after_abort",
     "test edi, edi\n je 1f\n mov eax, -3\n ret\n1: push rax\n call abort@plt\n mov eax, 99\n pop rcx\n ret", "-3"},
    {"table", "cmp edi, 3\n ja 1f\n lea rdx, [rip + numbers]\n mov eax, [rdx + rdi * 4]\n ret\n1: mov eax, -1\n ret",
     "-1 -101 -102 -103 -104"},
    {"table_of_bytes",
     "cmp edi, 2\n ja 1f\n lea rdx, [rip + bytes]\n movsx eax, byte ptr [rdx + rdi]\n ret\n1: mov eax, -1\n ret",
     "-1 -3 -7 9"},
    {"jump_table",
     "cmp edi, 2\n ja 9f\n lea rdx, [rip + jumps]\n movsxd rax, dword ptr [rdx + rdi * 4]\n add rax, rdx\n jmp rax\n"
     "j0: mov eax, -10\n ret\nj1: mov eax, -11\n ret\nj2: mov eax, -12\n ret\n9: xor eax, eax\n ret",
     "-10 -11 -12 0"},

    /* calls and what is done with their results */
    {"three", "test edi, edi\n js 1f\n je 2f\n xor eax, eax\n ret\n1: mov eax, -4\n ret\n2: mov eax, -5\n ret",
     "-4 -5 0"},
    {"passes_on", "sub rsp, 8\n call three\n add rsp, 8\n ret", "-4 -5 0"},
    {"only_negative", "sub rsp, 8\n call three\n test eax, eax\n js 1f\n mov eax, 7\n1: add rsp, 8\n ret", "-4 -5 7"},
    {"only_not_negative", "sub rsp, 8\n call three\n test eax, eax\n jns 1f\n mov eax, -77\n1: add rsp, 8\n ret",
     "-77 0"},
    {"all_but_one",
     "sub rsp, 8\n call three\n cmp eax, -4\n je 1f\n add rsp, 8\n ret\n1: mov eax, 1\n add rsp, 8\n ret", "-5 0 1"},
    {"only_one", "sub rsp, 8\n call three\n cmp eax, -4\n je 1f\n mov eax, 2\n1: add rsp, 8\n ret", "-4 2"},
    {"never",
     "sub rsp, 8\n call three\n cmp eax, -9\n je 1f\n mov eax, 2\n add rsp, 8\n ret\n1: mov eax, 66\n add rsp, 8\n ret",
     "2"},
    {"copied",
     "push rbx\n call three\n mov ebx, eax\n test eax, eax\n js 1f\n mov ebx, 3\n1: mov eax, ebx\n pop rbx\n ret",
     "-4 -5 3"},
    {"negated", "sub rsp, 8\n call three\n neg eax\n add rsp, 8\n ret", "0 4 5"},
    {"tail", "jmp three", "-4 -5 0"},
    {"tail_if", "test edi, edi\n je three\n mov eax, 1\n ret", "-4 -5 0 1"},
    {"tail_plt", "jmp imported@plt", "-6 0"},
    {"tail_slot", "jmp [rip + imported@gotpcrel]", "-6 0"},
    {"through_register", "sub rsp, 8\n mov rax, [rip + imported@gotpcrel]\n call rax\n add rsp, 8\n ret", "-6 0"},
    {"tail_unknown", "jmp unknown@plt", "opaque"},
    {"gives_argument", "mov edi, 5\n jmp argument", "5"},
    {"itself", "test edi, edi\n je 1f\n sub rsp, 8\n dec edi\n call itself\n add rsp, 8\n ret\n1: mov eax, -3\n ret",
     "-3"},
    {"ping", "test edi, edi\n je 1f\n dec edi\n jmp pong\n1: mov eax, -1\n ret", "-1 -2"},
    {"pong", "test edi, edi\n je 1f\n dec edi\n jmp ping\n1: mov eax, -2\n ret", "-1 -2"},
    {"counts",
     "test edi, edi\n je 1f\n sub rsp, 8\n dec edi\n call counts\n inc eax\n add rsp, 8\n ret\n1: xor eax, eax\n ret",
     "0 opaque"},
    {"chosen", "mov eax, -31\n ret", "-31"},
    {"chosen_too", "mov eax, -32\n ret", "-32"},
    {"resolver", "lea rax, [rip + chosen]\n test edi, edi\n je 1f\n lea rax, [rip + chosen_too]\n1: ret", "-31 -32"},
    {"calls_resolved", "sub rsp, 8\n call resolver@plt\n add rsp, 8\n ret", "-31 -32"},

    /* what is set along with the value */
    {"errno_slot", "mov rax, errno@gottpoff[rip]\n mov dword ptr fs:[rax], 22\n mov eax, -1\n ret", "-1{errno=22}"},
    {"errno_location",
     "sub rsp, 8\n call __errno_location@plt\n mov dword ptr [rax], 12\n mov rax, -1\n add rsp, 8\n ret",
     "-1L{errno=12}"},
    {"errno_dynamic",
     "sub rsp, 8\n .byte 0x66\n lea rdi, errno@tlsgd[rip]\n .word 0x6666\n rex64\n call __tls_get_addr@plt\n"
     " mov dword ptr [rax], 9\n mov eax, -1\n add rsp, 8\n ret",
     "-1{errno=9}"},
    {"errno_descriptor",
     "sub rsp, 8\n lea rax, errno@tlsdesc[rip]\n call qword ptr errno@tlscall[rax]\n add rax, fs:0\n mov dword ptr "
     "[rax], 4\n"
     " mov eax, -1\n add rsp, 8\n ret",
     "-1{errno=4}"},
    {"errno_on_one_way",
     "test edi, edi\n js 1f\n xor eax, eax\n ret\n1: mov rdx, errno@gottpoff[rip]\n mov dword ptr fs:[rdx], 5\n mov "
     "eax, -1\n ret",
     "-1{errno=5} 0"},
    {"errno_argument", "mov rax, errno@gottpoff[rip]\n mov dword ptr fs:[rax], edi\n mov eax, -1\n ret",
     "-1{errno=arg0}"},
    {"gives_errno", "mov edi, 12\n jmp errno_argument", "-1{errno=12}"},
    {"errno_of_callee",
     "sub rsp, 8\n call errno_on_one_way\n add rsp, 8\n test eax, eax\n js 1f\n xor eax, eax\n ret\n1: mov eax, -8\n "
     "ret",
     "-8{errno=5} 0"},
    {"returns_errno",
     "sub rsp, 8\n call errno_on_one_way\n add rsp, 8\n test eax, eax\n js 1f\n xor eax, eax\n ret\n"
     "1: mov rdx, errno@gottpoff[rip]\n mov eax, fs:[rdx]\n neg eax\n ret",
     "-5{errno=5} 0"},
    {"own_thread", "mov rax, mine@gottpoff[rip]\n mov dword ptr fs:[rax], 3\n mov eax, -1\n ret", "-1{tls=3}"},
    {"global", "mov dword ptr [rip + last], 5\n mov eax, -1\n ret", "-1{global=5}"},
    {"out_argument", "mov dword ptr [rsi + 8], 5\n mov eax, -1\n ret", "-1{arg1+8=5}"},
    {"out_through", "mov rdi, rdx\n mov rsi, rdx\n jmp out_argument", "-1{arg2+8=5}"},

    /* system calls */
    {"raw_close", "mov eax, 3\n syscall\n ret", "-4L -5L -9L opaque"},
    {"close",
     "mov eax, 3\n syscall\n cmp rax, -4095\n jae 1f\n ret\n"
     "1: neg eax\n mov rdx, errno@gottpoff[rip]\n mov fs:[rdx], eax\n or rax, -1\n ret",
     "-1L{errno=4 errno=5 errno=9} opaque"},
    {"any_call", "mov rax, rdi\n mov rdi, rsi\n mov rsi, rdx\n syscall\n ret", "-38L opaque"},
    {"close_by_number", "mov rsi, rdi\n mov edi, 3\n jmp any_call", "-4L -5L -9L opaque"},
    {"other_by_number", "mov edi, 7\n sub rsp, 8\n call any_call\n add rsp, 8\n ret", "-14L opaque"},
};

static struct image *images[2];

static void must(const char *command) {
  if (!shell(command)) fail_msg("failed: %s", command);
}

static void write_library(void) {
  struct text t = {0};
  text_add(&t, ".intel_syntax noprefix\n.text\n");
  for (size_t i = 0; i < COUNT(functions); i++) {
    const char *name = functions[i].name;
    const char *type = strcmp(name, "resolver") == 0 ? "gnu_indirect_function" : "function";
    text_addf(&t, ".globl %s\n.type %s, @%s\n%s: %s\n.size %s, .-%s\n", name, name, type, name, functions[i].text, name,
              name);
  }
  text_add(
      &t,
      ".section .rodata\n.p2align 2\nnumbers: .long -101, -102, -103, -104, -105\nbytes: .byte -3, -7, 9, 11\n"
      ".p2align 2\njumps: .long j0 - jumps, j1 - jumps, j2 - jumps\n.globl pointers\n"
      ".section .data.rel.ro, \"aw\"\n.p2align 3\npointers: .quad numbers\n"
      ".data\n.globl last\n.type last, @object\n.size last, 4\nlast: .long 0\n"
      ".section .tbss, \"awT\", @nobits\n.globl mine\n.type mine, @object\n.size mine, 4\n.skip 4\nmine: .skip 4\n");
  assert_false(t.failed);
  assert_int_equal(file_write(in_folder("test.s"), t.at, t.n, NULL), 0);
  text_done(&t);
}

static int make_library(void **state) {
  (void)state;
  strcpy(folder, "/tmp/murphy-flow-XXXXXX");
  if (!mkdtemp(folder) || chmod(folder, 0755) < 0) return -1;
  write_library();
  assert_int_equal(file_write(in_folder("base.c"), base_text, sizeof base_text - 1, NULL), 0);
  must("${CC:-cc} -w -O2 -fPIC -shared -nostdlib base.c -o base.so");
  must("${CC:-cc} -w -shared -nostdlib -Wl,-Bsymbolic test.s ./base.so -o test.so");
  images[0] = open_image("test.so");
  images[1] = open_image("base.so");
  return 0;
}

static int remove_library(void **state) {
  (void)state;
  image_free(images[0]);
  image_free(images[1]);
  must("cd / && rm -rf \"$OLDPWD\"");
  return 0;
}

/* --- results as text ---------------------------------------------------------------------------------------------- */

static enum solver_known call_errors(void *context, const struct solver_syscall *call, uint64_t bits[3]) {
  (void)context;
  if (call->number == 3) bits[0] = 1u << EINTR | 1u << EIO | 1u << EBADF;
  if (call->number == 7) bits[0] = 1u << EFAULT;
  return call->number < 10 ? SOLVER_KNOWN : SOLVER_UNKNOWN;
}

static bool is_abort(void *context, const char *name) {
  (void)context;
  return strcmp(name, "abort") == 0;
}

/* All functions of the library, wanted in their order; their nodes. 0 or what solving said. */
static int solve(unsigned workers, struct solver **ret, int nodes[COUNT(functions)]) {
  struct solver_options o = {.syscalls = call_errors, .noreturn = is_abort, .workers = workers};
  struct solver *w = NULL;
  int r = solver_new(&o, &w);
  for (size_t i = 0; i < COUNT(images) && r >= 0; i++)
    r = solver_add(w, images[i]);
  for (size_t i = 0; i < COUNT(functions) && r >= 0; i++) {
    const struct image_symbol *s = image_export(images[0], functions[i].name, NULL);
    assert_non_null(s);
    r = nodes[i] = solver_want(w, 0, s->address, s->kind == SYMBOL_IFUNC);
  }
  if (r >= 0) r = solver_run(w);
  *ret = w;
  return r;
}

static void add_value(struct text *t, const struct solver_result *r) {
  static const char *const kinds[] = {"", "pointer", "tls", "arg", "opaque", "garbage", "impossible"};
  if (r->kind == RESULT_CONST && r->value >> 32 == 0)
    text_addf(t, "%d", (int32_t)r->value);
  else if (r->kind == RESULT_CONST)
    text_addf(t, "%lldL", (long long)r->value);
  else
    text_add(t, kinds[r->kind]);
  if (r->kind == RESULT_ARG) text_addf(t, "%u%s", r->arg, r->ops ? "'" : "");
}

static void add_side(struct text *t, const struct solver *w, const struct solver_side *s) {
  unsigned image = 0;
  uint64_t offset = 0;
  bool known = solver_errno(w, &image, &offset);
  if (s->place == PLACED_ARG && s->offset)
    text_addf(t, "arg%u+%lld=", s->arg, (long long)s->offset);
  else if (s->place == PLACED_ARG)
    text_addf(t, "arg%u=", s->arg);
  else if (s->place == PLACED_GLOBAL)
    text_add(t, "global=");
  else
    text_add(t, known && s->image == image && (uint64_t)s->offset == offset ? "errno=" : "tls=");
  if (s->unknown)
    text_add(t, "?");
  else if (s->from_arg)
    text_addf(t, "arg%u", s->from_arg - 1u);
  else
    text_addf(t, "%lld", (long long)s->value);
}

static int by_text(const void *a, const void *b) {
  return strcmp(((const struct text *)a)->at, ((const struct text *)b)->at);
}

/* What a node can return and set; the caller frees it. */
static char *described(const struct solver *w, int node) {
  struct text all = {0}, one[64] = {0};
  struct solver_results rs = solver_results_of(w, (uint32_t)node);
  assert_true(rs.n <= COUNT(one));
  for (uint32_t i = 0; i < rs.n; i++) {
    add_value(&one[i], &rs.at[i]);
    for (uint32_t k = 0; k < rs.at[i].n_sides; k++) {
      text_add(&one[i], k ? " " : "{");
      add_side(&one[i], w, &rs.at[i].sides[k]);
    }
    if (rs.at[i].n_sides) text_add(&one[i], "}");
  }
  if (rs.n) qsort(one, rs.n, sizeof *one, by_text);
  for (uint32_t i = 0; i < rs.n; i++) {
    text_addf(&all, "%s%s", i ? " " : "", one[i].at);
    text_done(&one[i]);
  }
  if (!rs.n) text_add(&all, "none");
  assert_false(all.failed);
  return all.at;
}

/* How many functions have other results than the table says. */
static unsigned count_wrong(const struct solver *w, const int nodes[COUNT(functions)]) {
  unsigned wrong = 0;
  for (size_t i = 0; i < COUNT(functions); i++) {
    char *text = described(w, nodes[i]);
    if (strcmp(text, functions[i].results) != 0) {
      print_error("%s: %s, not %s\n", functions[i].name, text, functions[i].results);
      wrong++;
    }
    free(text);
  }
  return wrong;
}

/* --- tests -------------------------------------------------------------------------------------------------------- */

static void test_idioms(void **state) {
  (void)state;
  struct solver *w;
  int nodes[COUNT(functions)];
  assert_int_equal(solve(1, &w, nodes), 0);
  assert_int_equal(count_wrong(w, nodes), 0);
  solver_free(w);
}

static void test_workers_do_not_matter(void **state) {
  (void)state;
  for (unsigned round = 0; round < 5; round++) {
    struct solver *w;
    int nodes[COUNT(functions)];
    assert_int_equal(solve(4, &w, nodes), 0);
    assert_int_equal(count_wrong(w, nodes), 0);
    solver_free(w);
  }
}

/* Functions of the C library, whose results nobody has written down, are the same with one worker and with four. */
static void test_workers_do_not_matter_for_the_c_library(void **state) {
  (void)state;
  static const char *const names[] = {
      "fopen",       "getaddrinfo", "malloc",  "pthread_mutex_lock", "regcomp",  "glob",   "read",   "syslog",
      "posix_spawn", "strtol",      "tmpfile", "getpwnam_r",         "realpath", "system", "wordexp"};
  struct image *img = NULL;
  struct solver *worlds[2];
  char *path = NULL;
  struct err e = {0};
  if (image_find("libc.so.6", NULL, &path, &e) < 0 || image_open(path, &img, &e) < 0) fail_msg("%s", e.text);
  free(path);
  int nodes[2][COUNT(names)];
  for (unsigned k = 0; k < 2; k++) {
    struct solver_options o = {.syscalls = call_errors, .noreturn = is_abort, .workers = k ? 4 : 1};
    assert_int_equal(solver_new(&o, &worlds[k]), 0);
    assert_int_equal(solver_add(worlds[k], img), 0);
    for (size_t i = 0; i < COUNT(names); i++) {
      const struct image_symbol *s = image_export(img, names[i], NULL);
      assert_non_null(s);
      nodes[k][i] = solver_want(worlds[k], 0, s->address, s->kind == SYMBOL_IFUNC);
      assert_true(nodes[k][i] >= 0);
    }
    assert_int_equal(solver_run(worlds[k]), 0);
  }
  assert_int_equal(solver_count(worlds[0]).functions, solver_count(worlds[1]).functions);
  for (size_t i = 0; i < COUNT(names); i++) {
    char *one = described(worlds[0], nodes[0][i]), *four = described(worlds[1], nodes[1][i]);
    assert_string_equal(one, four);
    free(one);
    free(four);
  }
  solver_free(worlds[0]);
  solver_free(worlds[1]);
  image_free(img);
}

static void test_questions_about_a_world(void **state) {
  (void)state;
  struct solver *w;
  int nodes[COUNT(functions)];
  unsigned image;
  uint64_t address;
  assert_int_equal(solve(1, &w, nodes), 0);
  assert_true(solver_errno(w, &image, &address));
  assert_int_equal(image, 1);
  assert_ptr_equal(solver_image(w, 1), images[1]);
  assert_int_equal(solver_want(w, 2, 0, false), -EINVAL);
  for (size_t i = 0; i < COUNT(functions); i++) {
    solver_node(w, (uint32_t)nodes[i], &image, &address);
    assert_int_equal(image, 0);
    assert_int_equal(address, image_export(images[0], functions[i].name, NULL)->address);
    const struct flow_summary *s = solver_summary(w, (uint32_t)nodes[i]);
    for (uint32_t k = 0; k < s->n_calls; k++) {
      int callee = solver_callee(w, (uint32_t)nodes[i], &s->calls[k]);
      assert_true(callee == -ENOENT || (callee >= 0 && (size_t)callee < solver_count(w).functions));
    }
  }
  solver_free(w);
  solver_free(NULL);
}

/* A function that is wanted later is analysed by solving again. */
static void test_solving_again(void **state) {
  (void)state;
  struct solver_options o = {.syscalls = call_errors, .workers = 1};
  struct solver *w = NULL;
  assert_int_equal(solver_new(&o, &w), 0);
  assert_int_equal(solver_run(w), 0);
  assert_int_equal(solver_add(w, images[0]), 0);
  int first = solver_want(w, 0, image_export(images[0], "tail", NULL)->address, false);
  assert_int_equal(solver_run(w), 0);
  int second = solver_want(w, 0, image_export(images[0], "plain", NULL)->address, false);
  int nowhere = solver_want(w, 0, 1ull << 50, false);
  assert_int_equal(solver_run(w), 0);
  const struct {
    int node;
    const char *results;
  } expected[] = {{first, "-4 -5 0"}, {second, "-22"}, {nowhere, "opaque"}};
  for (size_t i = 0; i < COUNT(expected); i++) {
    char *text = described(w, expected[i].node);
    assert_string_equal(text, expected[i].results);
    free(text);
  }
  solver_free(w);
}

static void test_transforms(void **state) {
  (void)state;
  static const struct {
    uint8_t kind, width;
    int64_t imm;
    uint64_t value, result;
  } cases[] = {
      {XF_ZERO, 1, 0, 0x1234, 0x34},
      {XF_ZERO, 4, 0, UINT64_MAX, UINT32_MAX},
      {XF_ZERO, 8, 0, UINT64_MAX, UINT64_MAX},
      {XF_SIGN, 1, 0, 0x80, (uint64_t)-128},
      {XF_SIGN, 2, 0, 0x7fff, 0x7fff},
      {XF_SIGN, 4, 0, 0xffffffea, (uint64_t)-22},
      {XF_ADD, 0, -1, 0, UINT64_MAX},
      {XF_ADD, 0, INT64_MAX, 1, 1ull << 63},
      {XF_MUL, 0, -7, 3, (uint64_t)-21},
      {XF_AND, 0, 0xf0, 0x3c, 0x30},
      {XF_OR, 0, 1, UINT64_MAX - 1, UINT64_MAX},
      {XF_XOR, 0, -1, 0, UINT64_MAX},
      {XF_SHL, 0, 63, 3, 1ull << 63},
      {XF_SHL, 0, 64, 3, 3},
      {XF_SHR, 0, 63, UINT64_MAX, 1},
      {XF_SAR, 0, 63, 1ull << 63, UINT64_MAX},
      {XF_SAR, 0, 1, 6, 3},
      {XF_NEG, 0, 0, 22, (uint64_t)-22},
      {XF_NEG, 0, 0, 1ull << 63, 1ull << 63},
      {XF_NOT, 0, 0, 0, UINT64_MAX},
      {XF_MIN0, 4, 0, 0xfffffffb, 0xfffffffb},
      {XF_MIN0, 4, 0, 17, 0},
  };
  for (size_t i = 0; i < COUNT(cases); i++) {
    struct transform t = {.kind = cases[i].kind, .width = cases[i].width, .length = 1, .imm = cases[i].imm};
    uint64_t x = 0;
    bool pointer = true;
    assert_true(flow_transform_apply(&t, NULL, cases[i].value, &x, &pointer));
    if (x != cases[i].result || pointer) fail_msg("case %zu: 0x%llx", i, (unsigned long long)x);
  }
  /* A chain is applied from the front. */
  struct transform last = {.kind = XF_NEG, .length = 1}, first = {.kind = XF_ADD, .length = 2, .imm = 3, .next = &last};
  uint64_t x = 0;
  assert_true(flow_transform_apply(&first, NULL, 4, &x, NULL));
  assert_int_equal((int64_t)x, -7);
  assert_true(flow_transform_apply(NULL, NULL, 4, &x, NULL));
  assert_int_equal(x, 4);
}

static void test_transforms_that_load(void **state) {
  (void)state;
  /* What the functions say of their tables' addresses. */
  struct insn in;
  uint64_t at = image_export(images[0], "address", NULL)->address, x = 1;
  bool pointer = true;
  assert_int_equal(code_read(images[0], at, &in), 0);
  struct transform t = {.kind = XF_LOAD, .width = 4, .length = 1, .imm = in.disp};
  assert_true(flow_transform_apply(&t, images[0], 4, &x, &pointer));
  assert_int_equal(x, (uint32_t)-102);
  assert_false(pointer);
  t.kind = XF_LOAD_SIGNED;
  assert_true(flow_transform_apply(&t, images[0], 4, &x, &pointer));
  assert_int_equal((int64_t)x, -102);
  assert_false(flow_transform_apply(&t, NULL, 4, &x, &pointer));
  assert_false(flow_transform_apply(&t, images[0], 1ull << 40, &x, &pointer));
  assert_false(flow_transform_apply(&t, images[0], image_export(images[0], "last", NULL)->address - (uint64_t)in.disp,
                                    &x, &pointer));
  t = (struct transform){
      .kind = XF_LOAD, .width = 8, .imm = (int64_t)image_export(images[0], "pointers", NULL)->address};
  assert_true(flow_transform_apply(&t, images[0], 0, &x, &pointer));
  assert_true(pointer);
  assert_int_equal(x, in.disp);
}

static void test_conditions(void **state) {
  (void)state;
  static const struct {
    unsigned width;
    uint64_t a, b;
    uint16_t holds; /* bit by condition; overflow and parity are always possible */
  } cases[] = {
#define ALWAYS (1u << CC_O | 1u << CC_NO | 1u << CC_P | 1u << CC_NP)
#define EQUAL (1u << CC_E | 1u << CC_AE | 1u << CC_BE | 1u << CC_NS | 1u << CC_GE | 1u << CC_LE)
#define ABOVE (1u << CC_NE | 1u << CC_AE | 1u << CC_A)
#define BELOW (1u << CC_NE | 1u << CC_B | 1u << CC_BE)
#define GREATER (1u << CC_GE | 1u << CC_G)
#define LESS (1u << CC_L | 1u << CC_LE)
      {4, 5, 5, ALWAYS | EQUAL},
      {4, 7, 5, ALWAYS | ABOVE | GREATER | 1u << CC_NS},
      {4, 3, 5, ALWAYS | BELOW | LESS | 1u << CC_S},
      {4, (uint32_t)-4, 0, ALWAYS | ABOVE | LESS | 1u << CC_S},
      {8, (uint32_t)-4, 0, ALWAYS | ABOVE | GREATER | 1u << CC_NS},
      {8, (uint64_t)-4, (uint64_t)-4095, ALWAYS | ABOVE | GREATER | 1u << CC_NS},
      {1, 0x1ff, 0xff, ALWAYS | EQUAL},
      {1, 0x80, 0x7f, ALWAYS | ABOVE | LESS | 1u << CC_NS}, /* the difference is 1 */
      {2, 0x8000, 0, ALWAYS | ABOVE | LESS | 1u << CC_S},
  };
  for (size_t i = 0; i < COUNT(cases); i++)
    for (uint8_t cc = 0; cc < 16; cc++)
      if (flow_condition_holds(cc, cases[i].width, cases[i].a, cases[i].b) != (cases[i].holds >> cc & 1))
        fail_msg("case %zu, condition %u", i, cc);
}

/* Calls in the thousands, all alike: the time is linear, or this does not end. */
static void test_long_functions(void **state) {
  (void)state;
  static const char text[] =
      ".intel_syntax noprefix\n.text\n.globl f, g\n.type f, @function\n.type g, @function\n"
      "f: push rbx\n.rept 30000\n call g\n.endr\n mov eax, -3\n pop rbx\n ret\n.size f, .-f\n"
      "g: xor eax, eax\n ret\n.size g, .-g\n"
      ".globl h\n.type h, @function\nh: push rbx\n.rept 70000\n call [rip + g@gotpcrel]\n test eax, eax\n"
      " js 1f\n.endr\n mov eax, -3\n pop rbx\n ret\n1: mov eax, -4\n pop rbx\n ret\n.size h, .-h\n";
  struct flow_worker worker = {0};
  struct flow_summary s;
  assert_int_equal(file_write(in_folder("long.s"), text, sizeof text - 1, NULL), 0);
  must("${CC:-cc} -shared -nostdlib -Wl,-Bsymbolic long.s -o long.so");
  struct image *img = open_image("long.so");
  assert_int_equal(flow_summarise(&worker, img, image_export(img, "f", NULL)->address, NULL, NULL, &s), 0);
  assert_int_equal(s.n_outcomes, 1);
  assert_int_equal((int32_t)s.outcomes[0].ret.value, -3);
  assert_int_equal(flow_summarise(&worker, img, image_export(img, "h", NULL)->address, NULL, NULL, &s), 0);
  assert_true(s.n_outcomes >= 1);
  flow_worker_done(&worker);
  image_free(img);
}

static const char far_text[] =
    ".intel_syntax noprefix\n.text\n.macro fn name\n.globl \\name\n.type \\name, @function\n\\name:\n.endm\n"
    "fn v0\n push rax\n call v1\n pop rcx\n ret\nfn v1\n push rax\n call v2\n pop rcx\n ret\n"
    "fn v2\n push rax\n call v3\n pop rcx\n ret\nfn v3\n mov eax, -7\n ret\n"
    "fn d0\n push rax\n call c0\n pop rcx\n ret\n"
    "fn c0\n push rax\n call c1\n test eax, eax\n js 1f\n xor eax, eax\n pop rcx\n ret\n"
    "1: mov eax, -9\n pop rcx\n ret\n"
    "fn c1\n test edi, edi\n jne 1f\n xor eax, eax\n ret\n1: mov rax, errno@gottpoff[rip]\n"
    " mov dword ptr fs:[rax], 5\n mov eax, -1\n ret\n";

/* What each of the functions returns if those of WANTED are, and callees are read as far as REACH says. */
static void check_reach(const struct image *far, struct solver_reach reach, unsigned workers, const char *const *wanted,
                        const char *const *results) {
  struct solver_options o = {.syscalls = call_errors, .workers = workers, .reach = reach};
  struct solver *w = NULL;
  int nodes[4];
  assert_int_equal(solver_new(&o, &w), 0);
  assert_true(solver_add(w, far) >= 0);
  assert_true(solver_add(w, images[1]) >= 0);
  for (size_t i = 0; wanted[i]; i++)
    nodes[i] = solver_want(w, 0, image_export(far, wanted[i], NULL)->address, false);
  assert_int_equal(solver_run(w), 0);
  for (size_t i = 0; wanted[i]; i++) {
    char *text = described(w, nodes[i]);
    assert_string_equal(text, results[i]);
    free(text);
  }
  solver_free(w);
}

/* A function that is called by one that is far away, and is wanted too, is near. */
static void test_reach(void **state) {
  (void)state;
  static const char *const wanted[] = {"v0", "d0", NULL}, *const more[] = {"v0", "d0", "c0", "v2", NULL};
  static const char *const all[] = {"-7", "-9{errno=5} 0", "-9{errno=5} 0", "-7"}, *const far_off[] = {"opaque",
                                                                                                       "-9 0"};
  assert_int_equal(file_write(in_folder("far.s"), far_text, sizeof far_text - 1, NULL), 0);
  must("${CC:-cc} -shared -nostdlib -Wl,-Bsymbolic far.s -o far.so");
  struct image *far = open_image("far.so");
  for (unsigned workers = 1; workers < 5; workers += 3) {
    check_reach(far, (struct solver_reach){0}, workers, wanted, all);
    check_reach(far, (struct solver_reach){3, 2, 1}, workers, wanted, all);
    check_reach(far, (struct solver_reach){2, 1, 1}, workers, wanted, far_off);
    check_reach(far, (struct solver_reach){2, 1, 1}, workers, more, all);
  }
  image_free(far);
}

#if OWN_ALLOCATOR
/* Fails allocation N; 1 if there are fewer. */
static int fail_allocation(long n) {
  struct solver *w = NULL;
  int nodes[COUNT(functions)];
  alive = 0;
  failed_one = false;
  failing = true;
  countdown = n;
  int r = solve(1, &w, nodes);
  countdown = -1;
  if (r < 0) {
    assert_true(failed_one);
    assert_int_equal(r, -ENOMEM);
  } else
    assert_int_equal(count_wrong(w, nodes), 0); /* sorting can do without memory */
  solver_free(w);
  failing = false;
  if (alive != 0) fail_msg("allocation %ld fails: %ld are not freed", n, alive);
  return !failed_one;
}

static void test_lack_of_memory(void **state) {
  (void)state;
  long n = 0;
  while (fail_allocation(n) == 0)
    n++;
  assert_true(n > 500);
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_idioms),
    cmocka_unit_test(test_workers_do_not_matter),
    cmocka_unit_test(test_workers_do_not_matter_for_the_c_library),
    cmocka_unit_test(test_questions_about_a_world),
    cmocka_unit_test(test_solving_again),
    cmocka_unit_test(test_transforms),
    cmocka_unit_test(test_transforms_that_load),
    cmocka_unit_test(test_conditions),
    cmocka_unit_test(test_long_functions),
    cmocka_unit_test(test_reach),
#if OWN_ALLOCATOR
    cmocka_unit_test(test_lack_of_memory),
#endif
  };
  return cmocka_run_group_tests(tests, make_library, remove_library);
}
