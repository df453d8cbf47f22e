//go:build heisen_inject

#include "go_asm.h"
#include "textflag.h"

// func heisenSnapshot() int32
TEXT runtime·heisenSnapshot(SB), NOSPLIT|NOFRAME, $0-4
	MOVQ	runtime·heisenRewind(SB), AX // its first field
	MOVQ	SP, heisenVault_sp(AX)
	MOVQ	BP, heisenVault_bp(AX)
	SUBQ	$8, SP
	CALL	runtime·heisenSave(SB)
	ADDQ	$8, SP
	MOVL	$0, 8(SP)
	RET

// func heisenGoBack()
TEXT runtime·heisenGoBack(SB), NOSPLIT|NOFRAME, $0-0
	MOVQ	runtime·heisenRewind(SB), AX
	MOVQ	heisenVault_stackTop(AX), SP
	CALL	runtime·heisenRestore(SB)
	MOVQ	runtime·heisenRewind(SB), AX
	MOVQ	heisenVault_sp(AX), SP
	MOVQ	heisenVault_bp(AX), BP
	MOVL	$1, 8(SP)
	RET
