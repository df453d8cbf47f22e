package recorder

import (
	"cmp"
	"slices"

	"github.com/heisen-go/heisen"
)

// The merger follows each goroutine's locks, and places tell its calls. What they
// add to Symbols
// stays there, for detectors remember contexts, so there are limits: a program
// that locks millions of locks, or recurses in millions of ways, gets coarser
// contexts and not an analyser that grows with the length of the run.

// defaultLimits make about 60 MB, of a program that exhausts them all.
var defaultLimits = heisen.Limits{CallPaths: 1 << 20, LockPaths: 1 << 16, OtherLock: manyLocksObject, Contexts: 1 << 20}

// manyLocksObject stands for the locks that were taken after the limit was reached: of
// those a context says only where they were. It is no address that a Go program
// can have.
const manyLocksObject heisen.Object = manyLocks

// heldLock is a lock that a goroutine holds, and the path of locks without it and
// those taken later.
type heldLock struct {
	heisen.HeldLock
	without uint32
}

// acquired notes that g has taken a lock.
func (m *merger) acquired(g *goroutine, held heisen.HeldLock) {
	g.holds = append(g.holds, heldLock{held, g.cursor.Locks})
	g.cursor, g.stale = m.s.syms.Acquire(g.cursor, held), true
}

// released ends a hold of lock: g's own, or, for Go lets any goroutine unlock a
// mutex, that of whoever has one.
func (m *merger) released(g *goroutine, lock heisen.Object, shared bool) {
	if m.releasedBy(g, lock, shared) {
		return
	}
	var holders []*goroutine
	for _, h := range m.gs {
		if len(h.holds) > 0 {
			holders = append(holders, h)
		}
	}
	slices.SortFunc(holders, func(a, b *goroutine) int { return cmp.Compare(a.id, b.id) })
	for _, h := range holders {
		if m.releasedBy(h, lock, shared) {
			return
		}
	}
}

// releasedBy ends g's latest hold of lock, wherever it stands in the order of
// acquisition, and reports whether there was one.
func (m *merger) releasedBy(g *goroutine, lock heisen.Object, shared bool) bool {
	i := len(g.holds) - 1
	for i >= 0 && (g.holds[i].Lock != lock || g.holds[i].Shared != shared) {
		i--
	}
	if i < 0 {
		return false
	}
	g.cursor.Locks = g.holds[i].without
	g.holds = slices.Delete(g.holds, i, i+1)
	for ; i < len(g.holds); i++ {
		g.holds[i].without = g.cursor.Locks
		g.cursor = m.s.syms.Acquire(g.cursor, g.holds[i].HeldLock)
	}
	g.stale = true
	return true
}
