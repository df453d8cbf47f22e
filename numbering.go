package heisen

import "math/bits"

// numbering gives distinct keys dense numbers: a hash table with open
// addressing and at most half of its places taken, which holds no more than the
// numbers, 8 bytes a key. Key 0 is there from the start and never looked up.
type numbering[K comparable] struct {
	keys   []K      // by number
	places []uint32 // numbers, 0 where there is none; a power of two long
	shift  uint     // 64 - log2(len(places))
}

func newNumbering[K comparable]() numbering[K] {
	return numbering[K]{keys: make([]K, 1)}
}

// find returns the number of key, whose hash is given, or 0.
func (n *numbering[K]) find(key K, hash uint64) uint32 {
	if len(n.places) == 0 {
		return 0
	}
	mask := uint64(len(n.places) - 1)
	for i := hash >> n.shift; ; i++ {
		id := n.places[i&mask]
		if id == 0 || n.keys[id] == key {
			return id
		}
	}
}

// add numbers a key that has no number.
func (n *numbering[K]) add(key K, hash uint64, hashOf func(K) uint64) uint32 {
	id := uint32(len(n.keys))
	n.keys = append(n.keys, key)
	if 2*len(n.keys) <= len(n.places) {
		n.place(id, hash)
		return id
	}
	n.places = make([]uint32, max(64, 2*len(n.places)))
	n.shift = uint(64 - bits.TrailingZeros(uint(len(n.places))))
	for i, k := range n.keys[1:] {
		n.place(uint32(i+1), hashOf(k))
	}
	return id
}

func (n *numbering[K]) place(id uint32, hash uint64) {
	mask := uint64(len(n.places) - 1)
	i := hash >> n.shift
	for n.places[i&mask] != 0 {
		i++
	}
	n.places[i&mask] = id
}

// mix is a hash of a word whose high bits are good: Fibonacci hashing of a word
// whose halves have met.
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
