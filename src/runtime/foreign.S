/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rt_foreign(function, a, b): calls code of others (a resolver, the loader) in the middle of a call that must go on as
 * if nothing had happened. The runtime itself leaves vector registers alone, but they need not. Eight of them can hold
 * arguments of that call; what is in the others at the entry of a function, the ABI has given up.
 */
#include <cet.h>

#define VECTORS 128 /* xmm0 to xmm7 */

	.section .text.hot, "ax", @progbits
	.globl	rt_foreign
	.hidden	rt_foreign
	.type	rt_foreign, @function
	.p2align 4
rt_foreign:
	.cfi_startproc
	_CET_ENDBR
	sub	$(VECTORS + 8), %rsp
	.cfi_adjust_cfa_offset VECTORS + 8
	.set	i, 0
	.irp	register, xmm0, xmm1, xmm2, xmm3, xmm4, xmm5, xmm6, xmm7
	movups	%\register, 16 * i(%rsp)
	.set	i, i + 1
	.endr
	mov	%rdi, %rax
	mov	%rsi, %rdi
	mov	%rdx, %rsi
	call	*%rax
	.set	i, 0
	.irp	register, xmm0, xmm1, xmm2, xmm3, xmm4, xmm5, xmm6, xmm7
	movups	16 * i(%rsp), %\register
	.set	i, i + 1
	.endr
	add	$(VECTORS + 8), %rsp
	.cfi_adjust_cfa_offset -(VECTORS + 8)
	ret
	.cfi_endproc
	.size	rt_foreign, . - rt_foreign

	.section .note.GNU-stack, "", @progbits
