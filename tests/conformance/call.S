/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conform_call(const struct call *, struct seen *): calls a function with up to six integer arguments and records what
 * a C program cannot see of the return: whole registers, flags, the stack pointer. Not for two threads at once.
 */
    .text
    .globl conform_call
    .type conform_call, @function
conform_call:
    .cfi_startproc
    endbr64
    push %rbp
    push %rbx
    push %r12
    push %r13
    push %r14
    push %r15
    sub $8, %rsp
    mov %rsi, the_seen(%rip)
    mov %rsp, the_stack(%rip)

    mov 0(%rdi), %r11
    mov 16(%rdi), %rsi
    mov 24(%rdi), %rdx
    mov 32(%rdi), %rcx
    mov 40(%rdi), %r8
    mov 48(%rdi), %r9
    mov 8(%rdi), %rdi
    movabs $0x1111111111111111, %rbx
    movabs $0x2222222222222222, %rbp
    movabs $0x3333333333333333, %r12
    movabs $0x4444444444444444, %r13
    movabs $0x5555555555555555, %r14
    movabs $0x6666666666666666, %r15
    xor %eax, %eax
    call *%r11

    mov the_seen(%rip), %rcx
    mov %rax, 0(%rcx)
    mov %rbx, 8(%rcx)
    mov %rbp, 16(%rcx)
    mov %r12, 24(%rcx)
    mov %r13, 32(%rcx)
    mov %r14, 40(%rcx)
    mov %r15, 48(%rcx)
    mov %rsp, %rax
    sub the_stack(%rip), %rax
    mov %rax, 56(%rcx)
    mov the_stack(%rip), %rsp
    pushfq
    pop %rax
    mov %rax, 64(%rcx)
    stmxcsr 72(%rcx)
    fnstcw 76(%rcx)
    fnstsw 78(%rcx)
    cld

    add $8, %rsp
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbx
    pop %rbp
    ret
    .cfi_endproc
    .size conform_call, . - conform_call

    .bss
    .balign 8
the_seen:
    .zero 8
the_stack:
    .zero 8
    .section .note.GNU-stack, "", @progbits
