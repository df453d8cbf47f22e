package heisen

import (
	"math/bits"
	"sync/atomic"
)

// numbering gives distinct keys dense numbers from 1 on: a hash table with open addressing, at most
// half full, that holds only numbers, 8 bytes a key. Number 0 stands for the zero key, which is
// never added. The zero numbering is empty.
//
// Keys and numbers are never removed or changed, so find and key need no lock and run beside one
// call of add. Calls of add exclude each other.
type numbering[K comparable] struct {
	table atomic.Pointer[numberTable[K]]
	count atomic.Uint32 // the largest number
}

// numberTable is the memory of a numbering. A numbering that outgrows it makes a new one.
type numberTable[K comparable] struct {
	keys   []K      // by number; as long as there is room for
	places []uint32 // numbers, 0 where there is none, read and written atomically; a power of two long
	shift  uint     // 64 - log2(len(places))
}

// find returns the number of key, whose hash is given, or 0. Beside a call of add it may miss keys
// that were added meanwhile.
func (n *numbering[K]) find(key K, hash uint64) uint32 {
	t := n.table.Load()
	if t == nil {
		return 0
	}
	mask := uint64(len(t.places) - 1)
	for i := hash >> t.shift; ; i++ {
		id := atomic.LoadUint32(&t.places[i&mask])
		// A later table may share the places of this one and have more keys.
		if id == 0 || int(id) < len(t.keys) && t.keys[id] == key {
			return id
		}
	}
}

// key returns the key with the given number, or the zero key.
func (n *numbering[K]) key(id uint32) (key K) {
	if id == 0 || id > n.count.Load() {
		return key
	}
	return n.table.Load().keys[id]
}

// after returns the keys with numbers above id, in their order. They are not to be changed.
func (n *numbering[K]) after(id uint32) []K {
	count := n.count.Load()
	if id >= count {
		return nil
	}
	return n.table.Load().keys[id+1 : count+1 : count+1]
}

// add numbers a key that has no number.
func (n *numbering[K]) add(key K, hash uint64, hashOf func(K) uint64) uint32 {
	id := n.count.Load() + 1
	t := n.table.Load()
	if t == nil {
		t = &numberTable[K]{}
	}
	crowded := 2*(int(id)+1) > len(t.places)
	if crowded || int(id) >= len(t.keys) {
		t = &numberTable[K]{keys: t.keys, places: t.places, shift: t.shift}
		if int(id) >= len(t.keys) {
			t.keys = append(t.keys, make([]K, int(id)+1-len(t.keys))...)
			t.keys = t.keys[:cap(t.keys)]
		}
		if crowded {
			t.places = make([]uint32, max(64, 2*len(t.places)))
			t.shift = uint(64 - bits.TrailingZeros(uint(len(t.places))))
			for i, k := range t.keys[:id] {
				if i > 0 {
					t.place(uint32(i), hashOf(k))
				}
			}
		}
		n.table.Store(t)
	}
	t.keys[id] = key // before its number can be found
	t.place(id, hash)
	n.count.Store(id)
	return id
}

func (t *numberTable[K]) place(id uint32, hash uint64) {
	mask := uint64(len(t.places) - 1)
	i := hash >> t.shift
	for t.places[i&mask] != 0 {
		i++
	}
	atomic.StoreUint32(&t.places[i&mask], id)
}

// mix is a hash of a word whose high bits are good: Fibonacci hashing, after the high half of the
// word was mixed into the low half.
func mix(x uint64) uint64 {
	x ^= x >> 29
	return x * 0x9e3779b97f4a7c15
}

func hashCall(n CallNode) uint64 { return mix(uint64(n.Parent)<<32 | uint64(n.Site)) }

func hashContext(c Cursor) uint64 { return mix(uint64(c.Calls)<<32 | uint64(c.Locks)) }

func hashLock(n LockNode) uint64 {
	h := mix(uint64(n.Parent)<<32|uint64(n.Site)) + uint64(n.Lock)
	if n.Shared {
		h++
	}
	return mix(bits.RotateLeft64(h, 32))
}
