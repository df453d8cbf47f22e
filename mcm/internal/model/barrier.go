package model

import (
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/mcm/internal/window"
	"github.com/heisen-go/heisen/mcm/order"
)

// A BarrierPair (TREE and RDIT, chapter 4) is a call into code that is not traced:
// a Hide event, the Reveal event that goes with it, what the thread does in
// between, and the objects that the code may touch or synchronise on. The order of
// these events with all others on one of the objects stays what it was: Algorithm
// 5, in which each pair of BarrierPairs with a common object is put in line, and
// each with each access. Here each object has one line, on which the events of
// BarrierPairs come one after the other, and others only come after the last one
// before and before the next one; by transitivity that is the same.
//
// The code may pass on what it sees as well, see the doc of heisen.Hide and relay.
type barrier struct {
	thread int32
	call   heisen.Object
	spans  heisen.Objects
	uses   []int32 // of its objects those that matter, by point
}

// findBarriers finds the BarrierPairs, where they open and close, and which records
// are inside of them.
func (b *builder) findBarriers() {
	open := map[int32][]int32{}
	enter := func(t int32, r *heisen.Record) int32 {
		k := int32(len(b.barriers))
		open[t] = append(open[t], k)
		b.barriers = append(b.barriers, barrier{thread: t, call: r.Object, spans: b.Reach(r)})
		if b.inside == nil {
			b.inside = make([][]int32, len(b.Records))
			b.within = make([][]int32, len(b.Records))
			b.opens, b.closes = Fill(len(b.Records)), make([][]int32, len(b.Records))
		}
		return k
	}
	for i := range b.Window.Hidden {
		enter(b.threadIndex(b.Window.Hidden[i].Thread), &b.Window.Hidden[i])
	}
	b.wasOpen = len(b.barriers)
	for i := range b.Records {
		r := &b.Records[i]
		t := b.thread[i]
		if r.Op == heisen.Hide {
			k := enter(t, r)
			b.opens[i] = k
		}
		list := open[t]
		if len(list) == 0 {
			continue
		}
		if !window.IsAllocation(r.Op) { // allocation is nobody's step
			b.inside[i] = slices.Clone(list)
			b.within[i] = b.inside[i]
		}
		keep := len(list)
		switch r.Op {
		case heisen.End:
			keep = 0
		case heisen.Reveal:
			for k := len(list) - 1; k >= 0; k-- {
				if b.barriers[list[k]].call == r.Object {
					keep = k
					break
				}
			}
		}
		b.closes[i] = slices.Clone(list[keep:])
		open[t] = list[:keep]
	}
}

// A relay is BarrierPairs that are open and connected by objects that two of them
// reach: what touches one of them and is synchronisation, or a step of a pair, may
// be passed on to what touches another, and so keeps its order with it.
type relay struct {
	pairs []int32
	last  []order.Node // what comes before whatever touches it next
}

// opened adds a pair to the relays, and joins those that it connects.
func (b *builder) opened(k int32) {
	joined := relay{pairs: []int32{k}}
	rest := b.relays[:0]
	for _, y := range b.relays {
		if slices.ContainsFunc(y.pairs, func(o int32) bool { return b.barriers[o].spans.Intersects(b.barriers[k].spans) }) {
			joined.pairs = append(joined.pairs, y.pairs...)
			joined.last = append(joined.last, y.last...)
		} else {
			rest = append(rest, y)
		}
	}
	b.relays = append(rest, joined)
}

// closed takes a pair from its relay; the others of it may not be connected any
// more, but know what they know.
func (b *builder) closed(k int32) {
	for at := range b.relays {
		y := b.relays[at]
		if !slices.Contains(y.pairs, k) {
			continue
		}
		others := b.relays
		others = append(others[:at:at], others[at+1:]...)
		b.relays = nil
		for _, o := range y.pairs {
			if o != k {
				b.opened(o)
			}
		}
		for i := range b.relays {
			b.relays[i].last = slices.Clone(y.last)
		}
		b.relays = append(b.relays, others...)
		return
	}
}

// relay keeps n in order with what relays may have passed on to it.
func (b *builder) relay(i int, n order.Node) {
	r := &b.Records[i]
	inside := b.within[i]
	if len(inside) == 0 && !r.Op.IsSync() && r.Op != heisen.Begin && r.Op != heisen.End {
		return
	}
	from, to := b.accessed(r)
	if at, ok := b.otherCell(r); ok && from == to {
		from, to = at, at+1
	}
	for y := range b.relays {
		if slices.ContainsFunc(b.relays[y].pairs, func(k int32) bool { return b.meets(k, inside, from, to) }) {
			for _, e := range b.relays[y].last {
				b.edge(e, n)
			}
			b.relays[y].last = append(b.relays[y].last[:0], n)
		}
	}
}

// meets reports whether a pair reaches what an event inside of others touches,
// which are the cells given besides what these reach.
func (b *builder) meets(k int32, inside []int32, from, to int) bool {
	p := &b.barriers[k]
	for _, o := range inside {
		if o == k || b.barriers[o].spans.Intersects(p.spans) {
			return true
		}
	}
	for c := from; c < to; c++ {
		if p.spans.Meets(b.points[c], 1) {
			return true
		}
	}
	return false
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
		b.inside[i] = slices.DeleteFunc(slices.Clone(list), func(k int32) bool { return len(b.barriers[k].uses) == 0 })
	}
}

// reached returns the cells of a span, all of whose ends are points.
func (b *builder) reached(s heisen.Span) (from, to int) {
	from, _ = slices.BinarySearch(b.points, s.Start)
	to, _ = slices.BinarySearch(b.points, window.End(s))
	return from, to
}
