//go:build heisen_inject

package runtime

import (
	"internal/abi"
	"internal/runtime/atomic"
)

// heisenHold is a goroutine that is held before its access. There is at most one.
type heisenHold struct {
	state     uint32
	goroutine guintptr
	addr      uintptr
	size      uint8
	kind      uint8
	place     int32
	other     int32 // the place of who came; -1 if nobody has
	since     int64
	stack     heisenStack
}

// States of a hold. The handler makes it claimed and caught, the goroutine parking and held, the
// sampler's thread all others.
const (
	heisenFree     = iota
	heisenClaimed  // the goroutine has been told to park
	heisenParking  // it is about to
	heisenHeld     // it waits before its access
	heisenCaught   // another goroutine is about to access the variable, and its stack is being noted
	heisenComplete // the catch is noted
	heisenEnding   // the goroutine goes on
)

// begin tells a goroutine to park before its access, if that is possible here.
func (s *heisenSamplerState) begin(i int32, addr, pc uintptr, c *sigctxt, gp *g) {
	ok, next := isAsyncSafePoint(gp, pc, c.sigsp(), c.siglr())
	if !ok || next != pc {
		return
	}
	h := &s.hold
	if !atomic.Cas(&h.state, heisenFree, heisenClaimed) {
		return
	}
	atomic.Store(&s.chosen, 0)
	p := &s.table.places[i]
	h.goroutine.set(gp)
	h.addr, h.size, h.kind, h.place, h.other = addr, p.size, p.kind, i, -1
	h.stack.note(pc, c, gp)
	c.pushCall(abi.FuncPCABI0(asyncPreempt), pc)
}

// heisenSaved is called in place of xRegSave, when a goroutine has stopped in asyncPreempt. One that was told to park, but is to be
// stopped for another reason, does not park later.
func heisenSaved(gp *g) {
	xRegSave(gp)
	h := &heisenSampler.hold
	if gp.preemptStop && atomic.Load(&h.state) == heisenClaimed && h.goroutine.ptr() == gp {
		h.cancel()
	}
}

// cancel ends a hold that has not begun.
func (h *heisenHold) cancel() {
	if atomic.Cas(&h.state, heisenClaimed, heisenEnding) {
		h.goroutine.set(nil)
		atomic.Store(&h.state, heisenFree)
	}
}

// heisenPreempted is called in place of gopreempt_m. A goroutine that was told to park waits for the sampler's thread,
// without a P, so that it delays neither others nor the garbage collector.
func heisenPreempted(gp *g) {
	h := &heisenSampler.hold
	if atomic.Load(&h.state) != heisenClaimed || h.goroutine.ptr() != gp || !atomic.Cas(&h.state, heisenClaimed, heisenParking) {
		gopreempt_m(gp)
		return
	}
	trace := traceAcquire()
	if trace.ok() {
		trace.GoPark(traceBlockPreempted, 0)
	}
	casGToWaiting(gp, _Grunning, waitReasonPreempted)
	if trace.ok() {
		traceRelease(trace)
	}
	dropg()
	// The sampler's thread is going to make it runnable, so it counts as one that runs: the program is
	// not in a deadlock.
	lock(&sched.lock)
	sched.nmsys--
	unlock(&sched.lock)
	h.since = nanotime()
	atomic.Store(&h.state, heisenHeld)
	heisenWakeSampler()
	schedule()
}

// release lets the held goroutine go on. It must be called by the sampler's thread, in state heisenEnding.
func (h *heisenHold) release() {
	var list gList
	list.push(h.goroutine.ptr())
	h.goroutine.set(nil)
	injectglist(&list)
	lock(&sched.lock)
	sched.nmsys++
	unlock(&sched.lock)
	atomic.Store(&h.state, heisenFree)
}

// heisenStack is where a goroutine was, for reports.
type heisenStack struct {
	goid, parent uint64
	created      uintptr // the go statement
	depth        int32
	pcs          [64]uintptr
}

// note takes the stack of a goroutine that runs and has come to pc.
func (k *heisenStack) note(pc uintptr, c *sigctxt, gp *g) {
	mp := getg().m
	mp.mallocing++ // nothing may be allocated
	var u unwinder
	u.initAt(pc, c.sigsp(), c.siglr(), gp, unwindSilentErrors|unwindTrap|unwindJumpStack)
	k.depth = int32(tracebackPCs(&u, 0, k.pcs[:]))
	mp.mallocing--
	k.goid, k.parent, k.created = gp.goid, gp.parentGoid, gp.gopc
}
