//go:build heisen_inject

#include "textflag.h"

TEXT runtime·heisenGetpidTrampoline(SB),NOSPLIT,$0
	BL	libc_getpid(SB)
	RET
