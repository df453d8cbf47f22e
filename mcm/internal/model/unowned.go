package model

import (
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/mcm/internal/window"
	"github.com/heisen-go/heisen/mcm/order"
)

// A gate is a lock without an owner, as those of Go are: who has it exclusively is
// told by nothing, for whoever unlocks it ends whichever hold there is. It is a variable
// that an exclusive acquisition finds open and leaves shut, and a release the other way
// round; who takes it for reading finds it open. What keeps readers and writers apart
// besides is the readers' sections: an exclusive acquisition is one without length.
type unownedLock struct {
	cell               int32
	last               order.Node   // the last to shut or to open it, plus one
	shut               bool         // at the start
	acquires, releases []order.Node // exclusive ones, sorted
}

// holds reports whether a thread has the lock already, in a way that a lock of Go would
// not let it take it so.
func (s *syncUse) holds(thread int32, shared bool) bool {
	return slices.ContainsFunc(s.grips, func(g openGrip) bool { return g.thread == thread && !(g.shared && shared) })
}

// findUnowned finds who shuts and who opens gates.
func (b *builder) findUnowned() {
	if !b.hasUnowned {
		return
	}
	for _, h := range b.Window.Held {
		if g := b.syncs[h.Lock].unowned; g != nil && !h.Shared {
			g.shut = true
		}
	}
	for n := range b.Goal { // chain after chain
		r := &b.Records[b.Event[n]]
		if r.Op != heisen.Acquire && r.Op != heisen.Release {
			continue
		}
		g := b.sync(r.Object).unowned
		switch {
		case g == nil:
		case r.Op == heisen.Acquire:
			g.acquires = append(g.acquires, n)
		default:
			g.releases = append(g.releases, n)
		}
	}
}

// passUnowned notes that a node passes a gate: that it finds it open, or shut, and which way it
// leaves it.
func (b *builder) passUnowned(r *heisen.Record, n order.Node) []CellAccess {
	if !b.hasUnowned || !window.IsLockOp(r.Op) || r.Op == heisen.ReleaseShared {
		return nil
	}
	s := b.syncs[r.Object]
	if s == nil || s.unowned == nil {
		return nil
	}
	g := s.unowned
	if g.cell == 0 {
		b.Cells = append(b.Cells, cell{})
		g.cell = int32(len(b.Cells))
	}
	t := CellAccess{Cell: g.cell - 1, Read: int32(len(b.Reads)), Write: r.Op != heisen.AcquireShared}
	rd := Read{Node: n, Cell: t.Cell, Unowned: true, Saw: g.last - 1, Initial: !g.shut, Same: g.releases}
	if r.Op == heisen.Release {
		rd.Initial, rd.Same = g.shut, g.acquires
	}
	if len(rd.Same) == 0 || len(rd.Same) == 1 && !rd.Initial {
		rd.Same, rd.Fixed = nil, true
		if rd.Saw != None {
			b.readsFrom(rd.Saw, n)
		}
	}
	b.Reads = append(b.Reads, rd)
	if t.Write {
		g.last = n + 1
		b.Cells[t.Cell].Writes = append(b.Cells[t.Cell].Writes, n)
	}
	return []CellAccess{t}
}
