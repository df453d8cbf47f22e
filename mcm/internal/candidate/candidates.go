package candidate

import (
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/internal/window"
	"github.com/heisen-go/heisen/mcm/order"
)

// Place is a site and an op.
type Place uint64

func placeOf(r *heisen.Record, op heisen.Op) Place { return Place(r.Site)<<8 | Place(op) }

// Places distinguish findings: the sorted places of a race or a deadlock, or the places of the first,
// the remote and the second access of an atomicity violation and the number of the section, from 1.
type Places [4]Place

func placesOf(spots ...Place) (p Places) {
	slices.Sort(spots)
	copy(p[:], spots)
	return p
}

// access is an access of a node to a cell.
type access struct {
	node order.Node
	op   heisen.Op
}

// accesses returns the accesses to cells in the observed order, with one list for each allocation
// epoch of each cell.
func accesses(m *model.Model) [][]access {
	list := make([][]access, len(m.Cells))
	for _, n := range m.Observed[1:] {
		r := &m.Records[m.Event[n]]
		op := r.Access()
		switch {
		case window.IsAllocation(r.Op):
			for _, t := range m.Accesses[m.AccessAt[n]:m.AccessAt[n+1]] {
				list = append(list, list[t.Cell])
				list[t.Cell] = nil
			}
			continue
		case op == heisen.Invalid:
			continue
		}
		for _, t := range m.Accesses[m.AccessAt[n]:m.AccessAt[n+1]] {
			list[t.Cell] = append(list[t.Cell], access{n, op})
		}
	}
	return list
}

// ordered reports whether a must come before b can be pending.
func ordered(m *model.Model, a, b order.Node) bool {
	if p := m.Prev(b); p != model.None && m.Before(a, p) {
		return true
	}
	for i := m.EnablerAt[b]; i < m.EnablerAt[b+1]; i++ {
		if m.Before(a, m.Edges[i].From) {
			return true
		}
	}
	return false
}

// Candidate is a bug that may be possible, with the query that decides it.
type Candidate struct {
	Places  Places
	Records []int32 // the records of the finding
	Query   model.Query
	Else    *model.Query // a second query, which decides if Query is not possible; may be nil
}

// Races calls ask for the pairs of accesses that may race: conflicting accesses by different threads
// that no common lock excludes and no edges order. wanted reports whether more candidates with some
// places are wanted.
func Races(m *model.Model, wanted func(Places) bool, ask func(Candidate)) {
	masks := m.HeldLocks()
	for _, list := range accesses(m) {
		for j := range list {
			b := list[j]
			rb := &m.Records[m.Event[b.node]]
			for i := j - 1; i >= 0; i-- {
				a := list[i]
				if m.Chain[a.node] == m.Chain[b.node] || !a.op.Conflicts(b.op) || masks[a.node].Excludes(masks[b.node]) {
					continue
				}
				key := placesOf(placeOf(&m.Records[m.Event[a.node]], a.op), placeOf(rb, b.op))
				if !wanted(key) || ordered(m, a.node, b.node) {
					continue
				}
				ask(Candidate{
					Places:  key,
					Records: []int32{m.Event[a.node], m.Event[b.node]},
					Query:   model.Query{Pending: []order.Node{a.node, b.node}},
				})
			}
		}
	}
}

// pendingAcquire is an acquisition by a thread that holds another lock.
type pendingAcquire struct {
	node order.Node
	held int32 // the section of the other lock
	lock int32
	mask model.LockMask // the locks that the thread holds
}

// maxCycle bounds the number of threads of a deadlock.
const maxCycle = 4

// Deadlocks calls ask for each cycle of acquisitions by different threads, each of which holds the
// lock that another one acquires, unless a common gate lock or the order excludes the deadlock.
func Deadlocks(m *model.Model, wanted func(Places) bool, ask func(Candidate)) {
	all := pendingAcquires(m)
	byHeld := make([][]pendingAcquire, len(m.Locks)) // by held lock
	for _, w := range all {
		held := m.Sections[w.held].Lock
		byHeld[held] = append(byHeld[held], w)
	}
	var path []pendingAcquire
	var extend func()
	extend = func() {
		last := path[len(path)-1]
		for _, w := range byHeld[last.lock] {
			x := &m.Sections[m.Begins[last.node]]
			if x.Shared && m.Sections[w.held].Shared {
				continue // readers do not wait for readers
			}
			// A cycle starts with its thread of the lowest number.
			if m.Chain[w.node] < m.Chain[path[0].node] || slices.ContainsFunc(path, func(o pendingAcquire) bool {
				return m.Chain[o.node] == m.Chain[w.node] || o.mask.Excludes(w.mask) ||
					ordered(m, o.node, w.node) || ordered(m, w.node, o.node)
			}) {
				continue
			}
			path = append(path, w)
			first := &path[0]
			closes := w.lock == m.Sections[first.held].Lock && !(m.Sections[m.Begins[w.node]].Shared && m.Sections[first.held].Shared)
			if closes {
				askLockCycle(m, path, wanted, ask)
			} else if len(path) < maxCycle {
				extend()
			}
			path = path[:len(path)-1]
		}
	}
	for _, w := range all {
		path = append(path[:0], w)
		extend()
	}
}

// pendingAcquires returns the acquisitions by threads that hold another lock, in the observed order,
// one for each such lock. Acquisitions that do not wait are left out.
func pendingAcquires(m *model.Model) (list []pendingAcquire) {
	masks := m.HeldLocks()
	open := make([][]int32, len(m.Base)-1)
	for i := range m.Sections {
		if x := &m.Sections[i]; x.Acquire == model.None && x.Chain >= 0 {
			open[x.Chain] = append(open[x.Chain], int32(i))
		}
	}
	for _, n := range m.Observed[1:] {
		k := m.Chain[n]
		if id := m.Begins[n]; id >= 0 {
			r := &m.Records[m.Event[n]]
			for _, h := range open[k] {
				if m.Sections[h].Lock != m.Sections[id].Lock && r.Flags&heisen.NoWait == 0 {
					list = append(list, pendingAcquire{n, h, m.Sections[id].Lock, masks[n]})
				}
			}
			open[k] = append(open[k], id)
		}
		if id := m.Ends[n]; id >= 0 {
			c := m.Sections[id].Chain
			if c >= 0 {
				open[c] = slices.DeleteFunc(open[c], func(o int32) bool { return o == id })
			}
		}
	}
	return list
}

// askLockCycle asks whether the acquisitions of path can all be pending together.
func askLockCycle(m *model.Model, path []pendingAcquire, wanted func(Places) bool, ask func(Candidate)) {
	var spots []Place
	for _, w := range path {
		r := &m.Records[m.Event[w.node]]
		spots = append(spots, placeOf(r, r.Op))
	}
	key := placesOf(spots...)
	if !wanted(key) {
		return
	}
	// As in other findings of deadlocks, each thread acquires the lock that the next one holds, and
	// the acquisition that was observed last comes last.
	c := Candidate{Places: key}
	latest := 0
	for i, w := range path {
		if m.Event[w.node] > m.Event[path[latest].node] {
			latest = i
		}
	}
	for i := range path {
		w := path[(latest+1+i)%len(path)]
		c.Records = append(c.Records, m.Event[w.node])
		c.Query.Pending = append(c.Query.Pending, w.node)
	}
	ask(c)
}

// Unserializable reports whether the interleaving of two accesses of a transaction with a remote
// access between them is not equivalent to a serial one (AVIO, table 1). An update reads and writes.
func Unserializable(first, remote, second heisen.Op) bool {
	if reads(remote) && first.IsWrite() && second.IsWrite() {
		return true // remote sees an intermediate value
	}
	// If first and second only write, a remote write may as well have come before both.
	return remote.IsWrite() && (reads(first) || reads(second))
}

// reads reports whether an access sees the value of its variable.
func reads(op heisen.Op) bool { return op != heisen.Write && op != heisen.AtomicWrite }

// transactions returns, by record, the number of its transaction, from 1, or 0 outside of
// transactions. A transaction extends from an Enter to the matching Exit; nested ones do not count.
func transactions(m *model.Model) []int32 {
	in := make([]int32, len(m.Records))
	type state struct{ depth, id int32 }
	states := map[heisen.Thread]*state{}
	count := int32(0)
	for i := range m.Records {
		r := &m.Records[i]
		s := states[r.Thread]
		if s == nil {
			s = new(state)
			states[r.Thread] = s
		}
		switch r.Op {
		case heisen.Enter:
			if s.depth++; s.depth == 1 {
				count++
				s.id = count
			}
		case heisen.Exit:
			if s.depth > 0 {
				s.depth--
			}
		}
		if s.depth > 0 {
			in[i] = s.id
		}
	}
	return in
}

// Violations calls ask for the accesses that may come between two successive accesses of a transaction
// to the same cell, such that the interleaving is unserializable.
func Violations(m *model.Model, wanted func(Places) bool, ask func(Candidate)) {
	in := transactions(m)
	if !slices.ContainsFunc(in, func(id int32) bool { return id > 0 }) {
		return
	}
	for _, list := range accesses(m) {
		last := map[int32]access{} // by chain
		for _, b := range list {
			a, ok := last[m.Chain[b.node]]
			last[m.Chain[b.node]] = b
			id := in[m.Event[b.node]]
			if !ok || id == 0 || in[m.Event[a.node]] != id {
				continue
			}
			for _, r := range list {
				if m.Chain[r.node] == m.Chain[b.node] || !Unserializable(a.op, r.op, b.op) ||
					ordered(m, b.node, r.node) || ordered(m, r.node, a.node) {
					continue
				}
				spots := [3]Place{}
				for i, x := range [3]access{a, r, b} {
					spots[i] = placeOf(&m.Records[m.Event[x.node]], x.op)
				}
				key := Places{spots[0], spots[1], spots[2]}
				if !wanted(key) {
					continue
				}
				ask(Candidate{
					Places:  key,
					Records: []int32{m.Event[a.node], m.Event[r.node], m.Event[b.node]},
					Query:   Together(r.node, b.node),
					Else:    Between(a.node, r.node, b.node),
				})
			}
		}
	}
}

// SectionViolations calls ask for the accesses that may come into an execution of an atomic section
// that does not allow them.
func SectionViolations(m *model.Model, wanted func(Places) bool, ask func(Candidate)) {
	if len(m.Window.Executions) == 0 {
		return
	}
	lists := accesses(m)
	of := map[order.Node][]int{} // by node: the lists that it is in
	for i, list := range lists {
		for _, x := range list {
			of[x.node] = append(of[x.node], i)
		}
	}
	for _, p := range m.Window.Executions {
		a, b := m.Node[p.Entry], m.Node[p.End]
		if a == model.None || b == model.None {
			continue
		}
		first, last := placeAt(m, a), placeAt(m, b)
		for _, i := range of[a] {
			if !slices.Contains(of[b], i) {
				continue
			}
			for _, r := range lists[i] {
				if m.Chain[r.node] == m.Chain[a] || p.Allows(r.op) {
					continue
				}
				key := Places{first, placeAt(m, r.node), last, Place(p.Section) + 1}
				if !wanted(key) || ordered(m, b, r.node) || ordered(m, r.node, a) {
					continue
				}
				ask(Candidate{
					Places:  key,
					Records: []int32{m.Event[a], m.Event[r.node], m.Event[b]},
					Query:   Together(r.node, b),
					Else:    Between(a, r.node, b),
				})
			}
		}
	}
}

// placeAt returns the place of the access of a node.
func placeAt(m *model.Model, n order.Node) Place {
	r := &m.Records[m.Event[n]]
	return placeOf(r, r.Access())
}

// Together asks whether r and b can be pending together. Then r can come right before b, after all
// earlier events of b's thread.
func Together(r, b order.Node) model.Query { return model.Query{Pending: []order.Node{r, b}} }

// Between asks whether b can be pending after r, and r after a. Unlike with Together, the thread of r
// may continue.
func Between(a, r, b order.Node) *model.Query {
	return &model.Query{Pending: []order.Node{b}, Past: []order.Node{r}, Order: []model.Edge{{From: a, To: r}}}
}
