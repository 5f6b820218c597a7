/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the shim's gates lead: r11 holds the function's number, everything else is as the caller left it.
 *
 * Lays down a struct rt_call (offsets as in runtime.h; start.c asserts them), asks rt_decide, and does what it says.
 * Vector registers are not saved, because the C code does not use them; but for the very first call, which runs
 * resolvers of other libraries. RT_THEN makes a real call with a copy of the words above the return address, since
 * arguments may be there, so that returns pair with calls also for a shadow stack.
 */
#include <cet.h>

#define ARGS 0
#define RAX 48
#define R10 56
#define RBP 64
#define INDEX 72
#define REAL 80
#define RETVAL 88
#define RDX 96
#define SP 128
#define WORDS 136
#define XMM 144         /* behind the struct: xmm0 and xmm1 of a real call */
#define FEW_WORDS 16    /* of the stack that are copied for a real call; or so many: */
#define SOME_WORDS 128  /* RT_SOME_WORDS */
#define MANY_WORDS 1024 /* RT_MANY_WORDS */
#define FRAME 184       /* 8 more than a multiple of 16, as the stack is at the entry of a function */

	.macro load_arguments
	mov	ARGS(%rsp), %rdi
	mov	ARGS + 8(%rsp), %rsi
	mov	ARGS + 16(%rsp), %rdx
	mov	ARGS + 24(%rsp), %rcx
	mov	ARGS + 32(%rsp), %r8
	mov	ARGS + 40(%rsp), %r9
	mov	RAX(%rsp), %rax
	mov	R10(%rsp), %r10
	.endm

	.section .text.hot, "ax", @progbits
	.globl	murphy_rt_enter
	.type	murphy_rt_enter, @function
	.p2align 6
murphy_rt_enter:
	.cfi_startproc
	_CET_ENDBR
	sub	$FRAME, %rsp
	.cfi_adjust_cfa_offset FRAME
	mov	%rdi, ARGS(%rsp)
	mov	%rsi, ARGS + 8(%rsp)
	mov	%rdx, ARGS + 16(%rsp)
	mov	%rcx, ARGS + 24(%rsp)
	mov	%r8, ARGS + 32(%rsp)
	mov	%r9, ARGS + 40(%rsp)
	mov	%rax, RAX(%rsp)
	mov	%r10, R10(%rsp)
	mov	%rbp, RBP(%rsp)
	mov	%r11, INDEX(%rsp)
	lea	FRAME(%rsp), %rax
	mov	%rax, SP(%rsp)
	cmpl	$2, rt(%rip)
	jb	.Lstart
.Lready:
	mov	%rsp, %rdi
	call	rt_decide
	test	%eax, %eax
	jnz	.Lnot_passed
	load_arguments
	mov	REAL(%rsp), %r11
	add	$FRAME, %rsp
	.cfi_adjust_cfa_offset -FRAME
	jmp	*%r11
	.cfi_adjust_cfa_offset FRAME

.Lnot_passed:
	cmp	$3, %eax
	je	.Lthen
.Lreturn:
	cmp	$2, %eax
	jne	.Lreturn_integer
	movq	RETVAL(%rsp), %xmm0
.Lreturn_integer:
	mov	RETVAL(%rsp), %rax
	add	$FRAME, %rsp
	.cfi_adjust_cfa_offset -FRAME
	ret
	.cfi_adjust_cfa_offset FRAME

	/*
	 * The real call, with up to \words of the stack's words, so many that their room is known here: at the call every
	 * register is the caller's, and none is left to remember it in.
	 */
	.macro call_real words
	sub	$(8 * \words), %rsp
	.cfi_adjust_cfa_offset 8 * \words
	mov	%rsp, %rdi
	rep movsq
	lea	8 * \words(%rsp), %r11
	mov	ARGS(%r11), %rdi
	mov	ARGS + 8(%r11), %rsi
	mov	ARGS + 16(%r11), %rdx
	mov	ARGS + 24(%r11), %rcx
	mov	ARGS + 32(%r11), %r8
	mov	ARGS + 40(%r11), %r9
	mov	RAX(%r11), %rax
	mov	R10(%r11), %r10
	call	*REAL(%r11)
	add	$(8 * \words), %rsp
	.cfi_adjust_cfa_offset -8 * \words
	.endm

.Lthen:
	mov	SP(%rsp), %rsi
	mov	WORDS(%rsp), %rcx
	add	$8, %rsi
	cmp	$FEW_WORDS, %rcx
	ja	.Lthen_some
	call_real FEW_WORDS
	jmp	.Lcalled
.Lthen_some:
	cmp	$SOME_WORDS, %rcx
	ja	.Lthen_many
	call_real SOME_WORDS
	jmp	.Lcalled
.Lthen_many:
	orq	$0, -4096(%rsp)    /* no page is left out, so that a stack that ends is noticed */
	call_real MANY_WORDS
.Lcalled:
	mov	%rax, RETVAL(%rsp)
	mov	%rdx, RDX(%rsp)
	movups	%xmm0, XMM(%rsp)
	movups	%xmm1, XMM + 16(%rsp)
	mov	%rsp, %rdi
	call	rt_after
	movups	XMM(%rsp), %xmm0
	movups	XMM + 16(%rsp), %xmm1
	mov	RDX(%rsp), %rdx
	jmp	.Lreturn

.Lstart:
	lea	rt_start_once(%rip), %rdi
	call	rt_foreign
	jmp	.Lready
	.cfi_endproc
	.size	murphy_rt_enter, . - murphy_rt_enter

	.section .note.GNU-stack, "", @progbits
