/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a kernel makes of its code at run time: thunks, calls of the tracer, static keys, faults and warnings, on
 * kernels that are assembled here; with tables that lie, and with every allocation failing in turn.
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
#include "code/code.h"
#include "folder.h"

static int make_folder(void **state) {
  (void)state;
  strcpy(folder, "/tmp/murphy-patch-XXXXXX");
  return mkdtemp(folder) && chmod(folder, 0755) == 0 ? 0 : -1;
}

static int remove_folder(void **state) {
  (void)state;
  return shell("cd / && rm -rf \"$OLDPWD\"") ? 0 : -1;
}

/*
 * What all kernels here have. Entries of tables are written with the macros. A symbol in code would be a function, so a
 * place inside is a number: its distance from f.
 */
static const char common[] = ".intel_syntax noprefix\n"
                             ".macro key from, to\n"
                             ".pushsection __jump_table, \"a\"\n"
                             ".long \\from - ., \\to - .\n"
                             ".quad 0\n"
                             ".popsection\n"
                             ".endm\n"
                             ".macro fault from, to, how\n"
                             ".pushsection __ex_table, \"a\"\n"
                             ".long \\from - ., \\to - ., \\how\n"
                             ".popsection\n"
                             ".endm\n"
                             ".macro bug at, flags\n"
                             ".pushsection __bug_table, \"a\"\n"
                             ".long \\at - ., 0\n"
                             ".word 1, \\flags\n"
                             ".popsection\n"
                             ".endm\n"
                             ".macro at name\n.L\\name: .set \\name, .L\\name - f\n.endm\n"
                             ".section __jump_table, \"a\"\n__start___jump_table:\n"
                             ".section __ex_table, \"a\"\n__start___ex_table:\n"
                             ".section __bug_table, \"a\"\n__start___bug_table:\n"
                             ".text\n"
                             ".globl _start\n"
                             "_start: ret\n"
                             "__fentry__: ret\n"
                             "__x86_return_thunk: ret\nint3\n"
                             "srso_return_thunk: ret\nint3\n"
                             "__x86_indirect_thunk_r11: jmp r11\n"
                             "__x86_indirect_thunk_rax: jmp rax\n"
                             "__x86_indirect_jump_thunk_rcx: jmp rcx\n"
                             "__x86_indirect_thunk_array: nop\n";

static const char ends[] = "\n.section __jump_table, \"a\"\n__stop___jump_table:\n"
                           ".section __ex_table, \"a\"\n__stop___ex_table:\n"
                           ".section __bug_table, \"a\"\n__stop___bug_table:\n";

struct patched {
  struct image *image;
  struct code_kernel *kernel;
  struct arena arena;
  struct code code;
};

static struct image *assemble(const char *text) {
  struct image *img = NULL;
  struct err e = {0};
  struct text all = {0};
  text_addf(&all, "%s%s%s", common, text, ends);
  assert_int_equal(file_write(in_folder("kernel.s"), all.at, all.n, NULL), 0);
  text_done(&all);
  if (!shell(
          "${CC:-cc} -w -nostdlib -static -no-pie -Wl,-Ttext-segment=0xffffffff81000000 -Wl,--build-id=none kernel.s "
          "-o kernel"))
    fail_msg("cannot assemble");
  if (image_open_kernel(in_folder("kernel"), NULL, 0, &img, &e) < 0) fail_msg("%s", e.text);
  return img;
}

static uint64_t label(const struct patched *p, const char *name) {
  const struct image_symbol *s = image_symbol_named(p->image, name);
  if (!s) fail_msg("no symbol %s", name);
  return s->kind == SYMBOL_OTHER ? label(p, "f") + s->address : s->address;
}

/* The graph of the function f. */
static struct patched graph(const char *text) {
  struct patched p = {.image = assemble(text)};
  assert_int_equal(code_kernel_new(p.image, &p.kernel), 0);
  struct code_options o = {.kernel = p.kernel};
  assert_int_equal(code_build(p.image, label(&p, "f"), &o, &p.arena, &p.code), 0);
  return p;
}

static void done(struct patched *p) {
  code_kernel_free(p->kernel);
  arena_done(&p->arena);
  image_free(p->image);
}

/* The last instruction at a label: what a branch or a fault adds there comes behind. NULL if there is none. */
static const struct insn *last_at(const struct patched *p, const char *name) {
  uint64_t address = label(p, name);
  const struct insn *found = NULL;
  for (uint32_t i = 0; i < p->code.n_insns; i++)
    if (p->code.insns[i].address == address) found = &p->code.insns[i];
  return found;
}

static const struct insn *first_at(const struct patched *p, const char *name) {
  uint64_t address = label(p, name);
  for (uint32_t i = 0; i < p->code.n_insns; i++)
    if (p->code.insns[i].address == address) return &p->code.insns[i];
  fail_msg("%s is not in the graph", name);
  return NULL;
}

static int op_at(const struct patched *p, const char *name) { return first_at(p, name)->op; }

/* Does control go from the block of one instruction to that of the other, perhaps over one block between? */
static bool leads(const struct patched *p, const struct insn *from, const struct insn *to, bool over) {
  uint32_t a = code_block_of(&p->code, (uint32_t)(from - p->code.insns));
  uint32_t b = code_block_of(&p->code, (uint32_t)(to - p->code.insns));
  for (uint32_t i = 0; i < p->code.blocks[b].n_preds; i++) {
    uint32_t before = p->code.edges[p->code.blocks[b].preds + i].from;
    if (before == a) return true;
    for (uint32_t k = 0; over && k < p->code.blocks[before].n_preds; k++)
      if (p->code.edges[p->code.blocks[before].preds + k].from == a) return true;
  }
  return false;
}

/* --- thunks ------------------------------------------------------------------------------------------------------- */

static void test_thunks(void **state) {
  (void)state;
  struct patched p = graph("f: call __fentry__\n"
                           "at call_r11; call __x86_indirect_thunk_r11\n"
                           "test eax, eax\n"
                           "je .Lother\n"
                           "at back; jmp __x86_return_thunk\n"
                           "at other; cmp eax, 1\n"
                           "je .Lthird\n"
                           "at tail; jmp __x86_indirect_thunk_rax\n"
                           "at third; cmp eax, 2\n"
                           "je .Lfourth\n"
                           "at tail_rcx; jmp __x86_indirect_jump_thunk_rcx\n"
                           "at fourth; cmp eax, 3\n"
                           "je .Lfifth\n"
                           "at back_too; jmp srso_return_thunk\n"
                           "at fifth; at call_array; call __x86_indirect_thunk_array\n"
                           "jmp __x86_return_thunk\n");
  assert_int_equal(op_at(&p, "f"), OP_NOP);
  assert_int_equal(op_at(&p, "call_r11"), OP_CALL_INDIRECT);
  assert_int_equal(first_at(&p, "call_r11")->dst_kind, OPERAND_REG);
  assert_int_equal(first_at(&p, "call_r11")->dst, R11);
  assert_true(first_at(&p, "call_r11")->uses & REG_BIT(R11));
  assert_int_equal(op_at(&p, "back"), OP_RETURN);
  assert_int_equal(op_at(&p, "back_too"), OP_RETURN);
  assert_int_equal(op_at(&p, "tail"), OP_TAIL_INDIRECT);
  assert_int_equal(first_at(&p, "tail")->dst, RAX);
  assert_int_equal(op_at(&p, "tail_rcx"), OP_TAIL_INDIRECT);
  assert_int_equal(first_at(&p, "tail_rcx")->dst, RCX);
  assert_int_equal(op_at(&p, "call_array"), OP_CALL); /* it is for no register */
  assert_int_equal(p.code.problems, 0);
  done(&p);
}

/* As clang has it: a conditional jump to a thunk. */
static void test_branches_to_thunks(void **state) {
  (void)state;
  struct patched p = graph("f: mov eax, -5\n"
                           "test edi, edi\n"
                           "at leave; je __x86_return_thunk\n"
                           "test esi, esi\n"
                           "at jump; jne __x86_indirect_thunk_r11\n"
                           "xor eax, eax\n"
                           "jmp __x86_return_thunk\n");
  assert_int_equal(op_at(&p, "leave"), OP_BRANCH);
  assert_int_equal(last_at(&p, "leave")->op, OP_RETURN);
  assert_true(leads(&p, first_at(&p, "leave"), last_at(&p, "leave"), false));
  assert_int_equal(op_at(&p, "jump"), OP_BRANCH);
  assert_int_equal(last_at(&p, "jump")->op, OP_TAIL_INDIRECT);
  assert_int_equal(last_at(&p, "jump")->dst, R11);
  assert_int_equal(p.code.problems, 0);
  done(&p);
}

/* --- static keys -------------------------------------------------------------------------------------------------- */

static void test_static_keys(void **state) {
  (void)state;
  struct patched p = graph("f: key .Loff, .Lwhen_on\n"
                           "at off; .byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
                           "key .Lon, .Lnext\n"
                           "at on; jmp .Lwhen_off\n"
                           "at next; key .Lno_place, .Lwhen_on\n"
                           "at no_place; mov eax, 1\n"
                           "ret\n"
                           "at when_on; mov eax, 2\n"
                           "ret\n"
                           "at when_off; mov eax, 3\n"
                           "ret\n");
  assert_int_equal(op_at(&p, "off"), OP_BRANCH);
  assert_true(leads(&p, first_at(&p, "off"), first_at(&p, "when_on"), false));
  assert_true(leads(&p, first_at(&p, "off"), first_at(&p, "on"), false));
  assert_int_equal(op_at(&p, "no_place"), OP_MOVE);
  assert_int_equal(p.code.problems, 0);
  done(&p);
}

/* A jump that is there is one that may go away: control then goes on behind it. */
static void test_a_key_that_is_on(void **state) {
  (void)state;
  struct patched p = graph("f: key .Lon, .Lfar\n"
                           "at on; jmp .Lfar\n"
                           "at behind; mov eax, 1\n"
                           "ret\n"
                           "at far; mov eax, 3\n"
                           "ret\n");
  assert_true(leads(&p, first_at(&p, "on"), first_at(&p, "far"), false));
  assert_true(leads(&p, first_at(&p, "on"), first_at(&p, "behind"), false));
  done(&p);
}

/* --- faults ------------------------------------------------------------------------------------------------------- */

static void test_faults(void **state) {
  (void)state;
  struct patched p = graph("f: xor eax, eax\n"
                           "fault .Lplain, .Lfixed, 3\n"
                           "at plain; mov ecx, [rdi]\n"
                           "fault .Lsets, .Lbehind, 17|(0<<8)|(-14<<16)\n"
                           "at sets; mov edx, [rsi]\n"
                           "at behind; ret\n"
                           "at fixed; mov eax, -14\n"
                           "ret\n");
  assert_true(first_at(&p, "plain")->flags & INSN_FAULTS);
  assert_true(leads(&p, first_at(&p, "plain"), first_at(&p, "fixed"), true));
  assert_true(leads(&p, first_at(&p, "plain"), first_at(&p, "sets"), false));
  assert_true(first_at(&p, "sets")->flags & INSN_FAULTS);
  const struct insn *set = last_at(&p, "sets");
  assert_int_equal(set->op, OP_MOVE);
  assert_int_equal(set->dst, RAX);
  assert_int_equal(set->src_kind, OPERAND_IMM);
  assert_int_equal(set->imm, -14);
  assert_true(leads(&p, set, first_at(&p, "behind"), false));
  assert_true(leads(&p, first_at(&p, "sets"), set, false));
  assert_int_equal(p.code.problems, 0);
  done(&p);
}

/* --- warnings ----------------------------------------------------------------------------------------------------- */

static void test_warnings(void **state) {
  (void)state;
  struct patched p = graph("f: test edi, edi\n"
                           "je .Lsecond\n"
                           "bug .Lwarning, 1\n"
                           "at warning; ud2\n"
                           "at goes_on; mov eax, -22\n"
                           "ret\n"
                           "at second; test esi, esi\n"
                           "je .Lthird\n"
                           "bug .Lbad, 0\n"
                           "at bad; ud2\n"
                           "mov eax, -5\n"
                           "ret\n"
                           "at third; ud2\n"
                           "mov eax, -6\n"
                           "ret\n");
  assert_int_equal(op_at(&p, "warning"), OP_NOP);
  assert_int_equal(op_at(&p, "goes_on"), OP_MOVE);
  assert_int_equal(op_at(&p, "bad"), OP_STOP);
  assert_int_equal(op_at(&p, "third"), OP_STOP);
  for (uint32_t i = 0; i < p.code.n_insns; i++)
    assert_true(p.code.insns[i].op != OP_MOVE || p.code.insns[i].imm == -22);
  done(&p);
}

/* --- lies --------------------------------------------------------------------------------------------------------- */

/* Addresses that are no code, instructions that are none, parts of an entry: left out, or a problem of the graph. */
static void test_entries_that_lie(void **state) {
  (void)state;
  struct patched p = graph("f: key .Lone, _start+0x100000\n"
                           "key .Lone+0x100000, f\n"
                           "fault .Lone, _start+0x100000, 3\n"
                           "fault .Lone+0x100000, f, 3\n"
                           "bug .Lone+0x100000, 1\n"
                           "at one; nop\n"
                           "fault .Ltwo, .Ltwo+1, 3\n"
                           "at two; mov eax, [rdi + 0x12345678]\n"
                           "fault .Lthree, .Lbroken, 3\n"
                           "at three; mov eax, [rdi]\n"
                           "ret\n"
                           "at broken; .byte 0x06, 0x06\n"
                           ".pushsection __ex_table, \"a\"\n.long 1\n.popsection\n"
                           ".pushsection __jump_table, \"a\"\n.long 1, 2, 3\n.popsection\n"
                           ".pushsection __bug_table, \"a\"\n.byte 1\n.popsection\n");
  assert_int_equal(op_at(&p, "one"), OP_NOP);
  assert_int_equal(first_at(&p, "one")->flags & INSN_FAULTS, 0);
  assert_true(first_at(&p, "three")->flags & INSN_FAULTS);
  assert_true(p.code.problems & CODE_BAD_INSTRUCTION);
  done(&p);
}

/* Without a table, or with one that ends before it starts, there is nothing. */
/* How many instructions of f may fault, of the kernel in the file NAME, and what the last one does. */
static unsigned faults_in(const char *name, unsigned *ret_last) {
  struct code_kernel *k = NULL;
  struct image *img = NULL;
  struct err e = {0};
  struct arena arena = {0};
  struct code code;
  unsigned n = 0;
  assert_int_equal(image_open_kernel(in_folder(name), NULL, 0, &img, &e), 0);
  assert_int_equal(code_kernel_new(img, &k), 0);
  struct code_options o = {.kernel = k};
  assert_int_equal(code_build(img, image_symbol_named(img, "f")->address, &o, &arena, &code), 0);
  for (uint32_t i = 0; i < code.n_insns; i++)
    n += (code.insns[i].flags & INSN_FAULTS) != 0;
  *ret_last = code.insns[code.n_insns - 1].op;
  arena_done(&arena);
  code_kernel_free(k);
  image_free(img);
  return n;
}

static void test_no_tables(void **state) {
  (void)state;
  struct patched p = graph("f: fault .Lone, f, 3\n"
                           "at one; mov eax, [rdi]\n"
                           "at two; ud2\n"
                           "bug .Ltwo, 1\n");
  unsigned last;
  assert_int_equal(op_at(&p, "two"), OP_NOP);
  done(&p);
  /* Without symbols, as in a kernel that names functions only, the sections are there. */
  assert_true(shell("objcopy -N __start___ex_table -N __stop___ex_table -N __start___bug_table kernel nameless"));
  assert_int_equal(faults_in("nameless", &last), 1);
  assert_int_not_equal(last, OP_STOP);
  assert_true(shell("objcopy --rename-section __ex_table=.one --rename-section __bug_table=.two "
                    "--redefine-sym __start___ex_table=x --redefine-sym __stop___ex_table=__start___ex_table "
                    "--redefine-sym x=__stop___ex_table -N __start___bug_table kernel other"));
  assert_int_equal(faults_in("other", &last), 0);
  assert_int_equal(last, OP_STOP);
  code_kernel_free(NULL);
}

#if OWN_ALLOCATOR
static void test_lack_of_memory(void **state) {
  (void)state;
  struct image *img = assemble("f: fault .Lone, .Lback, 3\nkey .Ltwo, .Lback\nbug .Lthree, 1\n"
                               "at one; mov eax, [rdi]\nat two; .byte 0x0f, 0x1f, 0x44, 0x00, 0x00\nat three; ud2\n"
                               "je __x86_return_thunk\nat back; jmp __x86_return_thunk\n");
  uint64_t f = image_symbol_named(img, "f")->address;
  for (long n = 0;; n++) {
    struct code_kernel *k = NULL;
    struct arena arena = {0};
    struct code code;
    assert_true(n < 1000);
    alive = 0;
    failed_one = false;
    failing = true;
    countdown = n;
    int r = code_kernel_new(img, &k);
    struct code_options o = {.kernel = k};
    if (r >= 0) r = code_build(img, f, &o, &arena, &code);
    countdown = -1;
    code_kernel_free(k);
    arena_done(&arena);
    failing = false;
    if (alive != 0) fail_msg("allocation %ld fails: %ld are not freed", n, alive);
    if (!failed_one) break;
    assert_true(r >= 0 || r == -ENOMEM);
  }
  image_free(img);
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_thunks),
    cmocka_unit_test(test_branches_to_thunks),
    cmocka_unit_test(test_static_keys),
    cmocka_unit_test(test_a_key_that_is_on),
    cmocka_unit_test(test_faults),
    cmocka_unit_test(test_warnings),
    cmocka_unit_test(test_entries_that_lie),
    cmocka_unit_test(test_no_tables),
#if OWN_ALLOCATOR
    cmocka_unit_test(test_lack_of_memory),
#endif
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
