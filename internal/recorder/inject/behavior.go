//go:build heisen_inject

package runtime

import "unsafe"

// What a deterministic run has done, for a search that prefers what is new and for the summary of what
// was covered: a set of words, which is sent at the end. A word has a kind in its highest byte and a
// text offset in its low half. Between them is what the kind says. If there is no room, further words
// are left out.

const (
	heisenDidStart  = 1 // a go statement
	heisenDidLock   = 2 // a lock was to be acquired
	heisenDidWait   = 3 // a goroutine had to wait; bits 32 to 39: 1 if for a lock
	heisenDidSelect = 4 // bits 32 to 39: index of the case, 255 for default; 40 to 47: cases that send; 48 to 55: cases
	heisenDidOrder  = 5 // goroutines made operations on the same object; the low half is a hash of both places
	heisenDidNest   = 6 // a lock was to be acquired by a goroutine that holds another one; the low half, likewise

	heisenBehaviorBits = 12
	heisenBehaviorRoom = 1 << heisenBehaviorBits
	heisenLatestBits   = 8
)

type heisenBehaviors struct {
	words [heisenBehaviorRoom]uint64
	count int
	// latest has, for objects by a hash of their addresses, the latest operation: the place and the
	// goroutine.
	latest [1 << heisenLatestBits]struct{ place, id uint32 }
}

//go:nosplit
func (b *heisenBehaviors) add(kind, how uint64, place uint32) {
	if place == 0 {
		return
	}
	word := kind<<56 | how<<32 | uint64(place)
	i := word * 0x9E3779B97F4A7C15 >> (64 - heisenBehaviorBits)
	for b.words[i] != 0 {
		if b.words[i] == word {
			return
		}
		i = (i + 1) % heisenBehaviorRoom
	}
	if b.count < heisenBehaviorRoom*3/4 {
		b.words[i] = word
		b.count++
	}
}

// operation notes that a goroutine makes its next operation.
func (b *heisenBehaviors) operation(t *heisenStrategiesTask, place uint32) {
	if t.Addr == 0 || place == 0 || t.Kind == heisenStrategiesResume || t.Kind == heisenStrategiesYield {
		return
	}
	before := &b.latest[t.Addr*0x9E3779B97F4A7C15>>(64-heisenLatestBits)]
	if before.place != 0 && before.id != t.ID {
		b.addPair(heisenDidOrder, before.place, place)
	}
	before.place, before.id = place, t.ID
}

// addPair adds a word for a pair of places.
//
//go:nosplit
func (b *heisenBehaviors) addPair(kind uint64, first, second uint32) {
	h := (uint64(first)<<32 | uint64(second)) * 0x9E3779B97F4A7C15
	b.add(kind, 0, uint32(h>>32)|1)
}

// locks notes that a goroutine is to acquire a lock.
//
//go:nosplit
func (b *heisenBehaviors) locks(h *heisenG) {
	place := h.task.place
	b.add(heisenDidLock, 0, place)
	if k := h.locksHeld; k != nil {
		for i := range min(k.count, heisenMaxHeld) {
			b.addPair(heisenDidNest, k.held[i].pc, place)
		}
	}
}

// waited notes that gp was woken or will never be, if it has waited for others.
func (b *heisenBehaviors) waited(gp *g, h *heisenG) {
	switch gp.waitreason {
	case waitReasonSyncMutexLock, waitReasonSyncRWMutexRLock, waitReasonSyncRWMutexLock:
		b.add(heisenDidWait, 1, h.task.place)
	case waitReasonSyncCondWait, waitReasonSyncWaitGroupWait, waitReasonChanReceive, waitReasonChanSend, waitReasonSelect:
		b.add(heisenDidWait, 0, h.task.place)
	}
}

// heisenSelected is called when the current goroutine has chosen a case of a select statement. It
// returns false.
func heisenSelected(cas0 *scase, index, sends, receives int, block bool) bool {
	if block {
		heisenSelectWoken(cas0, index, sends)
	}
	h := (*heisenG)(unsafe.Pointer(getg().racectx))
	if s := &heisenSched; s.on && h != nil {
		s.behaviors.add(heisenDidSelect, uint64(uint8(index))|uint64(uint8(sends))<<8|uint64(uint8(sends+receives))<<16, h.task.place)
	}
	return false
}

// send sends the words. It moves them.
func (b *heisenBehaviors) send() {
	n := 0
	for _, word := range &b.words {
		if word != 0 {
			b.words[n] = word
			n++
			if kind := word >> 56; kind != heisenDidOrder && kind != heisenDidNest {
				heisenTellName(uint32(word))
			}
		}
	}
	if n > 0 {
		heisenSend(heisenMsgBehaviors, 0, 0, unsafe.Pointer(&b.words), uintptr(n)*unsafe.Sizeof(b.words[0]))
	}
}
