package fasttrack

import "sync/atomic"

// A thread that ends has usually accessed memory since its last release. Nobody ever learns of these
// accesses, its tail. A thread that covers all other accesses in the slot can leave the slot to a
// child nevertheless: the tail is noted, and from then on no thread covers it, though the times of
// later threads of the slot are greater.
//
// The times of a slot are divided into laps, each of which may end with a tail; the next thread
// starts a new lap. Accesses in other laps of the slot are not a thread's own (slotOf), so the code
// that looks for the thread's own entries need not know of tails.
//
// There is one exception: finalizers are ordered after everything that came before a collection
// (Collect). Collections have a slot of their own. Who covers a collection covers the tails before it,
// and what reclamations before it have made of tails, the entries of orphan slots.

const (
	lapBits  = 15
	maxTails = 64 // of a slot, before the next reclamation
)

// tail is the end of a lap of a slot: the times in the lap after a thread's last release.
type tail struct {
	from        atomic.Uint32 // the first of the times, 0 if there is no tail; written last
	id          uint32        // the thread
	collections uint32        // the number of collections before it
}

// slotIndex returns the slot of an entry.
//
//go:nosplit
func slotIndex(entry uint64) uint64 { return entry >> (placeBits + timeBits) }

// lapTail returns where the tail of a lap is noted, if it has one, and whether time is in it.
//
//go:nosplit
func (t *Table) lapTail(s, time uint32) (l *tail, in bool) {
	l = &t.tails[s%maxSlots][time>>lapBits%maxTails]
	from := l.from.Load() // it may be of another lap
	return l, from != 0 && time >= from && (time^from)>>lapBits == 0
}

// afterTail returns the epoch that those who cover a later lap of a slot cover if they are ordered
// after a time of an earlier lap, 0 if they all are.
//
//go:nosplit
func (t *Table) afterTail(s, time uint32) uint64 {
	l, in := t.lapTail(s, time)
	switch {
	case !in:
		return 0
	case t.collectionSlot == 0:
		return firstOrphanSlot<<timeBits | 1<<orphanBits // which nobody covers
	}
	return uint64(t.collectionSlot-1)<<timeBits | uint64(l.collections+1)
}

// afterOrphan returns the epoch that those cover who are ordered after the entries of orphan slots, 0
// if nobody is. All of these were there at the last reclamation.
//
//go:nosplit
func (t *Table) afterOrphan() uint64 {
	if t.orphaned == t.collections {
		return 0
	}
	return uint64(t.collectionSlot-1)<<timeBits | uint64(t.orphaned+1)
}

// hasNextLap reports whether a tail of the slot can be noted, and another lap can begin.
//
//go:nosplit
func (t *Table) hasNextLap(s uint32, h *slot) bool {
	time := h.time.Load()
	l, _ := t.lapTail(s, time)
	return l.from.Load() == 0 && time>>lapBits < maxTime>>lapBits
}

// endsInTail reports whether a thread covers all accesses in the slot of an ended thread but those
// of its tail.
//
//go:nosplit
func (t *Table) endsInTail(th *Thread, s uint32, h *slot) bool {
	return h.lastAccess > h.lastPublished && t.hasNextLap(s, h) && t.covers(th, h.lastPublished)
}

// leaveTail begins a new lap of a slot, after the tail of an ended thread. The caller holds the lock
// of t.ended.
//
//go:nosplit
func (t *Table) leaveTail(s uint32, h *slot) {
	time := h.time.Load()
	l, _ := t.lapTail(s, time)
	l.collections, l.id = t.collections, uint32(h.owners[(h.starts.Load()-1)%maxOwners].since.Load())
	storeRelease32(&l.from, max(uint32(h.lastPublished&maxTime)+1, time>>lapBits<<lapBits))
	h.lastAccess = h.lastPublished
	storeRelease32(&h.time, time|(1<<lapBits-1))
	h.tails++
	t.ended.tails++
}

// collectTails is Collect for tails. The last accesses in the slots of ended threads are no tails any
// more, as somebody may learn of them.
//
//go:nosplit
func (t *Table) collectTails() {
	l := &t.ended
	for i := range l.count {
		s := l.slots[i%maxEnded] % maxSlots
		t.perSlot[s].lastPublished = uint64(s)<<timeBits | uint64(t.perSlot[s].time.Load())
	}
	if t.collectionSlot == 0 {
		s := t.freshSlot()
		if s == maxSlots { // tails count as ordered before what comes later in their slots
			t.orphansForgotten = true
			t.ForgottenEpochs.Add(1)
			for range l.tails {
				t.ForgottenEpochs.Add(1)
			}
			t.clearTails()
			return
		}
		t.collectionSlot = s + 1
	}
	t.collections++
	storeRelease32(&t.perSlot[(t.collectionSlot-1)%maxSlots].time, t.collections)
}

// replaceTail returns the epoch that takes the place of that of entry n, which is in a tail: one of
// an orphan slot, or that of the collection which came after it.
func (t *Table) replaceTail(n uint64, l *tail) uint64 {
	if l.collections == t.collections {
		return t.orphan(n)
	}
	return uint64(t.collectionSlot-1)<<timeBits | uint64(l.collections+1)
}

// clearTails removes all tails.
//
//go:nosplit
func (t *Table) clearTails() {
	for s := range t.slots.Load() {
		h := &t.perSlot[s%maxSlots]
		if h.tails == 0 {
			continue
		}
		h.tails = 0
		for i := range t.tails[s%maxSlots] {
			storeRelease32(&t.tails[s%maxSlots][i].from, 0)
		}
	}
	t.ended.tails = 0
}
