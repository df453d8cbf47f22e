//go:build heisen_inject

package runtime

import (
	"internal/runtime/atomic"
	"unsafe"
)

// States of channels, wait groups, condition variables and timers that a goroutine
// depends on although that orders nothing: what a prediction has to keep. They are
// recorded together with all accesses only, for nothing else can make use of them.
//
// A channel with a buffer has two of them, one for each side: how many elements were
// sent, and whether it is closed (its field sendx), and how many were received (recvx).
// So who sends or receives the k-th element stays the same. The slots of the buffer say
// that the k-th is received after it was sent and before its slot is used again. All
// operations of other channels are messages of one object, which keeps their order.

// heisenKeeping reports whether states are recorded.
//
//go:nosplit
func heisenKeeping() bool {
	return heisen.on && !heisen.quiet && !heisen.filter
}

// heisenRecordState records what gp, which is the current goroutine or parked, has to do
// with a state.
//
//go:nosplit
func heisenRecordState(gp *g, op uint64, state unsafe.Pointer, fp uintptr) {
	self := getg()
	if gp != self {
		fp = 0 // this is not where gp stands
	}
	h := (*heisenG)(unsafe.Pointer(gp.racectx))
	if !heisenKeeping() || h == nil || h.mute || self.raceignore != 0 || !heisenShared(uintptr(state)) ||
		uintptr(state)-self.stack.lo < self.stack.hi-self.stack.lo {
		return
	}
	heisenSync(h, op, uintptr(state), fp)
}

// heisenFiles is the state of the file with the descriptor 0: how far it has been read.
// It and those that follow are no addresses that a Go program can have.
const heisenFiles = 1 << 54

// heisenRecordFile records that the current goroutine has read the next that there is in a
// file.
//
//go:nosplit
func heisenRecordFile(file uintptr) {
	gp := getg()
	h := (*heisenG)(unsafe.Pointer(gp.racectx))
	if heisenKeeping() && h != nil && !h.mute && gp.raceignore == 0 {
		heisenSync(h, heisenOpStep, heisenFiles+file, getcallerfp())
	}
}

// heisenSlotted reports whether each place in a channel's buffer is an object.
//
//go:nosplit
func heisenSlotted(c *hchan) bool { return c.dataqsiz != 0 && c.elemsize != 0 }

// heisenNotify takes the place of racenotify where sg's goroutine, or the current one,
// sends or receives an element of slot idx. Its step on that side comes after what it
// takes from the slot and before what it leaves there.
func heisenNotify(c *hchan, idx uint, sg *sudog, side *uint) {
	if !heisenSlotted(c) || !heisenKeeping() {
		racenotify(c, idx, sg)
		return
	}
	gp := getg()
	if sg != nil {
		gp = sg.g
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

// heisenClosed takes the place of raceacquireg where gp learns that a channel is closed
// and has no element left.
func heisenClosed(gp *g, c *hchan) {
	fp := getcallerfp()
	heisenSyncG(gp, heisenOpReceive, uintptr(c.raceaddr()), fp)
	if heisenSlotted(c) {
		heisenRecordState(gp, heisenOpObserve, unsafe.Pointer(&c.recvx), fp)
	}
}

// heisenDrained is called where all elements of a timer's channel are taken away, if
// there are any.
func heisenDrained(c *hchan) {
	heisenRecordState(getg(), heisenOpStep, unsafe.Pointer(&c.recvx), getcallerfp())
}

// heisenLength returns how many elements a channel has.
func heisenLength(c *hchan) int {
	lock(&c.lock)
	n := int(c.qcount)
	heisenObserveChan(c, getcallerfp())
	unlock(&c.lock)
	return n
}

// heisenTried is called where a goroutine goes on because it could neither send to
// nor receive from a channel, which it has locked if there is one, or panics because it
// is closed.
func heisenTried(c *hchan) {
	if c != nil && !heisenTriedBefore(uintptr(unsafe.Pointer(c))) {
		heisenObserveChan(c, getcallerfp())
		heisenRememberTry()
	}
}

// heisenTriedAll is heisenTried for all channels of a select statement. There was a
// time at which all of them were as it says: between the first round and the second.
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

// heisenObserveChan records that the current goroutine has looked at a channel: at one time so
// many elements were sent and so many received.
func heisenObserveChan(c *hchan, fp uintptr) {
	gp := getg()
	if !heisenSlotted(c) {
		heisenRecordState(gp, heisenOpObserve, c.raceaddr(), fp)
		return
	}
	heisenRecordState(gp, heisenOpObserve, unsafe.Pointer(&c.sendx), fp)
	heisenRecordState(gp, heisenOpObserve, unsafe.Pointer(&c.recvx), fp)
	heisenRecordState(gp, heisenOpObserve, unsafe.Pointer(&c.sendx), fp)
}

// heisenTriedBefore reports whether the current goroutine has tried the same channels
// before, and since then has done nothing else, and nobody has synchronised: to record
// that again would say nothing.
func heisenTriedBefore(which uintptr) bool {
	h := (*heisenG)(unsafe.Pointer(getg().racectx))
	if h == nil {
		return true
	}
	again := h.tried == which && h.triedAt == atomic.Load64(&heisen.stamp) && h.triedWords == h.words
	h.tried = which
	return again
}

func heisenRememberTry() {
	h := (*heisenG)(unsafe.Pointer(getg().racectx))
	h.triedAt, h.triedWords = atomic.Load64(&heisen.stamp), h.words
}

// heisenStopped is called when a timer was stopped, or found to have fired.
func heisenStopped(t *timeTimer, pending bool) bool {
	heisenRecordState(getg(), heisenOpChange, unsafe.Pointer(&t.timer), getcallerfp())
	return pending
}

// heisenElapsed is called where time has passed in a bubble of package synctest for gp,
// which is parked, or, if it is nil, for a timer's function that is about to be called: all
// goroutines of the bubble have blocked by then, and none has gone on. (That they have
// blocked is what Wait receives, too.)
func heisenElapsed(gp *g, bubble *synctestBubble) {
	if bubble == nil {
		return
	}
	if gp == nil {
		gp = getg()
	}
	heisenRecordState(gp, heisenOpObserve, bubble.raceaddr(), 0)
}

// What package sync calls where its states change or matter.

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
