//go:build heisen_inject

package runtime

import (
	"internal/runtime/atomic"
)

// Repeated accesses are left out if the receiver asks for that. The filter runs in hooks that
// record events, on the goroutine's stack, nosplit, without locks: its state belongs to the P or to
// the goroutine.
//
// Let e and f be accesses of a goroutine t, e the earlier one, by the same instruction, of the same
// kind, to the same bytes. f is redundant if nothing that t releases between them reaches another
// goroutine without f. Then whatever is ordered after e is ordered after f, and whatever is not
// ordered before f is not ordered before e. So an access that races with f also races with e, and
// the pair of instructions is the same. This is TREE's redundancy within a thread, section 3.3, for
// happens-before with and without lock edges; section 3.6 calls an interval without such releases a
// span.
//
// What t publishes by releasing a lock reaches others only by the next acquire. If that is t's own,
// and t holds the lock at f, no other goroutine has acquired the lock, and one that does so later
// learns of f, too. So a span continues after locks were released if the same goroutine has
// acquired all of them again and no other has in between.
//
// In a span the locks held are the same, or at f those held at e and more.

// heisenRecorded is an access that was recorded: its words, span and era.
type heisenRecorded struct {
	access, where uint64
	span, era     uint64
}

// heisenFilter is the filter's state of a P. Spans are numbered across Ps, so entries that a
// goroutine has left on another P do no harm.
type heisenFilter struct {
	spans   uint64 // the last span number given out here
	skipped uint64 // accesses left out
	before  uint64 // of these, before the window
	asked   uint32 // accesses looked at in the window
	idle    uint32 // accesses not to look at
	seen    [heisenRecordedSize]heisenRecorded
}

const (
	heisenRecordedBits = 12
	heisenRecordedSize = 1 << heisenRecordedBits
	heisenSpanBits     = 48 // of a span, for its number on the P; above is the P's

	heisenFilterWindow = 1 << 13
	heisenFilterIdle   = 1 << 19 // accesses
	heisenFilterFewest = 8       // the part of a window that must be left out
)

// pays reports whether the filter looks at the next access. It looks at a window of them, and if it has left out only few, not at the next
// ones. What it has recorded stays recorded.
//
//go:nosplit
func (f *heisenFilter) pays() bool {
	if f.idle > 0 {
		f.idle--
		return false
	}
	if f.asked++; f.asked == heisenFilterWindow {
		if (f.skipped-f.before)*heisenFilterFewest < heisenFilterWindow && !heisen.marks {
			f.idle = heisenFilterIdle
		}
		f.asked, f.before = 0, f.skipped
	}
	return true
}

// repeated reports whether an access was recorded already in the goroutine's span. If not, it
// returns where to record it.
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

// heisenReleased is a lock that a goroutine has released, and the span before.
type heisenReleased struct {
	lock   uintptr
	span   uint64
	shared bool // it was held for reading
	again  bool // it was acquired again
}

// heisenMaxReleased is the number of locks that may be released and acquired again within a span.
const heisenMaxReleased = 4

// heisenTrackSpan ends the span of h if op publishes what h did, and follows locks.
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
			// Another goroutine's lock: that goroutine holds fewer locks from now on, and its
			// filter does not know.
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
			break // readers learn what a writer released while another reader holds the lock
		}
		if !alone {
			h.released = 0 // another goroutine has learned what came before, but not what comes now
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

// heisenHolders has the last holders of locks, in a cache by the low bits of the address: the rest
// of the address, and the goroutine's number plus one. Only a goroutine that holds a lock writes
// the lock's entry.
var heisenHolders [1 << heisenHolderBits]uint64

const heisenHolderBits = 14 // with the tag's 32 bits and the 2 that are zero, all 48 bits of an address

// heisenSetHolder records that a goroutine has acquired a lock. It reports whether the last holder
// was the same goroutine, and false if that is not known.
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

// heisenHolder returns the last holder of a lock, 0 if it is not known.
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
