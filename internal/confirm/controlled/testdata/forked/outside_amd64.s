//go:build outside

#include "textflag.h"

// func call(number, a, b, c uintptr) (result uintptr)
TEXT ·call(SB), NOSPLIT, $0-40
	MOVQ number+0(FP), AX
	MOVQ a+8(FP), DI
	MOVQ b+16(FP), SI
	MOVQ c+24(FP), DX
	SYSCALL
	MOVQ AX, result+32(FP)
	RET
