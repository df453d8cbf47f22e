//go:build heisen_inject

package runtime

import "unsafe"

// The points of a deterministic run: where the running goroutine says what it does next, and
// another may be chosen in its place.

// heisenStoppable reports whether the goroutine gp, which is the current one, may be
// stopped where it has called for something.
//
//go:nosplit
func heisenStoppable(gp *g) bool {
	mp := gp.m
	return gp == mp.curg && mp.locks == 0 && mp.mallocing == 0 && mp.throwing == 0 && mp.preemptoff == "" &&
		mp.dying == 0 && mp.p != 0
}

// heisenPoint is a point before the current goroutine synchronises by the object on.
//
//go:nosplit
func heisenPoint(on unsafe.Pointer) { heisenPointAt(heisenStrategiesSync, on, 0, 0) }

// heisenPointAt is a point before the current goroutine synchronises. kind is what it
// does, and mode says for which targets it stands; then fp is the caller's frame
// pointer.
//
//go:nosplit
func heisenPointAt(kind heisenStrategiesKind, on unsafe.Pointer, mode uint32, fp uintptr) {
	gp := getg()
	h := (*heisenG)(unsafe.Pointer(gp.racectx))
	s := &heisenSched
	if !s.on || h == nil || !heisenStoppable(gp) {
		return
	}
	h.task.at = (h.task.at>>32 + 1) << 32
	if s.placing {
		heisenRecordPoint(h)
	}
	t := &h.task.next
	t.Kind, t.Addr = kind, uint64(uintptr(on))
	h.task.on = t.Addr
	if mode != 0 && s.locations.count > 0 {
		pc := heisenPC(heisenCaller(fp))
		if number, _ := s.locations.locate(pc, mode); number != 0 {
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
	}
	h.task.wide = 0
}

// heisenPointAccess is a point before an access, if there is a target or the current
// goroutine has made too many.
//
// The compiler calls for accesses between instructions that belong together: what is on
// the stack may be half done, and what the compiler says about it wrong. So from here
// to mcall the stack neither grows nor moves, as long as the goroutine stands here
// it does not shrink, and the collector scans the program's frame conservatively,
// as where a goroutine was preempted by a signal (see heisenStandsIn).
//
//go:nosplit
func heisenPointAccess(write bool, addr, size, pc uintptr) {
	gp := getg()
	h := (*heisenG)(unsafe.Pointer(gp.racectx))
	if h == nil {
		return
	}
	s := &heisenSched
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
		t.Kind = heisenStrategiesAccess // where the strategy is not interested in who meets whom
	} else if number == 0 {
		s.clock += int64(s.spin) * heisenHookTime
	} else {
		t.Kind, t.Write, t.Addr, t.Size, t.Op, t.Depth = heisenStrategiesAccess, write, uint64(addr), uint64(size), heisenRead, s.locations.at(number).below(h.depth())
		if write {
			t.Op = heisenWrite
		}
		t.Roles = heisenStrategiesRoles(s.locations.at(number).flags >> heisenLocationRoles)
		t.Place = uint32(heisenPlace(heisenBufOfP(), h, heisenPC(pc)))
	}
	h.task.hooks = 0
	gp.asyncSafePoint = true
	mcall(heisenSwitch)
	gp.asyncSafePoint = false
}

// heisenRecordPoint records that what comes next of h is of its operation h.task.at.
//
//go:nosplit
func heisenRecordPoint(h *heisenG) {
	if !heisen.on || heisen.quiet || h.task.kind == heisenIsRuntime { // that is not for the strategy to say
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

// heisenStandsIn reports whether a function is one in which goroutines are stopped at
// accesses. The collector asks.
func heisenStandsIn(f funcInfo) bool {
	if !heisenSched.on || !f.valid() {
		return false
	}
	entry := f.entry()
	for _, hook := range &heisenSched.hooks {
		if entry == hook {
			return true
		}
	}
	return false
}

// heisenSwitch asks who goes on, on the system stack of gp, which has come to a point.
func heisenSwitch(gp *g) {
	s := &heisenSched
	s.until = 0
	pp := gp.m.p.ptr()
	h := (*heisenG)(unsafe.Pointer(gp.racectx))
	if heisen.quiet {
		heisenSetGoid(h, gp.goid) // it may meet others
	}
	if t := &h.task.next; t.Roles == 0 && s.turn >= s.spin && h.id == s.running {
		t.Kind = heisenStrategiesYield
	}
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
