package tree

import (
	"unsafe"

	"github.com/heisen-go/heisen"
)

// history is a cache of forwarded accesses, by what they access, their op and site, and their context. It may forget any of them at
// any time: then the next access like it is forwarded, too.
//
// Each access has a set of two places. The table grows while accesses displace others, up to a bound. Then it forgets all.
//
// Memory that is allocated or freed begins another life, in which the accesses of the life before make nothing redundant. The table
// has the number of lives of each piece of memory, as far as pieces with the same hash have numbers of their own, and an entry has the
// sum of those of its pieces.
type history struct {
	sets      [][setSize]entry // the length is a power of two
	lives     []uint64         // the length is a power of two
	ages      uint64           // lives of all memory
	most      int              // the greatest length of sets
	displaced int              // entries since the table has grown
	made      uint64           // entries
}

// entry is a forwarded access. The zero entry is no access.
type entry struct {
	object heisen.Object
	key    uint64 // context, op and site
	stamp  uint64 // the span, and the size in the low bits
	lives  uint64
}

// Layout of entry.key: 31 bits of context, one for writes, 32 of site.
const (
	contextShift = 33
	keyWrite     = 1 << 32
	maxContexts  = 1<<31 - 1
)

const (
	sizeBits = 16 // of entry.stamp
	setSize  = 2

	firstSets = 1 << 8
	mostSets  = 1 << 14
	mostLives = 1 << 13

	// maxPieces is how many pieces an access may have, so that their lives are cheaper to add up than the access is to a detector.
	maxPieces = 1 << 10
)

// newHistory returns a history of at most so many bytes, 0 for the usual bound.
func newHistory(bytes uint64) (h history) {
	h.most = mostSets
	for bytes > 0 && h.most > 1 && uint64(h.most)*uint64(unsafe.Sizeof(h.sets[0]))+uint64(min(2*h.most, mostLives))*8 > bytes {
		h.most /= 2
	}
	h.resize(min(firstSets, h.most))
	return h
}

// resize forgets everything.
func (h *history) resize(sets int) {
	h.sets = make([][setSize]entry, sets)
	if n := min(2*sets, mostLives); n != len(h.lives) {
		h.lives = make([]uint64, n)
	}
	h.displaced = 0
}

func (h *history) bytes() uint64 {
	return uint64(len(h.sets))*uint64(unsafe.Sizeof(h.sets[0])) + uint64(len(h.lives))*8
}

// end ends the present lives of size bytes from o.
func (h *history) end(o heisen.Object, size uint64) {
	if size == 0 {
		return
	}
	last := o + heisen.Object(min(size-1, uint64(^o)))
	if uint64(last>>pieceShift-o>>pieceShift) >= maxPieces {
		h.ages++
		return
	}
	for p := o >> pieceShift; ; p++ {
		*h.livesOf(p)++
		if p == last>>pieceShift {
			return
		}
	}
}

func (h *history) livesOf(piece heisen.Object) *uint64 {
	return &h.lives[uint64(piece)*0x9e3779b97f4a7c15>>32&uint64(len(h.lives)-1)]
}

// sum returns the sum of the lives of the pieces of size bytes from o.
func (h *history) sum(o heisen.Object, size uint64) uint64 {
	first, last := o>>pieceShift, (o+heisen.Object(min(size-1, uint64(^o))))>>pieceShift
	sum := h.ages + *h.livesOf(first)
	for p := first; p != last; {
		p++
		sum += *h.livesOf(p)
	}
	return sum
}

// set returns the places of an access.
func (h *history) set(o heisen.Object, key uint64) *[setSize]entry {
	x := (uint64(o) ^ key*0xbf58476d1ce4e5b9) * 0x9e3779b97f4a7c15
	return &h.sets[x>>32&uint64(len(h.sets)-1)]
}

// keyOf returns the key of an access by t.
func (f *Filter) keyOf(t *thread, r *heisen.Record) uint64 {
	if t.validFromStale {
		t.updateValidFrom()
	}
	if t.keyStale {
		f.updateKey(t)
	}
	key := t.key | uint64(r.Op&heisen.Write)<<(contextShift-2)
	if !f.spans {
		key |= uint64(r.Site)
	}
	return key
}

// redundant reports whether an access is redundant. If it is not, redundant records it.
func (f *Filter) redundant(t *thread, r *heisen.Record) bool {
	if t.holdsUnknown {
		t.version++
		return false
	}
	key, size := f.keyOf(t, r), r.Size()
	h := &f.history
	now := entry{r.Object, key, t.now<<sizeBits | size, h.sum(r.Object, size)}
	set := h.set(r.Object, key)
	old := &set[0]
	for i := range set {
		e := &set[i]
		if e.object == now.object && e.key == key && (e.stamp^size)<<(64-sizeBits) == 0 && e.lives == now.lives {
			if span := e.stamp >> sizeBits; span >= t.validFrom {
				if span != t.now {
					t.reliance++
				}
				return true
			}
			old = e
			break
		}
		if e.stamp < old.stamp {
			old = e
		}
	}
	if f.spans && key&keyWrite == 0 && f.afterWrite(t, &now) {
		return true
	}
	if old.key != key || old.object != now.object {
		if h.made++; old.stamp != 0 {
			h.displaced++
		}
	}
	*old = now
	if h.displaced > setSize*len(h.sets) && len(h.sets) < h.most {
		h.resize(min(4*len(h.sets), h.most))
	}
	t.version++
	return false
}

// afterWrite reports whether a read is redundant because of a write in the history. That is so within spans.
func (f *Filter) afterWrite(t *thread, read *entry) bool {
	for _, e := range f.history.set(read.object, read.key|keyWrite) {
		span := e.stamp >> sizeBits
		if e.object == read.object && e.key == read.key|keyWrite && (e.stamp^read.stamp)<<(64-sizeBits) == 0 && e.lives == read.lives && span >= t.validFrom {
			if span != t.now {
				t.reliance++
			}
			return true
		}
	}
	return false
}
