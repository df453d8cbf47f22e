package recorder

import (
	"cmp"
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/wire"
)

// The merger follows the locks of each goroutine; places have its calls. Both are added to Symbols
// and stay there, since detectors keep contexts. So there are limits: a program with millions of
// locks or call paths gets coarser contexts, and the analyzer does not grow with the length of the
// run.

// defaultLimits take about 80 MB if a program exhausts them all.
var defaultLimits = heisen.Limits{
	CallPaths: 1 << 20, LockPaths: 1 << 16, OtherLock: manyLocksObject, Contexts: 1 << 20,
	EndedThreads: endedThreads, OtherThread: forgotten,
}

// endedThreads take about 20 MB.
const endedThreads = 1 << 19

// ThreadLimits returns the limits of what is known of goroutines that have ended, and no others.
func ThreadLimits() heisen.Limits {
	return heisen.Limits{EndedThreads: endedThreads, OtherThread: forgotten}
}

// manyLocksObject stands for the locks acquired after the limit was reached: contexts only say
// where they were acquired. No address of a Go program has this value.
const manyLocksObject heisen.Object = wire.ManyLocks

// lostLockObject stands for a lock of which only the site of its acquisition is known: its goroutine
// has made too many operations on locks since.
const lostLockObject heisen.Object = wire.LostLock

// The names of these two, which package wording knows.
const (
	manyLocksName = "one of many locks"
	lostLockName  = "(address unknown)"
)

// heldLock is a lock that a goroutine holds, and the path of locks without it and the later ones.
type heldLock struct {
	heisen.HeldLock
	without uint32
}

// acquired records that g has acquired a lock.
func (m *merger) acquired(g *goroutine, held heisen.HeldLock) {
	g.holds = append(g.holds, heldLock{held, g.cursor.Locks})
	g.cursor, g.stale = m.s.syms.Acquire(g.cursor, held), true
}

// released ends the critical section of a lock: that of g, or, since any goroutine may unlock a Go
// mutex, that of a goroutine that holds it.
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

// releasedBy ends g's last critical section of lock, at any position in the order of acquisition.
// It reports whether there was one.
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
