/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the shim's gates lead: r11 holds the function's number, everything else is as the caller left it.
 *
 * Lays down a struct rt_call (offsets as in runtime.h; start.c asserts them), asks rt_decide, and does what it says.
 * Vector registers are not saved, because the C code does not use them; but for the very first call, which runs
 * resolvers of other libraries, and where a plugin is asked, which is done here: it is the way that is measured, and
 * there is nothing to keep but what is in the frame already. RT_THEN makes a real call with a copy of the words above
 * the return address, since arguments may be there, so that returns pair with calls also for a shadow stack.
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
#define NUMBER 104
#define TERM 144
#define QUESTION 152
#define ERROR 160
#define TOLD 168        /* a struct murphy_call */
#define XMM 208         /* behind the struct: xmm0 to xmm7, or what a real call returns in the first two */
#define FEW_WORDS 16    /* of the stack that are copied for a real call; or so many: */
#define SOME_WORDS 128  /* RT_SOME_WORDS */
#define MANY_WORDS 1024 /* RT_MANY_WORDS */
#define FRAME 344       /* 8 more than a multiple of 16, as the stack is at the entry of a function */

/* enum wire_op, struct rt, struct rt_function, struct rt_self, struct wire_asking, struct rt_plugin */
#define OP_ASK 52
#define RT_BUSY 4
#define RT_FUNCTIONS 24
#define FUNCTION_REAL 40
#define FUNCTION_ASK 48
#define FUNCTION_TERMS 56
#define TALLY 24
#define SELF_MARK 8
#define SELF_ASKING 16
#define MARK_TRIGGER 8
#define PLUGIN_EVAL 56
#define PLUGIN_ENDED 64
#define PLUGIN_MARK 72
#define PLUGIN_SIZE 80

	.macro each_vector operation
	.set	i, 0
	.irp	register, xmm0, xmm1, xmm2, xmm3, xmm4, xmm5, xmm6, xmm7
	\operation \register, i
	.set	i, i + 1
	.endr
	.endm
	.macro save_vector register, index
	movups	%\register, XMM + 16 * \index(%rsp)
	.endm
	.macro load_vector register, index
	movups	XMM + 16 * \index(%rsp), %\register
	.endm

	/* What is only needed where the rest of the runtime is asked. */
	.macro complete_call scratch
	lea	FRAME(%rsp), \scratch
	mov	\scratch, SP(%rsp)
	mov	%rbp, RBP(%rsp)
	movq	$0, NUMBER(%rsp)
	.endm

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
	mov	%r11, INDEX(%rsp)
	mov	rt_self@gottpoff(%rip), %rax
	mov	%fs:(%rax), %rcx
	test	%rcx, %rcx
	jz	.Lfully
	cmpl	$0, rt + RT_BUSY(%rip)
	jne	.Lfully
	shl	$5, %r11d
	mov	rt + RT_FUNCTIONS(%rip), %rsi
	lea	(%rsi, %r11, 2), %rsi
	mov	FUNCTION_REAL(%rsi), %rdx
	mov	FUNCTION_ASK(%rsi), %rdi
	test	%rdi, %rdi
	jz	.Lunasked
	mov	%rdx, REAL(%rsp) /* not 0, of a function that has somebody to ask */
	incq	TALLY(%rcx, %r11)
	mov	FUNCTION_TERMS(%rsi), %rcx
	mov	%rcx, TERM(%rsp)
	each_vector save_vector

	/* Asks the plugin rdi; rax leads to what is the thread's, r11 is half of the function's offset. */
.Lask:
	mov	%fs:SELF_MARK(%rax), %rsi
	cmpq	$0, %fs:SELF_ASKING(%rax)
	jne	.Lask_slowly
	mov	rt_tid_offset(%rip), %ecx
	mov	%fs:(%rcx), %ecx
	cmp	(%rsi), %ecx
	jne	.Lask_slowly
	mov	PLUGIN_ENDED(%rdi), %rcx
	cmpl	$0, (%rcx)
	jne	.Lask_slowly
	mov	rt_plugin_told(%rip), %rdx
	mov	rt_plugin_errno(%rip), %rcx
	mov	%fs:(%rcx), %ecx
	mov	%ecx, ERROR(%rsp)
	lea	QUESTION(%rsp), %rcx
	mov	%rcx, QUESTION(%rsp)
	mov	%rcx, %fs:SELF_ASKING(%rax)
	mov	PLUGIN_MARK(%rdi), %ecx
	mov	%ecx, MARK_TRIGGER(%rsi)
	movups	(%rdx, %r11, 2), %xmm0
	mov	16(%rdx, %r11, 2), %rdx
	movups	%xmm0, TOLD(%rsp)
	mov	%rdx, TOLD + 16(%rsp)
	mov	%rsp, TOLD + 24(%rsp)
	mov	FRAME(%rsp), %rcx
	mov	%rcx, TOLD + 32(%rsp)
	lea	TOLD(%rsp), %rsi
	call	*PLUGIN_EVAL(%rdi)
	mov	rt_self@gottpoff(%rip), %rcx
	mov	%fs:SELF_MARK(%rcx), %rdx
	movl	$0, MARK_TRIGGER(%rdx)
	movq	$0, %fs:SELF_ASKING(%rcx)
	mov	rt_plugin_errno(%rip), %rdx
	mov	ERROR(%rsp), %ecx
	mov	%ecx, %fs:(%rdx)
.Lanswered:
	mov	TERM(%rsp), %rsi
	test	%eax, %eax
	jnz	.Lyes
	cmpw	$0, 4(%rsi)
	jne	.Lno
.Lpass_asked:
	each_vector load_vector
.Lpass:
	load_arguments
	mov	REAL(%rsp), %r11
	add	$FRAME, %rsp
	.cfi_adjust_cfa_offset -FRAME
	jmp	*%r11
	.cfi_adjust_cfa_offset FRAME

	/* What the rules say behind the answer. */
.Lyes:
	movzwl	6(%rsi), %ecx
	test	%ecx, %ecx
	jnz	.Lbehind
	jmp	.Lpass_asked
.Lno:
	movzwl	4(%rsi), %ecx
.Lbehind:
	lea	(%rsi, %rcx, 8), %rsi
	mov	%rsi, TERM(%rsp)
	cmpb	$OP_ASK, (%rsi)
	je	.Lask_term
	complete_call %rax
	mov	%rsp, %rdi
	call	rt_judge_terms
	test	%eax, %eax
	jz	.Lpass_asked
	cmp	$4, %eax
	je	.Lask_term
	cmp	$3, %eax
	jne	.Lreturn
	each_vector load_vector
	jmp	.Lthen

.Lask_term:
	mov	TERM(%rsp), %rdi
	mov	(%rdi), %edi
	shr	$8, %edi
	imul	$PLUGIN_SIZE, %rdi, %rdi
	add	rt_plugins(%rip), %rdi
	mov	INDEX(%rsp), %r11d
	shl	$5, %r11
	mov	rt_self@gottpoff(%rip), %rax
	jmp	.Lask

	/* The thread has not asked before, or is just asking, or this is no plugin that could be asked. */
.Lask_slowly:
	complete_call %rax
	mov	TERM(%rsp), %rsi
	mov	(%rsi), %esi
	shr	$8, %esi
	mov	%rsp, %rdi
	call	rt_ask
	movzbl	%al, %eax
	jmp	.Lanswered

.Lfully:
	complete_call %rax
	cmpl	$2, rt(%rip)
	jb	.Lstart
.Lready:
	mov	%rsp, %rdi
	call	rt_decide_fully
	jmp	.Ldecided
.Lunasked:
	test	%rdx, %rdx
	jz	.Lfully
	mov	%rdx, REAL(%rsp)
	incq	TALLY(%rcx, %r11)
	complete_call %rax
	mov	%rsp, %rdi
	call	rt_decide
.Ldecided:
	test	%eax, %eax
	jz	.Lpass

	cmp	$3, %eax
	je	.Lthen
	ja	.Lask_first
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

.Lask_first:
	each_vector save_vector
	jmp	.Lask_term

.Lstart:
	lea	rt_start_once(%rip), %rdi
	call	rt_foreign
	jmp	.Lready
	.cfi_endproc
	.size	murphy_rt_enter, . - murphy_rt_enter

	.section .note.GNU-stack, "", @progbits
