//go:build heisen_inject

package runtime

import (
	"internal/runtime/atomic"
	"internal/runtime/sys"
	"unsafe"
)

// This file has the event buffers. Hooks append on the goroutine's stack, without a lock, since a P
// runs one hook at a time; sending is in transport.go. Everything here is nosplit and must not
// allocate.

// heisenBuf is the event buffer of a P. Only the P's M appends. Any thread may send complete words,
// under lock.
type heisenBuf struct {
	_     sys.NotInHeap
	lock  uint32
	id    uint32
	cur   *heisenG // the goroutine of the next words
	pos   uintptr  // complete words
	sent  uintptr  // words sent
	moved bool     // earlier words of goroutines may wait in other buffers
	next  *heisenBuf
	words [heisenBufWords]uint64

	places       [heisenCachePlaces]heisenCachedPlace
	lockedPlaces [1 << heisenLockedPlaceBits]heisenLockedPlace
	filter       heisenFilter
	skippedSent  uint64 // the part of filter.skipped that was sent
	synced       uint64 // synchronization events written

	access heisenAtomRaceAccess // arguments for package internal/core/atomrace, to save stack
	hits   heisenAtomRaceHits

	reads heisenRecentReads

	racing    heisenRacingAccess // arguments for package internal/core/fasttrack
	races     heisenFastTrackRaces
	freeCache heisenFastTrackFreeCache
	past      heisenPast // of the access of a race; see lockhistory.go
	earlier   heisenPast // see heldlocks.go
}

// heisenNewBuf returns an empty buffer for a P.
//
//go:nosplit
func heisenNewBuf() (b *heisenBuf) {
	systemstack(func() {
		lock(&heisen.lock)
		if b = heisen.freeB; b != nil {
			heisen.freeB = b.next
			unlock(&heisen.lock)
			return
		}
		unlock(&heisen.lock)
		b = (*heisenBuf)(sysAlloc(alignUp(unsafe.Sizeof(heisenBuf{}), physPageSize), &memstats.other_sys, "heisen event buffer"))
		if b == nil {
			throw("heisen: no memory for an event buffer")
		}
		lock(&heisen.lock)
		b.id = heisen.bufID
		heisen.bufID++
		heisenAllBufs[b.id%uint32(len(heisenAllBufs))] = b
		unlock(&heisen.lock)
	})
	return b
}

// heisenAllBufs has all buffers: the largest number of Ps there ever was.
var heisenAllBufs [4096]*heisenBuf

// heisenOpen makes room for n words, and for what may precede them, in the buffer of the current P,
// and switches it to h. It returns nil if there is no P.
//
//go:nosplit
func heisenOpen(h *heisenG, n uintptr) *heisenBuf {
	if heisenSched.values.of != nil {
		systemstack(heisenPutWritten) // it calls heisenOpen
	}
	b := heisenBufOfP()
	if b == nil {
		atomic.Xadd64(&heisen.lost, 1)
		return nil
	}
	if b.pos+heisenHeader+heisenBegin+heisenNewCalls+n > heisenBufWords {
		heisenFlush(b)
	}
	if b.cur != h || h.buf != b {
		if old := h.buf; old != nil && old != b && old.sent != old.pos {
			b.moved = true
		}
		b.cur, h.buf = h, b
		p := b.pos
		heisenWords2(b.word(p), heisenOpSwitch<<heisenOpShift|uint64(h.id), h.words)
		b.commit(p + 2)
		if h.words == 0 {
			h.started = true
			heisenWriteBegin(b, h)
		}
	}
	if heisen.entries {
		h.path(b) // gives the new calls their places
		if h.kept != 0 {
			b.words[b.pos] = heisenOpEntered<<heisenOpShift | uint64(h.kept-1)
			h.words, h.kept = h.words+1, 0
			b.commit(b.pos + 1)
		}
	}
	return b
}

// heisenFirst writes what precedes the first event of h. It returns the buffer of the current P,
// nil if there is none.
//
//go:nosplit
func heisenFirst(h *heisenG) *heisenBuf {
	if !heisen.quiet {
		return heisenOpen(h, 0)
	}
	b := heisenBufOfP()
	if b == nil {
		atomic.Xadd64(&heisen.lost, 1)
		return nil
	}
	heisenSetGoid(h, heisenGoid(h))
	return b
}

// heisenBufOfP returns the buffer of the current P, nil if there is none.
//
//go:nosplit
func heisenBufOfP() *heisenBuf {
	if pp := getg().m.p.ptr(); pp != nil {
		return (*heisenBuf)(unsafe.Pointer(pp.raceprocctx))
	}
	return nil
}

// heisenWords2 writes two words at once.
//
//go:nosplit
func heisenWords2(p unsafe.Pointer, x, y uint64) {
	*(*[2]uint64)(p) = [2]uint64{x, y}
}

// word is &b.words[i] without a bounds check, which takes stack.
//
//go:nosplit
func (b *heisenBuf) word(i uintptr) unsafe.Pointer { return add(unsafe.Pointer(&b.words), i*8) }

// commit makes the words before end visible to threads that send them.
//
//go:nosplit
func (b *heisenBuf) commit(end uintptr) {
	heisenStoreBarrier()
	b.pos = end
}

// heisenStoreBarrier orders the stores before it with those after it. On amd64 stores are in order.
//
//go:nosplit
func heisenStoreBarrier() {
	if GOARCH != "amd64" {
		publicationBarrier()
	}
}

// wrote counts a complete record with a stamp.
//
//go:nosplit
func (b *heisenBuf) wrote() {
	heisenStoreBarrier()
	b.synced++
}

// heisenWriteBegin writes the first record of a goroutine.
//
//go:nosplit
func heisenWriteBegin(b *heisenBuf, h *heisenG) {
	w := heisenOpBegin<<heisenOpShift | heisenGoid(h)&(heisenOrphan-1)
	if h.orphan || heisen.quiet { // its origin is known already
		w |= heisenOrphan
	}
	*(*uint64)(b.word(b.pos)) = w
	h.words++
	b.commit(b.pos + 1)
}
