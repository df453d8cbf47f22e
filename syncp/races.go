package syncp

import (
	"sort"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/locksets"
)

// place is a site and an op.
type place uint64

func placeOf(site heisen.Site, op heisen.Op) place { return place(site)<<8 | place(op) }

// pair is two places, the lesser first.
type pair [2]place

func pairOf(a, b place) pair { return pair{min(a, b), max(a, b)} }

// checkRaces looks for races of an access by t, which is next, with earlier ones to the same variable.
//
// Two accesses race in a reordering that keeps the order of critical sections if and only if the closure of
// what comes before them contains neither (Mathur, Pavlogiannis and Viswanathan, POPL 2021, theorem 3.1). It never contains the
// later one. Closures grow with the accesses, so an earlier access that a closure contains need not be looked
// at again for later accesses of the same thread.
func (d *Detector) checkRaces(t *thread, r *heisen.Record, op heisen.Op, x *variable, at heisen.Object) {
	for i := x.groups; i != 0; {
		g := &d.memory.groups.all[i]
		i = g.next
		if !g.op.Conflicts(op) || d.excludes(g.held) {
			continue
		}
		p := pairOf(placeOf(g.site, g.op), placeOf(r.Site, op))
		if d.races[p] {
			continue
		}
		for a := g.accesses; a != 0; {
			l := &d.memory.accesses.all[a]
			a = l.next
			if l.thread != t.number && !t.knows(prefix{l.thread, l.last + 1}) && d.checkPair(t, op, x, g, l, p, at) {
				break
			}
		}
	}
}

// excludes reports whether the locks held now exclude an access that was made with the given ones.
func (d *Detector) excludes(held locksets.Held) bool { return excludes(d.table, d.held, held) }

func excludes(table *locksets.Table, a, b locksets.Held) bool {
	if a.Any == a.Exclusive && b.Any == b.Exclusive {
		return !table.Disjoint(a.Any, b.Any)
	}
	return !table.Disjoint(a.Any, b.Exclusive) || !table.Disjoint(a.Exclusive, b.Any)
}

// checkPair looks for a race of an access by t, which is next, with those of l, and reports whether there is one.
func (d *Detector) checkPair(t *thread, op heisen.Op, x *variable, g *group, l *accesses, p pair, at heisen.Object) bool {
	from := uint32(0) // accesses with fewer events of their thread before them do not race
	if known := t.find(l.thread); known != nil {
		from = known.changes[len(known.changes)-1].n
	}
	place := -1
	for i := range l.dropped {
		if l.dropped[i].thread == t.number {
			place, from = i, max(from, l.dropped[i].n)
			break
		}
	}
	defer func() {
		if place < 0 {
			l.dropped = append(l.dropped, prefix{t.number, from})
		} else {
			l.dropped[place].n = from
		}
	}()
	for {
		before, ok := l.from(from)
		if !ok {
			return false
		}
		first := prefix{l.thread, before}
		c := &d.closure
		c.reset()
		c.await(first)
		c.await(prefix{t.number, t.events})
		c.include(x.alloc)
		d.stats.Closures++
		if !c.close() || c.has(first) {
			from = max(before+1, c.upTo[l.thread])
			continue
		}
		if d.reportRace(t, op, g.op, first, p, at) {
			return true
		}
		from = before + 1
	}
}

// from returns the first of the accesses before which the thread has made at least n events.
func (l *accesses) from(n uint32) (before uint32, ok bool) {
	if len(l.older) > 0 && l.older[len(l.older)-1] >= n {
		return l.older[sort.Search(len(l.older), func(i int) bool { return l.older[i] >= n })], true
	}
	return l.last, l.last >= n
}
