//go:build heisen_inject

#include "go_asm.h"
#include "textflag.h"

// The fast paths of the hooks in compiled code: redundant accesses (the same-epoch rules of package
// internal/core/fasttrack, by the first entry of the cell) and calls that only push or pop a frame.
// They run on the goroutine's stack without a frame of their own and write nothing but the shadow
// stack. Otherwise they jump to the functions in hooks.go, which start from the beginning.

#define life	(heisenG_order+heisenFastTrackThread_generation)
#define since	(heisenG_order+heisenFastTrackThread_since)
#define span	(heisenG_order+heisenFastTrackThread_span)

// kindShift is the position of the kind of a cell's first entry in the head.
#define kindShift	(const_heisenFastTrackHeadEntries+const_heisenFastTrackKindShift)

// FIRST takes the address in AX. It leaves the cell in CX and the goroutine's state in DX. It jumps to
// outside if there is no cell, to general if the goroutine has no state or is not up to date, and to
// miss if the cell's first entry is not one that sameEpoch of internal/core/fasttrack accepts.
#define FIRST(region, outside) \
	MOVQ	AX, CX; \
	SUBQ	region+heisenRegion_lo(SB), CX; \
	MOVQ	g_racectx(R14), DX; \
	CMPQ	CX, region+heisenRegion_span(SB); \
	JCC	outside; \
	TESTQ	DX, DX; \
	JZ	general; \
	MOVL	runtime·heisenFastTrack+heisenFastTrackTable_generation(SB), BX; \
	ANDQ	$~7, CX; \
	ADDQ	CX, CX; \
	ADDQ	region+heisenRegion_cells(SB), CX; \
	CMPL	BX, life(DX); \
	JNE	general; \
	MOVQ	heisenFastTrackCell_first(CX), BX; \
	SUBQ	since(DX), BX; \
	CMPQ	BX, span(DX); \
	JHI	miss

// READ jumps to miss if the first entry is not of a plain access to the byte in AX.
#define READ \
	MOVQ	heisenFastTrackCell_head(CX), BX; \
	MOVL	AX, CX; \
	ANDL	$7, CX; \
	ADDL	$const_heisenFastTrackHeadEntries, CX; \
	TESTQ	$(6<<kindShift), BX; \
	JNZ	miss; \
	BTQ	CX, BX; \
	JCC	miss

// WROTE jumps to miss if the first entry is not of a write of the byte in AX.
#define WROTE \
	MOVQ	heisenFastTrackCell_head(CX), BX; \
	MOVL	AX, CX; \
	ANDL	$7, CX; \
	ADDL	$const_heisenFastTrackHeadEntries, CX; \
	MOVL	BX, DX; \
	ANDL	$(7<<kindShift), DX; \
	CMPL	DX, $(const_heisenFastTrackWrite<<kindShift); \
	JNE	miss; \
	BTQ	CX, BX; \
	JCC	miss

// STACK returns if the address in AX is on the goroutine's stack, which has no shadow memory.
#define STACK \
	MOVQ	(g_stack+stack_lo)(R14), CX; \
	MOVQ	(g_stack+stack_hi)(R14), DX; \
	MOVQ	AX, BX; \
	SUBQ	CX, BX; \
	SUBQ	CX, DX; \
	CMPQ	BX, DX; \
	JCS	done

// ACCESS is an access hook. It returns if SAME does not jump elsewhere.
#define ACCESS(SAME, onmiss, ongeneral) \
	FIRST(runtime·heisenFastHeap, data); \
	SAME; \
done:; \
	RET; \
miss:; \
	STACK; \
	JMP	onmiss(SB); \
data:; \
	FIRST(runtime·heisenFastData, general); \
	SAME; \
	RET; \
general:; \
	JMP	ongeneral(SB)

// func raceread(addr uintptr)
TEXT runtime·raceread<ABIInternal>(SB), NOSPLIT, $0-8
	ACCESS(READ, runtime·heisenReadMiss<ABIInternal>, runtime·heisenReadGeneral<ABIInternal>)

// func racewrite(addr uintptr)
TEXT runtime·racewrite<ABIInternal>(SB), NOSPLIT, $0-8
	ACCESS(WROTE, runtime·heisenWriteMiss<ABIInternal>, runtime·heisenWriteGeneral<ABIInternal>)

// POINT is heisenPointAccess if the access does not stop there: it counts the access, and jumps to slow
// if more than that may have to be done. The return address is in the program.
#define POINT(mode, slow) \
	CMPB	runtime·heisenSched+heisenScheduler_passes(SB), $0; \
	JEQ	slow; \
	MOVQ	g_racectx(R14), DX; \
	TESTQ	DX, DX; \
	JZ	slow; \
	MOVL	(heisenG_task+heisenSchedG_hooks)(DX), BX; \
	INCL	BX; \
	CMPL	BX, runtime·heisenSched+heisenScheduler_spin(SB); \
	JCC	slow; \
	MOVQ	(heisenG_task+heisenSchedG_at)(DX), CX; \
	INCQ	CX; \
	CMPQ	CX, runtime·heisenSched+(heisenScheduler_picker+heisenStrategiesScheduler_Until)(SB); \
	JCC	slow; \
	CMPQ	heisenG_keyed(DX), $0; \
	JNE	slow; \
	CMPL	runtime·heisenSched+(heisenScheduler_locations+heisenLocations_count)(SB), $0; \
	JEQ	counted; \
	MOVQ	0(SP), SI; \
	SUBQ	runtime·firstmoduledata+moduledata_text(SB), SI; \
	SHLQ	$3, SI; \
	ORQ	$mode, SI; \
	MOVQ	$const_heisenKnownFactor, DI; \
	IMULQ	SI, DI; \
	SHRQ	$(64-const_heisenKnownBits), DI; \
	LEAQ	runtime·heisenSched+(heisenScheduler_locations+heisenLocations_known)(SB), R8; \
	MOVQ	(R8)(DI*8), DI; \
	MOVQ	DI, R8; \
	SHRQ	$const_heisenKnownShift, DI; \
	CMPQ	DI, SI; \
	JNE	slow; \
	TESTL	$(0xffff<<8), R8; \
	JNZ	slow; \
counted:; \
	MOVL	BX, (heisenG_task+heisenSchedG_hooks)(DX); \
	MOVQ	CX, (heisenG_task+heisenSchedG_at)(DX)

// PASS is an access hook in a deterministic run.
#define PASS(mode, SAME, onmiss, slowly) \
	POINT(mode, slow); \
	FIRST(runtime·heisenShadow+heisenShadowMemory_heap, data); \
	SAME; \
done:; \
	RET; \
data:; \
	FIRST(runtime·heisenShadow+heisenShadowMemory_data, done); \
	SAME; \
	RET; \
miss:; \
	STACK; \
general:; \
	JMP	onmiss(SB); \
slow:; \
	JMP	slowly(SB)

// func heisenReadGeneral(addr uintptr)
TEXT runtime·heisenReadGeneral<ABIInternal>(SB), NOSPLIT, $0-8
	PASS(const_heisenLocationReads, READ, runtime·heisenReadPassed<ABIInternal>, runtime·heisenReadSlowly<ABIInternal>)

// func heisenWriteGeneral(addr uintptr)
TEXT runtime·heisenWriteGeneral<ABIInternal>(SB), NOSPLIT, $0-8
	PASS(const_heisenLocationWrites, WROTE, runtime·heisenWritePassed<ABIInternal>, runtime·heisenWriteSlowly<ABIInternal>)

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
