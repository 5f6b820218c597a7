/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code room on libraries that are assembled here: what each modelled instruction becomes, and the graphs of
 * functions in all the shapes that compilers give them. Labels of the assembly text are symbols, so a test can name
 * the place it means.
 */
#include <elf.h>
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

#include "code/code.h"
#include "folder.h"

/* Writes FILE and makes OUTPUT of it with the compiler. */
static struct image *build(const char *file, const char *text, const char *compiler, const char *options) {
  char line[512];
  assert_int_equal(file_write(in_folder(file), text, strlen(text), NULL), 0);
  assert_true(snprintf(line, sizeof line, "%s -w -nostdlib %s %s -o out.so", compiler, options, file) <
              (int)sizeof line);
  if (!shell(line)) fail_msg("failed: %s", line);
  return open_image("out.so");
}

static struct image *assemble(const char *text) {
  static char all[16384];
  assert_true(snprintf(all, sizeof all, ".intel_syntax noprefix\n.text\n%s\n", text) < (int)sizeof all);
  return build("test.s", all, "${CC:-cc}", "-shared -Wl,-Bsymbolic");
}

static uint64_t label(const struct image *img, const char *name) {
  const struct image_symbol *s = image_export(img, name, NULL);
  if (!s) fail_msg("no symbol %s", name);
  return s->address;
}

static int make_folder(void **state) {
  (void)state;
  strcpy(folder, "/tmp/murphy-code-XXXXXX");
  return mkdtemp(folder) && chmod(folder, 0755) == 0 ? 0 : -1;
}

static int remove_folder(void **state) {
  (void)state;
  return shell("cd / && rm -rf \"$OLDPWD\"") ? 0 : -1;
}

/* --- one instruction ---------------------------------------------------------------------------------------------- */

#define REG(r) OPERAND_REG, r
#define IMM OPERAND_IMM, NO_REG
#define MEM OPERAND_MEM, NO_REG
#define NOTHING OPERAND_NONE, NO_REG
#define FL INSN_SETS_FLAGS
#define WR INSN_WRITES_MEM

static const struct decoding {
  const char *text;
  uint8_t op, size, from_size;
  uint8_t dst_kind, dst, src_kind, src;
  uint8_t flags;
  uint16_t defs;
  int64_t imm;
  uint8_t base, index, scale;
  int64_t disp;
} decodings[] = {
    {"nop", OP_NOP, 0, 0, NOTHING, NOTHING, 0, 0, 0, NO_REG, NO_REG, 0, 0},
    {"endbr64", OP_NOP, 0, 0, NOTHING, NOTHING, 0, 0, 0, NO_REG, NO_REG, 0, 0},
    {"mov eax, edi", OP_MOVE, 4, 4, REG(RAX), REG(RDI), 0, REG_BIT(RAX), 0, NO_REG, NO_REG, 0, 0},
    {"mov r8, r15", OP_MOVE, 8, 8, REG(R8), REG(R15), 0, REG_BIT(R8), 0, NO_REG, NO_REG, 0, 0},
    {"mov rax, -22", OP_MOVE, 8, 8, REG(RAX), IMM, 0, REG_BIT(RAX), -22, NO_REG, NO_REG, 0, 0},
    {"movabs rax, 0x8000000000000000", OP_MOVE, 8, 8, REG(RAX), IMM, 0, REG_BIT(RAX), INT64_MIN, NO_REG, NO_REG, 0, 0},
    {"mov al, 3", OP_MOVE, 1, 1, REG(RAX), IMM, 0, REG_BIT(RAX), 3, NO_REG, NO_REG, 0, 0},
    {"mov sil, 3", OP_MOVE, 1, 1, REG(RSI), IMM, 0, REG_BIT(RSI), 3, NO_REG, NO_REG, 0, 0},
    {"mov ah, 3", OP_OTHER, 0, 1, NOTHING, NOTHING, INSN_HIGH, REG_BIT(RAX), 3, NO_REG, NO_REG, 0, 0},
    {"mov dword ptr [rsp + 8], 22", OP_MOVE, 4, 4, MEM, IMM, WR, 0, 22, RSP, NO_REG, 0, 8},
    {"mov rcx, [rbx + rdi * 4 - 16]", OP_MOVE, 8, 8, REG(RCX), MEM, 0, REG_BIT(RCX), 0, RBX, RDI, 4, -16},
    {"mov eax, fs:[rcx]", OP_MOVE, 4, 4, REG(RAX), MEM, INSN_FS, REG_BIT(RAX), 0, RCX, NO_REG, 0, 0},
    {"mov rax, fs:0", OP_MOVE, 8, 8, REG(RAX), MEM, INSN_FS, REG_BIT(RAX), 0, NO_REG, NO_REG, 0, 0},
    {"movzx eax, dil", OP_MOVE, 4, 1, REG(RAX), REG(RDI), 0, REG_BIT(RAX), 0, NO_REG, NO_REG, 0, 0},
    {"movsx rax, word ptr [rdi]", OP_MOVE, 8, 2, REG(RAX), MEM, INSN_SIGNED, REG_BIT(RAX), 0, RDI, NO_REG, 0, 0},
    {"movsxd rdx, eax", OP_MOVE, 8, 4, REG(RDX), REG(RAX), INSN_SIGNED, REG_BIT(RDX), 0, NO_REG, NO_REG, 0, 0},
    {"cdqe", OP_MOVE, 8, 4, REG(RAX), REG(RAX), INSN_SIGNED, REG_BIT(RAX), 0, NO_REG, NO_REG, 0, 0},
    {"cwde", OP_MOVE, 4, 2, REG(RAX), REG(RAX), INSN_SIGNED, REG_BIT(RAX), 0, NO_REG, NO_REG, 0, 0},
    {"lea eax, [rdi - 2]", OP_LEA, 4, 8, REG(RAX), MEM, 0, REG_BIT(RAX), 0, RDI, NO_REG, 0, -2},
    {"lea rax, [rdi + rdi * 8]", OP_LEA, 8, 8, REG(RAX), MEM, 0, REG_BIT(RAX), 0, RDI, RDI, 8, 0},
    {"add eax, 1", OP_ADD, 4, 4, REG(RAX), IMM, FL, REG_BIT(RAX), 1, NO_REG, NO_REG, 0, 0},
    {"inc eax", OP_ADD, 4, 4, REG(RAX), IMM, FL | INSN_INC, REG_BIT(RAX), 1, NO_REG, NO_REG, 0, 0},
    {"sub rsp, 40", OP_SUB, 8, 8, REG(RSP), IMM, FL, REG_BIT(RSP), 40, NO_REG, NO_REG, 0, 0},
    {"dec r9d", OP_SUB, 4, 4, REG(R9), IMM, FL | INSN_INC, REG_BIT(R9), 1, NO_REG, NO_REG, 0, 0},
    {"and eax, -22", OP_AND, 4, 4, REG(RAX), IMM, FL, REG_BIT(RAX), -22, NO_REG, NO_REG, 0, 0},
    {"or rax, -1", OP_OR, 8, 8, REG(RAX), IMM, FL, REG_BIT(RAX), -1, NO_REG, NO_REG, 0, 0},
    {"xor eax, eax", OP_XOR, 4, 4, REG(RAX), REG(RAX), FL, REG_BIT(RAX), 0, NO_REG, NO_REG, 0, 0},
    {"shl eax, 3", OP_SHL, 4, 4, REG(RAX), IMM, FL, REG_BIT(RAX), 3, NO_REG, NO_REG, 0, 0},
    {"shr rdx, 63", OP_SHR, 8, 8, REG(RDX), IMM, FL, REG_BIT(RDX), 63, NO_REG, NO_REG, 0, 0},
    {"sar eax, 31", OP_SAR, 4, 4, REG(RAX), IMM, FL, REG_BIT(RAX), 31, NO_REG, NO_REG, 0, 0},
    {"imul eax, edi, -7", OP_MUL, 4, 4, REG(RAX), REG(RDI), FL, REG_BIT(RAX), -7, NO_REG, NO_REG, 0, 0},
    {"imul rax, rdi", OP_MUL, 8, 8, REG(RAX), REG(RDI), FL, REG_BIT(RAX), 0, NO_REG, NO_REG, 0, 0},
    {"imul rcx", OP_OTHER, 0, 0, NOTHING, NOTHING, FL, REG_BIT(RAX) | REG_BIT(RDX), 0, NO_REG, NO_REG, 0, 0},
    {"neg eax", OP_NEG, 4, 4, REG(RAX), NOTHING, FL, REG_BIT(RAX), 0, NO_REG, NO_REG, 0, 0},
    {"not rax", OP_NOT, 8, 8, REG(RAX), NOTHING, 0, REG_BIT(RAX), 0, NO_REG, NO_REG, 0, 0},
    {"sbb eax, eax", OP_SBB, 4, 4, REG(RAX), REG(RAX), FL, REG_BIT(RAX), 0, NO_REG, NO_REG, 0, 0},
    {"cdq", OP_SIGN, 4, 4, REG(RDX), REG(RAX), 0, REG_BIT(RDX), 0, NO_REG, NO_REG, 0, 0},
    {"cqo", OP_SIGN, 8, 8, REG(RDX), REG(RAX), 0, REG_BIT(RDX), 0, NO_REG, NO_REG, 0, 0},
    {"sete al", OP_SET, 1, 1, REG(RAX), NOTHING, 0, REG_BIT(RAX), 0, NO_REG, NO_REG, 0, 0},
    {"setg byte ptr [rdi]", OP_SET, 1, 1, MEM, NOTHING, WR, 0, 0, RDI, NO_REG, 0, 0},
    {"cmovs eax, edx", OP_CMOV, 4, 4, REG(RAX), REG(RDX), 0, REG_BIT(RAX), 0, NO_REG, NO_REG, 0, 0},
    {"cmp eax, -4", OP_CMP, 4, 4, REG(RAX), IMM, FL, 0, -4, NO_REG, NO_REG, 0, 0},
    {"cmp rax, -4095", OP_CMP, 8, 8, REG(RAX), IMM, FL, 0, -4095, NO_REG, NO_REG, 0, 0},
    {"test eax, eax", OP_TEST, 4, 4, REG(RAX), REG(RAX), FL, 0, 0, NO_REG, NO_REG, 0, 0},
    {"bt edi, 5", OP_BIT, 4, 4, REG(RDI), IMM, FL, 0, 5, NO_REG, NO_REG, 0, 0},
    {"push rbx", OP_PUSH, 8, 8, REG(RBX), NOTHING, 0, REG_BIT(RSP), 0, NO_REG, NO_REG, 0, 0},
    {"push -14", OP_PUSH, 8, 8, IMM, NOTHING, 0, REG_BIT(RSP), -14, NO_REG, NO_REG, 0, 0},
    {"pop rax", OP_POP, 8, 8, REG(RAX), NOTHING, 0, REG_BIT(RSP) | REG_BIT(RAX), 0, NO_REG, NO_REG, 0, 0},
    {"leave", OP_LEAVE, 0, 0, NOTHING, NOTHING, 0, REG_BIT(RSP) | REG_BIT(RBP), 0, NO_REG, NO_REG, 0, 0},
    {"syscall", OP_SYSCALL, 0, 0, NOTHING, NOTHING, FL, REG_BIT(RAX) | REG_BIT(RCX) | REG_BIT(R11), 0, NO_REG, NO_REG,
     0, 0},
    {"call rax", OP_CALL_INDIRECT, 8, 8, REG(RAX), NOTHING, 0, CALL_CLOBBERS, 0, NO_REG, NO_REG, 0, 0},
    {"call [rdi + 24]", OP_CALL_INDIRECT, 8, 8, MEM, NOTHING, 0, CALL_CLOBBERS, 0, RDI, NO_REG, 0, 24},
    {"jmp rax", OP_JUMP_UNKNOWN, 8, 8, REG(RAX), NOTHING, 0, 0, 0, NO_REG, NO_REG, 0, 0},
    {"ret", OP_RETURN, 0, 0, NOTHING, NOTHING, 0, 0, 0, NO_REG, NO_REG, 0, 0},
    {"ud2", OP_STOP, 0, 0, NOTHING, NOTHING, 0, 0, 0, NO_REG, NO_REG, 0, 0},
    {"hlt", OP_STOP, 0, 0, NOTHING, NOTHING, 0, 0, 0, NO_REG, NO_REG, 0, 0},
    {"xchg rbx, rcx", OP_OTHER, 0, 0, NOTHING, NOTHING, 0, REG_BIT(RBX) | REG_BIT(RCX), 0, NO_REG, NO_REG, 0, 0},
    {"cpuid", OP_OTHER, 0, 0, NOTHING, NOTHING, 0, REG_BIT(RAX) | REG_BIT(RBX) | REG_BIT(RCX) | REG_BIT(RDX), 0, NO_REG,
     NO_REG, 0, 0},
    {"movaps [rsp + 16], xmm0", OP_OTHER, 16, 16, MEM, NOTHING, WR, 0, 0, RSP, NO_REG, 0, 16},
};

static void check_decoding(const struct decoding *d, const struct insn *in) {
  bool same = in->op == d->op && in->dst_kind == d->dst_kind && in->src_kind == d->src_kind && in->flags == d->flags &&
              in->defs == d->defs && in->base == d->base && in->index == d->index;
  if (d->op != OP_OTHER) {
    same = same && in->size == d->size && in->from_size == d->from_size && in->imm == d->imm && in->disp == d->disp;
    same = same && in->dst == d->dst && in->src == d->src && (d->index == NO_REG || in->scale == d->scale);
  }
  if (d->dst_kind == OPERAND_MEM) same = same && in->size == d->size;
  if (!same)
    fail_msg(
        "%s: op %u size %u from %u dst %u:%u src %u:%u flags 0x%x defs 0x%x imm %lld base %u index %u scale %u disp "
        "%lld",
        d->text, in->op, in->size, in->from_size, in->dst_kind, in->dst, in->src_kind, in->src, in->flags, in->defs,
        (long long)in->imm, in->base, in->index, in->scale, (long long)in->disp);
}

static void test_instructions(void **state) {
  (void)state;
  struct text text = {0};
  for (size_t i = 0; i < COUNT(decodings); i++)
    text_addf(&text, ".globl i%zu\ni%zu: %s\n", i, i, decodings[i].text);
  text_add(&text, ".globl i_end\ni_end: ret\n");
  assert_false(text.failed);
  struct image *img = assemble(text.at);
  text_done(&text);
  for (size_t i = 0; i < COUNT(decodings); i++) {
    char name[32], next[32];
    struct insn in;
    assert_true(snprintf(name, sizeof name, "i%zu", i) < (int)sizeof name);
    assert_true(snprintf(next, sizeof next, "i%zu", i + 1) < (int)sizeof next);
    assert_int_equal(code_read(img, label(img, name), &in), 0);
    check_decoding(&decodings[i], &in);
    assert_int_equal(in.address + in.length, label(img, i + 1 < COUNT(decodings) ? next : "i_end"));
    assert_int_equal(in.sp, SP_UNKNOWN);
  }
  image_free(img);
}

/* What depends on where the instruction stands. */
static void test_addresses(void **state) {
  (void)state;
  struct image *img = assemble(".globl a, b, c, d, e, f, there\n"
                               "a: lea rax, [rip + there]\nb: call there\nc: jmp there\n"
                               "d: jne there\ne: call [rip + there]\nf: jmp [rip + there]\n.skip 200\nthere: ret\n"
                               ".globl g\ng: lea rax, [eip + there]\n");
  struct insn in;
  int64_t there = (int64_t)label(img, "there");
  static const struct {
    const char *at;
    uint8_t op;
    bool memory;
  } cases[] = {{"a", OP_LEA, true},       {"b", OP_CALL, false},     {"c", OP_JUMP, false}, {"d", OP_BRANCH, false},
               {"e", OP_CALL_SLOT, true}, {"f", OP_TAIL_SLOT, true}, {"g", OP_LEA, true}};
  for (size_t i = 0; i < COUNT(cases); i++) {
    assert_int_equal(code_read(img, label(img, cases[i].at), &in), 0);
    assert_int_equal(in.op, cases[i].op);
    assert_int_equal(cases[i].memory ? in.disp : in.imm, there);
    if (cases[i].memory) assert_true(in.base == NO_REG && in.index == NO_REG);
  }
  assert_int_equal(code_read(img, label(img, "d"), &in), 0);
  assert_int_equal(in.cc, CC_NE);
  assert_int_equal(code_read(img, UINT64_MAX, &in), -EILSEQ);
  image_free(img);
}

static void test_conditions_have_the_hardware_numbers(void **state) {
  (void)state;
  static const char *const names[] = {"o", "no", "b", "ae", "e", "ne", "be", "a",
                                      "s", "ns", "p", "np", "l", "ge", "le", "g"};
  static const char *const forms[] = {"j%s z", "set%s al", "cmov%s eax, edx"};
  static const uint8_t ops[] = {OP_BRANCH, OP_SET, OP_CMOV};
  struct text text = {0};
  for (unsigned i = 0; i < 48; i++) {
    char line[32];
    const char *form = forms[i / 16];
    size_t head = (size_t)(strchr(form, '%') - form);
    assert_true(snprintf(line, sizeof line, "%.*s%s%s", (int)head, form, names[i % 16], form + head + 2) <
                (int)sizeof line);
    text_addf(&text, ".globl c%u\nc%u: %s\n", i, i, line);
  }
  text_add(&text, "z: ret\n");
  struct image *img = assemble(text.at);
  text_done(&text);
  for (unsigned i = 0; i < 48; i++) {
    char name[16];
    struct insn in;
    assert_true(snprintf(name, sizeof name, "c%u", i) < (int)sizeof name);
    assert_int_equal(code_read(img, label(img, name), &in), 0);
    assert_int_equal(in.op, ops[i / 16]);
    assert_int_equal(in.cc, i % 16);
  }
  image_free(img);
}

static void test_text_of_an_instruction(void **state) {
  (void)state;
  struct text t = {0};
  struct image *img = assemble(".globl a, b\na: mov eax, 0x16\nb: .byte 0x06\n");
  code_print(img, label(img, "a"), &t);
  assert_string_equal(t.at, "mov eax, 0x16");
  code_print(img, label(img, "b"), &t);
  code_print(img, UINT64_MAX, &t);
  assert_string_equal(t.at, "mov eax, 0x16(bad)(bad)");
  text_done(&t);
  image_free(img);
}

/* --- graphs ------------------------------------------------------------------------------------------------------- */

struct graph {
  struct image *img;
  struct arena arena;
  struct code code;
};

static void graph_of(struct graph *g, struct image *img, const char *name, const struct code_options *options) {
  *g = (struct graph){.img = img};
  assert_int_equal(code_build(img, label(img, name), options, &g->arena, &g->code), 0);
}

static void graph_done(struct graph *g) {
  arena_done(&g->arena);
  image_free(g->img);
}

/* The block that starts at a label. */
static uint32_t block_at(const struct graph *g, const char *name) {
  uint64_t at = label(g->img, name);
  for (uint32_t i = 0; i < g->code.n_blocks; i++)
    if (g->code.insns[g->code.blocks[i].first].address == at) return i;
  fail_msg("no block at %s", name);
  return 0;
}

/* The instruction at a label, or NULL if it is not part of the function. */
static const struct insn *insn_at(const struct graph *g, const char *name) {
  uint64_t at = label(g->img, name);
  for (uint32_t i = 0; i < g->code.n_insns; i++)
    if (g->code.insns[i].address == at) return &g->code.insns[i];
  return NULL;
}

/* How many edges lead from one block to another, of a kind. */
static unsigned edges(const struct graph *g, uint32_t from, uint32_t to, unsigned kind) {
  const struct block *b = &g->code.blocks[to];
  unsigned n = 0;
  for (uint32_t i = 0; i < b->n_preds; i++)
    n += g->code.edges[b->preds + i].from == from && g->code.edges[b->preds + i].kind == kind;
  return n;
}

static unsigned count_op(const struct graph *g, uint8_t op) {
  unsigned n = 0;
  for (uint32_t i = 0; i < g->code.n_insns; i++)
    n += g->code.insns[i].op == op;
  return n;
}

static unsigned count_edges(const struct graph *g, unsigned kind) {
  unsigned n = 0;
  for (uint32_t i = 0; i < g->code.n_edges; i++)
    n += g->code.edges[i].kind == kind;
  return n;
}

static void test_branch_and_join(void **state) {
  (void)state;
  struct graph g;
  graph_of(&g,
           assemble(".globl f, fall, taken, join\n.type f, @function\n"
                    "f: test edi, edi\n js taken\nfall: mov eax, 1\n jmp join\n"
                    "taken: mov eax, -1\njoin: ret\n.size f, .-f\n"),
           "f", NULL);
  uint32_t f = block_at(&g, "f"), fall = block_at(&g, "fall"), taken = block_at(&g, "taken"),
           join = block_at(&g, "join");
  assert_int_equal(g.code.n_blocks, 4);
  assert_int_equal(g.code.entry_block, f);
  assert_int_equal(g.code.n_edges, 4);
  assert_int_equal(edges(&g, f, fall, EDGE_FALL), 1);
  assert_int_equal(edges(&g, f, taken, EDGE_TAKEN), 1);
  assert_int_equal(edges(&g, fall, join, EDGE_PLAIN), 1);
  assert_int_equal(edges(&g, taken, join, EDGE_PLAIN), 1);
  assert_int_equal(g.code.blocks[taken].defs, REG_BIT(RAX));
  assert_true(g.code.blocks[f].flags && !g.code.blocks[f].calls && !g.code.blocks[f].stores);
  assert_int_equal(g.code.problems, 0);
  graph_done(&g);
}

static void test_loop_to_the_entry(void **state) {
  (void)state;
  struct graph g;
  graph_of(&g, assemble(".globl f, out\n.type f, @function\nf: dec edi\n jne f\nout: ret\n.size f, .-f\n"), "f", NULL);
  assert_int_equal(edges(&g, block_at(&g, "f"), block_at(&g, "f"), EDGE_TAKEN), 1);
  assert_int_equal(edges(&g, block_at(&g, "f"), block_at(&g, "out"), EDGE_FALL), 1);
  graph_done(&g);
}

/* Two ways to read the same bytes: each instruction is there once, each way is followed. */
static void test_jump_into_an_instruction(void **state) {
  (void)state;
  struct graph g;
  graph_of(&g,
           assemble(".globl f, in\n.type f, @function\n"
                    "f: test edi, edi\n je in\n .byte 0xb8\nin: .byte 0x31, 0xc0, 0x90, 0xc3\n ret\n.size f, .-f\n"),
           "f", NULL);
  assert_int_equal(insn_at(&g, "in")->op, OP_XOR);
  assert_int_equal(count_op(&g, OP_RETURN), 2);
  assert_int_equal(count_op(&g, OP_MOVE), 1);
  assert_int_equal(g.code.problems, 0);
  graph_done(&g);
}

#define CASES                                                                                                          \
  "c0: mov eax, -10\n ret\nc1: mov eax, -11\n ret\nc2: mov eax, -12\n ret\nother: xor eax, eax\n ret\n.size f, .-f\n"
#define TABLE ".section .rodata\n.p2align 2\nt: .long c0 - t, c1 - t, c2 - t, c1 - t\n.long 0x12345678\n.text\n"
#define HEAD ".globl f, c0, c1, c2, other\n.type f, @function\nf: cmp edi, 3\n ja other\n"

/* The four entries lead to the three cases, with their indexes. */
static void check_table(struct graph *g) {
  uint32_t jump = UINT32_MAX;
  for (uint32_t i = 0; i < g->code.n_blocks; i++)
    if (g->code.insns[g->code.blocks[i].first + g->code.blocks[i].n - 1].op == OP_JUMP_TABLE) jump = i;
  assert_int_not_equal(jump, UINT32_MAX);
  assert_int_equal(count_edges(g, EDGE_CASE), 4);
  assert_int_equal(edges(g, jump, block_at(g, "c0"), EDGE_CASE), 1);
  assert_int_equal(edges(g, jump, block_at(g, "c1"), EDGE_CASE), 2);
  assert_int_equal(edges(g, jump, block_at(g, "c2"), EDGE_CASE), 1);
  const struct block *c2 = &g->code.blocks[block_at(g, "c2")];
  assert_int_equal(g->code.edges[c2->preds].value, 2);
  unsigned marked = 0;
  for (uint32_t i = 0; i < g->code.n_insns; i++)
    if (g->code.insns[i].flags & INSN_TABLE_INDEX) {
      marked++;
      assert_int_equal(g->code.insns[i].index, RDI);
    }
  assert_int_equal(marked, 1);
  assert_int_equal(g->code.problems, 0);
  graph_done(g);
}

static void test_table_as_gcc_writes_it(void **state) {
  (void)state;
  struct graph g;
  graph_of(&g,
           assemble(TABLE HEAD " lea rdx, [rip + t]\n mov edi, edi\n movsxd rax, dword ptr [rdx + rdi * 4]\n"
                               " add rax, rdx\n notrack jmp rax\n" CASES),
           "f", NULL);
  check_table(&g);
}

static void test_table_as_clang_writes_it(void **state) {
  (void)state;
  struct graph g;
  graph_of(&g,
           assemble(TABLE HEAD " mov edi, edi\n lea rax, [rip + t]\n movsxd rcx, dword ptr [rax + rdi * 4]\n"
                               " add rcx, rax\n jmp rcx\n" CASES),
           "f", NULL);
  check_table(&g);
}

static void test_table_without_optimisation(void **state) {
  (void)state;
  struct graph g;
  graph_of(&g,
           assemble(TABLE HEAD " lea rdx, [rdi * 4]\n lea rax, [rip + t]\n mov eax, dword ptr [rdx + rax]\n"
                               " cdqe\n lea rdx, [rip + t]\n add rax, rdx\n jmp rax\n" CASES),
           "f", NULL);
  check_table(&g);
}

/* Addresses that the loader fills in. */
static void test_table_of_relocated_addresses(void **state) {
  (void)state;
  struct graph g;
  graph_of(&g,
           assemble(".section .data.rel.ro, \"aw\"\n.p2align 3\nt: .quad c0, c1, c2, c1, 1\n.text\n" HEAD
                    " lea rax, [rip + t]\n jmp [rax + rdi * 8]\n" CASES),
           "f", NULL);
  check_table(&g);
}

/* Without position independence the table's address is in the jump. */
static void test_table_at_a_fixed_address(void **state) {
  (void)state;
  static const char text[] = ".intel_syntax noprefix\n.section .rodata\n.p2align 3\nt: .quad c0, c1, c2, c1, 1\n.text\n"
                             ".globl _start\n_start: hlt\n" HEAD " mov edi, edi\n jmp [t + rdi * 8]\n" CASES;
  assert_int_equal(file_write(in_folder("empty.s"), "\n", 1, NULL), 0);
  assert_true(shell("${CC:-cc} -shared -nostdlib empty.s -o libempty.so"));
  struct graph g;
  graph_of(&g, build("fixed.s", text, "${CC:-cc}", "-no-pie -Wl,--export-dynamic -Wl,--no-as-needed ./libempty.so"),
           "f", NULL);
  check_table(&g);
}

/* Many entries with one target: one edge, which does not say which. */
static void test_table_with_a_common_case(void **state) {
  (void)state;
  struct graph g;
  graph_of(&g,
           assemble(".section .rodata\n.p2align 2\nt: .rept 20\n.long c0 - t\n.endr\n.long c1 - t, c2 - t\n.text\n"
                    ".globl f, c0, c1, c2, other\n.type f, @function\nf: cmp edi, 21\n ja other\n"
                    " lea rdx, [rip + t]\n movsxd rax, dword ptr [rdx + rdi * 4]\n add rax, rdx\n jmp rax\n" CASES),
           "f", NULL);
  assert_int_equal(count_edges(&g, EDGE_CASE), 2);
  assert_int_equal(
      edges(&g, g.code.edges[g.code.blocks[block_at(&g, "c1")].preds].from, block_at(&g, "c0"), EDGE_PLAIN), 1);
  graph_done(&g);
}

/* Switches as the compilers on this machine write them. */
static void test_tables_of_real_compilers(void **state) {
  (void)state;
  static const char text[] =
      "extern int g(int); int f(int x) { switch (x) { case 0: return g(3); case 1: return g(5) + 1;"
      "case 2: return g(7) * 3; case 3: return -4; case 4: g(1); return -7; case 5: return g(9) - 2;"
      "case 6: return g(2) ^ 5; default: return -1; } }\n"
      "int g(int x) { __asm__ volatile(\"\" : \"+r\"(x)); return x; }\n";
  static const char *const compilers[] = {"gcc", "clang"};
  static const char *const options[] = {
      "-O2 -fPIC -shared",
      "-O0 -fPIC -shared",
      "-Os -fPIC -shared",
      "-O2 -fPIC -shared -fcf-protection=branch",
      "-O2 -fno-pic -no-pie -Wl,-e,f -Wl,--export-dynamic -Wl,--no-as-needed ./libempty.so",
  };
  assert_int_equal(file_write(in_folder("empty.s"), "\n", 1, NULL), 0);
  assert_true(shell("${CC:-cc} -shared -nostdlib empty.s -o libempty.so"));
  for (size_t i = 0; i < COUNT(compilers) * COUNT(options); i++) {
    const char *compiler = compilers[i / COUNT(options)], *option = options[i % COUNT(options)];
    char find[64];
    struct graph g;
    assert_true(snprintf(find, sizeof find, "command -v %s >/dev/null", compiler) < (int)sizeof find);
    if (!shell(find)) continue;
    char all[256];
    assert_true(snprintf(all, sizeof all, "-fno-inline -fno-stack-protector %s", option) < (int)sizeof all);
    graph_of(&g, build("switch.c", text, compiler, all), "f", NULL);
    if (count_op(&g, OP_JUMP_TABLE) != 1 || count_edges(&g, EDGE_CASE) < 7 || g.code.problems)
      fail_msg("%s %s: %u tables, %u cases, problems 0x%x", compiler, option, count_op(&g, OP_JUMP_TABLE),
               count_edges(&g, EDGE_CASE), g.code.problems);
    graph_done(&g);
  }
}

#define COLD                                                                                                           \
  ".globl f, back, cold\n.type f, @function\nf: .cfi_startproc\n sub rsp, 24\n .cfi_def_cfa_offset 32\n test edi, "    \
  "edi\n"                                                                                                              \
  " jne f.cold\nback: add rsp, 24\n ret\n .cfi_endproc\n.size f, .-f\n"                                                \
  ".globl g\n.type g, @function\ng: ret\n.size g, .-g\n"                                                               \
  ".section .text.unlikely, \"ax\", @progbits\n.type f.cold, @function\n"                                              \
  "f.cold: .cfi_startproc\n .cfi_def_cfa_offset 32\ncold: mov eax, -5\n jmp back\n .cfi_endproc\n.size f.cold, "       \
  ".-f.cold\n"

/* The part that runs rarely is elsewhere; its name says what it is, or, in a stripped file, its frame. */
static void test_part_that_was_moved_away(void **state) {
  (void)state;
  for (unsigned stripped = 0; stripped < 2; stripped++) {
    struct graph g;
    struct image *img = assemble(COLD);
    if (stripped) {
      image_free(img);
      assert_true(shell("strip out.so"));
      img = open_image("out.so");
    }
    graph_of(&g, img, "f", NULL);
    assert_non_null(insn_at(&g, "cold"));
    assert_int_equal(insn_at(&g, "cold")->sp, -24);
    assert_int_equal(edges(&g, block_at(&g, "f"), block_at(&g, "cold"), EDGE_TAKEN), 1);
    assert_int_equal(edges(&g, block_at(&g, "cold"), block_at(&g, "back"), EDGE_PLAIN), 1);
    assert_null(insn_at(&g, "g"));
    graph_done(&g);
  }
}

static void test_tail_calls(void **state) {
  (void)state;
  struct graph g;
  struct image *img = assemble(".globl f, other, next, end, slot\n.type f, @function\n.type other, @function\n"
                               "f: test edi, edi\n je other\nnext: cmp edi, 5\n jl away\nend: jmp other\n.size f, .-f\n"
                               "other: xor eax, eax\n ret\n.size other, .-other\n"
                               ".type away, @function\naway: jmp [rip + slot]\n.size away, .-away\n"
                               ".globl ind\n.type ind, @function\nind: mov rax, [rdi]\n jmp rax\n.size ind, .-ind\n"
                               ".globl odd\n.type odd, @function\nodd: push rbx\n jmp rax\n.size odd, .-odd\n"
                               ".data\nslot: .quad 0\n");
  graph_of(&g, img, "f", NULL);
  assert_int_equal(insn_at(&g, "end")->op, OP_TAIL);
  assert_int_equal(insn_at(&g, "end")->imm, label(img, "other"));
  assert_null(insn_at(&g, "other"));
  assert_int_equal(count_op(&g, OP_TAIL), 3);
  assert_int_equal(g.code.n_blocks, 5);
  /* The conditional ones have blocks of their own, behind all others. */
  const struct block *first = &g.code.blocks[3], *second = &g.code.blocks[4];
  assert_int_equal(g.code.insns[first->first].imm, label(img, "other"));
  assert_int_equal(edges(&g, block_at(&g, "f"), 3, EDGE_TAKEN), 1);
  assert_int_equal(edges(&g, block_at(&g, "next"), 4, EDGE_TAKEN), 1);
  assert_int_equal(first->n_preds + second->n_preds, 2);
  arena_done(&g.arena);
  graph_of(&g, img, "ind", NULL);
  assert_int_equal(count_op(&g, OP_TAIL_INDIRECT), 1);
  assert_int_equal(g.code.problems, 0);
  arena_done(&g.arena);
  graph_of(&g, img, "odd", NULL);
  assert_int_equal(count_op(&g, OP_JUMP_UNKNOWN), 1);
  assert_int_equal(g.code.problems, CODE_UNKNOWN_JUMP);
  graph_done(&g);
}

static void test_stubs_of_the_plt(void **state) {
  (void)state;
  struct image *img =
      assemble(".globl a, b, c, d, e, slot\n"
               "a: jmp [rip + slot]\n push 0\n .skip 8, 0x90\nb: endbr64\n jmp [rip + slot]\n .skip 8, 0x90\n"
               "c: endbr64\n bnd jmp [rip + slot]\n .skip 8, 0x90\nd: bnd jmp [rip + slot]\n .skip 16, 0x90\n"
               "e: endbr64\n xor eax, eax\n ret\n .skip 16, 0x90\n.data\nslot: .quad 0\n");
  for (const char *p = "abcd"; *p; p++) {
    char name[2] = {*p, 0};
    struct code_target t = code_follow_plt(img, label(img, name));
    assert_true(t.slot);
    assert_int_equal(t.address, label(img, "slot"));
  }
  struct code_target t = code_follow_plt(img, label(img, "e"));
  assert_true(!t.slot && t.address == label(img, "e"));
  t = code_follow_plt(img, 1ull << 40);
  assert_true(!t.slot && t.address == 1ull << 40);
  image_free(img);
}

static bool is_slot(void *context, struct code_target t) { return t.slot && t.address == *(const uint64_t *)context; }

static void test_calls_that_never_return(void **state) {
  (void)state;
  struct image *img = assemble(".globl f, ok, dead, slot, back\n.type f, @function\n"
                               "f: push rbx\n test edi, edi\n je ok\n call stub\ndead: mov eax, 1\n pop rbx\n ret\n"
                               "ok: call [rip + slot]\n nop\nback: xor eax, eax\n pop rbx\n ret\n.size f, .-f\n"
                               "stub: jmp [rip + slot]\n .skip 16, 0x90\n.data\nslot: .quad 0\n");
  uint64_t slot = label(img, "slot");
  struct code_options o = {.noreturn = is_slot, .context = &slot};
  struct graph g;
  graph_of(&g, img, "f", NULL);
  assert_int_equal(count_op(&g, OP_RETURN), 2);
  arena_done(&g.arena);
  graph_of(&g, img, "f", &o);
  assert_null(insn_at(&g, "dead"));
  assert_null(insn_at(&g, "back"));
  assert_int_equal(count_op(&g, OP_RETURN), 0);
  assert_int_equal(g.code.problems, 0);
  graph_done(&g);
}

/* Behind a call that ends the function nothing follows; behind a return or ud2 neither. */
static void test_code_that_is_not_reached(void **state) {
  (void)state;
  struct graph g;
  struct image *img =
      assemble(".globl f, dead, g, h, dead2\n.type f, @function\n.type g, @function\n.type h, @function\n"
               "f: ret\ndead: mov eax, 5\n ret\n.size f, .-f\n"
               "g: sub rsp, 8\n call h\n.size g, .-g\nh: ud2\ndead2: ret\n.size h, .-h\n");
  graph_of(&g, img, "f", NULL);
  assert_int_equal(g.code.n_insns, 1);
  arena_done(&g.arena);
  graph_of(&g, img, "g", NULL);
  assert_int_equal(g.code.n_insns, 2);
  assert_int_equal(g.code.problems, 0);
  arena_done(&g.arena);
  graph_of(&g, img, "h", NULL);
  assert_int_equal(g.code.n_insns, 1);
  assert_int_equal(g.code.n_edges, 0);
  graph_done(&g);
}

/* The image of out.so with its code segment cut at a label. */
static struct image *cut_at(uint64_t end) {
  char *bytes;
  size_t size;
  struct image *img = NULL;
  struct err e = {0};
  Elf64_Ehdr h;
  assert_int_equal(file_read(in_folder("out.so"), 1 << 24, &bytes, &size, NULL), 0);
  memcpy(&h, bytes, sizeof h);
  for (unsigned i = 0; i < h.e_phnum; i++) {
    Elf64_Phdr p;
    char *at = bytes + h.e_phoff + i * sizeof p;
    memcpy(&p, at, sizeof p);
    if (p.p_type != PT_LOAD || !(p.p_flags & PF_X)) continue;
    p.p_filesz = p.p_memsz = end - p.p_vaddr;
    memcpy(at, &p, sizeof p);
  }
  if (image_from_memory("cut", bytes, size, &img, &e) < 0) fail_msg("%s", e.text);
  free(bytes);
  return img;
}

static void test_code_that_runs_out(void **state) {
  (void)state;
  struct graph g;
  struct image *img = assemble(".globl f, last\n.type f, @function\nf: test edi, edi\n je 1f\n ret\n1: nop\n"
                               "last: mov eax, 0x11223344\n ret\n.size f, .-f\n"
                               ".globl bad\n.type bad, @function\nbad: nop\n .byte 0x06\n ret\n.size bad, .-bad\n");
  uint64_t f = label(img, "f"), last = label(img, "last");
  graph_of(&g, img, "bad", NULL);
  assert_int_equal(g.code.problems, CODE_BAD_INSTRUCTION);
  assert_int_equal(g.code.n_insns, 1);
  graph_done(&g);
  img = cut_at(last + 2);
  struct arena arena = {0};
  struct code c;
  assert_int_equal(code_build(img, f, NULL, &arena, &c), 0);
  assert_int_equal(c.problems, CODE_BAD_INSTRUCTION);
  assert_int_equal(c.n_insns, 4);
  assert_int_equal(code_build(img, last + 2, NULL, &arena, &c), -EFAULT);
  assert_int_equal(code_build(img, last, NULL, &arena, &c), -EFAULT);
  assert_int_equal(code_build(img, 0, NULL, &arena, &c), -EFAULT);
  arena_done(&arena);
  image_free(img);
}

static void test_limit_of_instructions(void **state) {
  (void)state;
  struct graph g;
  struct code_options o = {.max_insns = 10};
  graph_of(&g, assemble(".globl f\n.type f, @function\nf: .skip 100, 0x90\n ret\n.size f, .-f\n"), "f", &o);
  assert_int_equal(g.code.problems, CODE_TOO_LARGE);
  assert_int_equal(g.code.n_insns, 10);
  graph_done(&g);
}

static void test_reading_until_an_operation(void **state) {
  (void)state;
  struct graph g;
  struct code_options until_return = {.until = CODE_OP_BIT(OP_RETURN)},
                      until_call = {.until = CODE_OP_BIT(OP_CALL_SLOT)};
  struct image *img = assemble(".globl other\n.type other, @function\nother: ret\n.size other, .-other\n"
                               ".globl f\n.type f, @function\nf: test edi, edi\n je other\n call other\n"
                               " test eax, eax\n je 1f\n mov eax, 1\n1: ret\n.size f, .-f\n"
                               ".globl bad\n.type bad, @function\nbad: nop\n .byte 0x06\n.size bad, .-bad\n");
  graph_of(&g, img, "f", &until_return);
  assert_int_equal(g.code.problems, CODE_STOPPED);
  assert_int_equal(g.code.n_insns, 0);
  arena_done(&g.arena);
  /* None of them: all that is there, with the conditional tail call behind. */
  graph_of(&g, img, "f", &until_call);
  assert_int_equal(g.code.problems, 0);
  assert_int_equal(g.code.n_insns, 8);
  assert_int_equal(count_op(&g, OP_RETURN), 1);
  assert_int_equal(count_op(&g, OP_TAIL), 1);
  assert_int_equal(g.code.insns[7].op, OP_TAIL);
  assert_int_equal(g.code.insns[7].imm, label(img, "other"));
  arena_done(&g.arena);
  graph_of(&g, img, "bad", &until_return);
  assert_int_equal(g.code.problems, CODE_BAD_INSTRUCTION);
  assert_int_equal(g.code.n_insns, 0);
  graph_done(&g);
}

/* --- the stack ---------------------------------------------------------------------------------------------------- */

static void check_stack(const struct graph *g, const char *name, int32_t sp, int32_t fp) {
  const struct insn *in = insn_at(g, name);
  assert_non_null(in);
  if (in->sp != sp || in->fp != fp) fail_msg("%s: sp %d fp %d, not %d and %d", name, in->sp, in->fp, sp, fp);
}

static void test_stack_with_a_frame_pointer(void **state) {
  (void)state;
  struct graph g;
  graph_of(&g,
           assemble(".globl f, a, b, c, d, e\n.type f, @function\n"
                    "f: push rbp\na: mov rbp, rsp\nb: sub rsp, 32\nc: mov dword ptr [rbp - 4], 5\n lea rdi, [rbp - 8]\n"
                    " lea rsi, [rsp + 16]\nd: leave\ne: ret\n.size f, .-f\n"),
           "f", NULL);
  check_stack(&g, "f", 0, SP_UNKNOWN);
  check_stack(&g, "a", -8, SP_UNKNOWN);
  check_stack(&g, "b", -8, -8);
  check_stack(&g, "c", -40, -8);
  check_stack(&g, "d", -40, -8);
  check_stack(&g, "e", 0, SP_UNKNOWN);
  assert_int_equal(g.code.n_escaped, 2);
  assert_int_equal(g.code.escaped[0], -24);
  assert_int_equal(g.code.escaped[1], -16);
  graph_done(&g);
}

static void test_stack_without_a_frame_pointer(void **state) {
  (void)state;
  struct graph g;
  graph_of(&g,
           assemble(".globl f, a, b, c, d, e\n.type f, @function\n"
                    "f: push rbx\n push 7\na: pop rcx\nb: sub rsp, -128\n add rsp, -128\n lea rsp, [rsp - 64]\nc: nop\n"
                    " lea rsp, [rsp + 64]\nd: pop rbx\ne: ret\n.size f, .-f\n"),
           "f", NULL);
  check_stack(&g, "a", -16, SP_UNKNOWN);
  check_stack(&g, "b", -8, SP_UNKNOWN);
  check_stack(&g, "c", -72, SP_UNKNOWN);
  check_stack(&g, "d", -8, SP_UNKNOWN);
  check_stack(&g, "e", 0, SP_UNKNOWN);
  graph_done(&g);
}

/* What cannot be followed is not known, and what is out of any stack's size neither. */
static void test_stack_that_is_lost(void **state) {
  (void)state;
  static const char *const lost[] = {"pop rsp",
                                     "mov rsp, rax",
                                     "xchg rsp, rax",
                                     "add rsp, rax",
                                     "add esp, 8",
                                     "mov esp, eax",
                                     "enter 16, 0",
                                     "lea rsp, [rsp + rax]",
                                     "lea rsp, [rsp + 0x7fffffff]",
                                     "sub rsp, 0x7fffffff",
                                     "sub rsp, -0x80000000",
                                     "leave"};
  for (size_t i = 0; i < COUNT(lost); i++) {
    char text[256];
    struct graph g;
    assert_true(
        snprintf(text, sizeof text,
                 ".globl f, a, b\n.type f, @function\nf: push rax\n %s\na: push rax\n pop rcx\nb: ret\n.size f, .-f\n",
                 lost[i]) < (int)sizeof text);
    graph_of(&g, assemble(text), "f", NULL);
    if (insn_at(&g, "a")->sp != SP_UNKNOWN) fail_msg("%s: sp %d", lost[i], insn_at(&g, "a")->sp);
    check_stack(&g, "b", SP_UNKNOWN, SP_UNKNOWN);
    graph_done(&g);
  }
}

/* Below an alignment, slots are apart from those above. */
static void test_aligned_stack(void **state) {
  (void)state;
  struct graph g;
  graph_of(
      &g,
      assemble(".globl f, a, b\n.type f, @function\nf: push rbp\n mov rbp, rsp\n and rsp, -32\n sub rsp, 64\na: nop\n"
               " leave\nb: ret\n.size f, .-f\n"),
      "f", NULL);
  assert_true(insn_at(&g, "a")->sp < -1000 && insn_at(&g, "a")->sp != SP_UNKNOWN);
  check_stack(&g, "b", 0, SP_UNKNOWN);
  graph_done(&g);
}

/* --- size --------------------------------------------------------------------------------------------------------- */

/* Conditional tail calls come behind the others, with the address of their branch: the branch is what is found. */
static void test_find(void **state) {
  (void)state;
  struct image *img = assemble(".globl f\n.globl g\n.type f, @function\n.type g, @function\n"
                               "f: test edi, edi\nje g\nmov eax, 1\nret\n.size f, .-f\n"
                               "g: xor eax, eax\nret\n.size g, .-g");
  struct arena arena = {0};
  struct code c;
  uint32_t at;
  assert_int_equal(code_build(img, label(img, "f"), NULL, &arena, &c), 0);
  assert_true(c.n_insns > c.n_in_order);
  for (uint32_t i = 0; i < c.n_in_order; i++) {
    assert_true(code_find(&c, c.insns[i].address, &at));
    assert_int_equal(at, i);
  }
  assert_false(code_find(&c, c.entry + 1, &at));
  assert_false(code_find(&c, c.entry - 1, &at));
  assert_false(code_find(&c, label(img, "g"), &at));
  arena_done(&arena);
  image_free(img);
}

/* Thousands of conditional tail calls and of tables: the time is linear, or this does not end. */
static void test_many_tails_and_tables(void **state) {
  (void)state;
  struct graph g;
  graph_of(&g,
           assemble(".globl f, other\n.type f, @function\n.type other, @function\nother: ret\n.size other, .-other\n"
                    "f: .rept 40000\n cmp edi, 3\n je other\n.endr\n ret\n.size f, .-f\n"),
           "f", NULL);
  assert_int_equal(count_op(&g, OP_TAIL), 40000);
  graph_done(&g);
  graph_of(&g,
           assemble(".section .rodata\nt: .rept 1024\n.long end - t\n.endr\n.text\n.globl f\n.type f, @function\n"
                    "f: lea rdx, [rip + t]\n.rept 4000\n movsxd rax, dword ptr [rdx + rdi * 4]\n"
                    " add rax, rdx\n je 1f\n jmp rax\n1:\n.endr\nend: ret\n.size f, .-f\n"),
           "f", NULL);
  assert_true(count_op(&g, OP_JUMP_TABLE) > 100);
  graph_done(&g);
}

/* Instructions whose numbers are large are found as well, and each knows its block. */
static void test_many_instructions(void **state) {
  (void)state;
  struct graph g;
  graph_of(&g,
           assemble(".globl f, l\n.type f, @function\nf: .rept 70000\n nop\n.endr\nl: dec edi\n jne l\n ret\n"
                    ".size f, .-f\n"),
           "f", NULL);
  uint32_t l = block_at(&g, "l");
  assert_int_equal(g.code.n_insns, 70003);
  assert_int_equal(g.code.blocks[l].n_preds, 2);
  assert_int_equal(edges(&g, l, l, EDGE_TAKEN), 1);
  for (uint32_t k = 0; k < g.code.n_blocks; k++)
    for (uint32_t i = 0; i < g.code.blocks[k].n; i++)
      assert_int_equal(code_block_of(&g.code, g.code.blocks[k].first + i), k);
  graph_done(&g);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_instructions),
      cmocka_unit_test(test_addresses),
      cmocka_unit_test(test_conditions_have_the_hardware_numbers),
      cmocka_unit_test(test_text_of_an_instruction),
      cmocka_unit_test(test_branch_and_join),
      cmocka_unit_test(test_loop_to_the_entry),
      cmocka_unit_test(test_jump_into_an_instruction),
      cmocka_unit_test(test_table_as_gcc_writes_it),
      cmocka_unit_test(test_table_as_clang_writes_it),
      cmocka_unit_test(test_table_without_optimisation),
      cmocka_unit_test(test_table_of_relocated_addresses),
      cmocka_unit_test(test_table_at_a_fixed_address),
      cmocka_unit_test(test_table_with_a_common_case),
      cmocka_unit_test(test_tables_of_real_compilers),
      cmocka_unit_test(test_part_that_was_moved_away),
      cmocka_unit_test(test_tail_calls),
      cmocka_unit_test(test_stubs_of_the_plt),
      cmocka_unit_test(test_calls_that_never_return),
      cmocka_unit_test(test_code_that_is_not_reached),
      cmocka_unit_test(test_code_that_runs_out),
      cmocka_unit_test(test_limit_of_instructions),
      cmocka_unit_test(test_reading_until_an_operation),
      cmocka_unit_test(test_stack_with_a_frame_pointer),
      cmocka_unit_test(test_stack_without_a_frame_pointer),
      cmocka_unit_test(test_stack_that_is_lost),
      cmocka_unit_test(test_aligned_stack),
      cmocka_unit_test(test_find),
      cmocka_unit_test(test_many_tails_and_tables),
      cmocka_unit_test(test_many_instructions),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
