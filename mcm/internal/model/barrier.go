package model

import (
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/mcm/internal/window"
	"github.com/heisen-go/heisen/mcm/order"
)

// A barrier is a BarrierPair (TREE and RDIT, chapter 4): a call into code that is not traced, with
// a Hide event, the matching Reveal event, the events of the thread between them, and the set of
// objects that the hidden code may access or synchronize on. The hidden code may depend on any
// event on these objects. So the events of the pair keep their observed order with all events on
// its objects, and with all BarrierPairs that have an object in common with it (Algorithm 5).
//
// Algorithm 5 adds an edge for each two such events, which takes quadratic space. Here each object
// has a chain of edges instead, see objectOrder: the events of BarrierPairs come one after the
// other, and any other event comes after the last one before it and before the first one after it.
// By transitivity, these are the same constraints.
//
// The hidden code may also pass on to other code what it has learned, see the documentation of
// heisen.Hide. A relay has the constraints that follow.
type barrier struct {
	thread int32
	call   heisen.Object
	spans  heisen.Objects // the objects that it reaches

	synchronized bool    // see happensBefore
	cells        []int32 // those of its cells that other threads touch, too
}

// findBarriers finds the BarrierPairs, the records that open and close them, and the records inside
// them.
func (b *builder) findBarriers() {
	open := map[int32][]int32{}
	enter := func(t int32, r *heisen.Record) int32 {
		k := int32(len(b.barriers))
		open[t] = append(slices.Clip(open[t]), k) // records share the lists
		p := barrier{thread: t, call: r.Object, synchronized: r.Reach() == heisen.Synchronized}
		if p.synchronized {
			if b.synchronized == nil {
				b.synchronized = make([]bool, len(b.Records))
			}
		} else {
			p.spans = b.Reach(r)
		}
		b.barriers = append(b.barriers, p)
		if b.openPairs == nil {
			b.openPairs = make([][]int32, len(b.Records))
			b.orderingPairs = make([][]int32, len(b.Records))
			b.opens, b.closes = Unset(len(b.Records)), make([][]int32, len(b.Records))
		}
		return k
	}
	for i := range b.Window.Hidden {
		enter(b.threadIndex(b.Window.Hidden[i].Thread), &b.Window.Hidden[i])
	}
	b.openAtStart = len(b.barriers)
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
		if !window.IsAllocation(r.Op) { // allocations are not events of the hidden code
			b.openPairs[i] = list
			for _, k := range list {
				if b.barriers[k].synchronized {
					b.synchronized[i] = true
				} else {
					b.orderingPairs[i] = list
				}
			}
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
		if keep < len(list) {
			b.closes[i] = list[keep:]
			open[t] = list[:keep]
		}
	}
}

// findBarrierCells computes barrier.cells, and reduces orderingPairs to BarrierPairs with such
// cells.
func (b *builder) findBarrierCells() {
	for i := range b.barriers {
		p := &b.barriers[i]
		for _, s := range p.spans {
			from, to := b.reached(s)
			for c := from; c < to; c++ {
				b.uses[c].addThread(p.thread)
				b.uses[c].ordered = true
				p.cells = append(p.cells, int32(c))
			}
		}
	}
	for i := range b.barriers {
		p := &b.barriers[i]
		p.cells = slices.DeleteFunc(p.cells, func(c int32) bool { return !b.uses[c].shared })
	}
	for i, list := range b.orderingPairs {
		b.orderingPairs[i] = slices.DeleteFunc(slices.Clone(list), func(k int32) bool { return len(b.barriers[k].cells) == 0 })
	}
}

// reached returns the cells of a span, whose ends must be bounds, as a range of indices.
func (b *builder) reached(s heisen.Span) (from, to int) {
	from, _ = slices.BinarySearch(b.bounds, s.Start)
	to, _ = slices.BinarySearch(b.bounds, window.End(s))
	return from, to
}

// A relay is a set of open BarrierPairs that are connected by objects which two of them reach. The
// hidden code of one of them may pass on what it learns to the hidden code of all others. So events
// keep their order with each other if each of them touches an object of the relay, and is either
// synchronization or an event of a BarrierPair.
type relay struct {
	pairs []int32
	last  []order.Node // the nodes that come before the next one that touches the relay
}

// openRelay adds a BarrierPair to the relays, and joins the relays that it connects.
func (b *builder) openRelay(k int32) {
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

// closeRelay removes a BarrierPair from its relay. The remaining pairs of the relay may be
// connected no longer, but each of them keeps what it has learned.
func (b *builder) closeRelay(k int32) {
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
				b.openRelay(o)
			}
		}
		for i := range b.relays {
			b.relays[i].last = slices.Clone(y.last)
		}
		b.relays = append(b.relays, others...)
		return
	}
}

// orderByRelays puts n after the events that relays may have passed on to it.
func (b *builder) orderByRelays(i int, n order.Node) {
	r := &b.Records[i]
	inside := b.openPairs[i]
	if len(inside) == 0 && !r.Op.IsSync() && r.Op != heisen.Begin && r.Op != heisen.End {
		return
	}
	from, to := b.accessed(r)
	if at, ok := b.otherCell(r); ok && from == to {
		from, to = at, at+1
	}
	for y := range b.relays {
		if slices.ContainsFunc(b.relays[y].pairs, func(k int32) bool { return b.touchesPair(k, inside, from, to) }) {
			for _, e := range b.relays[y].last {
				b.edge(e, n)
			}
			b.relays[y].last = append(b.relays[y].last[:0], n)
		}
	}
}

// touchesPair reports whether an event touches an object that BarrierPair k reaches. The event is
// inside some BarrierPairs, and touches the given cells besides the objects of these.
func (b *builder) touchesPair(k int32, inside []int32, from, to int) bool {
	p := &b.barriers[k]
	for _, o := range inside {
		if o == k || b.barriers[o].spans.Intersects(p.spans) {
			return true
		}
	}
	for c := from; c < to; c++ {
		if p.spans.Meets(b.bounds[c], 1) {
			return true
		}
	}
	return false
}
