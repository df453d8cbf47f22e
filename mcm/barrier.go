package mcm

import (
	"math"
	"slices"

	"github.com/heisen-go/heisen"
)

// A BarrierPair (TREE and RDIT, chapter 4) is a call into code that is not traced:
// a Hide event, the Reveal event that goes with it, what the thread does in
// between, and the objects that the code may touch or synchronise on. The order of
// these events with all others on one of the objects stays what it was: Algorithm
// 5, in which each pair of BarrierPairs with a common object is put in line, and
// each with each access. Here each object has one line, on which the events of
// BarrierPairs come one after the other, and others only come after the last one
// before and before the next one; by transitivity that is the same.
type barrier struct {
	thread int32
	call   heisen.Object
	spans  heisen.Objects
	uses   []int32 // of its objects those that matter, by point
}

// end returns the object after the span's last one, as far as there is one.
func end(s heisen.Span) heisen.Object {
	if e := s.Start + heisen.Object(s.Len); e > s.Start {
		return e
	}
	return math.MaxUint64
}

// life returns the span whose life an Alloc or Free starts or ends.
func life(r *heisen.Record) heisen.Span { return heisen.Span{Start: r.Obj, Len: max(r.Val, 1)} }

// findBarriers finds the BarrierPairs and which records are inside of them.
func (b *builder) findBarriers() {
	open := map[int32][]int32{}
	enter := func(t int32, r *heisen.Record) {
		open[t] = append(open[t], int32(len(b.barriers)))
		b.barriers = append(b.barriers, barrier{thread: t, call: r.Obj, spans: b.reach(r)})
		if b.inside == nil {
			b.inside = make([][]int32, len(b.records))
		}
	}
	for i := range b.window.Hidden {
		enter(b.threadIndex(b.window.Hidden[i].TID), &b.window.Hidden[i])
	}
	for i := range b.records {
		r := &b.records[i]
		t := b.thread[i]
		if r.Code == heisen.Hide {
			enter(t, r)
		}
		list := open[t]
		if len(list) == 0 {
			continue
		}
		b.inside[i] = slices.Clone(list)
		if r.Code == heisen.Reveal {
			for k := len(list) - 1; k >= 0; k-- {
				if b.barriers[list[k]].call == r.Obj {
					open[t] = list[:k]
					break
				}
			}
		}
	}
}

// useBarriers notes what BarrierPairs may touch, and forgets those that touch
// nothing of others'.
func (b *builder) useBarriers() {
	for i := range b.barriers {
		p := &b.barriers[i]
		for _, s := range p.spans {
			from, to := b.reached(s)
			for c := from; c < to; c++ {
				b.uses[c].by(p.thread)
				b.uses[c].ordered = true
				p.uses = append(p.uses, int32(c))
			}
		}
	}
	for i := range b.barriers {
		p := &b.barriers[i]
		p.uses = slices.DeleteFunc(p.uses, func(c int32) bool { return !b.uses[c].shared })
	}
	for i, list := range b.inside {
		b.inside[i] = slices.DeleteFunc(list, func(k int32) bool { return len(b.barriers[k].uses) == 0 })
	}
}

// reached returns the cells of a span, all of whose ends are points.
func (b *builder) reached(s heisen.Span) (from, to int) {
	from, _ = slices.BinarySearch(b.points, s.Start)
	to, _ = slices.BinarySearch(b.points, end(s))
	return from, to
}
