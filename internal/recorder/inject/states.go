//go:build heisen_inject

package runtime

import (
	"internal/runtime/atomic"
	"unsafe"
)

// States of channels, wait groups, condition variables and timers that a goroutine depends on
// although they order nothing. A prediction must preserve them. They are recorded only together
// with all accesses, because nothing else needs them. The functions run in hooks of package
// runtime, some with the lock of a channel or timer held: they only append to the event buffer.
//
// A channel with a buffer has two states, one for each side: the number of elements sent and
// whether it is closed (its field sendx), and the number received (recvx). So the goroutine that
// sends or receives the k-th element stays the same. The slots of the buffer order the k-th receive
// after its send and before the slot's next use. All operations on other channels are messages of
// one object, which keeps their order.

// heisenKeeping reports whether states are recorded.
//
//go:nosplit
func heisenKeeping() bool {
	return heisen.on && !heisen.quiet && !heisen.filter && !heisen.order
}

// heisenRecordState records an operation of gp, the current goroutine or a parked one, on a state.
//
//go:nosplit
func heisenRecordState(gp *g, op uint64, state unsafe.Pointer, fp uintptr) {
	self := getg()
	if gp != self {
		fp = 0 // gp is elsewhere
	}
	h := (*heisenG)(unsafe.Pointer(gp.racectx))
	if !heisenKeeping() || h == nil || self.raceignore != 0 || !heisenShared(uintptr(state)) ||
		uintptr(state)-self.stack.lo < self.stack.hi-self.stack.lo {
		return
	}
	heisenSync(h, op, uintptr(state), fp)
}

// heisenFiles is the first of the numbers that stand for files: no address of a Go program is that
// large.
const heisenFiles = 1 << 54

// heisenRecordFile records that the current goroutine has read the next part of a file.
//
//go:nosplit
func heisenRecordFile(file uintptr) {
	gp := getg()
	h := (*heisenG)(unsafe.Pointer(gp.racectx))
	if heisenKeeping() && h != nil && gp.raceignore == 0 {
		heisenSync(h, heisenOpStep, heisenFiles+file, getcallerfp())
	}
}

// heisenSlotted reports whether each slot of a channel's buffer is an object.
//
//go:nosplit
func heisenSlotted(c *hchan) bool { return c.dataqsiz != 0 && c.elemsize != 0 }

// heisenNotify takes the place of racenotify where sg's goroutine, or the current one, sends or
// receives an element of slot idx. Its step on that side comes after what it acquires from the slot
// and before what it releases to it. reads is set if it gets the element that it receives.
func heisenNotify(c *hchan, idx uint, sg *sudog, side *uint, reads bool) {
	gp := getg()
	if sg != nil {
		gp = sg.g
	}
	if heisenIsToken(c) {
		heisenRecordToken(gp, c, side == &c.sendx, reads)
	}
	if !heisenSlotted(c) || !heisenKeeping() {
		racenotify(c, idx, sg)
		return
	}
	slot, fp := chanbuf(c, idx), getcallerfp()
	heisenSyncG(gp, heisenOpReceive, uintptr(slot), fp)
	heisenRecordState(gp, heisenOpStep, unsafe.Pointer(side), fp)
	heisenSyncG(gp, heisenOpSend, uintptr(slot), fp)
}

// heisenClosing takes the place of racerelease where a channel is closed.
func heisenClosing(c *hchan) {
	fp := getcallerfp()
	if heisenSlotted(c) {
		heisenRecordState(getg(), heisenOpStep, unsafe.Pointer(&c.sendx), fp)
	}
	heisenSyncG(getg(), heisenOpSend, uintptr(c.raceaddr()), fp)
}

// heisenClosed takes the place of raceacquireg where gp learns that a channel is closed and empty.
func heisenClosed(gp *g, c *hchan) {
	fp := getcallerfp()
	heisenSyncG(gp, heisenOpReceive, uintptr(c.raceaddr()), fp)
	if heisenSlotted(c) {
		heisenRecordState(gp, heisenOpObserve, unsafe.Pointer(&c.recvx), fp)
	}
}

// heisenDrained is called where all elements of a timer's channel, if any, are removed.
func heisenDrained(c *hchan) {
	heisenRecordState(getg(), heisenOpStep, unsafe.Pointer(&c.recvx), getcallerfp())
}

// heisenLength returns the number of elements in a channel.
func heisenLength(c *hchan) int {
	lock(&c.lock)
	n := int(c.qcount)
	heisenObserveChan(c, getcallerfp())
	unlock(&c.lock)
	return n
}

// heisenTried is called where a goroutine continues because it could neither send to nor receive
// from a channel, or panics because the channel is closed. The goroutine holds the channel's lock,
// if there is a channel.
func heisenTried(c *hchan) {
	if c != nil && !heisenTriedBefore(uintptr(unsafe.Pointer(c))) {
		heisenObserveChan(c, getcallerfp())
		heisenRememberTry()
	}
}

// heisenTriedAll is heisenTried for all channels of a select statement. Between the first round and
// the second there was a time at which all channels were as recorded.
func heisenTriedAll(cases []scase) {
	which := uintptr(0)
	for i := range cases {
		which = which*31 + uintptr(unsafe.Pointer(cases[i].c))
	}
	if !heisenKeeping() || heisenTriedBefore(which) {
		return
	}
	for range 2 {
		for i := range cases {
			if c := cases[i].c; c != nil {
				heisenObserveChan(c, getcallerfp())
			}
		}
	}
	heisenRememberTry()
}

// heisenObserveChan records that the current goroutine has looked at a channel: the numbers of
// elements sent and received at one time.
func heisenObserveChan(c *hchan, fp uintptr) {
	gp := getg()
	if !heisenSlotted(c) || heisenIsToken(c) {
		heisenRecordState(gp, heisenOpObserve, c.raceaddr(), fp)
	}
	if !heisenSlotted(c) {
		return
	}
	heisenRecordState(gp, heisenOpObserve, unsafe.Pointer(&c.sendx), fp)
	heisenRecordState(gp, heisenOpObserve, unsafe.Pointer(&c.recvx), fp)
	heisenRecordState(gp, heisenOpObserve, unsafe.Pointer(&c.sendx), fp)
}

// heisenTriedBefore reports whether the current goroutine has tried the same channels before, and
// since then has done nothing else, and no goroutine has synchronized. Recording that again would
// add nothing.
func heisenTriedBefore(which uintptr) bool {
	h := (*heisenG)(unsafe.Pointer(getg().racectx))
	if h == nil {
		return true
	}
	again := h.tried == which && h.triedAt == atomic.Load64(&heisen.stamp) && h.triedWords == h.words
	h.tried = which
	return again
}

// heisenRememberTry records the state at which heisenTriedBefore may report true.
func heisenRememberTry() {
	h := (*heisenG)(unsafe.Pointer(getg().racectx))
	h.triedAt, h.triedWords = atomic.Load64(&heisen.stamp), h.words
}

// heisenStopped is called when a timer was stopped, or found to have fired.
func heisenStopped(t *timeTimer, pending bool) bool {
	heisenRecordState(getg(), heisenOpChange, unsafe.Pointer(&t.timer), getcallerfp())
	return pending
}

// heisenElapsed is called where a timer has fired. gp is a parked goroutine, or nil for the function of a timer that is about
// to be called. In a bubble of package synctest, all goroutines of the bubble have blocked by then, and none has continued. (Wait also receives that they have blocked.)
func heisenElapsed(gp *g, bubble *synctestBubble) {
	if gp == nil {
		heisenSched.starved.clock = heisenSched.clock
	}
	if bubble == nil {
		return
	}
	if gp == nil {
		gp = getg()
	}
	heisenRecordState(gp, heisenOpObserve, bubble.raceaddr(), 0)
}

// Package sync calls these where its states change or matter.

//go:linkname race_Change internal/race.Change
//go:nosplit
func race_Change(state unsafe.Pointer) {
	heisenRecordState(getg(), heisenOpChange, state, getcallerfp())
}

//go:linkname race_Observe internal/race.Observe
//go:nosplit
func race_Observe(state unsafe.Pointer) {
	heisenRecordState(getg(), heisenOpObserve, state, getcallerfp())
}

//go:linkname race_Step internal/race.Step
//go:nosplit
func race_Step(state unsafe.Pointer) {
	heisenRecordState(getg(), heisenOpStep, state, getcallerfp())
}
