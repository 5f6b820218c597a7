/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call sites of a library that is assembled here: one small function for each idiom, with the verdict beside it; the
 * same with many workers, and with every allocation failing in turn. Then what is made of sites: baselines, comments,
 * the forms of output.
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
#include "site/site.h"

/* --- the library -------------------------------------------------------------------------------------------------- */

/* Functions with the names of libc's, which the data files know, and with a few of their errors. */
static const char base_text[] =
    "__thread int errno; int *__errno_location(void) { return &errno; } extern int thing, x;\n"
    "int x, thing; static long err(int e) { errno = e; return -1; }\n"
    "int open(int a) { return a == 1 ? (int)err(4) : a == 2 ? (int)err(5) : x; }\n"
    "int close(int a) { return a == 1 ? (int)err(4) : a == 2 ? (int)err(5) : 0; }\n"
    "long read(int a) { return a == 1 ? err(4) : a == 2 ? err(5) : x; }\n"
    "long write(int a) { return a == 1 ? err(28) : a == 2 ? err(5) : x; }\n"
    "int snprintf(int a) { return a == 1 ? (int)err(12) : x; }\n"
    "void *malloc(int a) { if (a == 1) { errno = 12; return 0; } return &thing; }\n"
    "void *mmap(int a) { if (a == 1) return (void *)err(12); return &thing; }\n"
    "void *opendir(int a) { if (a == 1) { errno = 2; return 0; } return &thing; }\n"
    "int pthread_mutex_lock(int a) { return a == 1 ? 22 : a == 2 ? 35 : a == 3 ? 11 : 0; }\n"
    "long strtol(int a) { if (a == 1) { errno = 34; return 0x7fffffffffffffff; } return x; }\n"
    "int readdir(void *p) { return p != 0; }\nvoid free(void *p) { thing = p != 0; }\n"
    "unsigned long strlen(const char *s) { return (unsigned long)*s; }\n"
    "_Noreturn void abort(void) { for (;;) ; }\n";

static const struct function {
  const char *name, *text, *verdict;
} functions[] = {
    /* nothing is done with it */
    {"ignored", "push rax\n call close@plt\n xor eax, eax\n pop rcx\n ret", "none ignored"},
    {"ignored_sbb", "push rbx\n mov ebx, edi\n call close@plt\n neg ebx\n sbb eax, eax\n pop rbx\n ret",
     "none ignored"},
    {"ignored_or", "push rax\n call close@plt\n or eax, -1\n pop rcx\n ret", "none ignored"},
    {"used",
     "push rax\n call open@plt\n mov edi, eax\n call read@plt\n cmp rax, -1\n je 1f\n xor eax, eax\n"
     "1: pop rcx\n ret",
     "none used"},
    {"dereferenced", "push rax\n call malloc@plt\n mov dword ptr [rax + 8], 1\n pop rcx\n ret", "none dereferenced"},
    {"handed_on", "push rax\n call opendir@plt\n mov rdi, rax\n call readdir@plt\n pop rcx\n ret", "none dereferenced"},
    {"tolerated", "push rax\n call malloc@plt\n mov rdi, rax\n call free@plt\n xor eax, eax\n pop rcx\n ret",
     "none used"},
    {"tail", "jmp close@plt", "none returned"},
    {"summed", "push rbx\n mov rbx, rsi\n call read@plt\n add rbx, rax\n mov rax, rbx\n pop rbx\n ret", "none used"},

    /* comparisons */
    {"minus_one", "push rax\n call open@plt\n cmp eax, -1\n je 1f\n xor eax, eax\n1: pop rcx\n ret", "all"},
    {"inc_je", "push rax\n call open@plt\n inc eax\n je 1f\n xor eax, eax\n1: pop rcx\n ret", "all"},
    {"sign", "push rax\n call open@plt\n test eax, eax\n js 1f\n xor eax, eax\n1: pop rcx\n ret", "all"},
    {"success", "push rax\n call close@plt\n test eax, eax\n jne 1f\n xor eax, eax\n1: pop rcx\n ret", "all"},
    {"sete", "push rax\n call close@plt\n test eax, eax\n sete al\n movzx eax, al\n pop rcx\n ret", "all"},
    {"cmov", "push rax\n call close@plt\n mov edx, 7\n test eax, eax\n cmovne eax, edx\n pop rcx\n ret", "all"},
    {"sbb", "push rax\n call close@plt\n neg eax\n sbb eax, eax\n and eax, 5\n pop rcx\n ret", "all"},
    {"shifted", "push rax\n call close@plt\n sar eax, 31\n and eax, 5\n pop rcx\n ret", "all"},
    {"widened", "push rax\n call open@plt\n cdqe\n cmp rax, -1\n je 1f\n xor eax, eax\n1: pop rcx\n ret", "all"},
    {"variable", "push rbx\n mov rbx, rsi\n call write@plt\n cmp rax, rbx\n jne 1f\n xor eax, eax\n1: pop rbx\n ret",
     "all"},
    {"expected", "push rax\n call read@plt\n cmp rax, 16\n jne 1f\n xor eax, eax\n1: pop rcx\n ret", "all"},
    {"fewer", "push rax\n call read@plt\n cmp rax, 15\n jle 1f\n xor eax, eax\n1: pop rcx\n ret", "all"},
    {"ored",
     "push rbx\n call close@plt\n mov ebx, eax\n xor edi, edi\n call close@plt\n or eax, ebx\n js 1f\n"
     " xor eax, eax\n1: pop rbx\n ret",
     "all"},
    {"switched",
     "push rax\n call pthread_mutex_lock@plt\n cmp eax, 3\n ja 9f\n lea rdx, [rip + jumps]\n"
     " movsxd rax, dword ptr [rdx + rax * 4]\n add rax, rdx\n jmp rax\n"
     "j0: mov eax, 1\n pop rcx\n ret\nj1: mov eax, 2\n pop rcx\n ret\n9: xor eax, eax\n pop rcx\n ret",
     "all"},

    /* comparisons that tell nothing */
    {"wrong_constant", "push rax\n call mmap@plt\n test rax, rax\n je 1f\n mov byte ptr [rax], 0\n1: pop rcx\n ret",
     "none dereferenced"},
    {"true_for_both", "push rax\n call open@plt\n test eax, eax\n je 1f\n xor eax, eax\n1: pop rcx\n ret", "none used"},
    {"end_of_file", "push rax\n call read@plt\n test rax, rax\n je 1f\n mov eax, 1\n1: pop rcx\n ret", "none used"},
    {"truncated", "push rax\n call snprintf@plt\n cmp eax, 15\n jg 1f\n xor eax, eax\n1: pop rcx\n ret", "none used"},
    {"truncated_unsigned", "push rax\n call snprintf@plt\n cmp eax, 15\n ja 1f\n xor eax, eax\n1: pop rcx\n ret",
     "all"},
    {"the_very_number", "push rax\n call open@plt\n cmp eax, 1\n setne al\n movzx eax, al\n pop rcx\n ret", "all"},
    {"truth_of_number",
     "push rax\n call strtol@plt\n test rax, rax\n setne al\n mov [rip + the_variable], al\n"
     " xor eax, eax\n pop rcx\n ret",
     "none used"},
    {"number_below", "push rax\n call strtol@plt\n cmp rax, 0x7fffffff\n setg al\n movzx eax, al\n pop rcx\n ret",
     "all"},
    {"too_late",
     "push rbx\n call malloc@plt\n mov dword ptr [rax], 1\n test rax, rax\n je 1f\n xor eax, eax\n"
     "1: pop rbx\n ret",
     "none dereferenced"},
    {"one_code", "push rax\n call pthread_mutex_lock@plt\n cmp eax, 35\n je 1f\n xor eax, eax\n1: pop rcx\n ret",
     "some"},

    /* what is left is asked for, and an error only makes it more */
    {"rest",
     "push rbx\n mov rbx, rdx\n1: mov rdx, rbx\n call write@plt\n sub rbx, rax\n jne 1b\n xor eax, eax\n"
     " pop rbx\n ret",
     "none used"},
    {"rest_is_told",
     "push rbx\n mov rbx, rdx\n1: mov rdx, rbx\n call write@plt\n sub rbx, rax\n je 2f\n call [rip + the_variable]\n"
     " jmp 1b\n2: xor eax, eax\n pop rbx\n ret",
     "all"},
    {"rest_of_once",
     "push rbx\n mov rbx, rdx\n call write@plt\n sub rbx, rax\n jne 1f\n xor eax, eax\n1: pop rbx\n ret", "all"},

    /* where the value goes */
    {"callee_saved",
     "push rbx\n call open@plt\n mov ebx, eax\n xor edi, edi\n call close@plt\n test ebx, ebx\n js 1f\n"
     " xor eax, eax\n1: pop rbx\n ret",
     "all"},
    {"stack_slot",
     "sub rsp, 24\n call open@plt\n mov [rsp + 12], eax\n xor edi, edi\n call strlen@plt\n"
     " cmp dword ptr [rsp + 12], 0\n js 1f\n xor eax, eax\n1: add rsp, 24\n ret",
     "all"},
    {"overwritten",
     "sub rsp, 24\n call open@plt\n mov [rsp + 12], eax\n mov dword ptr [rsp + 12], 0\n"
     " cmp dword ptr [rsp + 12], 0\n js 1f\n xor eax, eax\n1: add rsp, 24\n ret",
     "none returned"},
    {"member",
     "push rbx\n mov rbx, rdi\n call open@plt\n mov [rbx + 8], eax\n xor edi, edi\n call strlen@plt\n"
     " mov eax, [rbx + 8]\n test eax, eax\n js 1f\n xor eax, eax\n1: pop rbx\n ret",
     "all"},
    {"frame_member",
     "push rbp\n mov rbp, rsp\n sub rsp, 16\n mov [rbp - 8], rdi\n call open@plt\n mov rdx, [rbp - 8]\n"
     " mov [rdx + 4], eax\n mov rax, [rbp - 8]\n mov eax, [rax + 4]\n cmp eax, -1\n je 1f\n"
     " xor eax, eax\n1: leave\n ret",
     "all"},
    {"through_register",
     "push rbx\n mov rbx, [rip + close@GOTPCREL]\n call rbx\n test eax, eax\n js 1f\n xor eax, eax\n"
     "1: pop rbx\n ret",
     "all"},
    {"no_plt", "push rax\n call [rip + close@GOTPCREL]\n test eax, eax\n js 1f\n xor eax, eax\n1: pop rcx\n ret",
     "all"},

    {"bounded", "push rax\n call open@plt\n cmp eax, 100\n ja 1f\n xor eax, eax\n1: pop rcx\n ret", "all"},
    {"bounded_from_above", "push rax\n call open@plt\n cmp eax, 100\n jg 1f\n xor eax, eax\n1: pop rcx\n ret",
     "none used"},
    {"only_zero", "push rax\n call open@plt\n cmp eax, 1\n jb 1f\n xor eax, eax\n1: pop rcx\n ret", "none used"},
    {"looked_up",
     "push rax\n call open@plt\n inc eax\n cmp eax, 6\n ja 1f\n lea rdx, [rip + jumps]\n mov eax, [rdx + rax * 4]\n"
     "1: pop rcx\n ret",
     "all"},
    {"indexed", "push rax\n call open@plt\n lea rdx, [rip + jumps]\n cdqe\n mov eax, [rdx + rax * 4]\n pop rcx\n ret",
     "none used"},

    /* united with others */
    {"united_in_memory",
     "push rbp\n mov rbp, rsp\n sub rsp, 16\n mov dword ptr [rbp - 4], 0\n call close@plt\n or [rbp - 4], eax\n"
     " mov eax, 7\n or [rbp - 4], eax\n mov eax, [rip + the_variable]\n or [rbp - 4], eax\n"
     " cmp dword ptr [rbp - 4], 0\n je 1f\n call abort@plt\n1: xor eax, eax\n leave\n ret",
     "all"},
    {"summed_up",
     "push rbx\n call close@plt\n add eax, [rip + the_variable]\n mov ebx, eax\n test ebx, ebx\n jne 1f\n"
     " xor eax, eax\n1: pop rbx\n ret",
     "all"},
    {"sign_of_sum",
     "push rbx\n call close@plt\n add eax, [rip + the_variable]\n shr eax, 31\n mov [rip + the_variable], eax\n"
     " xor eax, eax\n pop rbx\n ret",
     "all"},
    {"counts_summed_up",
     "push rbx\n call write@plt\n add eax, [rip + the_variable]\n mov ebx, eax\n xor eax, eax\n test ebx, ebx\n"
     " jne 1f\n inc eax\n1: pop rbx\n ret",
     "none used"},
    {"sign_in_memory",
     "sub rsp, 24\n call open@plt\n mov [rsp + 12], eax\n shr dword ptr [rsp + 12], 31\n mov eax, [rsp + 12]\n"
     " mov [rip + the_variable], eax\n xor eax, eax\n add rsp, 24\n ret",
     "all"},

    /* divided: compilers round towards 0, and ask for the sign for that */
    {"halved",
     "push rbx\n call open@plt\n mov edx, eax\n shr edx, 31\n add eax, edx\n sar eax\n mov [rip + the_variable], eax\n"
     " xor eax, eax\n pop rbx\n ret",
     "none used"},
    {"divided",
     "push rbx\n call open@plt\n mov ecx, 10\n cdq\n idiv ecx\n mov [rip + the_variable], eax\n xor eax, eax\n pop "
     "rbx\n"
     " ret",
     "none used"},
    {"in_words",
     "push rbx\n call open@plt\n lea edx, [rax + 63]\n test eax, eax\n cmovns edx, eax\n sar edx, 6\n"
     " imul edx, edx\n xor eax, eax\n pop rbx\n ret",
     "none used"},

    /* an array that one loop fills and the next one looks at, by index and by pointer */
    {"elements",
     "push rbx\n sub rsp, 16\n xor ebx, ebx\n1: call open@plt\n mov [rsp + rbx * 4], eax\n inc rbx\n cmp rbx, 4\n"
     " jne 1b\n mov rdx, rsp\n lea rcx, [rsp + 16]\n xor eax, eax\n2: cmp dword ptr [rdx], 0\n js 3f\n add rdx, 4\n"
     " cmp rdx, rcx\n jne 2b\n inc eax\n3: add rsp, 16\n pop rbx\n ret",
     "all"},
    {"elements_of_another",
     "push rbx\n sub rsp, 32\n xor ebx, ebx\n1: call open@plt\n mov [rsp + rbx * 4], eax\n inc rbx\n cmp rbx, 4\n"
     " jne 1b\n lea rdx, [rsp + 16]\n lea rcx, [rsp + 32]\n xor eax, eax\n2: cmp dword ptr [rdx], 0\n js 3f\n"
     " add rdx, 4\n cmp rdx, rcx\n jne 2b\n inc eax\n3: add rsp, 32\n pop rbx\n ret",
     "none used"},
    {"doubled", "push rax\n call close@plt\n add eax, eax\n jne 1f\n xor eax, eax\n1: pop rcx\n ret", "all"},

    /* more copies and code than are followed, and then a check */
    {"too_long",
     "push rbx\n call write@plt\n.rept 20\n push rax\n.endr\n.rept 4000\n nop\n.endr\n xor eax, eax\n"
     " cmp qword ptr [rsp + 152], -1\n je 1f\n inc eax\n1: add rsp, 160\n pop rbx\n ret",
     ""},

    /* in a loop, the value of the round before is dereferenced where this one is stored */
    {"appended",
     "push rbx\n mov rbx, rdi\n1: call malloc@plt\n test rax, rax\n mov [rbx], rax\n mov rdi, rax\n je 2f\n"
     " call filler\n mov rbx, [rbx]\n jmp 1b\n2: xor eax, eax\n pop rbx\n ret",
     "all"},
    {"filler", "mov dword ptr [rdi + 8], 1\n ret", ""},
    {"appended_unchecked",
     "push rbx\n mov rbx, rdi\n1: call malloc@plt\n mov [rbx], rax\n mov rbx, [rbx]\n dec dword ptr [rip + "
     "the_variable]\n"
     " jne 1b\n xor eax, eax\n pop rbx\n ret",
     "none dereferenced"},

    /* errno */
    {"by_errno",
     "push rbx\n call __errno_location@plt\n mov rbx, rax\n mov dword ptr [rax], 0\n call strtol@plt\n"
     " cmp dword ptr [rbx], 0\n jne 1f\n xor eax, eax\n1: pop rbx\n ret",
     "all"},
    {"only_eintr",
     "push rbx\n1: call read@plt\n mov rbx, rax\n cmp rax, -1\n jne 2f\n call __errno_location@plt\n"
     " cmp dword ptr [rax], 4\n je 1b\n2: mov edi, ebx\n call strlen@plt\n pop rbx\n ret",
     "some"},
    {"eintr_then_size",
     "push rbx\n1: call write@plt\n mov rbx, rax\n cmp rax, -1\n jne 2f\n call __errno_location@plt\n"
     " cmp dword ptr [rax], 4\n je 1b\n2: xor eax, eax\n cmp rbx, 3\n sete al\n pop rbx\n ret",
     "all"},
    {"eintr_then_all",
     "push rbx\n push r12\n push rax\n mov r12, rdx\n1: call write@plt\n mov rbx, rax\n cmp rax, -1\n jne 2f\n"
     " call __errno_location@plt\n cmp dword ptr [rax], 4\n je 1b\n2: xor eax, eax\n cmp rbx, r12\n sete al\n"
     " pop rcx\n pop r12\n pop rbx\n ret",
     "all"},
    {"only_eintr_zeroed", /* what the failing way leaves in a register is not read any more */
     "push rbx\n push rbp\n push rax\n mov ebp, edi\n call close@plt\n test eax, eax\n jns 2f\n"
     " call __errno_location@plt\n mov ebp, 1\n cmp dword ptr [rax], 4\n je 3f\n2: xor edi, edi\n call strlen@plt\n"
     " xor ebp, ebp\n3: mov eax, ebp\n pop rcx\n pop rbp\n pop rbx\n ret",
     "some"},
    {"all_but_eintr",
     "push rbx\n1: call read@plt\n mov rbx, rax\n cmp rax, -1\n jne 2f\n call __errno_location@plt\n"
     " cmp dword ptr [rax], 4\n je 1b\n call abort@plt\n2: mov edi, ebx\n call strlen@plt\n pop rbx\n ret",
     "all"},

    {"eintr_then_minus_one", /* in few bytes; the success is from memory */
     "push rax\n1: call close@plt\n test eax, eax\n jns 2f\n call __errno_location@plt\n cmp dword ptr [rax], 4\n"
     " je 1b\n or eax, -1\n pop rcx\n ret\n2: movzx eax, byte ptr [rsp + 1]\n pop rcx\n ret",
     "all"},
    {"eintr_then_memory",
     "push rax\n1: call close@plt\n test eax, eax\n jns 2f\n call __errno_location@plt\n cmp dword ptr [rax], 4\n"
     " je 1b\n mov eax, [rsp + 4]\n pop rcx\n ret\n2: mov eax, [rsp]\n pop rcx\n ret",
     "all"},

    {"eintr_then_guard", /* both ways meet at the stack protector's question */
     "push rbx\n1: call close@plt\n test eax, eax\n jns 2f\n call __errno_location@plt\n cmp dword ptr [rax], 4\n"
     " je 1b\n mov eax, -1\n jmp 3f\n2: xor eax, eax\n3: mov rdx, [rsp]\n sub rdx, fs:[0x28]\n jne 4f\n pop rbx\n"
     " ret\n4: call abort@plt",
     "all"},
    {"eintr_then_guard_loaded",
     "push rbx\n1: call close@plt\n test eax, eax\n jns 2f\n call __errno_location@plt\n cmp dword ptr [rax], 4\n"
     " je 1b\n mov eax, -1\n jmp 3f\n2: xor eax, eax\n3: mov rcx, fs:[0x28]\n cmp rcx, [rsp]\n jne 4f\n pop rbx\n"
     " ret\n4: call abort@plt",
     "all"},

    /* other functions of the program */
    {"wrapper", "push rax\n call open@plt\n pop rcx\n ret", "all"},
    {"calls_wrapper", "push rax\n call wrapper\n test eax, eax\n js 1f\n xor eax, eax\n1: pop rcx\n ret", ""},
    {"lazy_wrapper", "push rax\n call close@plt\n pop rcx\n ret", "none ignored"},
    {"calls_lazy_wrapper", "push rax\n call lazy_wrapper\n xor eax, eax\n pop rcx\n ret", ""},
    {"two_callers", "push rax\n call close@plt\n pop rcx\n ret", "some"},
    {"first_caller", "push rax\n call two_callers\n test eax, eax\n js 1f\n xor eax, eax\n1: pop rcx\n ret", ""},
    {"second_caller", "push rax\n call two_callers\n xor eax, eax\n pop rcx\n ret", ""},
    {"seen_in_part", "push rax\n call close@plt\n pop rcx\n ret", "some"}, /* exported, and one caller ignores it */
    {"caller_of_part", "push rax\n call seen_in_part\n test eax, eax\n js 1f\n xor eax, eax\n1: pop rcx\n ret", ""},
    {"other_of_part", "push rax\n call seen_in_part\n xor eax, eax\n pop rcx\n ret", ""},
    {"or_die", "push rax\n call malloc@plt\n test rax, rax\n je 1f\n pop rcx\n ret\n1: call abort@plt", "all"},
    {"checker", "test rdi, rdi\n je 1f\n mov dword ptr [rdi], 1\n1: ret", ""},
    {"asks_checker", "push rax\n call malloc@plt\n mov rdi, rax\n call checker\n xor eax, eax\n pop rcx\n ret", "all"},
    {"breaker", "mov dword ptr [rdi], 1\n ret", ""},
    {"asks_breaker", "push rax\n call malloc@plt\n mov rdi, rax\n call breaker\n xor eax, eax\n pop rcx\n ret",
     "none dereferenced"},
    {"fills", "push rbx\n mov rbx, rsi\n call open@plt\n mov [rbx + 4], eax\n pop rbx\n ret", "all"},
    {"calls_fills",
     "sub rsp, 24\n lea rsi, [rsp + 8]\n call fills\n cmp dword ptr [rsp + 12], 0\n js 1f\n xor eax, eax\n"
     "1: add rsp, 24\n ret",
     ""},
    {"sets_variable", "push rax\n call open@plt\n mov [rip + the_variable], eax\n pop rcx\n xor eax, eax\n ret", "all"},
    {"reads_variable", "mov eax, [rip + the_variable]\n test eax, eax\n js 1f\n xor eax, eax\n1: ret", ""},
};

static void must(const char *command) {
  if (!shell(command)) fail_msg("%s", command);
}

/* Functions that others call are not exported, so that all their callers are seen. */
static bool is_local(const char *name) {
  static const char *const local[] = {"wrapper", "lazy_wrapper", "two_callers", "checker",
                                      "breaker", "fills",        "filler"};
  for (size_t i = 0; i < COUNT(local); i++)
    if (strcmp(name, local[i]) == 0) return true;
  return false;
}

static int make_library(void **state) {
  (void)state;
  struct text t = {0};
  assert_true(snprintf(folder, sizeof folder, "/tmp/murphy-site-XXXXXX") > 0);
  assert_non_null(mkdtemp(folder));
  assert_int_equal(file_write(in_folder("base.c"), base_text, sizeof base_text - 1, NULL), 0);
  text_add(&t, ".intel_syntax noprefix\n.local the_variable\n.comm the_variable, 8, 8\n"
               ".section .rodata\njumps: .long j0 - jumps, j1 - jumps, j0 - jumps, j1 - jumps\n.text\n");
  for (size_t i = 0; i < COUNT(functions); i++) {
    const struct function *f = &functions[i];
    text_addf(&t, "%s %s\n.type %s, @function\n.p2align 4\n%s:\n.cfi_startproc\n%s\n.cfi_endproc\n.size %s, . - %s\n",
              is_local(f->name) ? ".local" : ".globl", f->name, f->name, f->name, f->text, f->name, f->name);
  }
  text_add(&t, ".section .note.GNU-stack,\"\",@progbits\n");
  assert_false(t.failed);
  assert_int_equal(file_write(in_folder("sites.s"), t.at, t.n, NULL), 0);
  text_done(&t);
  must("${CC:-cc} -O2 -fno-builtin -w -shared -fPIC -nostdlib -Wl,-soname,base.so base.c -o base.so");
  must("${CC:-cc} -shared -nostdlib -Wl,-Bsymbolic -Wl,-rpath,\"$PWD\" sites.s base.so -o sites.so");
  return 0;
}

static int remove_library(void **state) {
  (void)state;
  must("rm -rf \"$PWD\"");
  return 0;
}

static struct site_request request(unsigned workers) {
  const char *data = getenv("MURPHY_DATA");
  return (struct site_request){.data = data ? data : "data", .workers = workers};
}

static int check(unsigned workers, struct site_list *ret, struct err *e) {
  struct site_request r = request(workers);
  r.program = in_folder("sites.so");
  return site_check(&r, ret, e);
}

/* --- verdicts ----------------------------------------------------------------------------------------------------- */

/* "all|none ignored": of each site in the function, in the order of addresses, once if they are the same. */
static void describe(const struct site_list *l, const char *in, struct text *t) {
  uint64_t last = 0;
  for (;;) {
    const struct site *next = NULL;
    for (size_t i = 0; i < l->n; i++) {
      const struct site *s = &l->sites[i];
      bool mine = s->in && strcmp(s->in, in) == 0 && s->address > last;
      if (mine && (!next || s->address < next->address)) next = s;
    }
    if (!next) return;
    last = next->address;
    struct text one = {0};
    text_add(&one, site_verdict_words[next->verdict]);
    if (next->verdict == SITE_NONE) text_addf(&one, " %s", site_use_words[next->use]);
    if (!t->n || !strstr(t->at, one.at)) text_addf(t, "%s%s", t->n ? "|" : "", one.at);
    text_done(&one);
  }
}

static size_t count_wrong(const struct site_list *l) {
  size_t wrong = 0;
  for (size_t i = 0; i < COUNT(functions); i++) {
    struct text t = {0};
    describe(l, functions[i].name, &t);
    const char *found = t.at ? t.at : "";
    /* Helpers of the idiom (read after open, strlen) have verdicts of their own; the first counts. */
    size_t n = strlen(functions[i].verdict);
    bool same = strncmp(found, functions[i].verdict, n) == 0 && (n == 0 || !found[n] || found[n] == '|');
    if (!same) print_error("%s: expected %s, found %s\n", functions[i].name, functions[i].verdict, found);
    wrong += !same;
    text_done(&t);
  }
  return wrong;
}

static void test_idioms(void **state) {
  (void)state;
  struct site_list l;
  struct err e = {0};
  if (check(1, &l, &e) < 0) fail_msg("%s", e.text);
  assert_int_equal(count_wrong(&l), 0);
  site_list_done(&l);
}

static void test_workers_do_not_matter(void **state) {
  (void)state;
  struct text first = {0};
  struct site_text_options o = {.verdicts = 15, .recovery = true};
  for (unsigned workers = 1; workers <= 4; workers++) {
    struct site_list l;
    struct text t = {0};
    assert_int_equal(check(workers, &l, NULL), 0);
    site_write_json(&l, 1, &o, workers == 1 ? &first : &t);
    if (workers > 1) assert_string_equal(t.at, first.at);
    text_done(&t);
    site_list_done(&l);
  }
  text_done(&first);
}

static const struct site *site_in(const struct site_list *l, const char *in) {
  for (size_t i = 0; i < l->n; i++)
    if (l->sites[i].in && strcmp(l->sites[i].in, in) == 0) return &l->sites[i];
  fail_msg("no site in %s", in);
  return NULL;
}

static void test_details(void **state) {
  (void)state;
  struct site_list l;
  assert_int_equal(check(1, &l, NULL), 0);
  const struct site *s = site_in(&l, "one_code");
  assert_int_equal(s->n_checked, 1);
  assert_int_equal(s->checked[0], 35);
  assert_int_equal(s->n_missing, 2);
  s = site_in(&l, "only_eintr");
  assert_true(errno_set_has(&s->checked_errnos, EINTR));
  assert_true(errno_set_has(&s->missing_errnos, EIO));
  assert_int_equal(s->error, EIO);
  assert_non_null(strstr(site_in(&l, "handed_on")->reason, "opendir's NULL goes to readdir unchecked"));
  assert_true(site_in(&l, "dereferenced")->always);
  assert_int_equal(site_in(&l, "ignored")->n_recovery, 0);
  assert_int_equal(site_in(&l, "or_die")->n_recovery, 1);
  assert_true(site_in(&l, "dereferenced")->rank > site_in(&l, "ignored")->rank);
  const struct site *torn = site_in(&l, "too_long");
  assert_true(torn && torn->verdict != SITE_ALL && torn->rank < SITE_QUIET);
  site_list_done(&l);
}

static void test_selection(void **state) {
  (void)state;
  static const char *const names[] = {"opendir", "mmap"}, *const missing[] = {"opendri"};
  struct site_request r = request(1);
  struct site_list l;
  struct err e = {0};
  r.program = in_folder("sites.so");
  r.functions = names;
  r.n_functions = 2;
  assert_int_equal(site_check(&r, &l, &e), 0);
  assert_int_equal(l.n, 2);
  site_list_done(&l);
  r.functions = missing;
  r.n_functions = 1;
  assert_int_equal(site_check(&r, &l, &e), -ENOENT);
  assert_non_null(strstr(e.text, "did you mean 'opendir'"));
}

/* --- baselines and comments --------------------------------------------------------------------------------------- */

static void test_baseline(void **state) {
  (void)state;
  struct site_list l;
  struct site_text_options o = {.verdicts = 3};
  struct text t = {0};
  struct err e = {0};
  assert_int_equal(check(1, &l, NULL), 0);
  site_write_baseline(&l, 1, &o, &t);
  assert_int_equal(site_baseline_parse(&l, "accepted", t.at, t.n, &e), 0);
  for (size_t i = 0; i < l.n; i++) {
    bool finding = l.sites[i].verdict == SITE_NONE || l.sites[i].verdict == SITE_SOME;
    assert_int_equal(l.sites[i].in_baseline, finding);
    if (finding) assert_false(site_counts(&l.sites[i], true));
  }
  text_done(&t);
  /* One site more than the baseline counts is new. */
  struct site twins[2] = {{.function = "close", .symbol = "close", .in = "f"},
                          {.function = "close", .symbol = "close", .in = "f"}};
  struct site_list two = {.module = "m", .sites = twins, .n = 2};
  char accepted[] = "# one\n1\tclose\tnone\tm\tf\t-\n";
  assert_int_equal(site_baseline_parse(&two, "accepted", accepted, strlen(accepted), &e), 0);
  assert_true(twins[0].in_baseline && !twins[1].in_baseline);
  assert_int_equal(two.stale, 0);
  /* What is not there any more is counted, for this module. */
  struct site_list none = {.module = "m"};
  char stale[] = "3\tclose\tnone\tm\tf\t-\r\n1\topen\tsome\tother\tf\tx.c";
  assert_int_equal(site_baseline_parse(&none, "accepted", stale, strlen(stale), &e), 0);
  assert_int_equal(none.stale, 3);
  /* Names can have anything in them. */
  struct site odd = {.function = "close", .symbol = "close", .in = "a\tb\\", .at = {.file = "x\n1\r.c"}};
  struct site_list of_odd = {.module = "m\t", .sites = &odd, .n = 1};
  struct text written = {0};
  site_write_baseline(&of_odd, 1, &o, &written);
  assert_int_equal(site_baseline_parse(&of_odd, "accepted", written.at, written.n, &e), 0);
  assert_true(odd.in_baseline);
  text_done(&written);
  site_list_done(&l);
}

static void test_bad_baselines(void **state) {
  (void)state;
#define BAD(TEXT)                                                                                                      \
  { TEXT, sizeof TEXT - 1 }
  static const struct {
    char text[64];
    size_t n;
  } bad[] = {
      BAD("close\n"),
      BAD("1\tclose\tnone\tm\tf\n"),
      BAD("1\tclose\tnone\tm\tf\t-\tx\n"),
      BAD("0\tclose\tnone\tm\tf\t-\n"),
      BAD("x\tclose\tnone\tm\tf\t-\n"),
      BAD("-1\tclose\tnone\tm\tf\t-\n"),
      BAD("1\tclose\tnever\tm\tf\t-\n"),
      BAD("1\tclose\tall\tm\tf\t-\n"),
      BAD("1\t\tnone\tm\tf\t-\n"),
      BAD("1\tclose\tnone\tm\tf\t-\0\n"),
      BAD("# \0"),
      BAD("\0"),
      BAD("# murphy baseline, format 2\n"),
  };
  for (size_t i = 0; i < COUNT(bad); i++) {
    struct site_list none = {0};
    struct err e = {0};
    char bytes[80] = "# comment\n";
    memcpy(bytes + 10, bad[i].text, bad[i].n);
    assert_int_equal(site_baseline_parse(&none, "accepted", bytes, 10 + bad[i].n, &e), -EINVAL);
    assert_int_equal(strncmp(e.text, "accepted:2: ", 12), 0);
  }
}

static void test_comments(void **state) {
  (void)state;
  static const char *const lines[] = {
      "close(fd);",
      "+close(fd); /* murphy: ignore */",
      "+close(fd); // murphy: ignore close",
      "close(fd); // murphy: ignore open",
      "+close(fd); // murphy:ignore",
      "+close(fd); // murphy: ignore unlink, close",
      "close(fd); // murphy: ignore unlink, closedir",
      "close(fd); // murphy: ignored",
      "say(\"// murphy: ignore\"); close(fd);",
      "+say('\"', \"http://x\\\"\"); close(fd); // murphy: ignore it // murphy: ignore",
      "murphy: ignore; close(fd);",
      "+close(call(1),",
      "   2 /* ) */); // murphy: ignore close",
      "close(1); close(2); /* 'x */ \"murphy: ignore\"",
      "+close(fd); // murphy: ignore close",
  };
  struct text source = {0};
  bool accepted[COUNT(lines) + 1] = {0};
  for (unsigned i = 0; i < COUNT(lines); i++) {
    accepted[i] = lines[i][0] == '+';
    text_addf(&source, "%s%s", i ? "\n" : "", lines[i] + accepted[i]);
  }
  accepted[12] = true; /* where the call ends, if that were the line of one */
  assert_int_equal(file_write(in_folder("source.c"), source.at, source.n, NULL), 0);
  struct site sites[COUNT(accepted)];
  struct site_list l = {.sites = sites, .n = COUNT(accepted)};
  for (unsigned i = 0; i < COUNT(accepted); i++)
    sites[i] = (struct site){.function = "close", .at = {.file = in_folder("source.c"), .line = i + 1}};
  assert_int_equal(site_suppress(&l), 0);
  for (unsigned i = 0; i < COUNT(accepted); i++)
    assert_int_equal(sites[i].suppressed, accepted[i]);
  text_done(&source);
}

/* What the debug information names need not be a file: nothing is waited for. */
static void test_odd_sources(void **state) {
  (void)state;
  assert_int_equal(mkfifo(in_folder("fifo"), 0600), 0);
  const char *const odd[] = {in_folder("fifo"), "/dev/zero", "/dev/tty", "/", "/nowhere/x.c", ""};
  for (size_t i = 0; i < COUNT(odd); i++) {
    struct site site = {.function = "close", .at = {.file = odd[i], .line = 1}};
    struct site_list l = {.sites = &site, .n = 1};
    assert_int_equal(site_suppress(&l), 0);
    assert_false(site.suppressed);
  }
}

#if OWN_ALLOCATOR
/* Fails allocation N; 1 if there are fewer. */
static int fail_allocation(long n) {
  struct site_list l = {0};
  alive = 0;
  failed_one = false;
  failing = true;
  countdown = n;
  int r = check(1, &l, NULL);
  countdown = -1;
  if (r < 0) {
    assert_true(failed_one);
    assert_int_equal(r, -ENOMEM);
  }
  if (r >= 0) site_list_done(&l);
  failing = false;
  if (alive != 0) fail_msg("allocation %ld fails: %ld are not freed", n, alive);
  return !failed_one;
}

static void test_lack_of_memory(void **state) {
  (void)state;
  long n = 0;
  while (fail_allocation(n) == 0)
    n++;
  assert_true(n > 200);
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_idioms),
    cmocka_unit_test(test_workers_do_not_matter),
    cmocka_unit_test(test_details),
    cmocka_unit_test(test_selection),
    cmocka_unit_test(test_baseline),
    cmocka_unit_test(test_bad_baselines),
    cmocka_unit_test(test_comments),
    cmocka_unit_test(test_odd_sources),
#if OWN_ALLOCATOR
    cmocka_unit_test(test_lack_of_memory),
#endif
  };
  return cmocka_run_group_tests(tests, make_library, remove_library);
}
