//go:build heisen_inject

package runtime

import (
	"internal/abi"
	"unsafe"
)

// The points of a deterministic run. At a point the running goroutine says what it does next, and
// another one may be chosen instead. A point runs in a hook, on the goroutine's stack, nosplit.
// mcall(heisenSwitch) switches to the system stack, where the choice is made with the P and without
// locks.

// heisenStoppable reports whether gp, the current goroutine, may be stopped in a call that it has
// made.
//
//go:nosplit
func heisenStoppable(gp *g) bool {
	mp := gp.m
	return gp == mp.curg && mp.locks == 0 && mp.mallocing == 0 && mp.throwing == 0 && mp.preemptoff == "" &&
		mp.dying == 0 && mp.p != 0
}

// heisenPoint is a point before the current goroutine synchronizes by the object on.
//
//go:nosplit
func heisenPoint(on unsafe.Pointer) {
	heisenPointAt(heisenStrategiesSync, on, 0, 0)
	if on != nil && heisenSched.exploring.on {
		heisenUse(uint64(uintptr(on)), heisenStrategiesModeWrite)
	}
}

// heisenPointAt is a point before the current goroutine synchronizes by an operation of a kind.
// mode, if not 0, says for which targets the operation counts; then fp is the caller's frame
// pointer.
//
//go:nosplit
func heisenPointAt(kind heisenStrategiesKind, on unsafe.Pointer, mode uint32, fp uintptr) {
	gp := getg()
	h := (*heisenG)(unsafe.Pointer(gp.racectx))
	s := &heisenSched
	if h != nil && h.numHealed != 0 {
		h.endHealing(false)
	}
	if !s.on || h == nil || !heisenStoppable(gp) {
		return
	}
	pc, number := uint64(0), uint32(0)
	if mode != 0 && s.locations.count > 0 {
		pc = heisenPC(heisenCaller(fp))
		number, _ = s.locations.locate(pc, mode)
	}
	if h.task.within != 0 && number == 0 {
		return
	}
	h.task.at = (h.task.at>>32 + 1) << 32
	if s.placing {
		heisenRecordPoint(h)
	}
	t := &h.task.next
	t.Kind, t.Addr = kind, uint64(uintptr(on))
	h.task.on = t.Addr
	h.task.place = uint32(heisenPC(heisenCaller(getcallerfp())))
	if kind == heisenStrategiesLock {
		s.behaviors.locks(h)
	}
	if number != 0 {
		t.Roles = heisenStrategiesRoles(s.locations.at(number).flags >> heisenLocationRoles)
		t.Write = mode == heisenLocationWrites
		if kind == heisenStrategiesSync {
			t.Kind, t.Atomic, t.Depth = heisenStrategiesAccess, true, s.locations.at(number).below(h.depthAt(pc))
			if h.task.wide != 0 {
				s.comparing++
			}
		}
		t.Place = uint32(heisenPlace(heisenBufOfP(), h, pc))
	}
	h.task.hooks = 0
	mcall(heisenSwitch)
}

// heisenPointAtomic is a point before an atomic operation.
//
//go:nosplit
func heisenPointAtomic(op uint64, addr unsafe.Pointer, fp uintptr) {
	gp := getg()
	h := (*heisenG)(unsafe.Pointer(gp.racectx))
	if h == nil {
		return
	}
	if gp.raceignore == 0 && uintptr(addr)-gp.stack.lo >= gp.stack.hi-gp.stack.lo {
		switch op {
		case heisenOpAtomicRead:
			h.task.next.Op = heisenAtomicRead
		case heisenOpAtomicWrite:
			h.task.next.Op = heisenAtomicWrite
		default:
			h.task.next.Op = heisenAtomicUpdate
		}
		heisenPointAt(heisenStrategiesSync, addr, heisenMode(op != heisenOpAtomicRead), fp)
		if op == heisenOpAtomicRead {
			heisenUse(uint64(uintptr(addr)), heisenStrategiesModeRead)
		} else {
			heisenUse(uint64(uintptr(addr)), heisenStrategiesModeWrite)
		}
	}
	h.task.wide = 0
}

// heisenPointAccess is a point before an access, if it is a target or the current goroutine has
// made too many. fasthooks_*.s has its beginning a second time, for accesses at which nothing stops.
//
// The compiler puts the call between instructions that belong together. The stack may be in the
// middle of a change, and the compiler's stack map need not hold there. So from here to mcall the
// stack neither grows nor moves. While the goroutine is stopped here its stack does not shrink, and
// the collector scans the frame conservatively, as for a goroutine that a signal has preempted (see
// heisenStandsIn).
//
//go:nosplit
func heisenPointAccess(write bool, addr, size, pc uintptr) {
	gp := getg()
	h := (*heisenG)(unsafe.Pointer(gp.racectx))
	if h == nil {
		return
	}
	s := &heisenSched
	key := h.takeKey(addr)
	h.task.hooks++
	h.task.at++
	if s.placing {
		heisenRecordPoint(h)
	}
	number := uint32(0)
	if s.locations.count > 0 && addr-gp.stack.lo >= gp.stack.hi-gp.stack.lo && heisenShared(addr) {
		number, _ = s.locations.locate(heisenPC(pc), heisenMode(write))
	}
	turn := h.task.at >= s.picker.Until && h.id == s.running
	if number == 0 && h.task.hooks < s.spin && !turn || !heisenStoppable(gp) {
		return
	}
	t := &h.task.next
	t.Kind = heisenStrategiesYield
	if number == 0 && turn {
		t.Kind = heisenStrategiesAccess // the strategy does not look for meetings here
	} else if number == 0 {
		if !s.slow {
			s.clock += int64(s.spin) * heisenHookTime
		}
		s.yielded++
	} else {
		t.Kind, t.Write, t.Addr, t.Size, t.Key, t.Op, t.Depth = heisenStrategiesAccess, write, uint64(addr), uint64(size), key, heisenRead, s.locations.at(number).below(h.depth())
		if write {
			t.Op = heisenWrite
		}
		t.Roles = heisenStrategiesRoles(s.locations.at(number).flags >> heisenLocationRoles)
		t.Place = uint32(heisenPlace(heisenBufOfP(), h, heisenPC(pc)))
		h.task.place = uint32(heisenPC(pc))
	}
	h.task.hooks = 0
	gp.asyncSafePoint = true
	mcall(heisenSwitch)
	gp.asyncSafePoint = false
}

// heisenRecordPoint records that the next events of h belong to its operation h.task.at.
//
//go:nosplit
func heisenRecordPoint(h *heisenG) {
	if !heisen.on || heisen.quiet || h.task.kind == heisenIsRuntime { // the strategies don't schedule these
		return
	}
	b := heisenOpen(h, 1)
	if b == nil {
		return
	}
	b.words[b.pos] = heisenOpPoint<<heisenOpShift | h.task.at&(1<<32-1)
	h.words++
	b.commit(b.pos + 1)
}

// heisenHooks has the entries of the functions in which a goroutine stops at an access: those that the compiler calls
// for ranges, raceread and racewrite, and those in which these go on where they have no frames of their own.
var heisenHooks [10]uintptr

func heisenInitHooks() {
	heisenHooks = [10]uintptr{
		abi.FuncPCABIInternal(raceread), abi.FuncPCABIInternal(racewrite),
		abi.FuncPCABIInternal(heisenReadSlowly), abi.FuncPCABIInternal(heisenWriteSlowly),
		abi.FuncPCABIInternal(heisenReadPassed), abi.FuncPCABIInternal(heisenWritePassed),
		abi.FuncPCABIInternal(heisenReadMiss), abi.FuncPCABIInternal(heisenWriteMiss),
		abi.FuncPCABIInternal(racereadrange), abi.FuncPCABIInternal(racewriterange),
	}
}

// heisenStandsIn reports whether goroutines are stopped at accesses in a function. The collector
// calls it.
func heisenStandsIn(f funcInfo) bool {
	if !heisenSched.on && !heisenHealing.on && !heisenOverlaps.held || !f.valid() {
		return false
	}
	entry := f.entry()
	for _, hook := range &heisenHooks {
		if entry == hook {
			return true
		}
	}
	return false
}

// heisenSwitch chooses the goroutine that continues, on the system stack of gp, which has reached a
// point.
func heisenSwitch(gp *g) {
	s := &heisenSched
	s.until = 0
	pp := gp.m.p.ptr()
	h := (*heisenG)(unsafe.Pointer(gp.racectx))
	if heisen.quiet {
		heisenSetGoid(h, gp.goid) // a meeting may name it
	}
	if t := &h.task.next; t.Roles == 0 && s.turn >= s.spin && h.id == s.running {
		t.Kind = heisenStrategiesYield
		s.yielded++
	}
	heisenStops()
	if heisenQuiescent(pp) {
		s.gather(pp)
		if s.system.empty() {
			s.add(gp, h)
			switch chosen := s.choose(pp); chosen {
			case gp:
				gogo(&gp.sched)
			case nil:
			default:
				s.chosen.set(chosen)
			}
		} else {
			s.add(gp, h)
		}
	} else {
		s.add(gp, h)
	}
	// As the runtime's goschedImpl.
	trace := traceAcquire()
	if trace.ok() {
		trace.GoSched()
	}
	casgstatus(gp, _Grunning, _Grunnable)
	if trace.ok() {
		traceRelease(trace)
	}
	dropg()
	schedule()
}
