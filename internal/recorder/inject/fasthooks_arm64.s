//go:build heisen_inject

#include "go_asm.h"
#include "textflag.h"

// The fast paths of the hooks in compiled code, as in fasthooks_amd64.s.

#define life	(heisenG_order+heisenFastTrackThread_generation)
#define since	(heisenG_order+heisenFastTrackThread_since)
#define span	(heisenG_order+heisenFastTrackThread_span)
#define kindShift	(const_heisenFastTrackHeadEntries+const_heisenFastTrackKindShift)

// FIRST takes the address in R0, and leaves the cell in R1.
#define FIRST(region, outside) \
	MOVD	region+heisenRegion_lo(SB), R3; \
	MOVD	g_racectx(g), R2; \
	SUB	R3, R0, R1; \
	MOVD	region+heisenRegion_span(SB), R3; \
	CMP	R3, R1; \
	BHS	outside; \
	CBZ	R2, general; \
	MOVD	$runtime·heisenFastTrack+heisenFastTrackTable_generation(SB), R3; \
	LDARW	(R3), R3; \
	MOVWU	life(R2), R4; \
	CMPW	R3, R4; \
	BNE	general; \
	AND	$~7, R1; \
	MOVD	region+heisenRegion_cells(SB), R3; \
	ADD	R1<<1, R3, R1; \
	ADD	$heisenFastTrackCell_first, R1, R3; \
	LDAR	(R3), R3; \
	MOVD	since(R2), R4; \
	SUB	R4, R3; \
	MOVD	span(R2), R4; \
	CMP	R4, R3; \
	BHI	miss

// BYTE jumps to miss if the first entry, by the head in R3, is not of the byte at R0.
#define BYTE \
	AND	$7, R0, R4; \
	ADD	$const_heisenFastTrackHeadEntries, R4; \
	LSR	R4, R3, R3; \
	TBZ	$0, R3, miss

#define READ \
	LDAR	(R1), R3; \
	TST	$(6<<kindShift), R3; \
	BNE	miss; \
	BYTE

#define WROTE \
	LDAR	(R1), R3; \
	AND	$(7<<kindShift), R3, R4; \
	CMP	$(const_heisenFastTrackWrite<<kindShift), R4; \
	BNE	miss; \
	BYTE

#define STACK \
	MOVD	(g_stack+stack_lo)(g), R3; \
	MOVD	(g_stack+stack_hi)(g), R4; \
	SUB	R3, R0, R1; \
	SUB	R3, R4; \
	CMP	R4, R1; \
	BLO	done

// ACCESS is an access hook. It returns if SAME does not jump elsewhere.
#define ACCESS(SAME, onmiss, ongeneral) \
	FIRST(runtime·heisenFastHeap, data); \
	SAME; \
done:; \
	RET; \
miss:; \
	STACK; \
	B	onmiss(SB); \
data:; \
	FIRST(runtime·heisenFastData, general); \
	SAME; \
	RET; \
general:; \
	B	ongeneral(SB)

// func raceread(addr uintptr)
TEXT runtime·raceread<ABIInternal>(SB), NOSPLIT|NOFRAME, $0-8
	ACCESS(READ, runtime·heisenReadMiss<ABIInternal>, runtime·heisenReadGeneral<ABIInternal>)

// func racewrite(addr uintptr)
TEXT runtime·racewrite<ABIInternal>(SB), NOSPLIT|NOFRAME, $0-8
	ACCESS(WROTE, runtime·heisenWriteMiss<ABIInternal>, runtime·heisenWriteGeneral<ABIInternal>)

// POINT is heisenPointAccess if the access does not stop there.
#define POINT(mode, slow) \
	MOVD	$runtime·heisenSched(SB), R5; \
	MOVBU	heisenScheduler_passes(R5), R3; \
	CBZ	R3, slow; \
	MOVD	g_racectx(g), R2; \
	CBZ	R2, slow; \
	MOVWU	(heisenG_task+heisenSchedG_hooks)(R2), R6; \
	MOVWU	heisenScheduler_spin(R5), R3; \
	ADDW	$1, R6; \
	CMPW	R3, R6; \
	BHS	slow; \
	MOVD	(heisenG_task+heisenSchedG_at)(R2), R7; \
	MOVD	(heisenScheduler_picker+heisenStrategiesScheduler_Until)(R5), R3; \
	ADD	$1, R7; \
	CMP	R3, R7; \
	BHS	slow; \
	MOVD	heisenG_keyed(R2), R3; \
	CBNZ	R3, slow; \
	MOVWU	(heisenScheduler_locations+heisenLocations_count)(R5), R3; \
	CBZW	R3, counted; \
	MOVD	$runtime·firstmoduledata+moduledata_text(SB), R3; \
	MOVD	(R3), R3; \
	SUB	R3, LR, R4; \
	LSL	$3, R4; \
	ORR	$mode, R4; \
	MOVD	$const_heisenKnownFactor, R3; \
	MUL	R4, R3; \
	LSR	$(64-const_heisenKnownBits), R3; \
	ADD	$(heisenScheduler_locations+heisenLocations_known), R5, R8; \
	ADD	R3<<3, R8; \
	LDAR	(R8), R8; \
	LSR	$const_heisenKnownShift, R8, R3; \
	CMP	R3, R4; \
	BNE	slow; \
	TSTW	$(0xffff<<8), R8; \
	BNE	slow; \
counted:; \
	MOVW	R6, (heisenG_task+heisenSchedG_hooks)(R2); \
	MOVD	R7, (heisenG_task+heisenSchedG_at)(R2)

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
	B	onmiss(SB); \
slow:; \
	B	slowly(SB)

// func heisenReadGeneral(addr uintptr)
TEXT runtime·heisenReadGeneral<ABIInternal>(SB), NOSPLIT|NOFRAME, $0-8
	PASS(const_heisenLocationReads, READ, runtime·heisenReadPassed<ABIInternal>, runtime·heisenReadSlowly<ABIInternal>)

// func heisenWriteGeneral(addr uintptr)
TEXT runtime·heisenWriteGeneral<ABIInternal>(SB), NOSPLIT|NOFRAME, $0-8
	PASS(const_heisenLocationWrites, WROTE, runtime·heisenWritePassed<ABIInternal>, runtime·heisenWriteSlowly<ABIInternal>)

// func racefuncenter(callpc uintptr)
TEXT runtime·racefuncenter<ABIInternal>(SB), NOSPLIT|NOFRAME, $0-8
	MOVD	g_racectx(g), R2
	MOVD	(g_stack+stack_hi)(g), R3
	CBZ	R2, done
	MOVD	RSP, R4
	SUB	R4, R3
	MOVD	heisenG_top(R2), R1
	MOVWU	heisenFrame_base(R1), R4
	CMPW	R3, R4
	BHS	enter
	MOVD	heisenG_limit(R2), R4
	CMP	R4, R1
	BEQ	enter
	MOVBU	runtime·heisen+heisenRecorder_calls(SB), R4
	CBNZ	R4, enter
	ADD	$heisenFrame__size, R1
	MOVD	R0, heisenFrame_pc(R1)
	MOVW	R3, heisenFrame_base(R1)
	MOVW	ZR, heisenFrame_place(R1)
	MOVD	R1, heisenG_top(R2)
done:
	RET
enter:
	B	runtime·heisenFuncEnter<ABIInternal>(SB)

// func racefuncexit()
TEXT runtime·racefuncexit<ABIInternal>(SB), NOSPLIT|NOFRAME, $0-0
	MOVD	g_racectx(g), R2
	MOVD	(g_stack+stack_hi)(g), R3
	CBZ	R2, done
	MOVD	RSP, R4
	SUB	R4, R3
	MOVD	heisenG_top(R2), R1
	MOVWU	heisenFrame_base(R1), R4
	CMPW	R3, R4
	BNE	exit
	MOVBU	runtime·heisen+heisenRecorder_calls(SB), R4
	CBNZ	R4, exit
	SUB	$heisenFrame__size, R1
	MOVD	R1, heisenG_top(R2)
done:
	RET
exit:
	B	runtime·heisenFuncExit<ABIInternal>(SB)

// func heisenPrefetch(p uintptr)
TEXT runtime·heisenPrefetch<ABIInternal>(SB), NOSPLIT|NOFRAME, $0-8
	PRFM	(R0), PSTL1KEEP
	RET
