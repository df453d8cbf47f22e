//go:build heisen_inject

package runtime

import (
	"internal/runtime/atomic"
)

// Repeated accesses are not recorded if the receiver asks for that.
//
// Let e and f be accesses of a goroutine t, e the earlier one, at the same
// instruction, of the same kind, to the same bytes. f is redundant if nothing
// that t published between them reaches anybody without f: then whoever is
// ordered after e is ordered after f, and what was not ordered before f was not
// before e, so whatever races with f races with e, and the pair of instructions
// is the same. (This is the redundancy within a thread of TREE, section 3.3, for
// happens-before with lock edges and without; section 3.6 calls the interval
// without publication a span.)
//
// What t publishes by releasing a lock reaches others by the next acquisition
// only. If that is t's own, and t holds the lock when f happens, nobody has got
// it and whoever does gets f with it. So a span goes on after locks were released
// that have all been taken again by the same goroutine, with no other in between.
//
// In a span the locks held are the same, or at f those held at e and more.

// heisenRecorded is an access that was recorded: its words, and the span and era it
// belongs to.
type heisenRecorded struct {
	access, where uint64
	span, era     uint64
}

// heisenFilter is what a P remembers. Spans are numbered across Ps, so that what
// a goroutine left behind on another P is at worst of no use.
type heisenFilter struct {
	spans   uint64 // the latest number of a span given out here
	skipped uint64 // accesses not recorded
	seen    [heisenRecordedSize]heisenRecorded
}

const (
	heisenRecordedBits = 12
	heisenRecordedSize = 1 << heisenRecordedBits
	heisenSpanBits     = 48 // of a span, for its number on the P; above is the P's
)

// repeated reports whether an access was recorded already in the goroutine's
// span, and otherwise where to note that it is.
//
//go:nosplit
func (f *heisenFilter) repeated(h *heisenG, access, where uint64) (*heisenRecorded, bool) {
	s := &f.seen[(access^where>>22)*0x9E3779B97F4A7C15>>(64-heisenRecordedBits)]
	if s.access == access && s.where == where && s.span == h.span && s.era == heisen.era {
		f.skipped++
		return s, true
	}
	return s, false
}

// heisenReleased is a lock that a goroutine has released, and the span that it
// was in.
type heisenReleased struct {
	lock   uintptr
	span   uint64
	shared bool // it was held for reading
	again  bool // it was acquired again
}

// heisenMaxReleased is how many locks can be released and taken again for the
// span to go on.
const heisenMaxReleased = 4

// heisenTrackSpan ends the span of h if op makes what h did known to others, and
// follows the locks.
//
//go:nosplit
func heisenTrackSpan(b *heisenBuf, h *heisenG, op uint64, obj uintptr) {
	switch op {
	case heisenOpAtomicRead, heisenOpReceive, heisenOpChanceReceive:
	case heisenOpAcquire, heisenOpTryAcquire:
		h.acquired(b, obj, false)
	case heisenOpAcquireShared, heisenOpTryAcquireShared:
		h.acquired(b, obj, true)
	case heisenOpRelease:
		h.release(b, obj, false)
	case heisenOpReleaseShared:
		h.release(b, obj, true)
	default:
		h.released = 0
		h.newSpan(b)
	}
}

//go:nosplit
func (h *heisenG) newSpan(b *heisenBuf) {
	b.filter.spans++
	h.span = uint64(b.id+1)<<heisenSpanBits | b.filter.spans
}

//go:nosplit
func (h *heisenG) release(b *heisenBuf, lock uintptr, shared bool) {
	if !shared {
		if by := heisenHolder(lock); by != 0 && by != h.id+1 {
			// Somebody else's lock: that goroutine goes on with fewer locks, in a
			// span that was not told.
			atomic.Xadd64(&heisen.era, 1)
		}
	}
	if h.released == heisenMaxReleased {
		h.released = 0
	}
	h.locks[h.released] = heisenReleased{lock: lock, span: h.span, shared: shared}
	h.released++
	h.newSpan(b)
}

//go:nosplit
func (h *heisenG) acquired(b *heisenBuf, lock uintptr, shared bool) {
	alone := heisenSetHolder(lock, h.id+1)
	span := uint64(0)
	for i := h.released; i > 0; i-- {
		l := &h.locks[i-1]
		if l.lock != lock || l.again {
			continue
		}
		if shared && !l.shared {
			break // readers see what a writer released while another reader holds the lock
		}
		if !alone {
			h.released = 0 // somebody knows what came before, but not what comes now
			break
		}
		l.again = true
		for h.released > 0 && h.locks[h.released-1].again {
			h.released--
			span = h.locks[h.released].span
		}
		break
	}
	if span == 0 {
		h.newSpan(b)
	} else {
		h.span = span
	}
}

// heisenHolders tells who acquired a lock last, for locks at addresses that
// differ in their low bits: the rest of the address, and the goroutine's number
// plus one. An entry is written by a goroutine that holds a lock it stands for.
var heisenHolders [1 << heisenHolderBits]uint64

const heisenHolderBits = 14 // with the 32 of a tag and the 2 that are zero, all 48 that addresses have

// heisenSetHolder notes that a goroutine has acquired a lock, and reports whether the
// last to do so was the same goroutine. In doubt it was not.
//
//go:nosplit
func heisenSetHolder(lock uintptr, by uint32) (same bool) {
	at, tag := heisenHolderAt(lock)
	now := tag | uint64(by)
	if atomic.Load64(at) == now {
		return true
	}
	atomic.Store64(at, now)
	return false
}

// heisenHolder returns who acquired a lock last, 0 if that is not known.
//
//go:nosplit
func heisenHolder(lock uintptr) uint32 {
	at, tag := heisenHolderAt(lock)
	if v := atomic.Load64(at); v>>32<<32 == tag {
		return uint32(v)
	}
	return 0
}

//go:nosplit
func heisenHolderAt(lock uintptr) (at *uint64, tag uint64) {
	w := uint64(lock) >> 2
	return &heisenHolders[w%uint64(len(heisenHolders))], w >> heisenHolderBits << 32
}
