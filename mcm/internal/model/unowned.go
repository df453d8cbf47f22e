package model

import (
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/mcm/internal/window"
	"github.com/heisen-go/heisen/mcm/order"
)

// unownedLock is a lock that any thread may release, as a sync.Mutex. A release ends the exclusive
// hold that there is, so the events do not say which thread holds the lock. The model therefore
// treats the lock as a cell with two values, free and held. An exclusive acquisition reads free and
// writes held, a release of it reads held and writes free, and a shared acquisition reads free.
//
// Shared holds are critical sections as those of other locks. An exclusive acquisition is a section
// that ends at once, which suffices to keep it out of shared sections: a shared acquisition during
// the exclusive hold does not read free.
type unownedLock struct {
	cell               int32
	last               order.Node   // the last write, plus one
	held               bool         // it is held exclusively at the start of the window
	acquires, releases []order.Node // the exclusive ones, sorted
}

// reacquires reports whether a thread that acquires the lock holds it already, in modes that Go's
// locks do not allow together.
func (s *syncUse) reacquires(thread int32, shared bool) bool {
	return slices.ContainsFunc(s.holds, func(h hold) bool { return h.thread == thread && !(h.shared && shared) })
}

// findUnowned finds the exclusive acquisitions and releases of unowned locks.
func (b *builder) findUnowned() {
	if !b.hasUnowned {
		return
	}
	for _, h := range b.Window.Held {
		if l := b.syncs[h.Lock].unowned; l != nil && !h.Shared {
			l.held = true
		}
	}
	for n := range b.Goal { // in order, so that the lists are sorted
		r := &b.Records[b.Event[n]]
		if r.Op != heisen.Acquire && r.Op != heisen.Release {
			continue
		}
		l := b.sync(r.Object).unowned
		switch {
		case l == nil:
		case r.Op == heisen.Acquire:
			l.acquires = append(l.acquires, n)
		default:
			l.releases = append(l.releases, n)
		}
	}
}

// accessUnowned returns what a node reads and writes of the state of an unowned lock.
func (b *builder) accessUnowned(r *heisen.Record, n order.Node) []CellAccess {
	if !b.hasUnowned || !window.IsLockOp(r.Op) || r.Op == heisen.ReleaseShared {
		return nil
	}
	s := b.syncs[r.Object]
	if s == nil || s.unowned == nil {
		return nil
	}
	l := s.unowned
	if l.cell == 0 {
		b.Cells = append(b.Cells, cell{})
		l.cell = int32(len(b.Cells))
	}
	t := CellAccess{Cell: l.cell - 1, Read: int32(len(b.Reads)), Write: r.Op != heisen.AcquireShared}
	rd := Read{Node: n, Cell: t.Cell, Unowned: true, Saw: l.last - 1, Initial: !l.held, Same: l.releases}
	if r.Op == heisen.Release {
		rd.Initial, rd.Same = l.held, l.acquires
	}
	if len(rd.Same) == 0 || len(rd.Same) == 1 && !rd.Initial {
		rd.Same, rd.Fixed = nil, true
		if rd.Saw != None {
			b.readsFrom(rd.Saw, n)
		}
	}
	b.Reads = append(b.Reads, rd)
	if t.Write {
		l.last = n + 1
		b.Cells[t.Cell].Writes = append(b.Cells[t.Cell].Writes, n)
	}
	return []CellAccess{t}
}
