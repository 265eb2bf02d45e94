/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * dlsym(), dlvsym() and dlopen() as the program sees them. They must be jumps and no calls: the real ones look at their
 * return address to know who asks (RTLD_NEXT, RTLD_DEFAULT, the caller's RUNPATH), so the caller's own must be on the
 * stack when they begin. In assembly, since no C compiler promises a jump. Other machines have them in
 * interpose-lookup.c.
 */

#if defined(__x86_64__)

#ifdef __CET__
#include <cet.h>
#else
#define _CET_ENDBR
#endif

	.macro	JUMP name target
	.globl	\name
	.type	\name, @function
	.p2align 4
\name:
	.cfi_startproc
	_CET_ENDBR
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	pushq	%rdx
	.cfi_adjust_cfa_offset 8
	call	\target
	popq	%rdx
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	jmp	*%rax
	.cfi_endproc
	.size	\name, . - \name
	.endm

#elif defined(__aarch64__)

	.macro	JUMP name target
	.globl	\name
	.type	\name, %function
	.p2align 4
\name:
	.cfi_startproc
	hint	#34			/* bti c */
	stp	x29, x30, [sp, #-48]!
	.cfi_def_cfa_offset 48
	.cfi_offset 29, -48
	.cfi_offset 30, -40
	mov	x29, sp
	stp	x0, x1, [sp, #16]
	str	x2, [sp, #32]
	bl	\target
	mov	x16, x0
	ldr	x2, [sp, #32]
	ldp	x0, x1, [sp, #16]
	ldp	x29, x30, [sp], #48
	.cfi_restore 29
	.cfi_restore 30
	.cfi_def_cfa_offset 0
	br	x16
	.cfi_endproc
	.size	\name, . - \name
	.endm

#endif

#if defined(__x86_64__) || defined(__aarch64__)
	.text
	.hidden	interpose_dlsym_target
	.hidden	interpose_dlvsym_target
	.hidden	interpose_dlopen_target
	JUMP	dlsym, interpose_dlsym_target
	JUMP	dlvsym, interpose_dlvsym_target
	JUMP	dlopen, interpose_dlopen_target
#endif

	.section .note.GNU-stack, "", %progbits
