package atomicity_test

import (
	"slices"

	"github.com/heisen-go/heisen"
)

// conflictGraph is the graph of transactions, made of its definition: it compares each event with all
// earlier ones and searches for cycles, as Velodrome does (Flanagan, Freund and Yi, PLDI 2008). Its
// transactions are Marked ones.
type conflictGraph struct {
	records []heisen.Record
	node    []int // by event
	edges   map[int]map[int]bool
	open    []bool // by node: whether it is a transaction
	first   int    // position of the event that closed the first cycle, or 0
	closing []int  // positions of all events with an edge on a cycle into a transaction
}

// conflict reports whether a later event b conflicts with a, an event of another thread. Locks are
// released by the thread that acquired them.
func conflict(a, b *heisen.Record) bool {
	switch {
	case a.Op.IsAccess() && b.Op.IsAccess():
		return (a.Op.IsWrite() || b.Op.IsWrite()) && a.Object < b.Object+heisen.Object(b.Size()) && b.Object < a.Object+heisen.Object(a.Size())
	case a.Op == heisen.Release && (b.Op == heisen.Acquire || b.Op == heisen.AcquireShared),
		a.Op == heisen.ReleaseShared && b.Op == heisen.Acquire,
		a.Op == heisen.Send && b.Op == heisen.Receive:
		return a.Object == b.Object
	case a.Op == heisen.Fork:
		return a.Object.Thread() == b.Thread
	case b.Op == heisen.Join:
		return b.Object.Thread() == a.Thread
	}
	return false
}

func newConflictGraph(records []heisen.Record) *conflictGraph {
	g := &conflictGraph{records: records, edges: map[int]map[int]bool{}}
	depth, current, previous := map[heisen.Thread]int{}, map[heisen.Thread]int{}, map[heisen.Thread]int{}
	count := 0
	for i := range records {
		r := &records[i]
		inside := depth[r.Thread] > 0
		switch r.Op {
		case heisen.Enter:
			depth[r.Thread]++
		case heisen.Exit:
			depth[r.Thread] = max(0, depth[r.Thread]-1)
		}
		if !inside {
			current[r.Thread] = count
			g.open = append(g.open, r.Op == heisen.Enter)
			if p, ok := previous[r.Thread]; ok {
				g.add(p, count)
			}
			previous[r.Thread] = count
			count++
		}
		n := current[r.Thread]
		g.node = append(g.node, n)
		closes := false
		for j := range records[:i] {
			if m := g.node[j]; m != n && records[j].Thread != r.Thread && conflict(&records[j], r) {
				closes = g.path(n, m) || closes
				g.add(m, n)
			}
		}
		if closes {
			g.closing = append(g.closing, i+1)
			if g.first == 0 {
				g.first = i + 1
			}
		}
	}
	return g
}

func (g *conflictGraph) add(m, n int) {
	if g.edges[m] == nil {
		g.edges[m] = map[int]bool{}
	}
	g.edges[m][n] = true
}

// path reports whether there is a path from m to n.
func (g *conflictGraph) path(m, n int) bool {
	seen, stack := map[int]bool{m: true}, []int{m}
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if at == n {
			return true
		}
		for next := range g.edges[at] {
			if !seen[next] {
				seen[next] = true
				stack = append(stack, next)
			}
		}
	}
	return false
}

// justifies reports whether a finding is a cycle: its latest event has an edge from the event that it
// names, and paths lead from the latest event's transaction to that of the event.
func (g *conflictGraph) justifies(f heisen.Finding) bool {
	latest := f.Accesses[len(f.Accesses)-1]
	if !slices.Contains(g.closing, int(latest.Index)) {
		return false
	}
	own := g.node[latest.Index-1]
	if !g.open[own] {
		return false
	}
	begins, returns, departs := false, false, false
	for _, a := range f.Accesses {
		if a.Thread != latest.Thread && (a.Op == heisen.Begin || a.Op == heisen.End) { // the place is that of the Fork or Join
			returns, departs = true, true
			continue
		}
		at := int(a.Index) - 1
		r := &g.records[at]
		if r.Op != a.Op || r.Thread != a.Thread || r.Site != a.Site {
			return false
		}
		begins = begins || r.Op == heisen.Enter && g.node[at] == own
		returns = returns || r.Thread != latest.Thread && conflict(r, &g.records[latest.Index-1]) && g.path(own, g.node[at])
		for _, b := range f.Accesses {
			departs = departs || g.node[at] == own && b.Thread != a.Thread && b.Index > a.Index &&
				conflict(r, &g.records[b.Index-1])
		}
	}
	return begins && returns && departs
}
