package tree

import (
	"unsafe"

	"github.com/heisen-go/heisen"
)

// lockTable finds locks by their addresses. It is a hash table with open addressing and linear probing, at most half full. Most memory
// that is allocated or freed has no locks, so it also counts its entries by pieces of memory.
type lockTable struct {
	slots  []lockSlot // the length is a power of two
	count  int
	pieces [1 << pieceBits]uint32 // entries by a hash of their address's piece
	found  []heisen.Object        // scratch
	hand   int                    // where the next search for an entry to evict begins
}

// lockSlot is an entry: a lock, or the address of a message.
type lockSlot struct {
	at   heisen.Object
	lock *lock // nil if the slot is free
}

const (
	firstLocks = 64
	pieceShift = 6 // of an address, for its piece of memory
	pieceBits  = 9
	maxEvict   = 32 // slots to look at
)

func newLockTable() lockTable { return lockTable{slots: make([]lockSlot, firstLocks)} }

func (t *lockTable) home(o heisen.Object) int {
	return int(uint64(o) * 0x9e3779b97f4a7c15 >> 32 & uint64(len(t.slots)-1))
}

// find returns the slot of o, or the free one where it belongs.
func (t *lockTable) find(o heisen.Object) int {
	mask := len(t.slots) - 1
	i := t.home(o)
	for t.slots[i].lock != nil && t.slots[i].at != o {
		i = (i + 1) & mask
	}
	return i
}

// get returns what is at o, or nil.
func (t *lockTable) get(o heisen.Object) *lock { return t.slots[t.find(o)].lock }

// put sets what is at o.
func (t *lockTable) put(o heisen.Object, s *lock) {
	i := t.find(o)
	if t.slots[i].lock == nil {
		if 2*(t.count+1) > len(t.slots) {
			t.grow()
			i = t.find(o)
		}
		t.count++
		t.pieces[piece(o)]++
	}
	t.slots[i] = lockSlot{o, s}
}

func piece(o heisen.Object) uint64 {
	return uint64(o>>pieceShift) * 0x9e3779b97f4a7c15 >> (64 - pieceBits)
}

func (t *lockTable) grow() {
	old := t.slots
	t.slots = make([]lockSlot, 2*len(old))
	for _, s := range old {
		if s.lock != nil {
			t.slots[t.find(s.at)] = s
		}
	}
}

// remove removes what is at o. It moves entries into the gap, so that a probe never ends before it reaches its entry.
func (t *lockTable) remove(o heisen.Object) {
	gap := t.find(o)
	if t.slots[gap].lock == nil {
		return
	}
	t.count--
	t.pieces[piece(o)]--
	mask := len(t.slots) - 1
	for i := (gap + 1) & mask; t.slots[i].lock != nil; i = (i + 1) & mask {
		if home := t.home(t.slots[i].at); (i-home)&mask >= (i-gap)&mask {
			t.slots[gap] = t.slots[i]
			gap = i
		}
	}
	t.slots[gap] = lockSlot{}
}

// within returns the addresses of size bytes from o that have entries. The result is valid until the next call.
func (t *lockTable) within(o heisen.Object, size uint64) []heisen.Object {
	t.found = t.found[:0]
	if size == 0 || t.count == 0 {
		return nil
	}
	last := o + heisen.Object(min(size-1, uint64(^o)))
	if uint64(last>>pieceShift-o>>pieceShift) >= uint64(len(t.slots)) {
		for i := range t.slots {
			if s := &t.slots[i]; s.lock != nil && o <= s.at && s.at <= last {
				t.found = append(t.found, s.at)
			}
		}
		return t.found
	}
	for p := o >> pieceShift; ; p++ {
		if t.pieces[piece(p<<pieceShift)] > 0 {
			for at := max(o, p<<pieceShift); ; at++ {
				if t.get(at) != nil {
					t.found = append(t.found, at)
				}
				if at == last || at == p<<pieceShift|(1<<pieceShift-1) {
					break
				}
			}
		}
		if p == last>>pieceShift {
			return t.found
		}
	}
}

// evictable returns the address of an entry that may be forgotten, if it finds one soon.
func (t *lockTable) evictable(may func(*lock) bool) (heisen.Object, bool) {
	for range min(maxEvict, len(t.slots)) {
		t.hand = (t.hand + 1) & (len(t.slots) - 1)
		if s := &t.slots[t.hand]; s.lock != nil && may(s.lock) {
			return s.at, true
		}
	}
	return 0, false
}

// each calls f with all locks and messages.
func (t *lockTable) each(f func(*lock)) {
	for i := range t.slots {
		if s := t.slots[i].lock; s != nil {
			f(s)
		}
	}
}

func (t *lockTable) clear() {
	clear(t.slots)
	t.count, t.pieces = 0, [1 << pieceBits]uint32{}
}

func (t *lockTable) bytes() uint64 {
	return uint64(len(t.slots))*uint64(unsafe.Sizeof(lockSlot{})) + uint64(cap(t.found))*8
}
