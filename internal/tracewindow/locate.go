package tracewindow

import (
	"cmp"
	"slices"

	"github.com/heisen-go/heisen"
)

// mark is the event that an access of the finding is.
type mark struct {
	access int
	number uint64
}

// life is the time of an object between two allocations of its memory, or a part of it.
type life struct {
	size     uint64 // bytes
	from, to uint64 // numbers of events; to is the allocation that ends it, or 0
}

// lives are those of the selected objects, by address. The lives of an address are in order.
type lives struct {
	of     map[heisen.Object][]life
	starts []heisen.Object // in order
}

// has reports whether an event is in one of the lives.
func (l *lives) has(r *heisen.Record, number uint64) bool {
	if l.in(r.Object, r, number) {
		return true
	}
	if !r.Op.IsAccess() || len(l.starts) == 0 {
		return false
	}
	i, _ := slices.BinarySearch(l.starts, r.Object) // a part of an object, or more than it
	if i > 0 && l.in(l.starts[i-1], r, number) {
		return true
	}
	for ; i < len(l.starts) && uint64(l.starts[i]-r.Object) < r.Size(); i++ {
		if l.in(l.starts[i], r, number) {
			return true
		}
	}
	return false
}

// in reports whether an event is in a life of the object o.
func (l *lives) in(o heisen.Object, r *heisen.Record, number uint64) bool {
	all := l.of[o]
	i, found := slices.BinarySearchFunc(all, number, func(x life, n uint64) int { return cmp.Compare(x.from, n) })
	if !found {
		i--
	}
	return i >= 0 && (all[i].to == 0 || number < all[i].to) && overlap(o, all[i].size, r.Object, r.Size())
}

// end ends the lives in memory that is allocated.
func (l *lives) end(r *heisen.Record, number uint64) {
	for o, all := range l.of {
		if x := &all[len(all)-1]; x.to == 0 && overlap(o, x.size, r.Object, r.Value) {
			x.to = number
		}
	}
}

// begin begins the life of an object, unless it has begun.
func (l *lives) begin(o heisen.Object, size, from uint64) {
	all := l.of[o]
	n := len(all)
	switch {
	case n == 0 && len(l.of) < maxObjects:
		i, _ := slices.BinarySearch(l.starts, o)
		l.starts = slices.Insert(l.starts, i, o)
	case n == 0 || n >= maxLives || all[n-1].to == 0:
		return
	}
	l.of[o] = append(all, life{size, from, 0})
}

func overlap(a heisen.Object, n uint64, b heisen.Object, m uint64) bool {
	return a >= b && uint64(a-b) < m || b >= a && uint64(b-a) < n
}

// locate reads the trace for the second time: it looks for the events of the finding, which may not know
// the number of an earlier access, for the lives of its objects, and for those of the objects that the
// query names.
func (s *selection) locate() error {
	s.lives, s.kept = lives{of: map[heisen.Object][]life{}}, map[heisen.Thread]heisen.ThreadInfo{}
	var sides []side
	if s.about != nil {
		sides = sidesOf(s.about)
	} else if len(s.q.Objects) == 0 {
		return nil
	}
	_, err := s.again(s.w.Total, s.keeps, func(r *heisen.Record, number uint64, symbols *heisen.Symbols) {
		if r.Op == heisen.Alloc {
			s.lives.end(r, number)
		}
		for i := range sides {
			if sides[i].see(r, number) {
				s.keep(r.Thread, symbols)
			}
		}
		if len(s.q.Objects) > 0 && drawable(r.Op) && s.names.object(r, symbols) {
			s.lives.begin(r.Object, r.Size(), number)
		}
	})
	if err != nil {
		return err
	}
	for i := range sides {
		x := &sides[i]
		if x.number != 0 && !slices.ContainsFunc(s.marks, func(m mark) bool { return m.number == x.number }) {
			s.marks = append(s.marks, mark{i, x.number})
		}
		if x.number != 0 && x.Object != 0 && len(s.q.Objects) == 0 {
			s.lives.begin(x.Object, max(x.Size, 1), x.from)
			all := s.lives.of[x.Object]
			all[len(all)-1].to = x.to
		}
	}
	slices.SortFunc(s.marks, func(a, b mark) int { return cmp.Compare(a.number, b.number) })
	return nil
}

// keep keeps what is known of a goroutine and its closest ancestors until the end of the reading.
func (s *selection) keep(t heisen.Thread, symbols *heisen.Symbols) {
	for range maxAncestors {
		if _, known := s.kept[t]; known {
			return
		}
		info := symbols.Thread(t)
		s.kept[t] = info
		if !info.Forked {
			return
		}
		t = info.Parent
	}
}

// side is an access of a finding whose event is looked for.
type side struct {
	heisen.Access
	exact  bool   // the index is known
	upTo   uint64 // the event has at most this number
	number uint64 // of the latest event that is like the access
	alloc  uint64 // number of the latest allocation of the object
	from   uint64 // the life of the object at that event
	to     uint64
}

func sidesOf(i *item) (sides []side) {
	upTo := i.at
	for _, a := range slices.Backward(i.finding.Accesses) {
		x := side{Access: a, upTo: upTo, exact: a.Index != 0}
		if x.exact && i.finding.Kind != heisen.Deadlock { // whose accesses are in another order
			upTo = min(upTo, a.Index-1)
		}
		sides = append(sides, x)
	}
	slices.Reverse(sides)
	return sides
}

// see looks at an event, and reports whether it may be the access.
func (x *side) see(r *heisen.Record, number uint64) bool {
	if r.Op == heisen.Alloc && overlap(x.Object, max(x.Size, 1), r.Object, r.Value) {
		x.alloc = number
		if x.number != 0 && x.to == 0 {
			x.to = number
		}
		return false
	}
	if x.exact && number != x.Index || !x.exact && number > x.upTo {
		return false
	}
	if r.Thread != x.Thread || r.Site != x.Site || r.Op != x.Op && r.Access() != x.Op ||
		!x.exact && x.Context != 0 && r.Context != x.Context || !overlap(x.Object, max(x.Size, 1), r.Object, r.Size()) {
		return false
	}
	x.number, x.from, x.to = number, x.alloc, 0
	return true
}
