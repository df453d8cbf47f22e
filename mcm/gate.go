package mcm

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
type gate struct {
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

// findGates finds who shuts and who opens gates.
func (b *builder) findGates() {
	if !b.gates {
		return
	}
	for _, h := range b.window.Held {
		if g := b.syncs[h.Lock].gate; g != nil && !h.Shared {
			g.shut = true
		}
	}
	for n := range b.goal { // chain after chain
		r := &b.records[b.event[n]]
		if r.Op != heisen.Acquire && r.Op != heisen.Release {
			continue
		}
		g := b.sync(r.Object).gate
		switch {
		case g == nil:
		case r.Op == heisen.Acquire:
			g.acquires = append(g.acquires, n)
		default:
			g.releases = append(g.releases, n)
		}
	}
}

// pass notes that a node passes a gate: that it finds it open, or shut, and which way it
// leaves it.
func (b *builder) pass(r *heisen.Record, n order.Node) []touch {
	if !b.gates || !window.IsLockOp(r.Op) || r.Op == heisen.ReleaseShared {
		return nil
	}
	s := b.syncs[r.Object]
	if s == nil || s.gate == nil {
		return nil
	}
	g := s.gate
	if g.cell == 0 {
		b.cells = append(b.cells, cell{})
		g.cell = int32(len(b.cells))
	}
	t := touch{cell: g.cell - 1, read: int32(len(b.reads)), write: r.Op != heisen.AcquireShared}
	rd := read{node: n, cell: t.cell, lock: true, saw: g.last - 1, init: !g.shut, same: g.releases}
	if r.Op == heisen.Release {
		rd.init, rd.same = g.shut, g.acquires
	}
	if len(rd.same) == 0 || len(rd.same) == 1 && !rd.init {
		rd.same, rd.hard = nil, true
		if rd.saw != none {
			b.sees(rd.saw, n)
		}
	}
	b.reads = append(b.reads, rd)
	if t.write {
		g.last = n + 1
		b.cells[t.cell].writes = append(b.cells[t.cell].writes, n)
	}
	return []touch{t}
}
