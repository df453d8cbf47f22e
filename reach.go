package heisen

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// Reach is a set of objects that code may touch which is not traced: the Val of
// a Hide record, a number that Symbols.Reach resolves. The zero Reach is every
// object there is, so that a source that knows nothing of a call says what is
// safe.
type Reach uint32

// Span is the objects from Start on, Len of them: of a recorded program, bytes.
// A variable and a synchronisation object with the same number are both meant.
type Span struct {
	Start Object
	Len   uint64
}

// end returns the object after the last one of the span; one before the last of
// all for a span that goes on longer.
func (s Span) end() Object {
	if s.Len > math.MaxUint64-uint64(s.Start) {
		return math.MaxUint64
	}
	return s.Start + Object(s.Len)
}

// threadObjects is where threads are in sets of objects, out of the way of
// addresses.
const threadObjects Object = 1 << 63

// ThreadObject returns the object that stands for a thread in an Objects: code
// that reaches it may wait for the thread's end, or for its start.
func ThreadObject(t Thread) Object { return threadObjects | Object(t) }

// AsThread returns the thread that o stands for in an Objects, and whether it
// stands for one.
func (o Object) AsThread() (t Thread, ok bool) {
	t = Thread(o)
	return t, o == ThreadObject(t)
}

// Objects is a set of objects: spans that are not empty, in order, and do not
// overlap. Spans that touch are kept apart, for they are different objects. The
// object 1<<64 - 1 is in no set.
//
// It is no bitmap because sets are built once, from a recording, and then compared. On
// sets that real programs had (go test -bench Reach ./bench) a roaring64 bitmap of the
// words of all objects mostly took 6 to 11 times as long to build and 2 to 14 times as
// long to intersect. It takes a half to a 60th of the memory, and is quicker to read from
// a file where objects lie side by side, but does not tell neighbours from one object. A
// bitmap of where objects start is as small, and does not tell what a part of an object
// belongs to.
type Objects []Span

// MaxSpans bounds how many spans a set has that has a number. A larger one is
// taken for the set of all objects.
const MaxSpans = 1 << 16

// everything is the set that Reach 0 stands for.
var everything = Objects{{0, math.MaxUint64}}

// NewObjects returns the set of all objects in spans, which may be in any order
// and overlap. It sorts spans in place and uses their memory.
func NewObjects(spans ...Span) Objects {
	slices.SortFunc(spans, func(a, b Span) int { return cmp.Compare(a.Start, b.Start) })
	out := spans[:0]
	for _, s := range spans {
		s.Len = uint64(s.end() - s.Start)
		if s.Len == 0 {
			continue
		}
		if n := len(out); n > 0 && s.Start < out[n-1].end() {
			if last := &out[n-1]; s.end() > last.end() {
				last.Len = uint64(s.end() - last.Start)
			}
			continue
		}
		out = append(out, s)
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// Canonical reports whether the set is as NewObjects makes them.
func (o Objects) Canonical() bool {
	for i, s := range o {
		if s.Len == 0 || s.Len > math.MaxUint64-uint64(s.Start) || i > 0 && s.Start < o[i-1].end() {
			return false
		}
	}
	return true
}

// Meets reports whether the set has any of size objects from start on. It takes
// time logarithmic in the number of spans.
func (o Objects) Meets(start Object, size uint64) bool {
	i := sort.Search(len(o), func(i int) bool { return o[i].end() > start })
	return size > 0 && i < len(o) && o[i].Start < (Span{start, size}).end()
}

// Intersects reports whether two sets have an object in common. It takes a step
// per span of both at most.
func (o Objects) Intersects(other Objects) bool {
	for i, j := 0, 0; i < len(o) && j < len(other); {
		switch {
		case o[i].end() <= other[j].Start:
			i++
		case other[j].end() <= o[i].Start:
			j++
		default:
			return true
		}
	}
	return false
}

// reaches numbers sets of objects.
type reaches struct {
	sets   []Objects // by number
	latest map[uint64]Reach
	before []Reach // by number: the set before it with the same hash, 0 if none
}

func newReaches() reaches {
	return reaches{sets: []Objects{everything}, latest: map[uint64]Reach{}, before: make([]Reach, 1)}
}

func (o Objects) equal(other Objects) bool { return slices.Equal(o, other) }

func hashObjects(o Objects) uint64 {
	h := uint64(len(o))
	for _, s := range o {
		h = mix(h ^ uint64(s.Start))
		h = mix(h ^ s.Len<<1)
	}
	return h
}

func (n *reaches) find(o Objects, hash uint64) (Reach, bool) {
	for r := n.latest[hash]; r != 0; r = n.before[r] {
		if n.sets[r].equal(o) {
			return r, true
		}
	}
	return 0, false
}

func (n *reaches) add(o Objects) Reach {
	if len(o) > MaxSpans || o.equal(everything) {
		return 0
	}
	hash := hashObjects(o)
	if r, ok := n.find(o, hash); ok {
		return r
	}
	r := Reach(len(n.sets))
	n.sets = append(n.sets, append(Objects(nil), o...))
	n.before = append(n.before, n.latest[hash])
	n.latest[hash] = r
	return r
}

// AddReach returns the number of a set of objects, which must be Canonical; the
// symbols keep a copy. One with more than MaxSpans spans has number 0, that of
// all objects. It costs a step per span, and a distinct set 16 bytes per span.
func (s *Symbols) AddReach(objects Objects) Reach { return s.reaches.add(objects) }

// Reach returns the set with the given number, to be read only: all objects for
// 0 and for a number that is not known.
func (s *Symbols) Reach(r Reach) Objects {
	if s == nil || int(r) >= len(s.reaches.sets) {
		return everything
	}
	return s.reaches.sets[r]
}

// NumReaches returns one more than the largest number of a set of objects.
func (s *Symbols) NumReaches() int { return len(s.reaches.sets) }
