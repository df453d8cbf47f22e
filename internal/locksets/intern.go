package locksets

import (
	"math/bits"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
)

// The hash of a set is the sum of its locks' hashes, so the hash of a set with one lock more or
// less can be computed without the other locks.

// hashOf mixes a lock's number with the finalizer of splitmix64.
func hashOf(l Lock) uint64 {
	x := uint64(l) * 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func signOf(l Lock) uint64 { return 1 << (l % 64) }

// internLocks returns the set of the given sorted locks, which are few enough for a small set.
func (t *Table) internLocks(locks []Lock) ID {
	want := set{n: uint32(len(locks))}
	for _, l := range locks {
		want.hash += hashOf(l)
		want.sign |= signOf(l)
	}
	return t.intern(want, locks)
}

// intern returns the set of the given sorted locks. want is the set without its position. The locks
// are copied if the set is new.
func (t *Table) intern(want set, locks []Lock) ID {
	if want.n == 0 {
		return Empty
	}
	if want.n > t.most {
		same := func(b *roaring.Bitmap) bool {
			return !slices.ContainsFunc(locks, func(l Lock) bool { return !b.Contains(uint32(l)) })
		}
		return t.internBitmap(want, same, func() *roaring.Bitmap {
			b := roaring.New()
			for _, l := range locks {
				b.Add(uint32(l))
			}
			return b
		})
	}
	i := t.home(want.hash)
	for ; t.index[i] != Empty; i = t.next(i) {
		if h := &t.sets[t.index[i]]; h.hash == want.hash && h.n == want.n && slices.Equal(t.small(h), locks) {
			return t.index[i]
		}
	}
	want.at = uint32(len(t.locks))
	t.locks = append(t.locks, locks...)
	t.bytes += 4 * uint64(len(locks))
	return t.insert(i, want)
}

// internBitmap returns the set of more locks than a small set has that want describes, without its
// sign and position. same compares the set with one of equal hash and length, and fresh makes it if
// it is new.
func (t *Table) internBitmap(want set, same func(*roaring.Bitmap) bool, fresh func() *roaring.Bitmap) ID {
	i := t.home(want.hash)
	for ; t.index[i] != Empty; i = t.next(i) {
		if h := &t.sets[t.index[i]]; h.hash == want.hash && h.n == want.n && same(t.bitmaps[h.at]) {
			return t.index[i]
		}
	}
	b := fresh()
	b.RunOptimize()
	want.sign = describe(b).sign
	want.at = uint32(len(t.bitmaps))
	t.bitmaps = append(t.bitmaps, b)
	t.bytes += b.GetSizeInBytes()
	return t.insert(i, want)
}

// describe returns the set of a bitmap's locks, without its position.
func describe(b *roaring.Bitmap) (h set) {
	for it := b.Iterator(); it.HasNext(); {
		l := Lock(it.Next())
		h.hash += hashOf(l)
		h.sign |= signOf(l)
		h.n++
	}
	return h
}

// insert adds a set at the free entry i of the index.
func (t *Table) insert(i int, h set) ID {
	id := ID(len(t.sets))
	t.sets = append(t.sets, h)
	t.bytes += setBytes
	t.index[i] = id
	if 2*len(t.sets) > len(t.index) {
		t.rebuild(2 * len(t.index))
	}
	return id
}

// rebuild rebuilds the index with the given size, a power of two.
func (t *Table) rebuild(size int) {
	if size > cap(t.index) {
		t.index = make([]ID, size)
	}
	t.index = t.index[:size]
	clear(t.index)
	for id := 1; id < len(t.sets); id++ {
		i := t.home(t.sets[id].hash)
		for t.index[i] != Empty {
			i = t.next(i)
		}
		t.index[i] = ID(id)
	}
}

// home returns the entry of the index where the search for a hash starts.
func (t *Table) home(hash uint64) int {
	return int(hash >> (64 - bits.TrailingZeros(uint(len(t.index)))))
}

func (t *Table) next(i int) int { return (i + 1) & (len(t.index) - 1) }
