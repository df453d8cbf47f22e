package locksets

import (
	"math"
	"math/bits"
	"slices"
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
		return t.internTree(t.nodes.treeOf(locks))
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

// internTree returns the set of a tree. A set of few locks does not stay a tree.
func (t *Table) internTree(root tree) ID {
	n := t.nodes.locks(root.root)
	if n <= t.most {
		t.scratch = t.nodes.appendLocks(t.scratch[:0], root)
		return t.internLocks(t.scratch)
	}
	want := set{hash: hashOfTree(root), sign: math.MaxUint64, n: n}
	i := t.home(want.hash)
	for ; t.index[i] != Empty; i = t.next(i) {
		if h := &t.sets[t.index[i]]; h.n == n && t.trees[h.at] == root {
			return t.index[i]
		}
	}
	want.at = uint32(len(t.trees))
	t.trees = append(t.trees, root)
	t.bytes += treeBytes
	return t.insert(i, want)
}

// hashOfTree mixes the number of a root, which changes with Compact.
func hashOfTree(t tree) uint64 { return hashOf(Lock(t.root)) ^ uint64(t.height) }

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
