//go:build heisen_inject

package runtime

import (
	"internal/abi"
	"internal/runtime/atomic"
	"unsafe"
)

// This file has the functions of race.go that the runtime calls: for memory, goroutines, channels,
// timers and accesses that it makes for the program. Some run on the system stack or without a P;
// then there is no current goroutine of the program and often nothing to record. They are nosplit
// and must not allocate or block on Go locks.

//go:nosplit
func raceinit() (gctx, pctx uintptr) {
	m := &firstmoduledata
	racedatastart = min(m.noptrdata, m.data, m.noptrbss, m.bss)
	racedataend = max(m.enoptrdata, m.edata, m.enoptrbss, m.ebss)
	// Counters of test coverage race on purpose, or order what the program does not. They are last
	// in the last segment.
	if m.covctrs < m.ecovctrs && m.covctrs >= max(m.enoptrdata, m.edata, m.ebss) && racedataend-m.ecovctrs < 64 {
		racedataend = m.covctrs
	}
	heisenUnchecked = heisenGrowslice
	heisenMallocgc = mallocgc
	heisenStatements = [...]uintptr{
		abi.FuncPCABIInternal(growslice), abi.FuncPCABIInternal(slicecopy), abi.FuncPCABIInternal(makeslicecopy),
		abi.FuncPCABIInternal(slicebytetostring), abi.FuncPCABIInternal(slicerunetostring),
	}
	return 0, raceproccreate() // for the first P
}

// heisenUnchecked refers to heisenGrowslice, so that the linker keeps it.
var heisenUnchecked func(oldPtr unsafe.Pointer, newLen, oldCap, num int, et *_type) slice

// heisenGrowslice is growslice, but reports no access. Package unhook makes code call it instead, if a plan says that what
// growslice reads needs no checking. The first thing that growslice does is to report that.
func heisenGrowslice(oldPtr unsafe.Pointer, newLen, oldCap, num int, et *_type) slice {
	if h := (*heisenG)(unsafe.Pointer(getg().racectx)); h != nil {
		h.grows = true
	}
	return growslice(oldPtr, newLen, oldCap, num, et)
}

// heisenMallocgc is mallocgc, for the functions that allocate objects of one size. Code that is not instrumented calls them.
// They cannot name mallocgc, because its tables name them.
var heisenMallocgc func(size uintptr, typ *_type, needzero bool) unsafe.Pointer

// racefini ends a program that exits with status 0.
func racefini() {
	heisenAwaitOthers(true)
	heisenLeaksAtEnd(0)
	status := heisenFinish()
	heisenEndExecution(status)
	exit(status)
}

// heisenBeforeExit is called before a program exits by os.Exit. If status is 0, racefini follows. A
// test binary with a failed test waits for goroutines, too: as a rule, it is about to end although
// others still run.
func heisenBeforeExit(status int) {
	heisenSched.ending.exits = true
	if status == 0 {
		return
	}
	heisenNoteFailing()
	switch {
	case heisenTasks.some || heisenSched.ending.begun:
		heisenAwaitOthers(false)
	case heisenSched.on:
		heisenLookBeforeExit()
	}
	heisenLeaksAtEnd(int32(status))
	heisenStop()
	heisenEndExecution(int32(status))
}

//go:nosplit
func raceproccreate() uintptr { return uintptr(unsafe.Pointer(heisenNewBuf())) }

//go:nosplit
func raceprocdestroy(ctx uintptr) {
	b := (*heisenBuf)(unsafe.Pointer(ctx))
	if b == nil {
		return
	}
	heisenFlush(b)
	systemstack(func() {
		lock(&heisen.lock)
		b.cur = nil
		b.next = heisen.freeB
		heisen.freeB = b
		unlock(&heisen.lock)
	})
}

//go:nosplit
func racemapshadow(addr unsafe.Pointer, size uintptr) {
	if racearenastart == 0 || uintptr(addr) < racearenastart {
		racearenastart = uintptr(addr)
	}
	racearenaend = max(racearenaend, uintptr(addr)+size)
	if r := &heisenShadow.heap; heisen.cells && (racearenastart < r.lo || !heisenShadow.growing && racearenaend-r.lo > r.span) {
		heisenShadow.beyond = true
	}
	heisenArenaMapped()
}

// racemalloc begins an allocation epoch of addresses. What the runtime allocates on a system stack
// is not visible to the program.
//
//go:nosplit
func racemalloc(p unsafe.Pointer, sz uintptr) {
	gp := getg()
	h := (*heisenG)(unsafe.Pointer(gp.racectx))
	if heisen.cells {
		heisenClearShadow(uintptr(p), sz)
	}
	heisenHealing.found.forget(uintptr(p), sz)
	if heisenOverlaps.everywhere && h != nil {
		heisenAddFresh(h, uintptr(p), sz)
	}
	if !heisen.on || heisen.quiet || h == nil || uintptr(p) == gp.stack.lo {
		return
	}
	b := heisenBufOfP()
	if b == nil {
		atomic.Xadd64(&heisen.lost, 1)
		return
	}
	var place uint64
	if h.mute { // what hidden code allocates is allocated by the hidden call
		place = uint64(h.called(b))
	} else {
		place = heisenPlace(b, h, heisenPC(heisenCaller(getcallerfp())))
	}
	for addr, left := uintptr(p), sz; left > 0; {
		n := min(left, 1<<31)
		heisenPutAccess(h, heisenOpAlloc, addr, n, place)
		addr, left = addr+n, left-n
	}
}

// racefree is called by the sweeper when it comes to an object. The object was dead when the last
// mark phase ended, and everything recorded before was sent then (heisenBarrier). The next
// racemalloc of its addresses separates their allocation epochs, so there is nothing to record.
//
//go:nosplit
func racefree(p unsafe.Pointer, sz uintptr) {}

//go:nosplit
func racegostart(pc uintptr) uintptr {
	gp := getg()
	parent := gp.m.curg
	if parent == nil {
		return heisenStart(pc, gp.racectx)
	}
	if heisenLayer(pc) >= heisenCore { // WaitGroup.Go and similar functions start it for their caller
		if user := heisenCallerOn(parent, parent.sched.bp); user != 0 {
			pc = user
		}
	}
	return heisenStart(pc, parent.racectx)
}

//go:nosplit
func racectxstart(pc, spawnctx uintptr) uintptr { return heisenStart(pc, spawnctx) }

// heisenStart allocates the state of a new goroutine and records its start.
//
//go:nosplit
func heisenStart(pc, spawnctx uintptr) (ctx uintptr) {
	systemstack(func() { ctx = uintptr(unsafe.Pointer(heisenNewG())) })
	child, parent := (*heisenG)(unsafe.Pointer(ctx)), (*heisenG)(unsafe.Pointer(spawnctx))
	if parent != nil {
		child.test = parent.test
		heisenInheritLabels(parent, child)
	}
	heisenEndPending(parent)
	if parent != nil && parent.numHealed != 0 {
		parent.endHealing(false)
	}
	if heisenSched.on && parent != nil {
		heisenSched.behaviors.add(heisenDidStart, 0, uint32(heisenPC(pc)))
	}
	if !heisen.on || parent == nil {
		child.orphan = true
		return ctx
	}
	if heisenSched.exploring.on {
		heisenUse(heisenNumbersOfG, heisenStrategiesModeWrite)
	}
	if heisen.races {
		systemstack(func() {
			heisenFastTrack.BeginEpoch(&parent.order, parent.id)
			heisenFastTrack.Fork(&parent.order, &child.order, child.id)
		})
	}
	if heisen.quiet {
		heisenSetOrigin(parent, child, pc)
		if heisen.locks && parent.news != 0 {
			heisenForkLocks(parent, child)
		}
		return ctx
	}
	b := heisenOpen(parent, 3)
	if b == nil {
		child.orphan = true
		return ctx
	}
	heisenPut(b, parent, heisenOpFork, uintptr(child.id), heisenStamp(), heisenPC(pc))
	return ctx
}

//go:nosplit
func racegoend() {
	gp := getg()
	racectxend(gp.racectx)
	gp.racectx = 0
}

//go:nosplit
func racectxend(racectx uintptr) {
	h := (*heisenG)(unsafe.Pointer(racectx))
	if h == nil {
		return
	}
	h.leave(0)
	heisenEndPending(h)
	if h.numHealed != 0 {
		h.endHealing(true)
	}
	h.numMutex = 0
	if h.pending.numActive != 0 {
		heisenLeaveCalls(h, 0)
	}
	if heisen.races {
		systemstack(func() { heisenFastTrack.End(&h.order) })
	}
	if heisen.on && h.words != 0 {
		if b := heisenOpen(h, 3); b != nil {
			heisenPut(b, h, heisenOpEnd, 0, heisenStamp(), 0)
		}
	}
	heisenFreeG(h)
}

// racefingo is called by goroutines that run finalizers and cleanups, before they do. An object is
// dead only after all accesses to it.
//
//go:nosplit
func racefingo() {
	if h := (*heisenG)(unsafe.Pointer(getg().racectx)); heisen.on && h != nil {
		heisenEndPending(h)
		heisenSched.exploring.unsure |= heisenUnsureFinalizer
		heisenSync(h, heisenOpCollected, 0, 0)
	}
}

//go:nosplit
func raceacquire(addr unsafe.Pointer) {
	heisenSyncG(getg(), heisenOpReceive, uintptr(addr), getcallerfp())
}

//go:nosplit
func raceacquireg(gp *g, addr unsafe.Pointer) {
	heisenSyncG(gp, heisenOpReceive, uintptr(addr), getcallerfp())
}

//go:nosplit
func raceacquirectx(racectx uintptr, addr unsafe.Pointer) {
	h := (*heisenG)(unsafe.Pointer(racectx))
	if heisen.on && h != nil {
		heisenSync(h, heisenOpReceive, uintptr(addr), 0)
	}
}

//go:nosplit
func racerelease(addr unsafe.Pointer) {
	heisenSyncG(getg(), heisenOpSend, uintptr(addr), getcallerfp())
}

//go:nosplit
func racereleaseg(gp *g, addr unsafe.Pointer) {
	heisenSyncG(gp, heisenOpSend, uintptr(addr), getcallerfp())
}

//go:nosplit
func racereleaseacquire(addr unsafe.Pointer) {
	racereleaseacquireg(getg(), addr)
}

// racereleaseacquireg is one step of the k-th send and the (k-C)-th receive of a buffered channel:
// acquire from the slot, then release to it.
//
//go:nosplit
func racereleaseacquireg(gp *g, addr unsafe.Pointer) {
	fp := getcallerfp()
	heisenSyncG(gp, heisenOpReceive, uintptr(addr), fp)
	heisenSyncG(gp, heisenOpSend, uintptr(addr), fp)
}

//go:nosplit
func racereleasemerge(addr unsafe.Pointer) {
	heisenSyncG(getg(), heisenOpSend, uintptr(addr), getcallerfp())
}

//go:nosplit
func racereleasemergeg(gp *g, addr unsafe.Pointer) {
	heisenSyncG(gp, heisenOpSend, uintptr(addr), getcallerfp())
}

// Accesses that the runtime makes for the program. callerpc is where the program called it.

//go:nosplit
func racereadpc(addr unsafe.Pointer, callerpc, pc uintptr) {
	heisenAccessPC(heisenOpRead, addr, 1, callerpc, pc)
}

//go:nosplit
func racewritepc(addr unsafe.Pointer, callerpc, pc uintptr) {
	heisenAccessPC(heisenOpWrite, addr, 1, callerpc, pc)
}

//go:nosplit
func racereadrangepc(addr unsafe.Pointer, sz, callerpc, pc uintptr) {
	heisenAccessPC(heisenOpRead, addr, sz, callerpc, pc)
}

//go:nosplit
func racewriterangepc(addr unsafe.Pointer, sz, callerpc, pc uintptr) {
	heisenAccessPC(heisenOpWrite, addr, sz, callerpc, pc)
}

// heisenCopied returns which of sz bytes count as read when they are copied. If source and
// destination overlap, as when the elements of a slice are moved, the write subsumes part of the
// read as far as races are concerned.
//
//go:nosplit
func heisenCopied(from, to unsafe.Pointer, sz uintptr) (unsafe.Pointer, uintptr) {
	on := uintptr(to) - uintptr(from)
	switch back := -on; {
	case heisen.mode != heisenModeFollow:
	case on < sz:
		return from, on
	case back < sz:
		return unsafe.Pointer(uintptr(to) + sz), back
	}
	return from, sz
}

// heisenAccessPC is an access that the runtime makes for the program.
//
//go:nosplit
func heisenAccessPC(op uint64, addr unsafe.Pointer, sz, callerpc, pc uintptr) {
	gp := getg()
	h := (*heisenG)(unsafe.Pointer(gp.racectx))
	if gp != gp.m.curg || h == nil {
		return // runtime code on a system stack acts for no goroutine
	}
	if gp.raceignore != 0 && heisenLayer(callerpc) >= heisenCore {
		return // what orders it, such as the lock of the list of all pools, is ignored as well
	}
	if h.grows {
		h.grows = false
		return
	}
	if heisenForStatement(pc) && heisenLayer(callerpc) == heisenRuntime {
		return // a statement of the runtime, about memory of its own; see racemalloc
	}
	if sz == 0 {
		return
	}
	if heisenSched.on {
		heisenPointAccess(op == heisenOpWrite, uintptr(addr), sz, heisenUserPC(callerpc, pc, getcallerfp()))
	}
	write := op == heisenOpWrite
	if c := heisenCellAt(uintptr(addr)); sz == 1 && heisen.mode == heisenModeFollow && c != &heisenNoCell && h.order.UpToDate(&heisenFastTrack) {
		if c.SameEpochByte(&h.order, uintptr(addr), write) || heisenOnStack(uintptr(addr)) {
			return
		}
		callerpc = heisenUserPC(callerpc, pc, getcallerfp())
		if heisenRaceByte(h, c, write, uintptr(addr), callerpc) {
			return
		}
	}
	n := h.raceRange(write, uintptr(addr), sz, 0)
	if n == sz {
		return
	}
	callerpc = heisenUserPC(callerpc, pc, getcallerfp())
	if n += h.raceRange(write, uintptr(addr)+n, sz-n, callerpc); n < sz {
		heisenAccess(op, uintptr(addr)+n, sz-n, callerpc)
		KeepAlive(addr)
	}
}

// heisenStatements are functions that compilers call for statements, such as append. What calls one by another name,
// as package reflect does, has that name.
var heisenStatements [5]uintptr

// heisenForStatement reports whether a function of the runtime is one of heisenStatements.
//
//go:nosplit
func heisenForStatement(pc uintptr) bool {
	for _, f := range heisenStatements {
		if pc == f {
			return true
		}
	}
	return false
}

// heisenAccessFrom is an access that the standard library reports, where frame pointer fp leads to
// the program.
//
//go:nosplit
func heisenAccessFrom(op uint64, addr unsafe.Pointer, size, fp uintptr) {
	h := (*heisenG)(unsafe.Pointer(getg().racectx))
	if h == nil {
		return
	}
	n := h.raceRange(op == heisenOpWrite, uintptr(addr), size, 0)
	if n == size {
		return
	}
	pc := heisenCaller(fp)
	if n += h.raceRange(op == heisenOpWrite, uintptr(addr)+n, size-n, pc); n < size {
		heisenAccess(op, uintptr(addr)+n, size-n, pc)
		KeepAlive(addr)
	}
}

// heisenUserPC returns the place in the program that asked for an access by the runtime.
//
//go:nosplit
func heisenUserPC(callerpc, pc, fp uintptr) uintptr {
	if callerpc == 0 {
		callerpc = pc
	}
	if heisenLayer(callerpc) != heisenProgram {
		if user := heisenCaller(fp); user != 0 {
			return user
		}
	}
	return callerpc
}

// An access to a composite value is an access to all its bytes, because a write may change any
// part. Everything else is written as a whole, so its first byte stands for it.

func raceReadObjectPC(t *_type, addr unsafe.Pointer, callerpc, pc uintptr) {
	racereadrangepc(addr, heisenAccessSize(t), callerpc, pc)
}

func raceWriteObjectPC(t *_type, addr unsafe.Pointer, callerpc, pc uintptr) {
	racewriterangepc(addr, heisenAccessSize(t), callerpc, pc)
}

func heisenAccessSize(t *_type) uintptr {
	switch t.Kind() {
	case abi.Array, abi.Struct:
		return t.Size_
	}
	return 1
}
