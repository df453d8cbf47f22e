//go:build heisen_inject

package runtime

import (
	"internal/runtime/atomic"
	"internal/runtime/sys"
	"unsafe"
)

// heisenBuf is the event buffer of a P. Only the P's M appends; anyone may send
// what is complete, under lock.
type heisenBuf struct {
	_     sys.NotInHeap
	lock  uint32
	id    uint32
	cur   *heisenG // whose words come now
	pos   uintptr  // words complete
	sent  uintptr  // words sent
	moved bool     // earlier words of goroutines may wait in other buffers
	next  *heisenBuf
	words [heisenBufWords]uint64

	places       [heisenCachePlaces]heisenCachedPlace
	lockedPlaces [1 << heisenLockedPlaceBits]heisenLockedPlace
	filter       heisenFilter
	skippedSent  uint64 // of filter.skipped, what was sent
	synced       uint64 // synchronisation events written, in all

	access heisenAtomRaceAccess // what a hook hands to package internal/core/atomrace, for stack is short
	hits   heisenAtomRaceHits

	racing    heisenRacingAccess // what a hook hands to package internal/core/fasttrack
	races     heisenFastTrackRaces
	freeCache heisenFastTrackFreeCache
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

// heisenAllBufs lists the buffers for whoever sends them all. There are as many
// as there ever were Ps at a time.
var heisenAllBufs [4096]*heisenBuf

// heisenOpen makes room for n words (and what may have to come before them) in
// the buffer of the current P, and switches it to h. It returns nil where there
// is no P.
//
//go:nosplit
func heisenOpen(h *heisenG, n uintptr) *heisenBuf {
	b := heisenBufOfP()
	if b == nil {
		atomic.Xadd64(&heisen.lost, 1)
		return nil
	}
	if b.pos+heisenHeader+heisenBegin+n > heisenBufWords {
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
	return b
}

// heisenFirst is what comes before the first that h does. It returns the buffer of the
// current P, nil where there is none.
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

// heisenBufOfP returns the buffer of the current P, nil where there is none.
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

// word is &b.words[i], without the check of an index: stack is short here.
//
//go:nosplit
func (b *heisenBuf) word(i uintptr) unsafe.Pointer { return add(unsafe.Pointer(&b.words), i*8) }

// commit makes the words before end visible to whoever sends them.
//
//go:nosplit
func (b *heisenBuf) commit(end uintptr) {
	heisenStoreBarrier()
	b.pos = end
}

// heisenStoreBarrier orders the stores before it with those after it. On amd64 they are in order.
//
//go:nosplit
func heisenStoreBarrier() {
	if GOARCH != "amd64" {
		publicationBarrier()
	}
}

// wrote counts a record with a stamp, which is complete.
//
//go:nosplit
func (b *heisenBuf) wrote() {
	heisenStoreBarrier()
	b.synced++
}

//go:nosplit
func heisenWriteBegin(b *heisenBuf, h *heisenG) {
	w := heisenOpBegin<<heisenOpShift | heisenGoid(h)&(heisenOrphan-1)
	if h.orphan || heisen.quiet { // where it comes from was told already
		w |= heisenOrphan
	}
	*(*uint64)(b.word(b.pos)) = w
	h.words++
	b.commit(b.pos + 1)
}
