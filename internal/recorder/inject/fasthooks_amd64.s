//go:build heisen_inject

#include "go_asm.h"
#include "textflag.h"

// What most hooks of compiled code are, in as few instructions as it takes. Where that is not all, they go
// on in hooks.go, as if that had been called; it does all of it, whatever was found out here.

#define life	(heisenG_order+heisenFastTrackThread_generation)
#define since	(heisenG_order+heisenFastTrackThread_since)
#define span	(heisenG_order+heisenFastTrackThread_span)

// kindShift is where the kind of a cell's first note begins in the head.
#define kindShift	(const_heisenFastTrackHeadEntries+const_heisenFastTrackKindShift)

// FIRST takes the address in AX, and leaves the cell in CX and the goroutine's state in DX. It goes on at
// outside where there is no such cell, at any where notes are not valid any more, and at anew where the cell's
// first note is none of the goroutine that is as good as one of its present epoch.
#define FIRST(region, outside) \
	MOVQ	AX, CX; \
	SUBQ	region+heisenRegion_lo(SB), CX; \
	MOVQ	g_racectx(R14), DX; \
	CMPQ	CX, region+heisenRegion_span(SB); \
	JCC	outside; \
	TESTQ	DX, DX; \
	JZ	any; \
	MOVL	runtime·heisenFastTrack+heisenFastTrackTable_generation(SB), BX; \
	ANDQ	$~7, CX; \
	ADDQ	CX, CX; \
	ADDQ	region+heisenRegion_cells(SB), CX; \
	CMPL	BX, life(DX); \
	JNE	any; \
	MOVQ	heisenFastTrackCell_first(CX), BX; \
	SUBQ	since(DX), BX; \
	CMPQ	BX, span(DX); \
	JHI	anew

// READ goes on at anew if the note in CX is not of a plain access to the byte in AX.
#define READ \
	MOVQ	heisenFastTrackCell_head(CX), BX; \
	MOVL	AX, CX; \
	ANDL	$7, CX; \
	ADDL	$const_heisenFastTrackHeadEntries, CX; \
	TESTQ	$(6<<kindShift), BX; \
	JNZ	anew; \
	BTQ	CX, BX; \
	JCC	anew

// WROTE goes on at anew if it is not of a write.
#define WROTE \
	MOVQ	heisenFastTrackCell_head(CX), BX; \
	MOVL	AX, CX; \
	ANDL	$7, CX; \
	ADDL	$const_heisenFastTrackHeadEntries, CX; \
	MOVL	BX, DX; \
	ANDL	$(7<<kindShift), DX; \
	CMPL	DX, $(const_heisenFastTrackWrite<<kindShift); \
	JNE	anew; \
	BTQ	CX, BX; \
	JCC	anew

// STACK returns if the address in AX is on the goroutine's stack: of that nothing is noted.
#define STACK \
	MOVQ	(g_stack+stack_lo)(R14), CX; \
	MOVQ	(g_stack+stack_hi)(R14), DX; \
	MOVQ	AX, BX; \
	SUBQ	CX, BX; \
	SUBQ	CX, DX; \
	CMPQ	BX, DX; \
	JCS	done

// ACCESS is a hook of accesses. It returns where SAYS does not go on elsewhere.
#define ACCESS(SAYS, more, otherwise) \
	FIRST(runtime·heisenFastHeap, data); \
	SAYS; \
done:; \
	RET; \
anew:; \
	STACK; \
	JMP	more(SB); \
data:; \
	FIRST(runtime·heisenFastData, any); \
	SAYS; \
	RET; \
any:; \
	JMP	otherwise(SB)

// func raceread(addr uintptr)
TEXT runtime·raceread<ABIInternal>(SB), NOSPLIT, $0-8
	ACCESS(READ, runtime·heisenReadMiss<ABIInternal>, runtime·heisenReadGeneral<ABIInternal>)

// func racewrite(addr uintptr)
TEXT runtime·racewrite<ABIInternal>(SB), NOSPLIT, $0-8
	ACCESS(WROTE, runtime·heisenWriteMiss<ABIInternal>, runtime·heisenWriteGeneral<ABIInternal>)

// func racefuncenter(callpc uintptr)
TEXT runtime·racefuncenter<ABIInternal>(SB), NOSPLIT, $0-8
	MOVQ	g_racectx(R14), DX
	MOVQ	(g_stack+stack_hi)(R14), BX
	TESTQ	DX, DX
	JZ	done
	MOVQ	heisenG_top(DX), CX
	SUBQ	SP, BX
	SUBQ	$8, BX // as sys.GetCallerSP has it
	CMPL	heisenFrame_base(CX), BX
	JCC	enter
	CMPQ	CX, heisenG_limit(DX)
	JEQ	enter
	CMPB	runtime·heisen+heisenRecorder_calls(SB), $0
	JNE	enter
	ADDQ	$heisenFrame__size, CX
	MOVQ	AX, heisenFrame_pc(CX)
	MOVL	BX, heisenFrame_base(CX)
	MOVL	$0, heisenFrame_place(CX)
	MOVQ	CX, heisenG_top(DX)
done:
	RET
enter:
	JMP	runtime·heisenFuncEnter<ABIInternal>(SB)

// func racefuncexit()
TEXT runtime·racefuncexit<ABIInternal>(SB), NOSPLIT, $0-0
	MOVQ	g_racectx(R14), DX
	MOVQ	(g_stack+stack_hi)(R14), BX
	TESTQ	DX, DX
	JZ	done
	MOVQ	heisenG_top(DX), CX
	SUBQ	SP, BX
	SUBQ	$8, BX
	CMPL	heisenFrame_base(CX), BX
	JNE	exit
	CMPB	runtime·heisen+heisenRecorder_calls(SB), $0
	JNE	exit
	SUBQ	$heisenFrame__size, CX
	MOVQ	CX, heisenG_top(DX)
done:
	RET
exit:
	JMP	runtime·heisenFuncExit<ABIInternal>(SB)

// PREFETCHW (AX), which the assembler does not know.
#define PREFETCHW BYTE $0x0F; BYTE $0x0D; BYTE $0x08

// func heisenPrefetch(p uintptr)
TEXT runtime·heisenPrefetch<ABIInternal>(SB), NOSPLIT, $0-8
	PREFETCHW
	RET
