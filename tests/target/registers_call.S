/* SPDX-License-Identifier: Apache-2.0 */
/* call_probe(const struct registers *give, struct registers *ret): calls probe() with all registers given. */
    .text
    .globl call_probe
    .type call_probe, @function
call_probe:
    endbr64
    push %rbp
    push %rbx
    push %r12
    push %r13
    push %r14
    push %r15
    push %rsi
    mov %rdi, %r11
    .set i, 7
    .rept 8
    pushq 112 + i*8(%r11)
    .set i, i - 1
    .endr
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    vmovdqu 192 + \n*32(%r11), %ymm\n
    .endr
    mov 0(%r11), %rax
    mov 8(%r11), %rdi
    mov 16(%r11), %rsi
    mov 24(%r11), %rdx
    mov 32(%r11), %rcx
    mov 40(%r11), %r8
    mov 48(%r11), %r9
    mov 56(%r11), %r10
    mov 64(%r11), %rbx
    mov 72(%r11), %rbp
    mov 80(%r11), %r12
    mov 88(%r11), %r13
    mov 96(%r11), %r14
    mov 104(%r11), %r15
    call probe@PLT
    add $64, %rsp
    pop %rsi
    mov %rax, 0(%rsi)
    mov %rdx, 24(%rsi)
    mov %rbx, 64(%rsi)
    mov %rbp, 72(%rsi)
    mov %r12, 80(%rsi)
    mov %r13, 88(%rsi)
    mov %r14, 96(%rsi)
    mov %r15, 104(%rsi)
    stmxcsr 176(%rsi)
    vmovdqu %ymm0, 192(%rsi)
    vmovdqu %ymm1, 224(%rsi)
    vzeroupper
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbx
    pop %rbp
    ret
    .size call_probe, . - call_probe
    .section .note.GNU-stack, "", @progbits
