package locksets

import (
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/shadow"
)

// ID is the number of a set of locks in one Table. Equal sets have equal IDs. IDs are dense and
// stay valid until the next Compact.
type ID uint32

// Empty is the empty set.
const Empty ID = 0

// Table stores sets of locks, each once, and numbers locks. NewTable makes one; the zero Table is
// not usable. A Table must not be given an ID or Lock of another.
//
// # Cost
//
// A set takes about 40 bytes and 4 per lock. A set of more than 64 locks is a tree, which shares with the
// other trees what is equal: a set with one lock more or less than another takes some 300 bytes. Smaller
// sets are not trees because trees are slower there; see BenchmarkSets.
//
// With, Without, Intersect and Disjoint cost a few nanoseconds if the result is memoized. Otherwise they
// take a step per lock of a small set, With and Without a step per level of a tree, and Intersect and
// Disjoint a step per node that is not the same in both trees; Disjoint remembers the pairs of nodes that it
// has compared. They allocate only to store a new set.
//
// Sets that are no longer used stay until Compact. Grown reports when Compact is worthwhile.
type Table struct {
	store
	index []ID   // hash table of the sets with open addressing; Empty is a free entry
	limit uint64 // in bytes of sets, above which Grown is true

	with, without, intersections, disjointness memo

	byAddress *shadow.Memory[Lock] // by a lock's first byte
	entries   []lockEntry          // by Lock
	aliveBits []uint32             // a bit per Lock, set if it is alive
	unused    []Lock
	ended     func(Lock) // called with each lock that ends; may be nil

	scratch       []Lock     // of those that make sets
	livingScratch []Lock     // scratch of living
	compaction    Compaction // of Compact
}

// store has the sets, by ID.
type store struct {
	sets  []set
	locks []Lock // of the small sets, one after another
	trees []tree // of the others
	nodes nodes  // of these
	bytes uint64 // approximate size of all sets, without nodes
	most  uint32 // largest number of locks of a small set
}

// set is a set without its locks.
type set struct {
	hash uint64 // sum of the locks' hashes; of a tree, see hashOfTree
	sign uint64 // a bit per lock, modulo 64: sets without a common bit have no common lock; of a tree, all bits
	at   uint32 // index into trees if n is above most, else into locks
	n    uint32
}

// treeAbove is the largest number of locks of a set that is not a tree.
const treeAbove = 64

const (
	setBytes  = 36 // of set and its share of index
	treeBytes = 8
)

// NewTable returns a table with only the empty set.
func NewTable() *Table {
	t := &Table{
		store:   store{sets: make([]set, 1), most: treeAbove},
		entries: make([]lockEntry, 1),
		index:   make([]ID, 64),
		limit:   compactAbove,
	}
	t.byAddress = shadow.New(nil, func(l *Lock) { t.end(*l) })
	return t
}

// With returns the union of s and l.
func (t *Table) With(s ID, l Lock) ID {
	if r, ok := t.with.get(uint32(s), uint32(l)); ok {
		return ID(r)
	}
	r := t.add(s, l)
	t.with.put(uint32(s), uint32(l), uint32(r))
	return r
}

// Without returns s without l.
func (t *Table) Without(s ID, l Lock) ID {
	if r, ok := t.without.get(uint32(s), uint32(l)); ok {
		return ID(r)
	}
	r := t.remove(s, l)
	t.without.put(uint32(s), uint32(l), uint32(r))
	return r
}

// Intersect returns the locks that a and b have in common.
func (t *Table) Intersect(a, b ID) ID {
	if a == b {
		return a
	}
	if t.sets[a].sign&t.sets[b].sign == 0 {
		return Empty
	}
	a, b = min(a, b), max(a, b)
	if r, ok := t.intersections.get(uint32(a), uint32(b)); ok {
		return ID(r)
	}
	r := t.intersect(a, b)
	t.intersections.put(uint32(a), uint32(b), uint32(r))
	return r
}

// Disjoint reports whether a and b have no lock in common. Unlike Intersect it stores no set.
func (t *Table) Disjoint(a, b ID) bool {
	if t.sets[a].sign&t.sets[b].sign == 0 {
		return true // or one of the two is empty
	}
	if a == b {
		return false
	}
	a, b = min(a, b), max(a, b)
	if r, ok := t.disjointness.get(uint32(a), uint32(b)); ok {
		return r != 0
	}
	disjoint, r := t.disjoint(a, b), uint32(0)
	if disjoint {
		r = 1
	}
	t.disjointness.put(uint32(a), uint32(b), r)
	return disjoint
}

// Has reports whether l is in s.
func (t *Table) Has(s ID, l Lock) bool {
	h := &t.sets[s]
	switch {
	case h.sign&signOf(l) == 0:
		return false
	case h.n > t.most:
		return t.nodes.has(t.trees[h.at], l)
	}
	_, ok := slices.BinarySearch(t.small(h), l)
	return ok
}

// Len returns how many locks s has.
func (t *Table) Len(s ID) int { return int(t.sets[s].n) }

// Append appends the locks of s to dst, in increasing order.
func (t *Table) Append(dst []Lock, s ID) []Lock {
	h := &t.sets[s]
	if h.n <= t.most {
		return append(dst, t.small(h)...)
	}
	return t.nodes.appendLocks(dst, t.trees[h.at])
}

// Locks returns the addresses of the locks of s, in increasing order of the locks' numbers. A lock
// that has ended has the address that it had.
func (t *Table) Locks(s ID) []heisen.Object {
	var out []heisen.Object
	for _, l := range t.Append(nil, s) {
		out = append(out, t.Object(l))
	}
	return out
}

// Sets returns the number of sets, the empty one included. IDs are below it.
func (t *Table) Sets() int { return len(t.sets) }

// small returns the locks of a set that is not a tree.
func (s *store) small(h *set) []Lock { return s.locks[h.at : h.at+h.n] }

func (t *Table) add(s ID, l Lock) ID {
	if t.Has(s, l) {
		return s
	}
	h := &t.sets[s]
	if h.n > t.most {
		return t.internTree(t.nodes.with(t.trees[h.at], l))
	}
	want := set{hash: h.hash + hashOf(l), sign: h.sign | signOf(l), n: h.n + 1}
	all := append(t.scratch[:0], t.small(h)...)
	i, _ := slices.BinarySearch(all, l)
	t.scratch = slices.Insert(all, i, l)
	return t.intern(want, t.scratch)
}

func (t *Table) remove(s ID, l Lock) ID {
	if !t.Has(s, l) {
		return s
	}
	h := &t.sets[s]
	if h.n > t.most {
		return t.internTree(t.nodes.without(t.trees[h.at], l))
	}
	all := t.Append(t.scratch[:0], s)
	i, _ := slices.BinarySearch(all, l)
	t.scratch = slices.Delete(all, i, i+1)
	return t.internLocks(t.scratch)
}

func (t *Table) intersect(a, b ID) ID {
	x, y := &t.sets[a], &t.sets[b]
	if x.n > y.n {
		x, y = y, x
	}
	common := t.scratch[:0]
	switch {
	case y.n <= t.most:
		common = appendCommon(common, t.small(x), t.small(y))
	case x.n <= t.most:
		for _, l := range t.small(x) {
			if t.nodes.has(t.trees[y.at], l) {
				common = append(common, l)
			}
		}
	default:
		return t.internTree(t.nodes.intersect(t.trees[x.at], t.trees[y.at]))
	}
	t.scratch = common
	return t.internLocks(common)
}

// appendCommon appends the intersection of two sorted slices.
func appendCommon(dst, a, b []Lock) []Lock {
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch x, y := a[i], b[j]; {
		case x < y:
			i++
		case x > y:
			j++
		default:
			dst = append(dst, x)
			i++
			j++
		}
	}
	return dst
}

func (t *Table) disjoint(a, b ID) bool {
	x, y := &t.sets[a], &t.sets[b]
	if x.n > y.n {
		x, y = y, x
	}
	switch {
	case x.n > t.most:
		return t.nodes.disjoint(t.trees[x.at], t.trees[y.at])
	case y.n > t.most:
		return !slices.ContainsFunc(t.small(x), func(l Lock) bool { return t.nodes.has(t.trees[y.at], l) })
	}
	p, q := t.small(x), t.small(y)
	for i, j := 0, 0; i < len(p) && j < len(q); {
		switch {
		case p[i] < q[j]:
			i++
		case p[i] > q[j]:
			j++
		default:
			return false
		}
	}
	return true
}
