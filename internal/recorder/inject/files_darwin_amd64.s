//go:build heisen_inject

#include "textflag.h"

TEXT runtime·heisenGetpidTrampoline(SB),NOSPLIT,$0
	CALL	libc_getpid(SB)
	RET
