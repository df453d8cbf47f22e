//go:build heisen_inject

#include "textflag.h"

// func heisenGetpid() uintptr
TEXT runtime·heisenGetpid(SB),NOSPLIT,$0-8
	MOVL	$20, AX // getpid
	SYSCALL
	MOVQ	AX, ret+0(FP)
	RET

// func heisenFstat(fd int32, stat unsafe.Pointer) int32
TEXT runtime·heisenFstat(SB),NOSPLIT,$0-20
	MOVL	fd+0(FP), DI
	MOVQ	stat+8(FP), SI
	MOVL	$551, AX // fstat
	SYSCALL
	JCC	2(PC)
	MOVL	$-1, AX
	MOVL	AX, ret+16(FP)
	RET
