package lockset

import (
	"math"

	"github.com/google/btree"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/shadow"
)

// objects is the live allocated objects: an ordered map of address ranges, and
// in front of it a shadow memory that remembers, by byte, what was found there.
type objects struct {
	pieces *btree.BTreeG[piece]
	all    []*object // by number; the first is not used
	free   []uint32
	known  *shadow.Memory[uint32] // number of the object, or nowhere; 0 if not known
	cut    []piece                // scratch of end
}

// nowhere stands for bytes in no object.
const nowhere = math.MaxUint32

// object is Eraser's state of an allocated object.
type object struct {
	variable
	base    heisen.Object
	pieces  int           // ranges of its bytes that are left
	lastAt  heisen.Object // where the access last was
	otherAt heisen.Object // and other
}

// piece is a range of bytes of one object, last included: all of it, unless part
// of its memory was given away.
type piece struct {
	first, last heisen.Object
	number      uint32
}

func newObjects() *objects {
	return &objects{
		pieces: btree.NewG(32, func(a, b piece) bool { return a.first < b.first }),
		all:    make([]*object, 1),
		known:  shadow.New[uint32](nil, nil),
	}
}

// lastByte returns the last of size bytes from o, or of the address space.
func lastByte(o heisen.Object, size uint64) heisen.Object {
	if last := o + heisen.Object(size-1); last >= o {
		return last
	}
	return math.MaxUint64
}

// begin makes a new object of size bytes at o, which end has just cleared.
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
	s.add(piece{o, lastByte(o, size), number})
}

func (s *objects) add(p piece) {
	s.all[p.number].pieces++
	s.pieces.ReplaceOrInsert(p)
}

// end ends the lives of size bytes from o. An object of which bytes are left
// goes on with them.
func (s *objects) end(o heisen.Object, size uint64) {
	if size == 0 {
		return
	}
	s.known.Clear(o, size)
	last := lastByte(o, size)
	s.cut = s.cut[:0]
	s.pieces.DescendLessOrEqual(piece{first: o}, func(p piece) bool {
		if p.last >= o {
			s.cut = append(s.cut, p)
		}
		return false
	})
	if last > o {
		s.pieces.AscendRange(piece{first: o + 1}, piece{first: last}, s.collect)
		if p, ok := s.pieces.Get(piece{first: last}); ok {
			s.cut = append(s.cut, p)
		}
	}
	for _, p := range s.cut {
		s.pieces.Delete(p)
		if p.first < o {
			s.add(piece{p.first, o - 1, p.number})
		}
		if p.last > last {
			s.add(piece{last + 1, p.last, p.number})
		}
		if s.all[p.number].pieces--; s.all[p.number].pieces == 0 {
			s.free = append(s.free, p.number)
		}
	}
}

func (s *objects) collect(p piece) bool {
	s.cut = append(s.cut, p)
	return true
}

// at returns the object that has the byte o, or nil.
func (s *objects) at(o heisen.Object) *object {
	known := s.known.At(o)
	if *known == 0 {
		p, _ := s.pieceAt(o)
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

// find returns the object that has the byte o, or nil, and the last of the bytes
// from o on of which the same is true.
func (s *objects) find(o heisen.Object) (found *object, last heisen.Object) {
	p, last := s.pieceAt(o)
	if p.number == 0 {
		return nil, last
	}
	return s.all[p.number], last
}

// pieceAt returns the piece that has the byte o, with the number 0 if there is
// none, and the last byte of the piece or gap.
func (s *objects) pieceAt(o heisen.Object) (at piece, last heisen.Object) {
	s.pieces.DescendLessOrEqual(piece{first: o}, func(p piece) bool {
		if p.last >= o {
			at = p
		}
		return false
	})
	if at.number != 0 {
		return at, at.last
	}
	last = math.MaxUint64
	s.pieces.AscendGreaterOrEqual(piece{first: o}, func(p piece) bool {
		last = p.first - 1
		return false
	})
	return at, last
}

func (s *objects) keep(k *Keeper) {
	for _, o := range s.all[1:] {
		if o.pieces > 0 {
			k.Set(&o.candidates)
		}
	}
}
