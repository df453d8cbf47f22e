//go:build heisen_inject

#include "textflag.h"

TEXT runtime·heisenGetpidTrampoline(SB),NOSPLIT,$0
	CALL	libc_getpid(SB)
	RET

TEXT runtime·heisenFstatTrampoline(SB),NOSPLIT,$0
	MOVQ	8(DI), SI // where to write
	MOVL	0(DI), DI // the descriptor
	CALL	libc_fstat64(SB)
	RET
