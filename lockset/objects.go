package lockset

import (
	"math"

	"github.com/google/btree"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/shadow"
)

// objects is the set of live allocated objects: an ordered map of address ranges. A shadow memory
// caches the look-ups by byte.
//
// The map is a B-tree because every Alloc inserts a range, every Free may cut several, and a look-up
// needs the predecessor of an address. A sorted slice would move half of its ranges per Alloc.
type objects struct {
	extents     *btree.BTreeG[extent]
	all         []*object // by number; the first is not used
	free        []uint32
	byByte      *shadow.Memory[uint32] // number of the object, or nowhere; 0 if not cached
	overlapping []extent               // scratch of end
}

// nowhere is the number of bytes in no object.
const nowhere = math.MaxUint32

// object is Eraser's state of an allocated object.
type object struct {
	variable
	base    heisen.Object
	extents int           // number of ranges that are not freed
	lastAt  heisen.Object // address of last
	otherAt heisen.Object // address of other
}

// extent is a range of bytes of one object, last included: the whole object, unless parts of its
// memory have been freed or reallocated.
type extent struct {
	first, last heisen.Object
	number      uint32
}

func newObjects() *objects {
	return &objects{
		extents: btree.NewG(32, func(a, b extent) bool { return a.first < b.first }),
		all:     make([]*object, 1),
		byByte:  shadow.New[uint32](nil, nil),
	}
}

// lastByte returns the address of the last of size bytes from o, at most the last of the address
// space.
func lastByte(o heisen.Object, size uint64) heisen.Object {
	if last := o + heisen.Object(size-1); last >= o {
		return last
	}
	return math.MaxUint64
}

// begin adds an object of size bytes at o. The caller has called end for these bytes.
func (s *objects) begin(o heisen.Object, size uint64) {
	if size == 0 {
		return
	}
	number := uint32(len(s.all))
	if n := len(s.free); n > 0 {
		number, s.free = s.free[n-1], s.free[:n-1]
	} else {
		s.all = append(s.all, new(object))
	}
	*s.all[number] = object{base: o}
	s.add(extent{o, lastByte(o, size), number})
}

func (s *objects) add(p extent) {
	s.all[p.number].extents++
	s.extents.ReplaceOrInsert(p)
}

// end removes size bytes from o from their objects. An object ends with its last byte.
func (s *objects) end(o heisen.Object, size uint64) {
	if size == 0 {
		return
	}
	s.byByte.Clear(o, size)
	last := lastByte(o, size)
	s.overlapping = s.overlapping[:0]
	s.extents.DescendLessOrEqual(extent{first: o}, func(p extent) bool {
		if p.last >= o {
			s.overlapping = append(s.overlapping, p)
		}
		return false
	})
	if last > o {
		s.extents.AscendRange(extent{first: o + 1}, extent{first: last}, s.collect)
		if p, ok := s.extents.Get(extent{first: last}); ok {
			s.overlapping = append(s.overlapping, p)
		}
	}
	for _, p := range s.overlapping {
		s.extents.Delete(p)
		if p.first < o {
			s.add(extent{p.first, o - 1, p.number})
		}
		if p.last > last {
			s.add(extent{last + 1, p.last, p.number})
		}
		if s.all[p.number].extents--; s.all[p.number].extents == 0 {
			s.free = append(s.free, p.number)
		}
	}
}

func (s *objects) collect(p extent) bool {
	s.overlapping = append(s.overlapping, p)
	return true
}

// at returns the object that contains the byte o, or nil.
func (s *objects) at(o heisen.Object) *object {
	known := s.byByte.At(o)
	if *known == 0 {
		p, _ := s.extentAt(o)
		*known = nowhere
		if p.number != 0 {
			*known = p.number
		}
	}
	if *known == nowhere {
		return nil
	}
	return s.all[*known]
}

// find returns the object that contains the byte o, or nil, and the last of the bytes from o on with
// the same result.
func (s *objects) find(o heisen.Object) (found *object, last heisen.Object) {
	p, last := s.extentAt(o)
	if p.number == 0 {
		return nil, last
	}
	return s.all[p.number], last
}

// extentAt returns the extent that contains the byte o, or one with number 0, and the last byte of the
// extent or of the gap.
func (s *objects) extentAt(o heisen.Object) (at extent, last heisen.Object) {
	s.extents.DescendLessOrEqual(extent{first: o}, func(p extent) bool {
		if p.last >= o {
			at = p
		}
		return false
	})
	if at.number != 0 {
		return at, at.last
	}
	last = math.MaxUint64
	s.extents.AscendGreaterOrEqual(extent{first: o}, func(p extent) bool {
		last = p.first - 1
		return false
	})
	return at, last
}

// each calls visit with every object that is not freed.
func (s *objects) each(visit func(*object)) {
	for _, o := range s.all[1:] {
		if o.extents > 0 {
			visit(o)
		}
	}
}
