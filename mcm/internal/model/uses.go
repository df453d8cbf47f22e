package model

import (
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/mcm/internal/window"
	"github.com/heisen-go/heisen/mcm/order"
)

// use describes how threads use a cell, a lock or a message.
type use struct {
	thread  int32 // the first thread that uses it, plus one; 0 if there is none
	shared  bool  // several threads use it
	written bool
	plain   bool // accesses touch it, not only lock operations on it
	ordered bool // some events keep their order with all others on it
	order   objectOrder

	lockWord           bool                 // it holds a lock in memory
	writes, operations map[int32]order.Node // of a lock word, by chain: the last write, the last lock operation
	last               order.Node           // the last write, plus one
	cell               int32                // its index in Model.Cells, plus one
}

// addThread records that a thread uses it.
func (u *use) addThread(thread int32) {
	switch u.thread {
	case 0:
		u.thread = thread + 1
	case thread + 1:
	default:
		u.shared = true
	}
}

// syncUse is the use of a lock or message.
type syncUse struct {
	use
	lock, message bool
	index         int32 // of the lock in Model.Locks, plus one
	queue         int32 // of the message in Model.Messages, plus one
	holds         []hold
	ended         []endedHold
	changes       []order.Node // the Change events

	reacquired bool // a thread acquires it that holds it
	foreign    bool // a thread ends an exclusive hold of another one
	unowned    *unownedLock
}

// objectOrder is the chain of edges on an object that has barriers: events that keep their order
// with all other events on the object. Each barrier comes after the barrier before it and after all
// events since that one; any other event comes after the last barrier. So the number of edges is
// linear in the number of events.
type objectOrder struct {
	barrier order.Node           // the last barrier, plus one
	since   map[int32]order.Node // by chain: the last event since the barrier
}

// findBounds finds where cells start and end: where accesses start and end, and, if allocations or
// BarrierPairs touch other objects, where these start and end.
func (b *builder) findBounds() {
	for i := range b.Records {
		r := &b.Records[i]
		b.hasRanges = b.hasRanges || r.Op.IsAccess() && r.Len > 1
		b.hasSpans = b.hasSpans || window.IsAllocation(r.Op)
	}
	b.hasSpans = b.hasSpans || slices.ContainsFunc(b.barriers, func(p barrier) bool { return !p.synchronized })
	b.hasRanges = b.hasRanges || b.hasSpans
	add := func(s heisen.Span) {
		b.bounds = append(b.bounds, s.Start)
		if b.hasRanges {
			b.bounds = append(b.bounds, window.End(s))
		}
	}
	for i := range b.Records {
		r := &b.Records[i]
		switch {
		case r.Op.IsAccess():
			add(heisen.Span{Start: r.Object, Len: r.Size()})
		case !b.hasSpans:
			if b.hasRanges && r.Access() != heisen.Invalid { // a lock that an access to a range may overwrite
				add(heisen.Span{Start: r.Object, Len: 1})
			}
		case window.IsAllocation(r.Op):
			add(window.AllocationSpan(r))
		default:
			if o, ok := syncObject(r); ok {
				add(heisen.Span{Start: o, Len: 1})
			}
		}
	}
	for i := range b.barriers {
		for _, s := range b.barriers[i].spans {
			add(s)
		}
	}
	slices.Sort(b.bounds)
	b.bounds = slices.Compact(b.bounds)
	b.uses = make([]use, len(b.bounds))
}

// syncObject returns the object that a synchronization event touches: a lock, a message or a
// thread.
func syncObject(r *heisen.Record) (heisen.Object, bool) {
	switch r.Op {
	case heisen.Fork, heisen.Join:
		return heisen.ThreadObject(r.Object.Thread()), true
	case heisen.Begin, heisen.End:
		return heisen.ThreadObject(r.Thread), true
	}
	return r.Object, window.IsLockOp(r.Op) || window.IsMessage(r.Op)
}

// cellsOf returns the cells of an access, as a range of indices.
func (b *builder) cellsOf(start heisen.Object, size uint64) (from, to int) {
	from, _ = slices.BinarySearch(b.bounds, start)
	if !b.hasRanges {
		return from, from + 1
	}
	after := window.End(heisen.Span{Start: start, Len: size})
	for to = from + 1; to < len(b.bounds) && b.bounds[to] < after; to++ {
	}
	return from, to
}

// accessed returns the cells that an event accesses, as a range of indices that may be empty. An
// operation on a lock in memory accesses the cell of the lock if other accesses touch that cell.
func (b *builder) accessed(r *heisen.Record) (from, to int) {
	switch {
	case r.Op.IsAccess():
		return b.cellsOf(r.Object, r.Size())
	case r.Access() == heisen.Invalid:
		return 0, 0
	}
	if at, ok := slices.BinarySearch(b.bounds, r.Object); ok && b.uses[at].plain {
		return at, at + 1
	}
	return 0, 0
}

// otherCell returns the cell of the object that a synchronization event touches, if there are
// allocations or BarrierPairs.
func (b *builder) otherCell(r *heisen.Record) (at int, ok bool) {
	if !b.hasSpans {
		return 0, false
	}
	o, ok := syncObject(r)
	if !ok {
		return 0, false
	}
	return slices.BinarySearch(b.bounds, o)
}

// sync returns the use of a lock or message.
func (b *builder) sync(o heisen.Object) *syncUse {
	s := b.syncs[o]
	if s == nil {
		s = new(syncUse)
		b.syncs[o] = s
	}
	return s
}

// findUses finds how threads use cells, locks and messages.
func (b *builder) findUses() {
	for i := range b.Records {
		r := &b.Records[i]
		if r.Op.IsAccess() {
			from, to := b.cellsOf(r.Object, r.Size())
			for c := from; c < to; c++ {
				u := &b.uses[c]
				u.addThread(b.thread[i])
				u.plain = true
				u.written = u.written || r.Op.IsWrite()
			}
		}
	}
	for _, h := range b.Window.Held {
		s := b.sync(h.Lock)
		s.lock = true
		s.addThread(b.threadIndex(h.Thread))
	}
	for i := range b.Records {
		r := &b.Records[i]
		t := b.thread[i]
		if window.IsLockOp(r.Op) || window.IsMessage(r.Op) {
			s := b.sync(r.Object)
			s.addThread(t)
			s.lock = s.lock || window.IsLockOp(r.Op)
			s.message = s.message || window.IsMessage(r.Op)
			from, to := b.accessed(r)
			for c := from; c < to; c++ {
				b.uses[c].addThread(t)
				b.uses[c].written, b.uses[c].lockWord = true, true
			}
		}
		if b.hasSpans {
			if window.IsAllocation(r.Op) {
				from, to := b.reached(window.AllocationSpan(r))
				for c := from; c < to; c++ {
					b.uses[c].addThread(t)
					b.uses[c].ordered, b.uses[c].written = true, true
				}
			} else if at, ok := b.otherCell(r); ok {
				b.uses[at].addThread(t)
			}
		}
	}
	// An object that is used in several ways, such as a lock that is an atomic variable, too, keeps
	// the order of all its events.
	for i := range b.Records {
		if r := &b.Records[i]; r.Op.IsAtomic() {
			if s := b.syncs[r.Object]; s != nil {
				s.ordered = true
				s.addThread(b.thread[i])
			}
		}
	}
	for _, s := range b.syncs {
		s.ordered = s.ordered || s.lock && s.message
	}
	b.checkLocks()
	b.findBarrierCells()
}
