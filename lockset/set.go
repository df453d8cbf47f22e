package lockset

import (
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/shadow"
)

// ID names a set of locks of one Table. Equal sets have equal IDs. IDs are dense
// and stay valid until the next Compact.
type ID uint32

// Empty is the empty set.
const Empty ID = 0

// Table holds sets of locks, each once, and gives the locks their numbers. The
// zero Table is not ready for use; see NewTable. A Table belongs to one
// goroutine, and must not be given an ID or Lock of another.
//
// # Costs
//
// A set costs about 40 bytes and 4 for each of its locks. One of more than 1024
// locks is a compressed bitmap, which for locks that were first taken one after
// another, as where a thread locks all of many shards, is much less; below that
// size bitmaps are slower (BenchmarkSets in package bench). With, Without, Intersect and Disjoint
// cost a few nanoseconds where the same question was asked not long ago, and
// otherwise a step for each lock of the sets. They allocate only to make a set
// that the Table has never had.
//
// Sets that are no longer used stay until Compact. Grown says when that pays.
type Table struct {
	store
	index []ID   // hash table of the sets, with open addressing; Empty is a free place
	limit uint64 // of bytes, from where on Grown

	with, without, intersections, disjointness memo

	byAddress *shadow.Memory[Lock] // by a lock's first byte
	entries   []lockEntry          // by Lock
	unused    []Lock
	ended     func(Lock) // told of the end of each lock; may be nil

	scratch       []Lock     // of those that make sets
	livingScratch []Lock     // scratch of living
	compaction    Compaction // of Compact
}

// store is the sets, by ID.
type store struct {
	sets    []set
	locks   []Lock            // of the small sets, each in a stretch of its own
	bitmaps []*roaring.Bitmap // of the others
	bytes   uint64            // about what all sets take
	most    uint32            // locks of a small set
}

// set is what is known of a set besides its locks.
type set struct {
	hash uint64 // sum of the locks' hashes
	sign uint64 // a bit for each lock: sets with no common bit have no common lock
	at   uint32 // index into bitmaps if n is above most, else into locks
	n    uint32
}

// bitmapAbove is how many locks a set has at most that is no bitmap.
const bitmapAbove = 1024

const setBytes = 36 // of set and its share of index

// NewTable returns a table that has the empty set only.
func NewTable() *Table {
	t := &Table{
		store:   store{sets: make([]set, 1), most: bitmapAbove},
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

// Disjoint reports whether a and b have no lock in common. Unlike Intersect it
// makes no set.
func (t *Table) Disjoint(a, b ID) bool {
	if t.sets[a].sign&t.sets[b].sign == 0 {
		return true // also if one is empty
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
		return t.bitmaps[h.at].Contains(uint32(l))
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
	for it := t.bitmaps[h.at].Iterator(); it.HasNext(); {
		dst = append(dst, Lock(it.Next()))
	}
	return dst
}

// Locks returns where the locks of s are, or were when they last lived, in
// increasing order of their numbers.
func (t *Table) Locks(s ID) []heisen.Object {
	var out []heisen.Object
	for _, l := range t.Append(nil, s) {
		out = append(out, t.Object(l))
	}
	return out
}

// Sets returns how many sets there are, the empty one included. IDs are below
// that number.
func (t *Table) Sets() int { return len(t.sets) }

// small returns the locks of a set that is no bitmap.
func (s *store) small(h *set) []Lock { return s.locks[h.at : h.at+h.n] }

func (t *Table) add(s ID, l Lock) ID {
	if t.Has(s, l) {
		return s
	}
	h := &t.sets[s]
	want := set{hash: h.hash + hashOf(l), sign: h.sign | signOf(l), n: h.n + 1}
	if want.n > t.most+1 {
		from := t.bitmaps[h.at]
		return t.internBitmap(want, func(b *roaring.Bitmap) bool {
			return b.Contains(uint32(l)) && b.AndCardinality(from) == uint64(h.n)
		}, func() *roaring.Bitmap {
			b := from.Clone()
			b.Add(uint32(l))
			return b
		})
	}
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
	if h.n > t.most+1 {
		from := t.bitmaps[h.at]
		want := set{hash: h.hash - hashOf(l), n: h.n - 1}
		return t.internBitmap(want, func(b *roaring.Bitmap) bool {
			return !b.Contains(uint32(l)) && b.AndCardinality(from) == uint64(want.n)
		}, func() *roaring.Bitmap {
			b := from.Clone()
			b.Remove(uint32(l))
			return b
		})
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
		a, b = b, a
	}
	common := t.scratch[:0]
	switch {
	case y.n <= t.most:
		common = appendCommon(common, t.small(x), t.small(y))
	case x.n <= t.most:
		for _, l := range t.small(x) {
			if t.bitmaps[y.at].Contains(uint32(l)) {
				common = append(common, l)
			}
		}
	default:
		p, q := t.bitmaps[x.at], t.bitmaps[y.at]
		n := p.AndCardinality(q)
		if n == uint64(x.n) {
			return a
		}
		if n > uint64(t.most) {
			both := roaring.And(p, q)
			return t.internBitmap(describe(both),
				func(r *roaring.Bitmap) bool { return r.Equals(both) },
				func() *roaring.Bitmap { return both })
		}
		if n > 0 {
			for it := p.Iterator(); it.HasNext(); {
				if l := it.Next(); q.Contains(l) {
					common = append(common, Lock(l))
				}
			}
		}
	}
	t.scratch = common
	return t.internLocks(common)
}

// appendCommon appends what two sorted slices have in common.
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
		return !t.bitmaps[x.at].Intersects(t.bitmaps[y.at])
	case y.n > t.most:
		return !slices.ContainsFunc(t.small(x), func(l Lock) bool { return t.bitmaps[y.at].Contains(uint32(l)) })
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
