package heisen

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// Reach is the number of a set of objects: those that untraced code may touch. A [Hide] record
// carries it as its Value, and Symbols.Reach returns the set. The zero Reach is the set of all
// objects, which is the safe answer of a source that knows nothing about the code.
type Reach uint32

// Synchronized is the Reach of a call of hidden code whose synchronization is in the trace. It is
// the set of no objects: what the hidden code does is ordered as its synchronization says, see
// [Hide].
const Synchronized Reach = math.MaxUint32

// Span is a range of Len objects from Start on. In recordings of real programs it is a range of
// bytes. A span contains both the variables and the synchronization objects with these numbers.
type Span struct {
	Start Object
	Len   uint64
}

// end returns the object after the last one of the span, but at most the largest object.
func (s Span) end() Object {
	if s.Len > math.MaxUint64-uint64(s.Start) {
		return math.MaxUint64
	}
	return s.Start + Object(s.Len)
}

// threadObjects is the first of the objects that stand for threads. They are no addresses.
const threadObjects Object = 1 << 63

// ThreadObject returns the object that stands for a thread in an [Objects] set. Code that reaches
// it may wait for the start or the end of the thread.
func ThreadObject(t Thread) Object { return threadObjects | Object(t) }

// AsThread returns the thread that o stands for in an [Objects] set, and whether o stands for one.
// It is the inverse of ThreadObject.
func (o Object) AsThread() (t Thread, ok bool) {
	t = Thread(o)
	return t, o == ThreadObject(t)
}

// Objects is a set of objects: spans in ascending order that are not empty and do not overlap.
// Spans that touch stay apart, because they are different allocations. The object 1<<64 - 1 is in
// no set.
//
// The representation is a list of spans and not a compressed bitmap, because sets are built once
// and then compared: docs/design/reach.md has the measurements.
type Objects []Span

// MaxSpans is the largest number of spans of a set that gets a number of its own. AddReach treats a
// set of more than MaxSpans spans as the set of all objects.
const MaxSpans = 1 << 16

// everything is the set with the number 0.
var everything = Objects{{0, math.MaxUint64}}

// NewObjects returns the set of all objects in spans, which may be in any order and overlap. It
// sorts spans in place and uses their memory.
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

// Canonical reports whether the set is in the form that NewObjects returns.
func (o Objects) Canonical() bool {
	for i, s := range o {
		if s.Len == 0 || s.Len > math.MaxUint64-uint64(s.Start) || i > 0 && s.Start < o[i-1].end() {
			return false
		}
	}
	return true
}

// Meets reports whether the set contains any of size objects from start on. It takes time
// logarithmic in the number of spans.
func (o Objects) Meets(start Object, size uint64) bool {
	i := sort.Search(len(o), func(i int) bool { return o[i].end() > start })
	return size > 0 && i < len(o) && o[i].Start < (Span{start, size}).end()
}

// Intersects reports whether two sets have an object in common. It takes at most a step for each
// span of both.
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

func (o Objects) equal(other Objects) bool { return slices.Equal(o, other) }

// reachTable numbers sets of objects from 1 on. Sets with the same hash form a list.
type reachTable struct {
	sets     []Objects // the set with number r is sets[r-1]; never changed
	latest   map[uint64]Reach
	previous []Reach // likewise: the set before it with the same hash, or 0
}

func hashObjects(o Objects) uint64 {
	h := uint64(len(o))
	for _, s := range o {
		h = mix(h ^ uint64(s.Start))
		h = mix(h ^ s.Len<<1)
	}
	return h
}

func (n *reachTable) find(o Objects, hash uint64) (Reach, bool) {
	for r := n.latest[hash]; r != 0; r = n.previous[r-1] {
		if n.sets[r-1].equal(o) {
			return r, true
		}
	}
	return 0, false
}

func (n *reachTable) add(o Objects) Reach {
	hash := hashObjects(o)
	if r, ok := n.find(o, hash); ok {
		return r
	}
	if n.latest == nil {
		n.latest = map[uint64]Reach{}
	}
	n.sets = append(n.sets, append(Objects(nil), o...))
	n.previous = append(n.previous, n.latest[hash])
	r := Reach(len(n.sets))
	n.latest[hash] = r
	return r
}

// AddReach returns the number of a set of objects, which must be Canonical. It keeps a copy. The
// set of all objects, and every set of more than MaxSpans spans, has the number 0. It takes a step
// for each span.
func (s *Symbols) AddReach(objects Objects) Reach {
	if s == nil || len(objects) > MaxSpans || objects.equal(everything) {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reaches.add(objects)
}

// Reach returns the set with the given number, which is not to be changed. It returns the set of
// all objects for 0 and for a number that is not known, and none for Synchronized.
func (s *Symbols) Reach(r Reach) Objects {
	if r == Synchronized {
		return nil
	}
	if s != nil && r != 0 {
		s.mu.RLock()
		defer s.mu.RUnlock()
		if int(r) <= len(s.reaches.sets) {
			return s.reaches.sets[r-1]
		}
	}
	return everything
}

// NumReaches returns one more than the largest number of a set of objects. It is 0 for a nil table.
func (s *Symbols) NumReaches() int {
	if s == nil {
		return 0
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.reaches.sets) + 1
}
